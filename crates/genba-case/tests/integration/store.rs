//! The store from outside: kill −9, damaged files, import and export.

use crate::fixture::{HELPER, helper, host, investigation, run, store, workload};
use genba_case::{Error, Phase, Store};
use genba_model::CaseState;

/// Not a test by itself: the process that is killed in the test below.
#[test]
fn helper_that_adds_runs_until_killed() {
    let Some(root) = std::env::var_os(HELPER) else {
        return;
    };
    let case = Store::at(root).create(&workload(), &host()).unwrap();
    println!("case {}", case.id());
    for index in 0_u32.. {
        case.add_run(&run(f64::from(index)), Phase::Measure)
            .unwrap();
        println!("run {index}");
    }
}

#[test]
fn sigkill_loses_at_most_the_run_in_progress() {
    let (_keep, store) = store();
    let (mut child, mut lines) = helper("store::helper_that_adds_runs_until_killed", &store);
    let mut told = 0;
    for line in lines.by_ref().map_while(Result::ok) {
        if let Some(number) = line.strip_prefix("run ") {
            told = number.parse::<u64>().unwrap() + 1;
            if told == 20 {
                let seen = &store.list().unwrap()[0];
                assert_eq!(seen.state, CaseState::Running);
                assert!(seen.runs >= 20);
            }
            if told == 200 {
                child.kill().unwrap();
                break;
            }
        }
    }
    // What it said before the signal reached it counts as well.
    for line in lines.map_while(Result::ok) {
        if let Some(number) = line
            .strip_prefix("run ")
            .and_then(|n| n.parse::<u64>().ok())
        {
            told = number + 1;
        }
    }
    child.wait().unwrap();
    let listed = store.list().unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].state, CaseState::Interrupted);
    assert!(
        listed[0].runs == told || listed[0].runs == told + 1,
        "{} runs kept, {told} were told of",
        listed[0].runs
    );
    let runs = store.find("latest").unwrap().runs(Phase::Measure).unwrap();
    assert_eq!(runs[7], run(7.0));
}

#[test]
fn stored_case_is_read_unchanged() {
    let (_keep, store) = store();
    let all = investigation();
    let mut case = store.create(&all.workload, &all.host).unwrap();
    for one in &all.runs.runs {
        case.add_run(one, Phase::Measure).unwrap();
    }
    case.add_run(&run(99.0), Phase::Warmup).unwrap();
    case.put_investigation(&all).unwrap();
    case.finish().unwrap();
    let id = case.id().to_owned();
    drop(case);
    assert!(!store.root().join(&id).join("case.sqlite-wal").exists());

    let case = store.find(&id[..3]).unwrap();
    assert_eq!(case.state().unwrap(), CaseState::Complete);
    let mut back = case.investigation().unwrap();
    assert_eq!(back.case, id);
    back.case.clone_from(&all.case);
    back.started.clone_from(&all.started);
    back.genba.clone_from(&all.genba);
    assert_eq!(back, all);
}

#[test]
fn export_and_import_preserve_the_case() {
    let (_keep, store) = store();
    let all = investigation();
    let mut case = store.create(&all.workload, &all.host).unwrap();
    for one in &all.runs.runs {
        case.add_run(one, Phase::Measure).unwrap();
    }
    case.put_investigation(&all).unwrap();
    case.finish().unwrap();
    let text = serde_json::to_string(&case.export().unwrap()).unwrap();

    let (_keep_too, elsewhere) = self::store();
    let there = elsewhere.import(text.as_bytes()).unwrap();
    assert_eq!(there.id(), case.id(), "its own identifier where it is free");
    assert_eq!(
        there.investigation().unwrap(),
        case.investigation().unwrap()
    );
    let again = elsewhere.import(text.as_bytes()).unwrap();
    assert_ne!(again.id(), there.id());
    assert_eq!(elsewhere.list().unwrap().len(), 2);
}

#[test]
fn invalid_imports_are_refused_and_leave_no_case() {
    let (_keep, store) = store();
    let mut hostile =
        serde_json::to_value(genba_model::Document::new("investigation", investigation())).unwrap();
    for bad in [
        "",
        "{}",
        "[1,2",
        "\u{0}\u{1}",
        r#"{"schema":"genba/1","kind":"profile"}"#,
        r#"{"schema":"genba/9","kind":"investigation"}"#,
        r#"{"schema":"genba/1","kind":"investigation"}"#,
    ] {
        let error = store.import(bad.as_bytes()).unwrap_err();
        assert!(matches!(error, Error::Import { .. }), "{bad}: {error}");
    }
    let deep = "[".repeat(1_000_000);
    assert!(store.import(deep.as_bytes()).is_err());
    assert!(store.list().unwrap().is_empty());

    hostile["case"] = "../../etc".into();
    let case = store.import(hostile.to_string().as_bytes()).unwrap();
    assert!(case.directory().starts_with(store.root()));
    assert!(case.id().bytes().all(|b| b.is_ascii_hexdigit()));
}

