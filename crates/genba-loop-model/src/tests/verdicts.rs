//! What is said of a loop, given the time that it took.

use genba_model::{LoopBound, LoopVerdict, ThroughputLimit};
use iced_x86::code_asm::*;

use super::Function;

fn sum_of_doubles() -> Function {
    Function::assemble(|a| {
        let mut again = a.create_label();
        a.set_label(&mut again).unwrap();
        a.addsd(xmm0, qword_ptr(rdi)).unwrap();
        a.add(rdi, 8).unwrap();
        a.cmp(rdi, rsi).unwrap();
        a.jne(again).unwrap();
        a.ret().unwrap();
    })
    .iterations(1_000_000, 1000)
}

fn chase() -> Function {
    Function::assemble(|a| {
        let mut again = a.create_label();
        a.set_label(&mut again).unwrap();
        a.mov(rax, ptr(rax)).unwrap();
        a.test(rax, rax).unwrap();
        a.jne(again).unwrap();
        a.ret().unwrap();
    })
    .iterations(1_000_000, 100)
}

#[test]
fn latency_when_the_chain_meets_the_measured_cycles() {
    let cost = sum_of_doubles().time(3.1, &[]).cost();
    assert_eq!(
        cost.verdict.bound(),
        LoopBound::Latency,
        "{:?}",
        cost.verdict
    );
    let LoopVerdict::Latency {
        chain,
        measured,
        throughput: None,
    } = &cost.verdict
    else {
        panic!("{:?}", cost.verdict);
    };
    assert_eq!(chain.mnemonics, ["addsd"]);
    assert!((chain.cycles.value - 3.0).abs() < 0.01 && (measured.value - 3.1).abs() < 0.01);
    let cost = chase().time(4.05, &[]).cost();
    assert_eq!(
        cost.verdict.bound(),
        LoopBound::Latency,
        "{:?}",
        cost.verdict
    );
}

#[test]
fn memory_when_the_excess_is_at_loads() {
    let cost = chase().time(90.0, &[0.85, 0.1, 0.05]).cost();
    assert_eq!(
        cost.verdict.bound(),
        LoopBound::Memory,
        "{:?}",
        cost.verdict
    );
    assert!(
        matches!(&cost.verdict, LoopVerdict::Memory { share, .. } if (share - 0.95).abs() < 0.001),
        "{:?}",
        cost.verdict
    );
}

/// Neither the chain nor any load explains the time: nothing is claimed.
#[test]
fn unexplained_when_nothing_meets_the_measured_cycles() {
    let cost = chase().time(90.0, &[0.2, 0.4, 0.4]).cost();
    assert_eq!(
        cost.verdict.bound(),
        LoopBound::Unexplained,
        "{:?}",
        cost.verdict
    );
    let cost = sum_of_doubles().time(7.0, &[]).cost();
    assert_eq!(
        cost.verdict.bound(),
        LoopBound::Unexplained,
        "{:?}",
        cost.verdict
    );
    let LoopVerdict::Unexplained {
        measured, model, ..
    } = &cost.verdict
    else {
        panic!("{:?}", cost.verdict);
    };
    assert!((measured.value - 7.0).abs() < 0.01);
    assert_eq!(model.chain.as_ref().expect("modelled").mnemonics, ["addsd"]);
}

/// Faster than the chain allows: the model is wrong, and says so.
#[test]
fn unexplained_when_the_model_exceeds_the_measured_cycles() {
    let cost = sum_of_doubles().time(1.5, &[]).cost();
    assert_eq!(
        cost.verdict.bound(),
        LoopBound::Unexplained,
        "{:?}",
        cost.verdict
    );
    assert!(
        matches!(cost.verdict, LoopVerdict::ChainAboveMeasured { .. }),
        "{:?}",
        cost.verdict
    );
}

#[test]
fn throughput_when_instructions_fill_the_measured_cycles() {
    let function = || {
        Function::assemble(|a| {
            let mut again = a.create_label();
            a.set_label(&mut again).unwrap();
            for (k, sum) in [rax, rcx, rdx, r8, r9, r10, r11, rbx]
                .into_iter()
                .enumerate()
            {
                a.add(sum, ptr(rdi + 8 * k as i32)).unwrap();
            }
            a.add(rdi, 64).unwrap();
            a.cmp(rdi, rsi).unwrap();
            a.jne(again).unwrap();
            a.ret().unwrap();
        })
        .iterations(1_000_000, 1000)
    };
    let cost = function().time(2.8, &[]).cost();
    assert_eq!(
        cost.verdict.bound(),
        LoopBound::Throughput,
        "{:?}",
        cost.verdict
    );
    assert!(
        matches!(
            &cost.verdict,
            LoopVerdict::Throughput { throughput, .. } if throughput.limit == ThroughputLimit::Loads
        ),
        "{:?}",
        cost.verdict
    );
}

