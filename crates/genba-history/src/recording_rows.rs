//! Writing a recording's rows, and reading recordings back.

use std::collections::BTreeMap;

use genba_model::Direction;

use crate::engine::{Engine, Row, Value};
use crate::{
    Build, History, MAX_TEXT_BYTES, Measurement, Recorded, Recording, Result, Revision, Role,
    sample_bytes,
};

/// Inserts a recording within a transaction.
pub(crate) fn insert(engine: &mut dyn Engine, recording: &Recording) -> Result<Recorded> {
    engine.query(
        "INSERT INTO genba_host (id, fingerprint) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
        &[
            (&recording.host.id).into(),
            json(&recording.host).as_str().into(),
        ],
    )?;
    let environment: BTreeMap<&str, &str> = (recording.environment.iter())
        .map(|(name, value)| (cut(name), cut(value)))
        .collect();
    let rows = engine.query(
        "INSERT INTO genba_recording (key, project, started, tool, host, environment) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING RETURNING id",
        &[
            (&recording.key).into(),
            (&recording.project).into(),
            cut(&recording.started).into(),
            cut(&recording.tool).into(),
            (&recording.host.id).into(),
            json(&environment).as_str().into(),
        ],
    )?;
    let Some(id) = rows.first().and_then(|row| row.integer(0)) else {
        return Ok(Recorded::AlreadyThere);
    };
    // Rows that transactions share are touched in the same order everywhere, so that none wait
    // for each other.
    let mut revisions: BTreeMap<&str, i64> = BTreeMap::new();
    for one in &recording.measurements {
        if let Some(revision) = &one.revision {
            revisions.insert(&revision.commit, 0);
        }
    }
    for (hash, id) in &mut revisions {
        let revision = (recording.measurements.iter())
            .filter_map(|one| one.revision.as_ref())
            .find(|one| one.commit == **hash);
        if let Some(revision) = revision {
            *id = revision_id(engine, &recording.project, revision)?;
        }
    }
    let mut ordered: Vec<(usize, SeriesKey<'_>)> = (recording.measurements.iter().enumerate())
        .map(|(index, one)| (index, series_key(one)))
        .collect();
    ordered.sort_by_key(|(_, key)| *key);
    let mut series = vec![0; ordered.len()];
    for (index, _) in ordered {
        series[index] = series_id(engine, recording, &recording.measurements[index])?;
    }
    for (one, series) in recording.measurements.iter().zip(series) {
        let revision = one.revision.as_ref();
        engine.query(
            "INSERT INTO genba_measurement \
             (series, recording, revision, branch, dirty, role, build, sample) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            &[
                series.into(),
                id.into(),
                revision.map(|one| revisions[one.commit.as_str()]).into(),
                revision.map_or("", |one| one.branch.as_str()).into(),
                i64::from(revision.is_some_and(|one| one.dirty)).into(),
                one.role.code().into(),
                json(&cut_build(&one.build)).as_str().into(),
                sample_bytes::encode(&one.values).into(),
            ],
        )?;
    }
    Ok(Recorded::New)
}

type SeriesKey<'a> = (&'a str, &'a str, &'a str, &'a str);

fn series_key(one: &Measurement) -> SeriesKey<'_> {
    (&one.benchmark, &one.variant, &one.metric, &one.unit)
}

fn revision_id(engine: &mut dyn Engine, project: &str, revision: &Revision) -> Result<i64> {
    let keys: [Value; 2] = [project.into(), (&revision.commit).into()];
    let select = "SELECT id, position FROM genba_revision WHERE project = ?1 AND hash = ?2";
    let found = engine.query(select, &keys)?;
    if let Some(id) = found.first().and_then(|row| row.integer(0)) {
        // A shallow clone did not know the position; a full one does.
        if found[0].integer(1).is_none() && revision.position.is_some() {
            engine.query(
                "UPDATE genba_revision SET position = ?2, parent = ?3 WHERE id = ?1",
                &[
                    id.into(),
                    revision.position.into(),
                    revision.parent.as_ref().into(),
                ],
            )?;
        }
        return Ok(id);
    }
    let [project, hash] = keys.clone();
    engine.query(
        "INSERT INTO genba_revision (project, hash, parent, position, committed, subject) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING",
        &[
            project,
            hash,
            revision.parent.as_deref().map(cut).into(),
            revision.position.into(),
            revision.committed.into(),
            cut(&revision.subject).into(),
        ],
    )?;
    let found = engine.query(select, &keys)?;
    Ok(found.first().and_then(|row| row.integer(0)).unwrap_or(0))
}

