//! From stored points to a series with levels and change points.

use std::collections::BTreeMap;

use genba_model::{
    ChangeOrigin, Direction, EXACT_INSTRUCTIONS, Estimate, HistoryChange, HistoryComparison,
    HistoryMeasurement, HistorySeries, SeriesSummary,
};
use genba_stats::{LevelChange, LevelPoint, level_changes, level_point, median};

use crate::Point;
use crate::points::AnchorValues;

/// 97.5 % of the normal distribution.
const NORMAL: f64 = 1.96;
/// Standard error of a number of instructions, as a share: what addresses and the environment
/// change of it. With it steps of 0.2 % are found, which is what rustc-perf calls relevant.
const ERROR_OF_COUNT: f64 = 0.000_55;

/// A series with its change points.
#[derive(Clone, Debug, PartialEq)]
pub struct AnalysedSeries {
    /// The series.
    pub series: HistorySeries,
    /// Its change points in order; `series` of them is 0.
    pub changes: Vec<HistoryChange>,
    /// Notes on the series, a sentence each.
    pub notes: Vec<String>,
}

/// Analyses the points of a series, which are in the order of commits.
#[must_use]
pub fn analyse(series: &SeriesSummary, points: &[Point], branch: &str) -> AnalysedSeries {
    let mut notes = Vec::new();
    let is_count = series.metric == EXACT_INSTRUCTIONS;
    let anchor = common_anchor(points);
    if anchor.is_none() && points.iter().any(|one| one.anchor.is_some()) {
        notes.push(format!(
            "{}: not all measurements have the same anchor build; changes of the host and of the code are not distinguished",
            series.benchmark
        ));
    }
    let leveled: Vec<(&Point, LevelPoint)> = (points.iter())
        .filter_map(|point| {
            let anchor = point.anchor.as_ref().filter(|_| anchor.is_some());
            let anchor = anchor.map(|one| one.values.as_slice());
            let mut level = level_point(&point.values, anchor)?;
            if is_count {
                level.error = level.error.max(ERROR_OF_COUNT);
            }
            Some((point, level))
        })
        .collect();
    if leveled.len() < points.len() {
        notes.push(format!(
            "{}: {} of {} measurements have no positive value and are not shown",
            series.benchmark,
            points.len() - leveled.len(),
            points.len()
        ));
    }
    let anchors: Vec<Option<LevelPoint>> = (leveled.iter())
        .map(|(point, _)| level_point(&point.anchor.as_ref()?.values, None))
        .collect();
    let of_anchor: Vec<f64> = anchors.iter().flatten().map(|one| one.log_value).collect();
    // Levels are those on a host on which the anchor takes its usual time.
    let scale = anchor
        .as_ref()
        .map_or(0.0, |_| median(&of_anchor).unwrap_or(0.0));
    let levels: Vec<LevelPoint> = leveled.iter().map(|one| one.1).collect();
    // A count does not drift with its host, nor does the ratio to an anchor.
    let of_code = anchor.is_some() || is_count;
    let found = level_changes(&levels, of_code).unwrap_or_default();
    let context = Context {
        series,
        leveled: &leveled,
    };
    let mut changes: Vec<HistoryChange> = (found.changes.iter())
        .map(|one| {
            let origin = match of_code {
                true => ChangeOrigin::Code,
                false => ChangeOrigin::Undetermined,
            };
            context.change(one, scale, origin)
        })
        .collect();
    if anchor.is_some() && of_anchor.len() == leveled.len() {
        let anchors: Vec<LevelPoint> = anchors.into_iter().flatten().collect();
        let host = level_changes(&anchors, false).unwrap_or_default();
        let host = host.changes.iter();
        changes.extend(host.map(|one| context.change(one, 0.0, ChangeOrigin::Host)));
    }
    let enough = levels.len() >= 2;
    AnalysedSeries {
        series: HistorySeries {
            project: series.project.clone(),
            benchmark: series.benchmark.clone(),
            variant: series.variant.clone(),
            metric: series.metric.clone(),
            unit: series.unit.clone(),
            direction: series.direction,
            host: series.host.clone(),
            branch: branch.to_owned(),
            anchor: anchor.unwrap_or_default(),
            noise: enough.then_some(found.noise),
            visible_step: enough.then_some(found.visible_step),
            measurements: (leveled.iter())
                .map(|(point, level)| measurement(point, level, scale))
                .collect(),
        },
        changes,
        notes,
    }
}

