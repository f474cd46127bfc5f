//! The points of a series in the order of commits.

use std::collections::HashMap;

use genba_model::HistoryChange;

use crate::engine::Row;
use crate::recording_rows::{build, revision};
use crate::{Build, History, Result, Revision, SeriesFilter, sample_bytes};

/// Which points of a series; an empty text selects all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PointFilter {
    /// Branch, exactly.
    pub branch: String,
}

/// One measurement of a series.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Number of the recording in this store.
    pub recording: i64,
    /// Time of the measurement, RFC 3339.
    pub started: String,
    /// The commit; `None` outside a repository.
    pub revision: Option<Revision>,
    /// Identity of the binary.
    pub build: Build,
    /// Environment, as it was recorded.
    pub environment: std::collections::BTreeMap<String, String>,
    /// The value of each block.
    pub values: Vec<Option<f64>>,
    /// The anchor measured in the same blocks, if there was one.
    pub anchor: Option<AnchorValues>,
}

/// The values of an anchor build.
#[derive(Clone, Debug, PartialEq)]
pub struct AnchorValues {
    /// Commit of the anchor; empty if unknown.
    pub commit: String,
    /// Identity of its binary.
    pub build: Build,
    /// The value of each block.
    pub values: Vec<Option<f64>>,
}

impl History {
    /// The points of a series, oldest commit first; measurements of one commit in the order of
    /// their time. Commits are ordered by their position on the branch where it is known of all
    /// of them, else by committer time.
    ///
    /// # Errors
    /// The database fails or is damaged.
    pub fn points(&mut self, series: i64, filter: &PointFilter) -> Result<Vec<Point>> {
        let rows = self.engine.query(
            "SELECT m.recording, r.started, m.role, m.branch, m.dirty, m.build, m.sample, \
             r.environment, v.hash, v.parent, v.position, v.committed, v.subject \
             FROM genba_measurement m JOIN genba_recording r ON r.id = m.recording \
             LEFT JOIN genba_revision v ON v.id = m.revision \
             WHERE m.series = ?1 AND (?2 = '' OR m.branch = ?2 OR m.role = 1) ORDER BY m.id",
            &[series.into(), (&filter.branch).into()],
        )?;
        let mut points = Vec::new();
        let mut anchors = HashMap::new();
        for row in &rows {
            let read = if row.integer(2) == Some(1) {
                anchor(row).map(|(recording, values)| {
                    anchors.insert(recording, values);
                })
            } else {
                point(row).map(|one| points.push(one))
            };
            read.ok_or_else(|| self.corrupt("a measurement cannot be read"))?;
        }
        for one in &mut points {
            one.anchor = anchors.get(&one.recording).cloned();
        }
        sort(&mut points);
        Ok(points)
    }

    /// What was recorded of the binary that a change was first measured with; `None` where that was
    /// measured outside a repository. An empty project or branch stands for all.
    ///
    /// # Errors
    /// The database fails or is damaged.
    pub fn build_after(
        &mut self,
        change: &HistoryChange,
        project: &str,
        branch: &str,
    ) -> Result<Option<Build>> {
        let series = self.series(&SeriesFilter {
            project: project.to_owned(),
            benchmark: change.benchmark.clone(),
            variant: change.variant.clone(),
            metric: change.metric.clone(),
            host: change.host.clone(),
            branch: branch.to_owned(),
        })?;
        let filter = PointFilter {
            branch: branch.to_owned(),
        };
        // An empty variant selects all of them.
        for one in (series.iter()).filter(|one| one.variant == change.variant) {
            let mut points = self.points(one.id, &filter)?.into_iter();
            let found = points.find(|point| {
                let revision = point.revision.as_ref();
                revision.is_some_and(|revision| revision.commit == change.first_after)
            });
            if let Some(point) = found {
                return Ok(Some(point.build));
            }
        }
        Ok(None)
    }
}

fn anchor(row: &Row) -> Option<(i64, AnchorValues)> {
    Some((
        row.integer(0)?,
        AnchorValues {
            commit: row.text(8).unwrap_or_default(),
            build: build(&row.text(5)?),
            values: sample_bytes::decode(row.bytes(6)?)?,
        },
    ))
}

fn point(row: &Row) -> Option<Point> {
    Some(Point {
        recording: row.integer(0)?,
        started: row.text(1)?,
        revision: revision(row, 8, row.text(3)?, row.integer(4)? != 0),
        build: build(&row.text(5)?),
        environment: serde_json::from_str(&row.text(7)?).unwrap_or_default(),
        values: sample_bytes::decode(row.bytes(6)?)?,
        anchor: None,
    })
}

fn sort(points: &mut [Point]) {
    let all_positions = (points.iter())
        .filter_map(|one| one.revision.as_ref())
        .all(|revision| revision.position.is_some());
    points.sort_by(|a, b| {
        let order = |one: &Point| {
            one.revision.as_ref().map(|revision| {
                let position = revision.position.filter(|_| all_positions);
                (position, revision.committed, revision.dirty)
            })
        };
        order(a)
            .cmp(&order(b))
            .then_with(|| a.started.cmp(&b.started))
            .then(a.recording.cmp(&b.recording))
    });
}