#[test]
fn cases_are_listed_newest_first_however_many_decimals_their_start_has() {
    let (_keep, store) = store();
    let oldest_first = ["1111", "2222", "3333", "4444"];
    // As text, 05.12 is before 05.1.
    for (id, second) in oldest_first.iter().zip(["05.09", "05.1", "05.12", "06"]) {
        let mut all = investigation();
        (*id).clone_into(&mut all.case);
        all.started = format!("2026-11-21T20:00:{second}Z");
        let text = serde_json::to_string(&genba_model::Document::new("investigation", all));
        store.import(text.unwrap().as_bytes()).unwrap();
    }
    let listed: Vec<_> = store.list().unwrap().into_iter().rev().collect();
    let listed: Vec<_> = listed.iter().map(|case| case.id.as_str()).collect();
    assert_eq!(listed, oldest_first);
}

#[test]
fn cases_are_found_by_unique_prefix() {
    let (_keep, store) = store();
    assert!(matches!(store.find("latest"), Err(Error::NotFound { .. })));
    for id in ["abcd", "abce", "1234"] {
        let mut all = investigation();
        id.clone_into(&mut all.case);
        all.started = format!("2026-11-21T20:00:0{}Z", &id[3..4].replace(['d', 'e'], "1"));
        let text = serde_json::to_string(&genba_model::Document::new("investigation", all));
        store.import(text.unwrap().as_bytes()).unwrap();
    }
    assert_eq!(store.find("12").unwrap().id(), "1234");
    assert_eq!(store.find("latest").unwrap().id(), "1234");
    assert_eq!(store.find("abcd").unwrap().id(), "abcd");
    assert!(matches!(store.find("abc"), Err(Error::Ambiguous { .. })));
    for bad in ["", "..", "zz", "../abcd", "ab/"] {
        assert!(
            matches!(store.find(bad), Err(Error::NotFound { .. })),
            "{bad}"
        );
    }
}

#[test]
fn damaged_foreign_and_newer_files_are_listed_as_unreadable() {
    let (_keep, store) = store();
    let all = investigation();
    let mut case = store.create(&all.workload, &all.host).unwrap();
    case.put_investigation(&all).unwrap();
    case.finish().unwrap();
    let good = std::fs::read(case.directory().join("case.sqlite")).unwrap();
    let plant = |id: &str, bytes: &[u8]| {
        let directory = store.root().join(id);
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("case.sqlite"), bytes).unwrap();
    };
    plant("0000", b"");
    plant(
        "0001",
        b"not a database, by no means, although it is long enough",
    );
    plant("0002", &good[..good.len() / 3]);
    let mut newer = good.clone();
    newer[60..64].copy_from_slice(&77_u32.to_be_bytes());
    plant("0003", &newer);
    std::fs::create_dir_all(store.root().join("0004/case.sqlite")).unwrap();

    let listed = store.list().unwrap();
    assert_eq!(listed.len(), 6);
    assert_eq!(
        listed[0].state,
        CaseState::Complete,
        "the good one is first"
    );
    for row in &listed[1..] {
        assert_eq!(row.state, CaseState::Unreadable, "{row:?}");
        assert!(row.error.is_some());
    }
    assert!(matches!(store.find("0001"), Err(Error::Foreign { .. })));
    assert!(matches!(
        store.find("0003"),
        Err(Error::Newer { found: 77, .. })
    ));
}

/// Every byte range of a case overwritten or cut off: an error or an answer, never a panic.
#[test]
fn damage_at_any_offset_does_not_panic() {
    let (_keep, store) = store();
    let all = investigation();
    let mut case = store.create(&all.workload, &all.host).unwrap();
    case.add_run(&run(1.0), Phase::Measure).unwrap();
    case.put_investigation(&all).unwrap();
    case.finish().unwrap();
    let path = case.directory().join("case.sqlite");
    let id = case.id().to_owned();
    drop(case);
    let good = std::fs::read(&path).unwrap();
    let try_it = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let answer = store.find(&id).and_then(|case| {
            case.summary()?;
            case.investigation()
        });
        assert_eq!(store.list().unwrap().len(), 1);
        answer.is_ok()
    };
    assert!(try_it(&good));
    let mut refused = 0;
    for at in (0..good.len()).step_by(509) {
        let mut bad = good.clone();
        for byte in bad.iter_mut().skip(at).take(40) {
            *byte ^= 0xa5;
        }
        refused += u32::from(!try_it(&bad));
        refused += u32::from(!try_it(&good[..at]));
    }
    assert!(refused > 10, "the damage was seen {refused} times only");
}

