//! System calls that name a file: of the same file again, and of one file after the other.

use genba_model::{CodePoint, Fact, KernelFact};
use genba_observe::{ArgumentValue, ValueShare};

use crate::candidate::Candidate;
use crate::causes::{excess_syscalls, redundant_computation};
use crate::input::analysis_input::{
    AnalysisInput, FunctionWithCallees, Place, RuntimeUse, UserCall,
};
use crate::input::named_files::{FileCalls, NamedFiles};
use crate::tests::observed_repetition::{observations, share_of};
use crate::tests::synthetic::program;

const CALLS: u64 = 1_000_000;

fn service(name: &str, line: u32, through: &[&str]) -> RuntimeUse {
    let user = UserCall {
        function: "visit".to_owned(),
        module: "/bin/prog".to_owned(),
        address: 0x1000 + u64::from(line),
        place: Place {
            line: Some(line),
            ..Place::default()
        },
        through: through.iter().map(|name| (*name).to_owned()).collect(),
        calls: CALLS as f64,
        executions: CALLS,
        ..UserCall::default()
    };
    RuntimeUse {
        service: name.to_owned(),
        system_call: true,
        calls: CALLS,
        users: vec![user],
        ..RuntimeUse::default()
    }
}

/// A program of these system calls; `same` is the argument of each call that is observed to stay.
fn input(services: Vec<RuntimeUse>, same: Option<u8>) -> AnalysisInput {
    let mut input = program(Vec::new());
    input.program.cpu_seconds = 1.0;
    input.program.kernel_share = 0.6;
    input.program.host_seconds = vec![("system call".to_owned(), 50e-9)];
    let mut observed = observations();
    observed.modules[0] = "/bin/prog".to_owned();
    for service in &services {
        let at = CodePoint {
            module: 0,
            address: service.users[0].address,
        };
        observed
            .argument_values
            .extend(same.map(|argument| ArgumentValue {
                at,
                target: at,
                argument,
                value: ValueShare {
                    value: 0x7000,
                    share: share_of(1.0),
                },
                calls: 100,
                bursts: 20,
            }));
    }
    input.program.runtime = services;
    input.observed = Some(observed);
    input
}

fn line(input: &AnalysisInput) -> Option<u32> {
    let found = excess_syscalls::detect(input);
    found.first()?.at.as_ref()?.line
}

#[test]
fn calls_about_one_file_after_the_other_are_not_to_be_spared() {
    let stats = |same| line(&input(vec![service("fstatat", 5, &[])], same));
    assert_eq!(stats(None), None);
    assert_eq!(stats(Some(1)), Some(5), "the same name each time");
    // The directory is the same, not the name.
    assert_eq!(stats(Some(0)), None);
    let opened = |same| line(&input(vec![service("openat64", 5, &["fopen"])], same));
    assert_eq!((opened(None), opened(Some(0))), (None, Some(5)));
}

#[test]
fn arguments_of_libraries_that_take_names_as_objects_are_not_names() {
    let asked = |through: &str| line(&input(vec![service("statx", 5, &[through])], Some(0)));
    assert_eq!(asked("std::fs::DirEntry::metadata"), None);
    assert_eq!(asked("std::filesystem::status"), None);
    assert_eq!(asked("realpath"), Some(5));
}

#[test]
fn files_that_were_tallied_as_different_are_not_to_be_spared() {
    // The name is always at the same address, and always another one.
    let mut tallied = input(vec![service("stat", 5, &[])], Some(0));
    assert_eq!(line(&tallied), Some(5));
    let asked = |different| NamedFiles {
        asked: FileCalls {
            calls: CALLS,
            different,
            most: None,
        },
        ..NamedFiles::default()
    };
    tallied.program.follow_up.files = Some(asked(CALLS));
    assert_eq!(line(&tallied), None);
    tallied.program.follow_up.files = Some(asked(4));
    assert_eq!(line(&tallied), Some(5));
}

#[test]
fn calls_for_each_opened_file_go_with_its_opening() {
    let visit = |first, same| {
        line(&input(
            vec![service(first, 5, &[]), service("fstat", 6, &[])],
            same,
        ))
    };
    assert_eq!(visit("openat", None), None);
    assert!(visit("openat", Some(1)).is_some());
    // What find does with each directory that it has opened.
    assert_eq!(
        line(&input(
            vec![service("openat", 5, &[]), service("fcntl", 6, &[])],
            None
        )),
        None
    );
    assert_eq!(line(&input(vec![service("fcntl", 6, &[])], None)), Some(6));
    // Small files read whole need no larger buffer; many reads of each do.
    let reads = |of_each: u64| {
        let mut opening = service("openat", 5, &[]);
        opening.calls = CALLS / of_each;
        opening.users[0].calls = opening.calls as f64;
        opening.users[0].executions = opening.calls;
        line(&input(vec![opening, service("read", 6, &[])], None))
    };
    assert_eq!((reads(1), reads(2), reads(40)), (None, None, Some(6)));
    // Of a file that stays open.
    assert_eq!(visit("lseek", None), Some(5));
    assert_eq!(line(&input(vec![service("fstat", 6, &[])], None)), Some(6));
}

