//! Stores and recordings for tests.

use std::path::Path;

use genba_history::{Build, Location, Measurement, Recording, Revision, Role};
use genba_model::{ChangeOrigin, Direction, Estimate, HistoryChange, HostFingerprint};
use genba_testing::PostgresServer;

/// Runs a test's body with an empty store of each kind.
pub fn with_each_store(test: &str, body: impl Fn(&Location)) {
    let directory = tempfile::tempdir().expect("a directory");
    body(&sqlite(directory.path()));
    if let Some(server) = PostgresServer::start(test) {
        body(&Location::Postgres(server.url()));
    }
}

pub fn sqlite(directory: &Path) -> Location {
    Location::parse("", directory).expect("the default")
}

pub fn host(id: &str) -> HostFingerprint {
    HostFingerprint {
        id: id.to_owned(),
        cpu: "CPU".to_owned(),
        microarchitecture: String::new(),
        cpus: 2,
        memory_bytes: 1 << 30,
        kernel: "6.1".to_owned(),
        os: "Linux".to_owned(),
        virtualisation: None,
        hardware_counters: false,
    }
}

pub fn revision(commit: &str, position: i64) -> Revision {
    Revision {
        commit: commit.to_owned(),
        parent: None,
        position: Some(position),
        committed: 1_700_000_000 + position,
        subject: format!("commit {position}"),
        branch: "main".to_owned(),
        dirty: false,
    }
}

pub fn measurement(benchmark: &str, revision: Revision, values: &[f64]) -> Measurement {
    Measurement {
        benchmark: benchmark.to_owned(),
        variant: String::new(),
        metric: "wall".to_owned(),
        unit: "seconds".to_owned(),
        direction: Direction::LessIsBetter,
        role: Role::Measured,
        revision: Some(revision),
        build: Build::default(),
        values: values.iter().copied().map(Some).collect(),
    }
}

/// A change of benchmark `b` that was first measured with a commit.
pub fn change(first_after: &str) -> HistoryChange {
    HistoryChange {
        series: 0,
        benchmark: "b".to_owned(),
        variant: String::new(),
        metric: "wall".to_owned(),
        unit: "seconds".to_owned(),
        host: "aaaa".to_owned(),
        commit: first_after.to_owned(),
        subject: String::new(),
        last_before: String::new(),
        first_after: first_after.to_owned(),
        before: Estimate::exact(1.0),
        after: Estimate::exact(1.0),
        change: Estimate::exact(1.0),
        worse: true,
        probability: 1.0,
        origin: ChangeOrigin::Code,
        environment: Vec::new(),
    }
}

pub fn recording(key: &str, measurements: Vec<Measurement>) -> Recording {
    Recording {
        key: key.to_owned(),
        project: "project".to_owned(),
        started: "2026-01-01T00:00:00Z".to_owned(),
        tool: "genba 0.1.0".to_owned(),
        host: host("aaaa"),
        environment: [("LANG".to_owned(), "C".to_owned())].into(),
        measurements,
    }
}