/// Too few samples to say anything.
#[test]
fn no_verdict_with_few_samples() {
    let mut function = sum_of_doubles().time(3.1, &[]);
    for samples in &mut function.samples {
        *samples *= 0.001;
    }
    function.cycles_per_sample = function.cycles_per_sample.map(|c| c * 1000.0);
    let cost = function.cost();
    assert_eq!(
        cost.verdict.bound(),
        LoopBound::Unexplained,
        "{:?}",
        cost.verdict
    );
    assert!(
        matches!(cost.verdict, LoopVerdict::FewSamples { .. }),
        "{:?}",
        cost.verdict
    );
    // Without time there is the model alone.
    function.cycles_per_sample = None;
    let cost = function.cost();
    assert_eq!(cost.cycles, None);
    assert!(
        matches!(cost.verdict, LoopVerdict::NotMeasured { .. }),
        "{:?}",
        cost.verdict
    );
    assert!(cost.chain_cycles.is_some());
}

/// A loop that is left after two iterations is in no steady state.
#[test]
fn no_verdict_for_few_iterations_per_entry() {
    let mut function = sum_of_doubles().iterations(1_000_000, 500_000);
    function = function.time(3.1, &[]);
    let cost = function.cost();
    assert_eq!(
        cost.verdict.bound(),
        LoopBound::Unexplained,
        "{:?}",
        cost.verdict
    );
    assert!(
        matches!(cost.verdict, LoopVerdict::FewIterations { trips, .. } if trips == 2.0),
        "{:?}",
        cost.verdict
    );
}

/// `if (a[i] < x) n++` on random data: a jump over an increment.
fn undecided(rate: f64) -> Function {
    let mut function = Function::assemble(|a| {
        let mut again = a.create_label();
        let mut over = a.create_label();
        a.set_label(&mut again).unwrap();
        a.cmp(dword_ptr(rdi), esi).unwrap(); // 0
        a.jge(over).unwrap(); // 1
        a.add(eax, 1).unwrap(); // 2
        a.set_label(&mut over).unwrap();
        a.add(rdi, 4).unwrap(); // 3
        a.cmp(rdi, rdx).unwrap(); // 4
        a.jne(again).unwrap(); // 5
        a.ret().unwrap(); // 6
    })
    .iterations(1_000_000, 100);
    let taken = (1e6 * rate) as u64;
    function.taken[1] = Some(taken);
    function.counts[2] = Some(1_000_000 - taken);
    function
}

#[test]
fn front_end_when_the_excess_is_at_mispredicted_branches() {
    let cost = undecided(0.5)
        .time(9.0, &[0.1, 0.7, 0.05, 0.05, 0.05, 0.05])
        .cost();
    assert_eq!(
        cost.verdict.bound(),
        LoopBound::FrontEnd,
        "{:?}",
        cost.verdict
    );
    assert!(
        matches!(
            &cost.verdict,
            LoopVerdict::Branch { branch, .. } if branch.taken == 0.5
        ),
        "{:?}",
        cost.verdict
    );
    // The same time at a branch with one outcome: no such claim.
    let cost = undecided(0.01)
        .time(9.0, &[0.1, 0.7, 0.05, 0.05, 0.05, 0.05])
        .cost();
    assert_eq!(
        cost.verdict.bound(),
        LoopBound::Unexplained,
        "{:?}",
        cost.verdict
    );
    // Half of the outcomes are mispredicted at most: 40 cycles cannot come from there.
    let cost = undecided(0.5)
        .time(40.0, &[0.1, 0.7, 0.05, 0.05, 0.05, 0.05])
        .cost();
    assert_eq!(
        cost.verdict.bound(),
        LoopBound::Unexplained,
        "{:?}",
        cost.verdict
    );
}

/// Samples as they were on Zen 5: the time after a misprediction is spread over the iteration.
#[test]
fn front_end_when_mispredictions_suffice_in_a_short_iteration() {
    let cost = undecided(0.5)
        .time(8.7, &[0.26, 0.12, 0.12, 0.26, 0.12, 0.12])
        .cost();
    assert_eq!(
        cost.verdict.bound(),
        LoopBound::FrontEnd,
        "{:?}",
        cost.verdict
    );
    assert!(
        matches!(cost.verdict, LoopVerdict::MispredictionsSuffice { .. }),
        "{:?}",
        cost.verdict
    );
    // More than mispredictions can make.
    let cost = undecided(0.5)
        .time(12.0, &[0.26, 0.12, 0.12, 0.26, 0.12, 0.12])
        .cost();
    assert_eq!(
        cost.verdict.bound(),
        LoopBound::Unexplained,
        "{:?}",
        cost.verdict
    );
    // A branch that is nearly always taken.
    let cost = undecided(0.9)
        .time(8.7, &[0.26, 0.12, 0.12, 0.26, 0.12, 0.12])
        .cost();
    assert_eq!(
        cost.verdict.bound(),
        LoopBound::Unexplained,
        "{:?}",
        cost.verdict
    );
}

