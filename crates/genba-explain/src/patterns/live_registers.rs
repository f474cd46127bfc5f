//! Which registers are read behind the begin of a block before they are written.
//!
//! Backward over the blocks until nothing changes (A. Aho et al., "Compilers", 2nd ed., 2006, section 9.2.5).

use genba_code::{Flow, Locations, STACK_POINTER};

use crate::constants::registers::{ARGUMENTS, FLAGS, RESULTS, XMM0};
use crate::input::analysis_input::FunctionInput;
use crate::input::runtime_services::is_copy_function;
use crate::patterns::search_loops::compares;

/// Registers, flags not among them.
const REGISTERS: Locations = (1 << FLAGS) - 1;

/// Registers of integers and addresses, but for the stack pointer.
const GENERAL: Locations = ((1 << XMM0) - 1) & !(1 << STACK_POINTER);

/// Registers that are live at the begin of each block, as blocks that are executed more often than `rare` read
/// them; of all blocks where nothing was counted or `rare` is `None`. A return reads what `at_return` has.
#[must_use]
pub(crate) fn live_registers(
    function: &FunctionInput,
    rare: Option<u64>,
    at_return: Locations,
) -> Vec<Locations> {
    let blocks = function.flow.blocks();
    let mut live: Vec<Locations> = vec![0; blocks.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for (index, block) in blocks.iter().enumerate().rev() {
            let count = function.counts.get(block.instructions.start as usize);
            if rare.zip(count).is_some_and(|(rare, &count)| count <= rare) {
                continue;
            }
            let last = (block.instructions.end as usize).checked_sub(1);
            let flow = last
                .and_then(|at| function.code.get(at))
                .map(|one| one.flow);
            let leaves = match flow {
                Some(Flow::Return) => at_return,
                _ if block.successors.is_empty() => REGISTERS,
                _ => 0,
            };
            let behind =
                (block.successors.iter()).fold(leaves, |all, &next| all | live[next as usize]);
            let before = (block.instructions.start as usize..block.instructions.end as usize)
                .rev()
                .fold(behind, |live, at| before(function, at, live));
            changed |= before != live[index];
            live[index] = before;
        }
    }
    live
}

/// General registers, beside the stack pointer, whose values are needed at once on the way through some blocks of a function,
/// at most: a compiler gets by with as many where these are all (S. Hack, G. Goos, "Optimal register allocation for SSA-form
/// programs in polynomial time", IPL 98, 2006). What instructions of `left_out` need does not count, nor what other blocks read.
#[must_use]
pub(crate) fn most_live_at_once(
    function: &FunctionInput,
    blocks: &[bool],
    left_out: &[usize],
) -> u32 {
    let all = function.flow.blocks();
    let results = RESULTS.iter().fold(0, |all, one| all | 1 << one);
    let mut live: Vec<Locations> = vec![0; all.len()];
    let (mut most, mut changed) = (0, true);
    while changed {
        changed = false;
        for (index, block) in all.iter().enumerate().rev().filter(|one| blocks[one.0]) {
            let range = block.instructions.start as usize..block.instructions.end as usize;
            let returns = |at: usize| matches!(function.code[at].flow, Flow::Return);
            let end = match range.clone().next_back().is_some_and(returns) {
                true => results,
                false => 0,
            };
            let mut now =
                (block.successors.iter()).fold(end, |all, &next| all | live[next as usize]);
            for at in range.rev().filter(|at| !left_out.contains(at)) {
                let data = &function.data[at];
                now = (now & !data.writes | data.reads()) & GENERAL;
                most = most.max(now.count_ones());
            }
            changed |= now != live[index];
            live[index] = now;
        }
    }
    most
}

/// Integer arguments that a call takes at most: three of those of functions that copy or compare memory.
fn arguments_of(function: &FunctionInput, at: usize) -> usize {
    let site = function.call_sites.iter().find(|site| site.at == at);
    let of_memory = |name: &str| is_copy_function(name) || compares(name);
    let known = site.is_some_and(|site| {
        !site.targets.is_empty() && site.targets.iter().all(|one| of_memory(&one.function))
    });
    match known {
        true => 3,
        false => ARGUMENTS.len(),
    }
}

/// What is live before an instruction, of what is live behind it.
fn before(function: &FunctionInput, at: usize, live: Locations) -> Locations {
    let data = &function.data[at];
    let arguments = match function.code[at].flow {
        Flow::Call(_) | Flow::IndirectCall => {
            let handed = ARGUMENTS.iter().take(arguments_of(function, at));
            handed.fold(0, |all, one| all | 1 << one)
        }
        _ => 0,
    };
    (live & !data.writes | data.reads() | arguments) & REGISTERS
}
