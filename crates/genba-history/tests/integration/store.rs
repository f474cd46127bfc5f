//! The store in SQLite and in PostgreSQL.

use crate::support::{change, host, measurement, recording, revision, sqlite, with_each_store};
use genba_history::{Error, History, Location, PointFilter, Recorded, Role, SeriesFilter};

fn all(history: &mut History) -> Vec<genba_model::SeriesSummary> {
    history.series(&SeriesFilter::default()).unwrap()
}

#[test]
fn a_recording_is_read_back_as_it_was_written() {
    with_each_store("a_recording_is_read_back_as_it_was_written", |location| {
        let mut history = History::open(location).unwrap();
        let mut one = measurement("b", revision("c1", 1), &[1.0, 2.0]);
        one.values.push(None);
        one.build.build_id = Some("abcd".to_owned());
        let mut anchor = measurement("b", revision("c0", 0), &[1.0, 1.0, 1.0]);
        anchor.role = Role::Anchor;
        let mut outside = measurement("other", revision("c1", 1), &[5.0]);
        outside.revision = None;
        let written = recording("k", vec![one, anchor, outside]);
        assert_eq!(history.record(&written).unwrap(), Recorded::New);
        assert_eq!(history.recording("k").unwrap(), Some(written));
        assert_eq!(history.recording("none").unwrap(), None);
        // A second process sees the same.
        let mut second = History::open_existing(location).unwrap();
        assert_eq!(second.keys("").unwrap(), ["k"]);
        assert_eq!(second.host("aaaa").unwrap(), host("aaaa"));
        assert!(second.host("bbbb").is_err());
    });
}

#[test]
fn a_key_is_stored_once() {
    with_each_store("a_key_is_stored_once", |location| {
        let mut history = History::open(location).unwrap();
        let first = recording("k", vec![measurement("b", revision("c", 1), &[1.0])]);
        let second = recording("k", vec![measurement("b", revision("d", 2), &[9.0])]);
        assert_eq!(history.record(&first).unwrap(), Recorded::New);
        assert_eq!(history.record(&second).unwrap(), Recorded::AlreadyThere);
        let series = all(&mut history);
        let points = history
            .points(series[0].id, &PointFilter::default())
            .unwrap();
        assert_eq!(points.len(), 1);
        assert_eq!(points[0].values, [Some(1.0)]);
        assert_eq!(history.keys("k").unwrap(), ["k"]);
        assert!(history.keys("kk").unwrap().is_empty());
    });
}

#[test]
fn series_of_different_hosts_are_different_series() {
    with_each_store(
        "series_of_different_hosts_are_different_series",
        |location| {
            let mut history = History::open(location).unwrap();
            for (key, host_id) in [("1", "aaaa"), ("2", "bbbb"), ("3", "aaaa")] {
                let mut one = recording(key, vec![measurement("b", revision(key, 1), &[1.0])]);
                one.host = host(host_id);
                history.record(&one).unwrap();
            }
            let series = all(&mut history);
            let counts: Vec<_> = series
                .iter()
                .map(|one| (one.host.as_str(), one.measurements))
                .collect();
            assert_eq!(counts, [("aaaa", 2), ("bbbb", 1)]);
        },
    );
}

#[test]
fn points_are_in_the_order_of_commits_with_their_anchors() {
    with_each_store(
        "points_are_in_the_order_of_commits_with_their_anchors",
        |location| {
            let mut history = History::open(location).unwrap();
            for position in [3, 1, 2] {
                let commit = revision(&format!("c{position}"), position);
                let mut anchor = measurement("b", revision("c0", 0), &[0.5 + position as f64]);
                anchor.role = Role::Anchor;
                let mut on_branch = measurement("b", commit.clone(), &[7.0]);
                on_branch.revision.as_mut().unwrap().branch = "topic".to_owned();
                let main = measurement("b", commit, &[position as f64]);
                let key = position.to_string();
                history
                    .record(&recording(&key, vec![main, anchor]))
                    .unwrap();
                history
                    .record(&recording(&format!("{key} topic"), vec![on_branch]))
                    .unwrap();
            }
            let series = all(&mut history);
            assert_eq!((series.len(), series[0].measurements), (1, 6));
            let filter = PointFilter {
                branch: "main".to_owned(),
            };
            let points = history.points(series[0].id, &filter).unwrap();
            let read: Vec<_> = points
                .iter()
                .map(|one| {
                    (
                        one.values[0].unwrap(),
                        one.anchor.as_ref().unwrap().values[0].unwrap(),
                    )
                })
                .collect();
            assert_eq!(read, [(1.0, 1.5), (2.0, 2.5), (3.0, 3.5)]);
            let topic = history
                .points(
                    series[0].id,
                    &PointFilter {
                        branch: "topic".to_owned(),
                    },
                )
                .unwrap();
            assert_eq!(topic.len(), 3);
            assert!(topic.iter().all(|one| one.anchor.is_none()));
        },
    );
}