#[test]
fn calls_of_which_few_were_seen_are_not_of_one_name() {
    let mut few = input(vec![service("stat", 5, &[])], Some(0));
    let observed = few.observed.as_mut().expect("observations");
    observed.argument_values[0].value.share.low = 0.21;
    assert_eq!(line(&few), None);
}

#[test]
fn calls_whose_names_nobody_observed_are_reported() {
    let mut unseen = input(vec![service("fstatat", 5, &[])], None);
    unseen.observed = None;
    assert_eq!(line(&unseen), Some(5));
}

/// A program whose `visit` opens files as often, and has half of the time below `load`, of whose calls there are so many;
/// `different` files of these calls.
fn opening(calls_of_load: u64, different: u64, leads: bool) -> AnalysisInput {
    let mut input = input(vec![service("open", 5, &["fopen"])], None);
    let (function, module) = ("load".to_owned(), "/bin/prog".to_owned());
    let caller = UserCall {
        function: "main".to_owned(),
        place: Place {
            line: Some(9),
            ..Place::default()
        },
        ..UserCall::default()
    };
    let below = [("visit".to_owned(), module.clone())];
    input.program.with_callees = vec![FunctionWithCallees {
        function,
        module,
        share: 0.9,
        calls: calls_of_load,
        callers: vec![caller],
        names_files_in: below.into_iter().filter(|_| leads).collect(),
        ..FunctionWithCallees::default()
    }];
    input.program.follow_up.files = Some(NamedFiles {
        opened: FileCalls {
            calls: CALLS,
            different,
            most: None,
        },
        ..NamedFiles::default()
    });
    input
}

fn again(input: &AnalysisInput) -> Option<Candidate> {
    let found = redundant_computation::detect(input);
    found.into_iter().next()
}

#[test]
fn files_that_stay_are_to_be_read_once_each() {
    let line = |one: &Candidate| one.at.as_ref().and_then(|site| site.line);
    let found = again(&opening(CALLS, 2, true)).expect("one file again and again");
    assert_eq!(line(&found), Some(9), "the call of what is done for each");
    assert!(found.residual_fraction.low < 0.11 && found.residual_fraction.value < 0.3);
    let same_files = |fact: &Fact| {
        matches!(
            fact,
            Fact::Kernel(KernelFact::SameFiles { different: 2, .. })
        )
    };
    assert!(found.facts.iter().any(same_files));
    assert!(
        again(&opening(CALLS, CALLS / 2, true)).is_none(),
        "each file twice"
    );
    assert!(
        again(&opening(CALLS, CALLS, true)).is_none(),
        "each file once"
    );
    // A call that leads to two of the services is one.
    let mut twice = opening(CALLS, 2, true);
    twice.program.runtime.push(service("openat", 5, &["fopen"]));
    assert!(again(&twice).is_some());
    // The C library asks by itself, which no tally sees.
    let mut untallied = opening(CALLS, 2, true);
    untallied.program.follow_up.files = Some(NamedFiles::default());
    assert!(again(&untallied).is_none());
    // What is called as often, but opens no file, is not done for the file; nor is what opens many in a call.
    for other in [opening(CALLS, 2, false), opening(CALLS / 50, 2, true)] {
        let found = again(&other).expect("the system calls");
        assert_eq!(line(&found), Some(5));
        assert!(
            found.residual_fraction.low > 0.39,
            "{:?}",
            found.residual_fraction
        );
    }
}

#[test]
fn named_files_are_looked_at_where_they_take_time() {
    let mut unknown = opening(CALLS, 2, true);
    unknown.program.follow_up.files = None;
    assert!(again(&unknown).is_none());
    assert!(redundant_computation::files_may_come_again(&unknown));
    let mut few = input(vec![service("open", 5, &["fopen"])], None);
    few.program.runtime[0].users[0].calls = 50.0;
    assert!(!redundant_computation::files_may_come_again(&few));
    few.program.runtime.clear();
    assert!(!redundant_computation::files_may_come_again(&few));
}