/// A revision that a user names: a branch of the store, what git knows it as, or the beginning of a
/// commit's hash.
#[derive(Clone, Debug)]
pub struct NamedRevision {
    /// As the user wrote it.
    pub name: String,
    /// The commit that git has for it, if there is one.
    pub commit: Option<String>,
}

/// Compares the measurements of two revisions within a series; `None` where one has none.
#[must_use]
pub fn compare_revisions(
    series: &HistorySeries,
    before: &NamedRevision,
    after: &NamedRevision,
) -> Option<HistoryComparison> {
    let of = |revision: &NamedRevision| -> Vec<&HistoryMeasurement> {
        let branch: Vec<&HistoryMeasurement> = (series.measurements.iter())
            .filter(|one| one.branch == revision.name)
            .collect();
        let hash = revision.commit.as_ref().unwrap_or(&revision.name);
        // Of a branch it is the newest commit.
        match branch.last() {
            Some(last) => (branch.iter().copied())
                .filter(|one| one.commit == last.commit)
                .collect(),
            None => (series.measurements.iter())
                .filter(|one| !hash.is_empty() && one.commit.starts_with(hash))
                .collect(),
        }
    };
    let (first, second) = (of(before), of(after));
    let (a, b) = (pooled(&first)?, pooled(&second)?);
    let difference = b.0 - a.0;
    let half = NORMAL * (a.1 + b.1).sqrt();
    Some(HistoryComparison {
        series: 0,
        before: before.name.clone(),
        after: after.name.clone(),
        ratio: estimate(difference, half),
        measurements: (first.len() as u32, second.len() as u32),
    })
}

/// Mean of logarithmic levels, and its variance.
fn pooled(all: &[&HistoryMeasurement]) -> Option<(f64, f64)> {
    let count = all.len() as f64;
    let mean = all.iter().map(|one| one.level.value.ln()).sum::<f64>() / count;
    let error = |one: &HistoryMeasurement| (one.level.high / one.level.value).ln() / NORMAL;
    let variance = all.iter().map(|one| error(one).powi(2)).sum::<f64>() / count.powi(2);
    mean.is_finite().then_some((mean, variance))
}

/// The anchor that all points have, as commit or command.
fn common_anchor(points: &[Point]) -> Option<String> {
    let identity = |anchor: &AnchorValues| match anchor.commit.is_empty() {
        true => anchor.build.command.clone(),
        false => anchor.commit.clone(),
    };
    let first = points.first()?.anchor.as_ref().map(identity)?;
    let same = |one: &Point| {
        one.anchor
            .as_ref()
            .is_some_and(|one| identity(one) == first)
    };
    points.iter().all(same).then_some(first)
}

fn estimate(log_value: f64, half: f64) -> Estimate {
    Estimate {
        value: log_value.exp(),
        low: (log_value - half).exp(),
        high: (log_value + half).exp(),
    }
}

fn measurement(point: &Point, level: &LevelPoint, scale: f64) -> HistoryMeasurement {
    let revision = point.revision.as_ref();
    let anchor = point.anchor.as_ref();
    HistoryMeasurement {
        commit: revision.map(|one| one.commit.clone()).unwrap_or_default(),
        subject: revision.map(|one| one.subject.clone()).unwrap_or_default(),
        branch: revision.map(|one| one.branch.clone()).unwrap_or_default(),
        dirty: revision.is_some_and(|one| one.dirty),
        started: point.started.clone(),
        level: estimate(level.log_value + scale, NORMAL * level.error),
        anchor: anchor.and_then(|one| Some(level_point(&one.values, None)?.log_value.exp())),
        runs: point.values.iter().flatten().count() as u32,
    }
}

