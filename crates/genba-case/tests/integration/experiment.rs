//! Cases of experiments: their journal, taking them up again, export and import.

use genba_case::{ExperimentPlan, Store};
use genba_model::{CaseKind, CaseState, Workload};

fn workload() -> Workload {
    Workload {
        command: vec!["./prog {N}".to_owned()],
        shell: None,
        directory: "/somewhere".to_owned(),
        name: None,
    }
}

fn plan() -> ExperimentPlan {
    ExperimentPlan {
        arguments: ["sweep", "--param", "N=1..8", "--", "./prog", "{N}"]
            .map(str::to_owned)
            .to_vec(),
        directory: "/somewhere".to_owned(),
        seed: u64::MAX,
        genba: "0.1.0".to_owned(),
    }
}

#[test]
fn journal_survives_its_writer_and_is_continued() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::at(root.path());
    let host = crate::fixture::host();
    let case = store.create(&workload(), &host).unwrap();
    let id = case.id().to_owned();
    case.begin_experiment(CaseKind::Sweep, &plan()).unwrap();
    case.add_to_journal(&1.5).unwrap();
    case.add_to_journal(&2.5).unwrap();
    // As a kill −9 would leave it: neither finished nor interrupted.
    drop(case);
    let case = store.find(&id).unwrap();
    assert_eq!(case.state().unwrap(), CaseState::Interrupted);
    assert_eq!(case.kind().unwrap(), CaseKind::Sweep);
    assert_eq!(case.summary().unwrap().runs, 2);
    drop(case);
    let mut case = store.find_to_write(&id).unwrap();
    assert_eq!(case.experiment_plan().unwrap(), Some(plan()));
    assert_eq!(case.journal::<f64>().unwrap(), [1.5, 2.5]);
    case.resume().unwrap();
    case.add_to_journal(&3.5).unwrap();
    assert_eq!(case.state().unwrap(), CaseState::Running);
    case.finish().unwrap();
    let case = store.find(&id).unwrap();
    assert_eq!(case.journal::<f64>().unwrap(), [1.5, 2.5, 3.5]);
    assert_eq!(case.state().unwrap(), CaseState::Complete);
}

#[test]
fn experiment_is_exported_and_imported() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::at(root.path());
    let host = crate::fixture::host();
    let mut case = store.create(&workload(), &host).unwrap();
    case.begin_experiment(CaseKind::Bisection, &plan()).unwrap();
    let body = serde_json::json!({
        "case": null, "genba": "0.1.0", "started": "2026-01-01T00:00:00Z",
        "host": host, "command": "./prog {N}", "culprit": "7",
    });
    case.put_experiment(CaseKind::Bisection, &body).unwrap();
    case.finish().unwrap();
    let text = case.export_json().unwrap();
    assert!(text.contains("\"kind\":\"bisection\""), "{text}");
    let other = tempfile::tempdir().unwrap();
    let there = Store::at(other.path());
    let copy = there.import(text.as_bytes()).unwrap();
    assert_eq!(copy.id(), case.id());
    assert_eq!(copy.kind().unwrap(), CaseKind::Bisection);
    let back: serde_json::Value = copy.experiment(CaseKind::Bisection).unwrap().unwrap();
    assert_eq!(back["culprit"], "7");
    assert_eq!(copy.journal::<f64>().unwrap(), [0.0; 0]);
    // What lacks its head is refused, and leaves nothing.
    let bare = r#"{"schema":"genba/1","kind":"trial","culprit":"7"}"#;
    assert!(there.import(bare.as_bytes()).is_err());
    assert_eq!(there.list().unwrap().len(), 1);
}
