//! Places with most time: division of functions, time in libraries, callers, findings.

use genba_model::{Diagnosis, TimePlace, TimePlaceKind};
use iced_x86::code_asm::{dword_ptr, eax, ecx, rdi, rsi};

use super::synthetic::{call, function, looped, program};
use crate::findings::Limits;
use crate::input::analysis_input::{
    AnalysisInput, FunctionInput, FunctionWithCallees, KernelWork, LibraryTime, Place, RuntimeUse,
    UserCall,
};
use crate::{explain, time_places};

const SAMPLES: u64 = 10_000;

fn places(input: &AnalysisInput) -> Vec<TimePlace> {
    time_places(input, SAMPLES, &[])
}

/// A user's call at a line of `main`.
fn user(line: u32, calls: f64) -> UserCall {
    UserCall {
        function: "main".to_owned(),
        module: "/bin/prog".to_owned(),
        address: 0x2000 + u64::from(line),
        place: Place {
            function: Some("main".to_owned()),
            file: Some("/src/main.c".to_owned()),
            line: Some(line),
            inlined: false,
            within: None,
        },
        through: Vec::new(),
        through_library: false,
        calls,
        executions: calls as u64,
        caller_calls: Some(1),
    }
}

fn library(name: &str, share: f64, users: Vec<UserCall>) -> LibraryTime {
    LibraryTime {
        function: name.to_owned(),
        module: "/lib/libc.so.6".to_owned(),
        share,
        calls: Some(users.iter().map(|user| user.calls as u64).sum()),
        users,
    }
}

/// A scan: 10 cycles per iteration, all the time.
fn scan() -> FunctionInput {
    looped(10.0, 0, &[0.6, 0.2, 0.1, 0.1], |a| {
        a.mov(eax, dword_ptr(rdi))?;
        a.add(rdi, 4)?;
        a.cmp(rdi, rsi)
    })
}

/// Two loops, one inside the other, with these shares of the time.
fn nested(inner: f64, outer: f64) -> FunctionInput {
    function(
        "work",
        |a| {
            let (mut head, mut body) = (a.create_label(), a.create_label());
            a.set_label(&mut head)?;
            a.xor(eax, eax)?;
            a.set_label(&mut body)?;
            a.add(eax, 1)?;
            a.cmp(eax, ecx)?;
            a.jne(body)?;
            a.cmp(rdi, rsi)?;
            a.jne(head)?;
            a.ret()
        },
        &[1_000, 100_000, 100_000, 100_000, 1_000, 1_000, 1],
        &[0.0, inner, 0.0, 0.0, outer, 0.0, 0.0],
        &[(3, 99_000), (5, 999)],
    )
}

#[test]
fn hot_loop_is_a_place_with_executions_cost_bound_and_callers() {
    let mut function = scan();
    function.calls = Some(100);
    function.user_callers = vec![user(7, 75.0), user(9, 25.0)];
    let mut input = program(vec![function]);
    input.program.input_bytes = Some(1_000_000);
    input.program.clock_hz = Some(1e9);
    let [place] = &places(&input)[..] else {
        panic!("one place");
    };
    assert_eq!(place.kind, TimePlaceKind::Loop);
    assert_eq!(place.executions, Some(100_000_000));
    assert_eq!(place.entries, Some(100));
    let cycles = place.cost_cycles.expect("cycles");
    assert!((cycles.value - 10.0).abs() < 0.1, "{cycles:?}");
    let seconds = place.cost_seconds.expect("seconds");
    assert!((seconds.value - 10e-9).abs() < 1e-10);
    assert!(place.bound_cycles.is_some_and(|bound| bound.value < 5.0));
    assert_eq!(place.executions_per_input_byte, Some(100.0));
    let lines: Vec<_> = place.callers.iter().map(|one| one.site.line).collect();
    assert_eq!(lines, [Some(7), Some(9)]);
    assert!((place.callers[0].share - 0.75).abs() < 1e-9);
}