/// What the changes of one series are described with.
struct Context<'a> {
    series: &'a SeriesSummary,
    leveled: &'a [(&'a Point, LevelPoint)],
}

impl Context<'_> {
    fn change(&self, change: &LevelChange, scale: f64, origin: ChangeOrigin) -> HistoryChange {
        let name = |index: usize| {
            let point = self.leveled[index].0;
            let revision = point.revision.as_ref();
            revision.map_or_else(|| point.started.clone(), |one| one.commit.clone())
        };
        let at = self.leveled[change.at].0;
        let level = |one: &Estimate| estimate(one.value + scale, one.high - one.value);
        let grew = change.ratio.value > 1.0;
        let environment = differences(
            &self.leveled[change.last_before].0.environment,
            &self.leveled[change.first_after].0.environment,
        );
        HistoryChange {
            series: 0,
            benchmark: self.series.benchmark.clone(),
            variant: self.series.variant.clone(),
            metric: self.series.metric.clone(),
            unit: self.series.unit.clone(),
            host: self.series.host.clone(),
            commit: name(change.at),
            subject: (at.revision.as_ref())
                .map(|one| one.subject.clone())
                .unwrap_or_default(),
            last_before: name(change.last_before),
            first_after: name(change.first_after),
            before: level(&change.levels.0),
            after: level(&change.levels.1),
            change: change.ratio,
            worse: grew == (self.series.direction == Direction::LessIsBetter),
            probability: change.probability,
            origin,
            environment,
        }
    }
}

