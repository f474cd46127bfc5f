//! Cases about variants: kill −9, listing, export and import.

use crate::fixture::{HELPER, helper, host, run, store, workload};
use genba_case::{Store, VariantRun};
use genba_model::*;

fn variant_run(index: u32) -> VariantRun {
    VariantRun {
        variant: ["before", "after \x1b["][index as usize % 2].to_owned(),
        block: index / 2,
        own: [("req/s".to_owned(), 0.1 + f64::from(index))].into(),
        run: run(f64::from(index) + 0.3),
    }
}

fn report() -> ComparisonReport {
    let wall = VariantMetric {
        median: Estimate::exact(0.1),
        midmean: None,
        mean: 0.1,
        stddev: Some(0.0),
        min: 0.1,
        max: 0.1,
        unit: "seconds".to_owned(),
        direction: Direction::LessIsBetter,
        values: vec![Some(0.1), None, Some(0.1)],
    };
    let variant = |name: &str| Variant {
        name: name.to_owned(),
        command: format!("./{name} 'x'"),
        parameters: [("n".to_owned(), "3".to_owned())].into(),
        runs: 3,
        exit_codes: vec![Some(0), None, Some(1)],
        metrics: [("wall".to_owned(), wall.clone())].into(),
        excluded: Some("prints something else".to_owned()),
    };
    ComparisonReport {
        case: None,
        genba: "0.3.0".to_owned(),
        started: "2026-11-21T20:15:00Z".to_owned(),
        host: host(),
        hazards: vec![],
        metric: "wall".to_owned(),
        seed: u64::MAX,
        blocks: 3,
        elapsed_seconds: 1.5,
        budget_seconds: None,
        variants: vec![variant("before"), variant("after")],
        comparisons: vec![],
        iterations: vec![],
        ranks: vec![vec!["before".to_owned(), "after".to_owned()]],
        notes: vec!["a note".to_owned()],
    }
}

/// Not a test by itself: the process that is killed in the test below.
#[test]
fn helper_that_adds_variant_runs_until_killed() {
    let Some(root) = std::env::var_os(HELPER) else {
        return;
    };
    let store = Store::at(root);
    let case = store.create_comparison(&workload(), &host()).unwrap();
    for index in 0_u32.. {
        case.add_variant_run(&variant_run(index)).unwrap();
        println!("run {index}");
    }
}

#[test]
fn sigkill_loses_at_most_the_run_in_progress() {
    let (_keep, store) = store();
    let (mut child, lines) = helper(
        "comparison::helper_that_adds_variant_runs_until_killed",
        &store,
    );
    let mut told = 0;
    for line in lines.map_while(Result::ok) {
        if let Some(number) = line.strip_prefix("run ") {
            told = number.parse::<u32>().unwrap() + 1;
        }
        if told == 100 {
            let _ = child.kill();
        }
    }
    child.wait().unwrap();
    let case = store.find("latest").unwrap();
    let runs = case.variant_runs().unwrap();
    let kept = u32::try_from(runs.len()).unwrap();
    assert!(kept == told || kept == told + 1, "{kept} kept, {told} told");
    let expected: Vec<VariantRun> = (0..kept).map(variant_run).collect();
    assert_eq!(runs, expected);
    assert_eq!(case.comparison().unwrap(), None);
    let listed = &store.list().unwrap()[0];
    assert_eq!(listed.state, CaseState::Interrupted);
    assert_eq!(listed.kind, CaseKind::Comparison);
    assert_eq!(listed.runs, u64::from(kept));
    assert_eq!(listed.wall_seconds, None);
}

#[test]
fn comparison_is_exported_and_imported() {
    let (_keep, store) = store();
    let mut case = store.create_comparison(&workload(), &host()).unwrap();
    for index in 0..6 {
        case.add_variant_run(&variant_run(index)).unwrap();
    }
    case.put_comparison(&report()).unwrap();
    case.finish().unwrap();
    let text = case.export_json().unwrap();
    assert!(text.contains("\"kind\":\"comparison\"") && text.contains("\"schema\":\"genba/1\""));

    let (_keep_other, other) = self::store();
    let copy = other.import(text.as_bytes()).unwrap();
    assert_eq!(copy.id(), case.id());
    assert_eq!(copy.kind().unwrap(), CaseKind::Comparison);
    assert_eq!(copy.comparison().unwrap(), case.comparison().unwrap());
    assert_eq!(copy.export_json().unwrap(), text);
    let listed = &other.list().unwrap()[0];
    assert_eq!((listed.kind, listed.runs), (CaseKind::Comparison, 6));
    assert_eq!(listed.command, ["./before 'x'"]);

    // Its identifier is taken there: another one, and the report says which.
    let second = other.import(text.as_bytes()).unwrap();
    assert_ne!(second.id(), copy.id());
    let named = second.comparison().unwrap().unwrap().case;
    assert_eq!(named.as_deref(), Some(second.id()));
}

#[test]
fn investigation_has_no_comparison() {
    let (_keep, store) = store();
    let case = store.create(&workload(), &host()).unwrap();
    assert_eq!(case.kind().unwrap(), CaseKind::Investigation);
    assert_eq!(case.comparison().unwrap(), None);
    assert!(case.export_json().unwrap().contains("\"investigation\""));
}

#[test]
fn nan_in_a_comparison_is_refused() {
    let (_keep, store) = store();
    let case = store.create_comparison(&workload(), &host()).unwrap();
    let mut bad = variant_run(0);
    bad.own.insert("rate".to_owned(), f64::NAN);
    assert!(case.add_variant_run(&bad).is_err());
    let mut bad = report();
    bad.variants[0].metrics.get_mut("wall").unwrap().mean = f64::INFINITY;
    assert!(case.put_comparison(&bad).is_err());
    assert!(case.variant_runs().unwrap().is_empty());
    assert_eq!(case.comparison().unwrap(), None);
}

#[test]
fn damaged_documents_are_refused_and_leave_no_case() {
    let (_keep, store) = store();
    for text in [
        r#"{"schema":"genba/1","kind":"comparison"}"#,
        r#"{"schema":"genba/1","kind":"comparison","variants":3}"#,
        r#"{"schema":"genba/1","kind":"sweep"}"#,
    ] {
        assert!(store.import(text.as_bytes()).is_err(), "{text}");
    }
    assert!(store.list().unwrap().is_empty());
}