/// Both paths have the same chain, so that it does not matter which is taken.
#[test]
fn paths_with_the_same_chain_have_one_verdict() {
    let cost = undecided(0.5).time(1.05, &[]).cost();
    let chain = cost.chain_cycles.expect("modelled");
    assert!((chain.value - 1.0).abs() < 0.1, "{chain:?}");
}

/// One path multiplies, the other does not, and neither dominates.
#[test]
fn paths_with_different_chains_widen_the_interval() {
    let mut function = Function::assemble(|a| {
        let mut again = a.create_label();
        let mut over = a.create_label();
        a.set_label(&mut again).unwrap();
        a.cmp(dword_ptr(rdi), esi).unwrap(); // 0
        a.jge(over).unwrap(); // 1
        a.imul_2(rax, rbx).unwrap(); // 2
        a.imul_2(rax, rbx).unwrap(); // 3
        a.set_label(&mut over).unwrap();
        a.add(rdi, 4).unwrap();
        a.cmp(rdi, rdx).unwrap();
        a.jne(again).unwrap(); // 6
        a.ret().unwrap();
    })
    .iterations(1_000_000, 100);
    function.taken[1] = Some(500_000);
    function.counts[2] = Some(500_000);
    function.counts[3] = Some(500_000);
    let function = function.time(5.5, &[]);
    let cost = function.cost();
    let chain = cost.chain_cycles.expect("given as a range");
    assert!(chain.low <= 1.0 && chain.high >= 6.0, "{chain:?}");
    assert_eq!(
        cost.verdict.bound(),
        LoopBound::Unexplained,
        "{:?}",
        cost.verdict
    );
    assert!(
        matches!(
            cost.verdict,
            LoopVerdict::Unexplained {
                paths_differ: true,
                ..
            }
        ),
        "{:?}",
        cost.verdict
    );
}

/// A loop around one that takes the time refers to it.
#[test]
fn outer_loop_takes_the_verdict_of_a_dominant_inner_loop() {
    let mut function = Function::assemble(|a| {
        let mut outer = a.create_label();
        let mut inner = a.create_label();
        a.set_label(&mut outer).unwrap();
        a.mov(rdi, r8).unwrap(); // 0
        a.set_label(&mut inner).unwrap();
        a.addsd(xmm0, qword_ptr(rdi)).unwrap(); // 1
        a.add(rdi, 8).unwrap();
        a.cmp(rdi, rsi).unwrap();
        a.jne(inner).unwrap(); // 4
        a.sub(ecx, 1).unwrap();
        a.jne(outer).unwrap(); // 6
        a.ret().unwrap();
    });
    let iterations = |i: usize| if (1..5).contains(&i) { 1_000_000 } else { 1000 };
    for i in 0..7 {
        function.counts[i] = Some(iterations(i));
    }
    function.counts[7] = Some(10);
    function.taken[4] = Some(999_000);
    function.taken[6] = Some(990);
    for i in 1..5 {
        function.samples[i] = 1000.0;
    }
    function.cycles_per_sample = Some(3.05e6 / 4000.0);
    let costs = function.costs(&super::Table::default());
    let (outer, inner) = (costs[0].as_ref().unwrap(), costs[1].as_ref().unwrap());
    assert_eq!(
        inner.verdict.bound(),
        LoopBound::Latency,
        "{:?}",
        inner.verdict
    );
    assert_eq!((inner.iterations, inner.entries), (1_000_000, Some(1000)));
    assert_eq!(
        outer.verdict.bound(),
        LoopBound::Latency,
        "{:?}",
        outer.verdict
    );
    assert_eq!((outer.iterations, outer.entries), (1000, Some(10)));
    assert!(
        matches!(outer.verdict, LoopVerdict::InnerLoop { share, .. } if share > 0.995),
        "{:?}",
        outer.verdict
    );
    assert_eq!(outer.chain_cycles, None);
}

/// Code that was not executed has no cost; counts without jumps still give entries where the
/// blocks tell.
#[test]
fn loops_without_executions_or_counts_have_no_cost() {
    let mut function = sum_of_doubles();
    function.taken.fill(None);
    let cost = function.cost();
    assert_eq!(cost.entries, Some(1000), "from the block behind the loop");
    let mut function = sum_of_doubles();
    function.counts.fill(Some(0));
    assert_eq!(function.costs(&super::Table::default()), vec![None]);
    function.counts.fill(None);
    assert_eq!(function.costs(&super::Table::default()), vec![None]);
}

/// A table without anything claims nothing.
#[test]
fn an_empty_table_explains_nothing() {
    struct Empty;
    impl super::Costs for Empty {
        fn latency(&self, _: &str) -> Option<genba_model::Estimate> {
            None
        }
        fn throughput(&self, _: &str) -> Option<genba_model::Estimate> {
            None
        }
    }
    for cycles in [1.0, 3.0, 8.0, 20.0] {
        let function = sum_of_doubles().time(cycles, &[]);
        let cost = function.costs(&Empty)[0].clone().unwrap();
        assert_eq!(
            cost.verdict.bound(),
            LoopBound::Unexplained,
            "{cycles}: {:?}",
            cost.verdict
        );
    }
}