/// The variables that differ, as `name: before → after`.
fn differences(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<String> {
    let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
    names.sort();
    names.dedup();
    let none = "(not set)".to_owned();
    (names.into_iter())
        .filter(|name| before.get(*name) != after.get(*name))
        .map(|name| {
            let value = |of: &BTreeMap<String, String>| of.get(name).unwrap_or(&none).clone();
            format!("{name}: {} → {}", value(before), value(after))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Build, Revision};

    fn series() -> SeriesSummary {
        SeriesSummary {
            id: 1,
            project: "p".to_owned(),
            benchmark: "b".to_owned(),
            variant: String::new(),
            metric: "wall".to_owned(),
            unit: "seconds".to_owned(),
            direction: Direction::LessIsBetter,
            host: "h".to_owned(),
            measurements: 0,
        }
    }

    /// Points whose values are a level with some scatter; the host's factor multiplies the anchor too.
    fn points(code: &[f64], host: &[f64], anchored: bool) -> Vec<Point> {
        (code.iter().zip(host).enumerate())
            .map(|(index, (code, host))| {
                let noise = |run: usize| 1.0 + ((index * 7 + run * 13) % 11) as f64 * 1e-3;
                let values = |level: f64, shift: usize| {
                    (0..20)
                        .map(|run| Some(level * host * noise(run + shift)))
                        .collect()
                };
                Point {
                    recording: index as i64,
                    started: format!("{index}"),
                    revision: Some(Revision {
                        commit: format!("c{index}"),
                        branch: "main".to_owned(),
                        ..Revision::default()
                    }),
                    build: Build::default(),
                    environment: [("microcode".to_owned(), format!("{}", *host > 1.0))].into(),
                    values: values(*code, 0),
                    anchor: anchored.then(|| AnchorValues {
                        commit: "c0".to_owned(),
                        build: Build::default(),
                        values: values(1.0, 5),
                    }),
                }
            })
            .collect()
    }

    fn step(count: usize, at: usize, size: f64) -> Vec<f64> {
        (0..count)
            .map(|index| if index < at { 1.0 } else { size })
            .collect()
    }

    /// Series of one number of instructions for each commit.
    fn counts(values: &[f64]) -> AnalysedSeries {
        let mut all = points(values, &vec![1.0; values.len()], false);
        for (one, value) in all.iter_mut().zip(values) {
            one.values = vec![Some(value * 1e8)];
        }
        let series = SeriesSummary {
            metric: EXACT_INSTRUCTIONS.to_owned(),
            ..series()
        };
        analyse(&series, &all, "")
    }

    #[test]
    fn steps_of_counts_are_found_in_their_commit_and_are_of_the_code() {
        let mut values = step(200, 60, 1.01);
        (values[170..].iter_mut()).for_each(|one| *one *= 1.003);
        let found = counts(&values);
        let changes: Vec<_> = (found.changes.iter())
            .map(|one| (one.commit.as_str(), one.last_before.as_str(), one.origin))
            .collect();
        assert_eq!(
            changes,
            [
                ("c60", "c59", ChangeOrigin::Code),
                ("c170", "c169", ChangeOrigin::Code)
            ]
        );
        assert!(found.series.visible_step.unwrap() < 0.0025);
    }

    #[test]
    fn what_addresses_change_of_a_count_is_not_a_change_point() {
        let wobble = |index: usize| 1.0 + ((index * 7) % 5) as f64 * 1e-4;
        let values: Vec<f64> = (0..200).map(wobble).collect();
        assert_eq!(counts(&values).changes, []);
        assert_eq!(counts(&step(200, 100, 1.0002)).changes, []);
    }

    #[test]
    fn a_change_of_the_host_is_not_taken_for_one_of_the_code() {
        let all = analyse(
            &series(),
            &points(&step(60, 20, 1.03), &step(60, 40, 1.2), true),
            "",
        );
        let found: Vec<_> = all
            .changes
            .iter()
            .map(|one| (one.commit.as_str(), one.origin))
            .collect();
        assert_eq!(
            found,
            [("c20", ChangeOrigin::Code), ("c40", ChangeOrigin::Host)]
        );
        let code = &all.changes[0];
        assert!(
            code.worse && code.change.low < 1.03 && code.change.high > 1.03,
            "{code:?}"
        );
        assert_eq!(
            (code.last_before.as_str(), code.first_after.as_str()),
            ("c19", "c20")
        );
        assert_eq!(all.changes[1].environment, ["microcode: false → true"]);
        // Levels are corrected: the host's change is not in them.
        let last = all.series.measurements.last().unwrap();
        assert!((last.level.value / code.after.value - 1.0).abs() < 0.01);
    }

    #[test]
    fn without_an_anchor_the_origin_is_undetermined() {
        let all = analyse(
            &series(),
            &points(&step(60, 20, 1.3), &step(60, 60, 1.0), false),
            "",
        );
        assert_eq!(all.changes.len(), 1);
        assert_eq!(all.changes[0].origin, ChangeOrigin::Undetermined);
    }

    #[test]
    fn revisions_are_compared_by_branch_or_hash() {
        let all = analyse(
            &series(),
            &points(&step(10, 5, 2.0), &step(10, 10, 1.0), true),
            "",
        )
        .series;
        let named = |name: &str, commit: Option<&str>| NamedRevision {
            name: name.to_owned(),
            commit: commit.map(str::to_owned),
        };
        let main = named("main", Some("c0"));
        let two = compare_revisions(&all, &named("c1", None), &main).unwrap();
        assert!((two.ratio.value - 2.0).abs() < 0.02 && two.measurements == (1, 1));
        let tag = compare_revisions(&all, &named("v1", Some("c1")), &main).unwrap();
        assert_eq!((tag.before.as_str(), tag.ratio), ("v1", two.ratio));
        assert_eq!(compare_revisions(&all, &named("none", None), &main), None);
    }
}