#[test]
fn inner_loop_with_most_of_the_time_is_its_own_place() {
    let found = places(&program(vec![nested(0.6, 0.3)]));
    let executions: Vec<_> = found.iter().map(|place| place.executions).collect();
    assert_eq!(executions, [Some(100_000), Some(1_000)]);
    assert!(found[1].bound_cycles.is_none(), "the model has both loops");
}

#[test]
fn inner_loop_with_little_time_belongs_to_the_loop_around_it() {
    let [place] = &places(&program(vec![nested(0.1, 0.7)]))[..] else {
        panic!("one place");
    };
    assert_eq!(place.executions, Some(1_000));
    assert!((place.share.value - 0.8).abs() < 1e-3);
}

#[test]
fn time_in_libraries_belongs_to_the_lines_that_call_them() {
    let mut input = AnalysisInput::default();
    input.program.library_time = vec![
        library("_int_malloc", 0.3, vec![user(7, 900.0), user(9, 100.0)]),
        library("_int_free", 0.2, vec![user(7, 500.0), user(9, 500.0)]),
        library("unknown", 0.05, Vec::new()),
    ];
    let found = places(&input);
    let shares: Vec<_> = found
        .iter()
        .map(|place| (place.site.line, (place.share.value * 100.0).round()))
        .collect();
    assert_eq!(shares, [(Some(7), 37.0), (Some(9), 13.0), (None, 5.0)]);
    assert_eq!(found[0].kind, TimePlaceKind::LibraryCall);
    assert_eq!(found[0].executions, Some(900));
    let inside: Vec<_> = found[0].spent_in.iter().map(|one| &*one.function).collect();
    assert_eq!(inside, ["_int_malloc", "_int_free"]);
    assert_eq!(found[2].kind, TimePlaceKind::Library);
}

#[test]
fn time_of_copies_is_not_divided_by_their_number() {
    let mut input = AnalysisInput::default();
    let users = vec![user(7, 900.0), user(9, 100.0)];
    input.program.library_time = vec![library("memcpy", 0.3, users)];
    let [place] = &places(&input)[..] else {
        panic!("one place");
    };
    assert_eq!(place.kind, TimePlaceKind::Library);
    assert_eq!(place.callers[0].site.line, Some(7));
    input.program.library_time = vec![library("memcpy", 0.3, vec![user(7, 900.0)])];
    assert_eq!(places(&input)[0].kind, TimePlaceKind::LibraryCall);
}

#[test]
fn code_of_libraries_is_not_a_place_of_its_own() {
    let mut function = scan();
    function.own = false;
    assert!(places(&program(vec![function])).is_empty());
    let mut function = scan();
    for place in &mut function.places {
        place.file = Some("/usr/include/c++/12/bits/stl_vector.h".to_owned());
    }
    assert!(places(&program(vec![function])).is_empty());
}

#[test]
fn kernel_names_the_lines_with_most_system_calls() {
    let mut input = AnalysisInput::default();
    input.program.kernel_share = 0.5;
    input.program.kernel = vec![KernelWork {
        reason: "system call",
        share: 0.5,
    }];
    let calls = |service: &str, users: Vec<UserCall>| RuntimeUse {
        service: service.to_owned(),
        system_call: true,
        calls: users.iter().map(|user| user.calls as u64).sum(),
        users,
        ..RuntimeUse::default()
    };
    input.program.runtime = vec![
        calls("lseek", vec![user(7, 900.0)]),
        calls("read", vec![user(9, 100.0)]),
    ];
    let [place] = &places(&input)[..] else {
        panic!("one place");
    };
    assert_eq!(place.kind, TimePlaceKind::Kernel);
    assert_eq!(place.callers[0].site.line, Some(7));
    assert_eq!(place.callers[0].through, ["lseek"]);
    assert!((place.callers[0].share - 0.9).abs() < 1e-9);
}

