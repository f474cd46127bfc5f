//! What is said of a loop, given the time that it took.

use genba_model::LoopBound;
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
    assert_eq!(cost.bound, LoopBound::Latency, "{}", cost.why);
    assert!(
        cost.why.contains("addsd takes 3 of its 3.1 cycles"),
        "{}",
        cost.why
    );
    let cost = chase().time(4.05, &[]).cost();
    assert_eq!(cost.bound, LoopBound::Latency, "{}", cost.why);
}

#[test]
fn memory_when_the_excess_is_at_loads() {
    let cost = chase().time(90.0, &[0.85, 0.1, 0.05]).cost();
    assert_eq!(cost.bound, LoopBound::Memory, "{}", cost.why);
    assert!(cost.why.contains("95 %"), "{}", cost.why);
}

/// Neither the chain nor any load explains the time: nothing is claimed.
#[test]
fn unexplained_when_nothing_meets_the_measured_cycles() {
    let cost = chase().time(90.0, &[0.2, 0.4, 0.4]).cost();
    assert_eq!(cost.bound, LoopBound::Unexplained, "{}", cost.why);
    let cost = sum_of_doubles().time(7.0, &[]).cost();
    assert_eq!(cost.bound, LoopBound::Unexplained, "{}", cost.why);
    assert!(
        cost.why.contains('7') && cost.why.contains("addsd"),
        "{}",
        cost.why
    );
}

/// Faster than the chain allows: the model is wrong, and says so.
#[test]
fn unexplained_when_the_model_exceeds_the_measured_cycles() {
    let cost = sum_of_doubles().time(1.5, &[]).cost();
    assert_eq!(cost.bound, LoopBound::Unexplained, "{}", cost.why);
    assert!(cost.why.contains("does not hold"), "{}", cost.why);
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
    assert_eq!(cost.bound, LoopBound::Throughput, "{}", cost.why);
    assert!(cost.why.contains("loads"), "{}", cost.why);
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
    assert_eq!(cost.bound, LoopBound::Unexplained, "{}", cost.why);
    assert!(cost.why.contains("samples"), "{}", cost.why);
    // Without time there is the model alone.
    function.cycles_per_sample = None;
    let cost = function.cost();
    assert_eq!((cost.cycles, cost.bound), (None, LoopBound::Unexplained));
    assert!(cost.chain_cycles.is_some());
}

/// A loop that is left after two iterations is in no steady state.
#[test]
fn no_verdict_for_few_iterations_per_entry() {
    let mut function = sum_of_doubles().iterations(1_000_000, 500_000);
    function = function.time(3.1, &[]);
    let cost = function.cost();
    assert_eq!(cost.bound, LoopBound::Unexplained, "{}", cost.why);
    assert!(cost.why.contains("2 iterations"), "{}", cost.why);
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
    assert_eq!(cost.bound, LoopBound::FrontEnd, "{}", cost.why);
    assert!(cost.why.contains("taken 50 %"), "{}", cost.why);
    // The same time at a branch that goes one way: no such claim.
    let cost = undecided(0.01)
        .time(9.0, &[0.1, 0.7, 0.05, 0.05, 0.05, 0.05])
        .cost();
    assert_eq!(cost.bound, LoopBound::Unexplained, "{}", cost.why);
    // Half of the ways are wrong at most: 40 cycles cannot come from there.
    let cost = undecided(0.5)
        .time(40.0, &[0.1, 0.7, 0.05, 0.05, 0.05, 0.05])
        .cost();
    assert_eq!(cost.bound, LoopBound::Unexplained, "{}", cost.why);
}

/// Samples as they were on Zen 5: the time after a misprediction is spread over the iteration.
#[test]
fn front_end_when_mispredictions_suffice_in_a_short_iteration() {
    let cost = undecided(0.5)
        .time(8.7, &[0.26, 0.12, 0.12, 0.26, 0.12, 0.12])
        .cost();
    assert_eq!(cost.bound, LoopBound::FrontEnd, "{}", cost.why);
    assert!(cost.why.contains("nothing else does"), "{}", cost.why);
    // More than mispredictions can make.
    let cost = undecided(0.5)
        .time(12.0, &[0.26, 0.12, 0.12, 0.26, 0.12, 0.12])
        .cost();
    assert_eq!(cost.bound, LoopBound::Unexplained, "{}", cost.why);
    // A branch that is nearly always taken.
    let cost = undecided(0.9)
        .time(8.7, &[0.26, 0.12, 0.12, 0.26, 0.12, 0.12])
        .cost();
    assert_eq!(cost.bound, LoopBound::Unexplained, "{}", cost.why);
}

/// Both ways have the same chain, so that the ways do not matter.
#[test]
fn paths_with_the_same_chain_have_one_verdict() {
    let cost = undecided(0.5).time(1.05, &[]).cost();
    let chain = cost.chain_cycles.expect("modelled");
    assert!((chain.value - 1.0).abs() < 0.1, "{chain:?}");
}

/// One way multiplies, the other does not, and neither is the rule.
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
    assert_eq!(cost.bound, LoopBound::Unexplained, "{}", cost.why);
    assert!(
        cost.why.contains("different dependency chains"),
        "{}",
        cost.why
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
    assert_eq!(inner.bound, LoopBound::Latency, "{}", inner.why);
    assert_eq!((inner.iterations, inner.entries), (1_000_000, Some(1000)));
    assert_eq!(outer.bound, LoopBound::Latency, "{}", outer.why);
    assert_eq!((outer.iterations, outer.entries), (1000, Some(10)));
    assert!(outer.why.contains("100 %"), "{}", outer.why);
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
        assert_eq!(cost.bound, LoopBound::Unexplained, "{cycles}: {}", cost.why);
    }
}