#[test]
fn file_with_views_instead_of_tables_is_refused() {
    let (_keep, store) = store();
    let case = store.create(&workload(), &host()).unwrap();
    let path = case.directory().join("case.sqlite");
    let id = case.id().to_owned();
    drop(case);
    let database = rusqlite::Connection::open(&path).unwrap();
    database
        .execute_batch("DROP TABLE run; CREATE VIEW run AS SELECT 1 AS seq, 'measure' AS phase")
        .unwrap();
    drop(database);
    assert!(matches!(store.find(&id), Err(Error::Foreign { .. })));
}

#[test]
fn document_of_another_type_is_reported_as_damage() {
    let (_keep, store) = store();
    let case = store.create(&workload(), &host()).unwrap();
    case.put_document("stat", &vec![1, 2, 3]).unwrap();
    assert!(matches!(case.investigation(), Err(Error::Corrupt { .. })));
    case.put_document("answer", &42).unwrap();
    assert_eq!(case.get_document::<u32>("answer").unwrap(), Some(42));
    assert_eq!(case.get_document::<u32>("question").unwrap(), None);
}

#[test]
fn nan_in_a_run_is_refused() {
    let (_keep, store) = store();
    let mut all = investigation();
    let case = store.create(&all.workload, &all.host).unwrap();
    all.noise_floor[0].share = f64::NAN;
    let error = case.put_investigation(&all).unwrap_err();
    assert!(matches!(error, Error::Json { .. }), "{error}");
    let profile = all.profile.as_mut().unwrap();
    profile.kernel_share.low = f64::INFINITY;
    assert!(case.put_profile(profile).is_err());
    assert!(case.investigation().is_ok());
}

/// A case that cannot be written to, nor its directory, opens all the same.
#[test]
fn read_only_copy_is_opened() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_keep, store) = store();
    let all = investigation();
    let mut case = store.create(&all.workload, &all.host).unwrap();
    case.put_investigation(&all).unwrap();
    case.finish().unwrap();
    let directory = case.directory().to_owned();
    drop(case);
    let set = |mode| {
        std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set(0o555);
    let read = store.find("latest").and_then(|case| case.investigation());
    set(0o755);
    assert_eq!(read.unwrap().workload, all.workload);
}

#[test]
fn two_writers_get_different_cases() {
    let (_keep, store) = store();
    let cases: Vec<_> = (0..300)
        .map(|_| store.create(&workload(), &host()).unwrap().id().to_owned())
        .collect();
    let distinct: std::collections::HashSet<_> = cases.iter().collect();
    assert_eq!(distinct.len(), cases.len());
}

#[test]
fn latest_of_a_kind_is_the_newest_of_that_kind_and_other_kinds_are_refused() {
    use genba_model::CaseKind::{Comparison, Investigation};
    let (_keep, store) = store();
    let first = store.create(&workload(), &host()).unwrap().id().to_owned();
    let other = (store.create_comparison(&workload(), &host()).unwrap())
        .id()
        .to_owned();
    assert_eq!(store.id_among("latest", &[Investigation]).unwrap(), first);
    assert_eq!(store.id_among("latest", &[Comparison]).unwrap(), other);
    assert_eq!(store.id_among(&first, &[Investigation]).unwrap(), first);
    let refused = store.id_among(&other, &[Investigation]).unwrap_err();
    assert!(matches!(refused, Error::OtherKind { .. }), "{refused}");
    let none = store
        .id_among("latest", &[genba_model::CaseKind::Sweep])
        .unwrap_err();
    assert!(matches!(none, Error::NoneOfKind { .. }), "{none}");
}

#[test]
fn finding_is_found_by_its_number_from_one_on() {
    let (_keep, store) = store();
    let case = store.create(&workload(), &host()).unwrap();
    for number in [0, 1] {
        let error = case.finding(number).unwrap_err().to_string();
        assert!(error.contains("has no findings"), "{error}");
    }
    let all = investigation();
    let many = all.findings.len() as u32;
    case.put_investigation(&all).unwrap();
    assert!(many > 0, "the fixture has findings");
    assert_eq!(case.finding(1).unwrap(), all.findings[0]);
    assert!(case.finding(0).is_err());
    assert!(case.finding(many + 1).is_err());
}