#[test]
fn build_of_a_change_is_that_of_the_first_measurement_with_it() {
    with_each_store(
        "build_of_a_change_is_that_of_the_first_measurement_with_it",
        |location| {
            let mut history = History::open(location).unwrap();
            for (key, variant, commit) in [("1", "", "c1"), ("2", "", "c2"), ("3", "O2", "c2")] {
                let mut one = measurement("b", revision(commit, 1), &[1.0]);
                one.variant = variant.to_owned();
                one.build.recipe = Some(format!("make {variant}{commit}"));
                history.record(&recording(key, vec![one])).unwrap();
            }
            let mut recipe = |variant: &str, commit: &str, branch: &str| {
                let mut change = change(commit);
                change.variant = variant.to_owned();
                let build = history.build_after(&change, "project", branch).unwrap();
                build.and_then(|one| one.recipe)
            };
            assert_eq!(recipe("", "c2", ""), Some("make c2".to_owned()));
            assert_eq!(recipe("O2", "c2", "main"), Some("make O2c2".to_owned()));
            assert_eq!(recipe("", "c3", ""), None);
            assert_eq!(recipe("", "c2", "topic"), None);
        },
    );
}

#[test]
fn a_full_clone_completes_what_a_shallow_one_recorded() {
    with_each_store(
        "a_full_clone_completes_what_a_shallow_one_recorded",
        |location| {
            let mut history = History::open(location).unwrap();
            let mut shallow = revision("c1", 1);
            shallow.position = None;
            let full = revision("c1", 1);
            for (key, one) in [("1", shallow), ("2", full)] {
                history
                    .record(&recording(key, vec![measurement("b", one, &[1.0])]))
                    .unwrap();
            }
            let series = all(&mut history);
            let points = history
                .points(series[0].id, &PointFilter::default())
                .unwrap();
            assert!(
                points
                    .iter()
                    .all(|one| one.revision.as_ref().unwrap().position == Some(1))
            );
        },
    );
}

#[test]
fn benchmarks_are_selected_by_name_or_by_part_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let mut history = History::open(&sqlite(directory.path())).unwrap();
    for name in ["parse", "parse large", "100%_"] {
        let one = measurement(name, revision("c", 1), &[1.0]);
        history.record(&recording(name, vec![one])).unwrap();
    }
    let mut names = |benchmark: &str| {
        let filter = SeriesFilter {
            benchmark: benchmark.to_owned(),
            ..SeriesFilter::default()
        };
        let series = history.series(&filter).unwrap();
        series
            .into_iter()
            .map(|one| one.benchmark)
            .collect::<Vec<_>>()
    };
    assert_eq!(names("parse"), ["parse"]);
    assert_eq!(names("pars"), ["parse", "parse large"]);
    assert_eq!(names("%"), ["100%_"]);
    assert_eq!(names("' OR 1=1 --"), [""; 0]);
}

#[test]
fn hostile_texts_are_stored_as_they_are() {
    with_each_store("hostile_texts_are_stored_as_they_are", |location| {
        let mut history = History::open(location).unwrap();
        let hostile = "'; DROP TABLE genba_run; -- ?1 $1 \u{1b}[2J <script> \u{10ff80} é";
        let mut commit = revision("c1", 1);
        commit.subject = hostile.to_owned();
        commit.branch = hostile.to_owned();
        let one = recording(hostile, vec![measurement(hostile, commit, &[1.0])]);
        history.record(&one).unwrap();
        assert_eq!(history.recording(hostile).unwrap(), Some(one.clone()));
        // PostgreSQL has no NUL in texts, and long messages are cut.
        let mut long = one;
        long.key = "nul \0 key".to_owned();
        let commit = long.measurements[0].revision.as_mut().unwrap();
        commit.commit = "c2".to_owned();
        commit.subject = "é".repeat(100_000);
        history.record(&long).unwrap();
        let read = history.recording("nul \u{fffd} key").unwrap().unwrap();
        assert_eq!(
            read.measurements[0]
                .revision
                .as_ref()
                .unwrap()
                .subject
                .len(),
            1000
        );
        let mut wrong = long;
        wrong.measurements[0].benchmark = "x".repeat(2000);
        assert!(matches!(history.record(&wrong), Err(Error::Recording(_))));
    });
}

#[test]
fn foreign_and_newer_files_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.sqlite");
    let location = Location::Sqlite(path.clone());
    assert!(matches!(
        History::open_existing(&location),
        Err(Error::Missing(_))
    ));
    assert!(!path.exists());
    std::fs::write(&path, "not a database, but a text that is long enough").unwrap();
    assert!(History::open(&location).is_err());
    std::fs::remove_file(&path).unwrap();
    let foreign = rusqlite::Connection::open(&path).unwrap();
    foreign.execute_batch("CREATE TABLE t (x)").unwrap();
    assert!(matches!(
        History::open(&location),
        Err(Error::Corrupt { .. })
    ));
    foreign.execute_batch("DROP TABLE t").unwrap();
    History::open(&location).unwrap();
    foreign
        .execute_batch("UPDATE genba_schema SET version = '99'")
        .unwrap();
    assert!(matches!(
        History::open(&location),
        Err(Error::Newer { found: 99, .. })
    ));
}

#[test]
fn a_server_that_cannot_be_reached_is_an_error_without_the_password() {
    let url = "postgres://user:secret@127.0.0.1:1/db";
    let error = History::open(&Location::Postgres(url.to_owned()))
        .unwrap_err()
        .to_string();
    assert!(error.contains("127.0.0.1:1"), "{error}");
    assert!(!error.contains("secret"), "{error}");
}
