//! Who asks for memory behind a wrapper of the allocator that also frees, with synthetic counts and paths.

use genba_model::{CodePoint, Estimate};
use genba_observe::{AllocationPath, ArgumentValue, Observations, ValueShare};

use crate::finding_site::site;
use crate::input::analysis_input::{AnalysisInput, FunctionInput, UserCall};
use crate::patterns::allocation_wrappers::keeper;
use crate::tests::synthetic::{call, function, program};

const CALLS: u64 = 1_000_000;

/// A function of a module of its own that calls this one so often for each call of it.
fn calling(name: &str, callee: &str, made: f64, instructions: u64) -> FunctionInput {
    let times = CALLS * instructions / 2;
    let count = (made * CALLS as f64) as u64;
    let mut one = function(
        name,
        |a| {
            a.call(0x2000u64)?;
            a.ret()
        },
        &[times, times],
        &[0.1, 0.1],
        &[],
    );
    one.module = format!("/bin/{name}");
    one.calls = Some(CALLS);
    one.call_sites = vec![call(0, callee, count, 20.0)];
    one
}

/// `resize` allocates in half of its calls and frees in the others; `make` asks it, `hand_on` hands on what it asks
/// `make` for; `allocated` of the allocations are seen to come from there.
fn input(made: f64, instructions: u64, allocated: u64) -> AnalysisInput {
    let mut wrapper = calling("resize", "realloc", made, instructions);
    wrapper.call_sites.push(call(1, "free", CALLS / 2, 20.0));
    let make = calling("make", "resize", 1.0, 8);
    let asks = calling("read_record", "make", 1.0, 900);
    let sweep = calling("sweep", "resize", 1.0, 900);
    let mut input = program(vec![wrapper, make, asks, sweep]);
    let functions = &input.functions;
    let point = |index: usize| CodePoint {
        module: index as u32,
        address: functions[index].code[0].address,
    };
    let path = |calls: &[usize], allocations| AllocationPath {
        calls: calls.iter().map(|&one| point(one)).collect(),
        through: Vec::new(),
        allocations,
    };
    let observed = Observations {
        modules: functions.iter().map(|one| one.module.clone()).collect(),
        bursts: 40,
        allocation_paths: vec![path(&[0, 1, 2], allocated), path(&[0, 3], 40)],
        ..Observations::default()
    };
    input.observed = Some(observed);
    input
}

fn found(input: &AnalysisInput) -> Option<(String, f64)> {
    let counted = site(&input.functions[0], &[0]);
    let call = UserCall {
        module: "/bin/resize".to_owned(),
        address: input.functions[0].code[0].address,
        ..UserCall::default()
    };
    keeper(input, &counted, &[&call], 1.0).map(|(site, part)| (site.module, part))
}

#[test]
fn line_that_asks_is_behind_all_wrappers() {
    let (module, part) = found(&input(0.5, 12, 360)).expect("it is known");
    assert_eq!(module, "/bin/read_record");
    assert!((part - 0.9).abs() < 1e-9);
}

#[test]
fn function_that_jumps_on_to_the_allocator_has_callers() {
    let mut input = input(0.5, 12, 360);
    // The paths begin behind it.
    let observed = input.observed.as_mut().expect("bursts");
    for path in &mut observed.allocation_paths {
        path.calls.remove(0);
    }
    let counted = site(&input.functions[0], &[0]);
    let jump = |function: &str| UserCall {
        function: function.to_owned(),
        module: input.functions[0].module.clone(),
        address: input.functions[0].code[1].address,
        ..UserCall::default()
    };
    let keeper = |call| keeper(&input, &counted, &[&call], 1.0).map(|(site, _)| site.module);
    let target = &input.functions[1].call_sites[0].targets[0];
    let (name, module) = (target.function.clone(), target.module.clone());
    let at_target = UserCall {
        module,
        ..jump(&name)
    };
    assert_eq!(keeper(at_target).as_deref(), Some("/bin/read_record"));
    assert_eq!(keeper(jump("another")), None);
}

#[test]
fn functions_with_work_of_their_own_and_few_allocations_are_not_wrappers() {
    assert_eq!(found(&input(0.5, 200, 360)), None, "computes");
    assert_eq!(found(&input(0.05, 12, 360)), None, "asks seldom");
    assert_eq!(found(&input(0.5, 12, 20)), None, "seen too seldom");
    let mut others = input(0.5, 12, 360);
    others.functions[0]
        .call_sites
        .push(call(1, "log", CALLS, 20.0));
    assert_eq!(found(&others), None, "calls others");
    let mut unseen = input(0.5, 12, 360);
    unseen.observed = None;
    assert_eq!(found(&unseen), None, "no bursts");
}

#[test]
fn copies_are_kept_by_who_asks_for_them() {
    for (name, makes_copies) in [
        ("<shop::Record as core::clone::Clone>::clone", true),
        ("<shop::Record as shop::Merge>::clone", false),
    ] {
        let mut input = input(0.5, 12, 360);
        let module = input.functions[1].module.clone();
        let copies = calling(name, "resize", 1.0, 900);
        input.functions[1] = FunctionInput { module, ..copies };
        let keeper = found(&input).map(|one| one.0);
        let asks = ["/bin/make", "/bin/read_record"][usize::from(makes_copies)];
        assert_eq!(keeper.as_deref(), Some(asks), "{name}");
    }
}

#[test]
fn objects_of_one_size_for_many_callers_have_a_pool() {
    let mut input = input(0.5, 12, 360);
    let observed = input.observed.as_mut().expect("bursts");
    let at = observed.allocation_paths[0].calls[0];
    observed.argument_values.push(ArgumentValue {
        at,
        target: at,
        argument: 0,
        value: ValueShare {
            value: 24,
            share: Estimate::exact(1.0),
        },
        calls: 400,
        bursts: 40,
    });
    assert!(found(&input).is_some(), "one caller has most");
    let observed = input.observed.as_mut().expect("bursts");
    observed.allocation_paths[0].allocations = 180;
    observed.allocation_paths[1].allocations = 170;
    let many = observed.allocation_paths[0].clone();
    let other = CodePoint {
        module: 1,
        address: many.calls[0].address,
    };
    observed.allocation_paths.push(AllocationPath {
        calls: vec![other],
        through: vec![at],
        allocations: 150,
    });
    let first = |input: &AnalysisInput| found(input).map(|one| one.0);
    assert_eq!(first(&input), None);
    let observed = input.observed.as_mut().expect("bursts");
    observed.argument_values[0].value.share = Estimate::exact(0.6);
    assert_eq!(first(&input).as_deref(), Some("/bin/read_record"), "texts");
}