#[test]
fn calls_without_lines_in_one_function_are_one_caller() {
    let unknown = |address: u64, calls: f64, through: &str| UserCall {
        address,
        place: Place::default(),
        through: vec![through.to_owned()],
        ..user(0, calls)
    };
    let mut function = scan();
    function.calls = Some(100);
    let mut users = vec![
        unknown(0x2000, 60.0, "qsort"),
        unknown(0x2010, 30.0, "bsearch"),
    ];
    users.push(UserCall {
        function: "other".to_owned(),
        ..unknown(0x3000, 10.0, "qsort")
    });
    function.user_callers = users;
    let [place] = &places(&program(vec![function]))[..] else {
        panic!("one place");
    };
    let callers: Vec<_> = (place.callers.iter())
        .map(|one| {
            (
                one.site.function.as_str(),
                one.calls,
                one.site.addresses.len(),
            )
        })
        .collect();
    assert_eq!(callers, [("main", 90.0, 2), ("other", 10.0, 1)]);
    assert_eq!(place.callers[0].through, ["qsort", "bsearch"]);
}

#[test]
fn place_refers_to_the_finding_about_it() {
    let mut caller = looped(5.0, 0, &[0.2, 0.2, 0.2], |a| {
        a.call(0x1000u64)?;
        a.cmp(rdi, rsi)
    });
    caller.call_sites = vec![call(0, "tiny", caller.counts[0], 3.0)];
    let input = program(vec![caller]);
    let limits = Limits {
        min_gain: 0.0,
        samples: SAMPLES,
    };
    let mut diagnoses: Vec<Diagnosis> = explain(&input, limits);
    let found = time_places(&input, SAMPLES, &diagnoses);
    let about = diagnoses.iter().position(|one| {
        let mut addresses = one.site.addresses.iter();
        one.predicted_speedup.value > 1.0
            && addresses.any(|address| found[0].site.addresses.contains(address))
    });
    assert_eq!(found[0].finding, about.map(|index| index as u32 + 1));
    diagnoses.clear();
    assert_eq!(time_places(&input, SAMPLES, &diagnoses)[0].finding, None);
}

/// A function with what it calls: calls, share of its own, shares of its callees.
fn with_callees(name: &str, calls: u64, own_share: f64, parts: &[f64]) -> FunctionWithCallees {
    FunctionWithCallees {
        function: name.to_owned(),
        calls,
        own_share,
        share: own_share + parts.iter().sum::<f64>(),
        callees: (parts.iter().enumerate())
            .map(|(index, &share)| (format!("part{index}"), "/bin/prog".to_owned(), share, calls))
            .collect(),
        callers: vec![user(7, calls as f64)],
        ..FunctionWithCallees::default()
    }
}

#[test]
fn spread_time_belongs_to_the_function_below_which_it_divides() {
    let mut input = AnalysisInput::default();
    input.program.with_callees = vec![
        with_callees("main", 1, 0.01, &[0.9]),
        with_callees("step", 500, 0.01, &[0.85]),
        with_callees("once", 1, 0.1, &[0.3, 0.4]),
        with_callees("parse", 500, 0.1, &[0.3, 0.35, 0.01]),
        with_callees("scan", 500, 0.3, &[0.02]),
    ];
    let found = places(&input);
    let [place] = &found[..] else {
        panic!("one place: {found:?}");
    };
    assert_eq!(place.kind, TimePlaceKind::WithCallees);
    assert_eq!(
        (&*place.site.function, place.executions),
        ("parse", Some(500))
    );
    let inside: Vec<_> = place.spent_in.iter().map(|one| &*one.function).collect();
    assert_eq!(inside, ["part1", "part0", "parse"]);
    assert_eq!(place.callers[0].site.line, Some(7));
}

#[test]
fn functions_are_not_shown_with_callees_where_places_have_most_of_the_time() {
    let mut input = program(vec![scan()]);
    input.program.with_callees = vec![with_callees("parse", 500, 0.1, &[0.3, 0.4])];
    let found = places(&input);
    assert!(found.iter().all(|one| one.kind == TimePlaceKind::Loop));
}