fn series_id(engine: &mut dyn Engine, recording: &Recording, one: &Measurement) -> Result<i64> {
    let keys: [Value; 6] = [
        (&recording.project).into(),
        (&one.benchmark).into(),
        (&one.variant).into(),
        (&one.metric).into(),
        (&one.unit).into(),
        (&recording.host.id).into(),
    ];
    let select = "SELECT id FROM genba_series WHERE project = ?1 AND benchmark = ?2 \
                  AND variant = ?3 AND metric = ?4 AND unit = ?5 AND host = ?6";
    let found = engine.query(select, &keys)?;
    if let Some(id) = found.first().and_then(|row| row.integer(0)) {
        return Ok(id);
    }
    let direction = match one.direction {
        Direction::LessIsBetter => 0,
        Direction::MoreIsBetter => 1,
    };
    let mut parameters = keys.to_vec();
    parameters.push(Value::Integer(direction));
    engine.query(
        "INSERT INTO genba_series (project, benchmark, variant, metric, unit, host, direction) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING",
        &parameters,
    )?;
    let found = engine.query(select, &keys)?;
    Ok(found.first().and_then(|row| row.integer(0)).unwrap_or(0))
}

impl History {
    /// The recording with this key; `None` if there is none.
    ///
    /// # Errors
    /// The database fails or is damaged.
    pub fn recording(&mut self, key: &str) -> Result<Option<Recording>> {
        let rows = self.engine.query(
            "SELECT r.id, r.project, r.started, r.tool, r.host, r.environment \
             FROM genba_recording r WHERE r.key = ?1",
            &[key.into()],
        )?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let text = |column| row.text(column).unwrap_or_default();
        let measurements = self.engine.query(
            "SELECT s.benchmark, s.variant, s.metric, s.unit, s.direction, m.role, m.branch, \
             m.dirty, m.build, m.sample, v.hash, v.parent, v.position, v.committed, v.subject \
             FROM genba_measurement m JOIN genba_series s ON s.id = m.series \
             LEFT JOIN genba_revision v ON v.id = m.revision \
             WHERE m.recording = ?1 ORDER BY m.id",
            &[row.integer(0).into()],
        )?;
        let measurements = (measurements.iter().map(measurement))
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| self.corrupt(&format!("recording {key:?} cannot be read")))?;
        Ok(Some(Recording {
            key: key.to_owned(),
            project: text(1),
            started: text(2),
            tool: text(3),
            host: self.host(&text(4))?,
            environment: serde_json::from_str(&text(5))
                .map_err(|_| self.corrupt("an environment is not JSON"))?,
            measurements,
        }))
    }
}

fn measurement(row: &Row) -> Option<Measurement> {
    Some(Measurement {
        benchmark: row.text(0)?,
        variant: row.text(1)?,
        metric: row.text(2)?,
        unit: row.text(3)?,
        direction: direction(row.integer(4)?),
        role: role(row.integer(5)?),
        revision: revision(row, 10, row.text(6)?, row.integer(7)? != 0),
        build: build(&row.text(8)?),
        values: sample_bytes::decode(row.bytes(9)?)?,
    })
}

/// The direction with this code.
pub(crate) fn direction(code: i64) -> Direction {
    match code {
        1 => Direction::MoreIsBetter,
        _ => Direction::LessIsBetter,
    }
}

fn role(code: i64) -> Role {
    match code {
        1 => Role::Anchor,
        _ => Role::Measured,
    }
}

/// The build of a stored text; empty if it is not one.
pub(crate) fn build(text: &str) -> Build {
    serde_json::from_str(text).unwrap_or_default()
}

/// The revision of five columns (hash, parent, position, committed, subject).
pub(crate) fn revision(row: &Row, first: usize, branch: String, dirty: bool) -> Option<Revision> {
    Some(Revision {
        commit: row.text(first)?,
        parent: row.text(first + 1),
        position: row.integer(first + 2),
        committed: row.integer(first + 3)?,
        subject: row.text(first + 4)?,
        branch,
        dirty,
    })
}

fn json(value: &impl serde::Serialize) -> String {
    // Maps of strings and structures without maps always convert.
    serde_json::to_string(value).unwrap_or_default()
}

fn cut_build(build: &Build) -> Build {
    let cut = |text: &String| cut(text).to_owned();
    Build {
        build_id: build.build_id.as_ref().map(cut),
        recipe: build.recipe.as_ref().map(cut),
        command: cut(&build.command),
    }
}

/// The beginning of a text, at most [`MAX_TEXT_BYTES`].
fn cut(text: &str) -> &str {
    let mut end = text.len().min(MAX_TEXT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
