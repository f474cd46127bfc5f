//! Loops that search: they compare what they load, and compute nothing else from it.

use genba_code::{BlockId, Flow, MemoryAccess, Opaque, Shortcut};

use crate::constants::counts::RARE_WAY;
use crate::constants::registers::{FLAGS, RESULTS};
use crate::constants::search_limits::{
    MAX_DEPTH_OF_COMPARISON, MAX_INSTRUCTIONS_TO_TEST, MAX_STEPS_TO_RANGE,
};
use crate::input::analysis_input::{AnalysisInput, CallSite, CallTarget, FunctionInput};
use crate::input::runtime_services::is_scan_function;
use crate::input::values::{Origin, Value};
use crate::patterns::calls::index_of;
use crate::patterns::reading_calls::{
    is_outside_of_frame, is_store_outside, stores_outside, takes_apart,
};

/// How a search compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    /// By order: what is found holds for a range of keys.
    Order,
    /// By equality with a key in a register.
    Equality,
    /// By a function that gets the key in memory.
    Call,
}

/// The name of a function of the C library without what says for which processor or locale, or that it is a stub:
/// `strcasecmp` for `__strcasecmp_l_evex`.
pub(crate) fn stem(name: &str) -> &str {
    let bare = name.split('@').next().unwrap_or(name);
    let bare = bare.trim_start_matches('_');
    bare.split('_').next().unwrap_or(bare)
}

/// Whether a function of the C library compares texts or memory, by its name.
#[must_use]
pub fn compares(name: &str) -> bool {
    matches!(
        stem(name),
        "strcmp"
            | "strncmp"
            | "memcmp"
            | "memcmpeq"
            | "bcmp"
            | "strcasecmp"
            | "strncasecmp"
            | "wcscmp"
            | "wmemcmp"
            | "strcoll"
    )
}

/// Whether the loops inside of a loop go round at most `rare` times each. One that is only passed through is none.
pub(crate) fn is_usually_innermost(function: &FunctionInput, index: u32, rare: u64) -> bool {
    let loops = function.flow.loops().iter().zip(0..);
    let mut inside = loops.filter(|(one, _)| one.parent == Some(index));
    !inside.any(|(_, inner)| goes_round(function, inner, rare))
}

/// Whether a loop's head leads back to it by blocks that are executed more often than `rare`.
fn goes_round(function: &FunctionInput, index: u32, rare: u64) -> bool {
    let (blocks, body) = (function.flow.blocks(), function.flow.loop_blocks(index));
    let head = function.flow.loops()[index as usize].head;
    let usual = |block: BlockId| {
        let first = blocks[block as usize].instructions.start as usize;
        function.counts.get(first).is_none_or(|&count| count > rare) && body.contains(&block)
    };
    let mut reached = vec![head];
    let mut next = 0;
    while let Some(&block) = reached.get(next).filter(|one| usual(**one)) {
        next += 1;
        for &to in blocks[block as usize]
            .successors
            .iter()
            .filter(|to| usual(**to))
        {
            if to == head {
                return true;
            }
            if !reached.contains(&to) {
                reached.push(to);
            }
        }
    }
    false
}

/// Whether a call does nothing but look at memory and answer: a comparison of the C library, or a
/// function of the user's that writes nothing in nearly all of its calls (a key may be converted in the first of a search),
/// but for what a function that takes the element apart stores in its frame.
pub(crate) fn is_comparison(input: &AnalysisInput, target: &CallTarget) -> bool {
    let loads = |index: usize| {
        let function = &input.functions[index];
        // What is called by it may load for it.
        usual_instructions(function).any(|at| {
            let data = &function.data[at];
            data.opaque == Some(Opaque::Call)
                || data
                    .memory
                    .iter()
                    .any(|one| is_outside_of_frame(one) && one.reads)
        })
    };
    compares(&target.function)
        || only_answers(input, target)
            && index_of(input, &target.function, &target.module).is_some_and(loads)
}

/// Whether a function of the user's writes nothing in nearly all of its calls: the answer is all that it is called for.
pub(crate) fn only_answers(input: &AnalysisInput, target: &CallTarget) -> bool {
    index_of(input, &target.function, &target.module)
        .is_some_and(|index| only_reads(input, index, MAX_DEPTH_OF_COMPARISON))
}

/// Instructions that are executed in more than a rare part of a function's calls.
fn usual_instructions(function: &FunctionInput) -> impl Iterator<Item = usize> {
    let rare = (RARE_WAY * function.calls.unwrap_or(0) as f64) as u64;
    (0..function.code.len()).filter(move |&at| function.counts[at] > rare)
}

fn only_reads(input: &AnalysisInput, index: usize, depth: u32) -> bool {
    let function = &input.functions[index];
    if !function.own || !function.counted || function.counts.len() != function.code.len() {
        return false;
    }
    for at in usual_instructions(function) {
        let data = &function.data[at];
        if data.memory.iter().any(is_store_outside) {
            return false;
        }
        match data.opaque {
            None | Some(Opaque::Exit) => continue,
            Some(Opaque::Call) => {}
            Some(_) => return false,
        }
        let Some(depth) = depth.checked_sub(1) else {
            return false;
        };
        let callee = |target: &CallTarget| {
            let found = index_of(input, &target.function, &target.module);
            compares(&target.function)
                || is_scan_function(&target.function)
                || found.is_some_and(|callee| callee != index && only_reads(input, callee, depth))
        };
        let site = function.call_sites.iter().find(|site| site.at == at);
        let reads_for_it =
            |site: &CallSite| site.targets.iter().all(callee) || takes_apart(input, function, site);
        if !site.is_some_and(reads_for_it) {
            return false;
        }
    }
    true
}

/// Whether the result of a call is tested where it returns.
fn is_result_tested(function: &FunctionInput, at: usize) -> bool {
    (at + 1..function.code.len())
        .take(MAX_INSTRUCTIONS_TO_TEST)
        .any(|next| {
            let tests = matches!(function.code[next].mnemonic, "test" | "cmp");
            tests && function.data[next].data_reads >> RESULTS[0] & 1 == 1
        })
}

/// What a search loop does with what it loads; `None` of loops that compute or store.
pub(crate) fn search_of(
    input: &AnalysisInput,
    function: &FunctionInput,
    index: u32,
) -> Option<Comparison> {
    usual_search_of(input, function, index, 0)
}

/// The same of the instructions that are executed more often than `rare`, whatever the others do.
pub(crate) fn usual_search_of(
    input: &AnalysisInput,
    function: &FunctionInput,
    index: u32,
    rare: u64,
) -> Option<Comparison> {
    let members = function.loop_instructions(index);
    let executed = |at: &usize| function.counts.get(*at).is_some_and(|&count| count > rare);
    let mut loaded = 0u128;
    let mut found: Option<Comparison> = None;
    // Twice: what is loaded at the end of an iteration may be compared at the beginning.
    for pass in 0..2 {
        for &at in members.iter().filter(|at| executed(at)) {
            let (code, data) = (&function.code[at], &function.data[at]);
            if let Flow::Call(_) | Flow::IndirectCall = code.flow {
                let site = function.call_sites.iter().find(|site| site.at == at)?;
                let known = site.targets.iter().all(|one| compares(&one.function));
                let own = || site.targets.iter().all(|one| is_comparison(input, one));
                if !(known || is_result_tested(function, at) && own()) {
                    return None;
                }
                found = Some(Comparison::Call);
                continue;
            }
            if keeps_elements(function, at)
                || !is_plain(code.mnemonic, data.shortcut)
                || data.opaque.is_some()
            {
                return None;
            }
            let compares = matches!(code.mnemonic, "cmp" | "test")
                || code.mnemonic.contains("comis")
                || code.mnemonic.contains("pcmp");
            if compares {
                let of_loaded = data.loads() || data.data_reads & loaded != 0;
                if of_loaded && pass == 1 {
                    let kind = kind_of_comparison(function, at);
                    // One comparison by order makes the outcome a range.
                    if found.is_none() || kind == Comparison::Order {
                        found = Some(kind);
                    }
                }
                continue;
            }
            let registers = data.writes & ((1u128 << FLAGS) - 1);
            let of_loaded = data.loads() || data.data_reads & loaded != 0;
            if pass == 1 && of_loaded && only_gathers(function, &members, at) {
                return None;
            }
            let moves = code.mnemonic.starts_with("mov") || code.mnemonic.starts_with("vmov");
            if data.loads() || moves && data.data_reads & loaded != 0 {
                loaded |= registers;
            } else if pass == 0 {
                loaded &= !registers;
            }
        }
    }
    found
}

/// Whether an instruction stores elsewhere than at one place of the frame, where a register makes room for another.
fn keeps_elements(function: &FunctionInput, at: usize) -> bool {
    let of_many = |one: &MemoryAccess| one.writes && one.index.is_some();
    stores_outside(function, at) || function.data[at].memory.iter().any(of_many)
}

/// Whether an instruction adds to a register that the loop reads and writes for nothing else: a sum of elements is computed from them,
/// and only known when all were gone over.
fn only_gathers(function: &FunctionInput, members: &[usize], at: usize) -> bool {
    const GATHERS: [&str; 5] = ["add", "sub", "or", "xor", "and"];
    let gathered = |at: usize| {
        let data = &function.data[at];
        let result = data.writes & ((1u128 << FLAGS) - 1);
        let gathers = GATHERS.contains(&function.code[at].mnemonic) && result & data.reads() != 0;
        if gathers { result } else { 0 }
    };
    let sum = gathered(at);
    let uses_it = |one: &&usize| {
        let data = &function.data[**one];
        (data.reads() | data.writes) & sum != 0
    };
    sum != 0
        && members
            .iter()
            .filter(uses_it)
            .all(|&one| gathered(one) == sum)
}

/// Whether what a loop loads is compared with constants only, and by no call: it looks for a delimiter, not for one of many
/// keys.
pub(crate) fn scans_for_constants(function: &FunctionInput, index: u32) -> bool {
    let members = function.loop_instructions(index);
    let loaded = |value: Value| match function.values.origin(value) {
        Origin::Instruction(at) => {
            function.data[at as usize].loads() && members.binary_search(&(at as usize)).is_ok()
        }
        _ => false,
    };
    let executed = |at: &&usize| function.counts.get(**at).is_some_and(|&count| count > 0);
    members.iter().filter(executed).all(|&at| {
        let (code, data) = (&function.code[at], &function.data[at]);
        let reads = function.values.reads(at).iter();
        let mut compared: Vec<Value> = reads
            .filter(|one| one.0 < FLAGS && data.data_reads & (1 << one.0) != 0)
            .map(|one| one.1)
            .collect();
        compared.dedup();
        let of_frame = data.memory.iter().all(|one| one.stack);
        let constant = !matches!(code.mnemonic, "cmp" | "test")
            || match data.loads() && !of_frame {
                true => compared.is_empty(),
                false => compared.len() < 2 || !compared.iter().any(|&one| loaded(one)),
            };
        constant && data.opaque != Some(Opaque::Call)
    })
}

/// Moves, comparisons, jumps and the arithmetic of addresses.
pub(crate) fn is_plain(mnemonic: &str, shortcut: Shortcut) -> bool {
    const NAMES: [&str; 28] = [
        "cmp", "test", "lea", "add", "sub", "inc", "dec", "sar", "shr", "shl", "and", "or", "nop",
        "push", "pop", "cdqe", "cdq", "cqo", "neg", "not", "ucomiss", "ucomisd", "comiss",
        "comisd", "bsf", "tzcnt", "endbr64", "sbb",
    ];
    shortcut != Shortcut::None
        || NAMES.contains(&mnemonic)
        || [
            "mov", "vmov", "j", "set", "cmov", "pcmp", "vpcmp", "pmovmsk", "por", "pand",
        ]
        .iter()
        .any(|prefix| mnemonic.starts_with(prefix))
}

/// By which condition the flags of a comparison are read.
fn kind_of_comparison(function: &FunctionInput, at: usize) -> Comparison {
    let reader = (at + 1..function.code.len()).take(4).find(|&next| {
        let mnemonic = function.code[next].mnemonic;
        ["j", "set", "cmov"]
            .iter()
            .any(|one| mnemonic.starts_with(one))
            && mnemonic != "jmp"
    });
    let equality = reader.is_none_or(|next| {
        let mnemonic = function.code[next].mnemonic;
        let condition = mnemonic
            .trim_start_matches("cmov")
            .trim_start_matches("set");
        matches!(condition.trim_start_matches('j'), "e" | "ne" | "z" | "nz")
    });
    match equality {
        true => Comparison::Equality,
        false => Comparison::Order,
    }
}

/// Whether a loop halves the sum or the difference of two numbers in each iteration, or one that it hands on as such:
/// a binary search does so with its range.
pub(crate) fn halves(function: &FunctionInput, index: u32) -> bool {
    let executed = |at: &usize| function.counts.get(*at).is_some_and(|&count| count > 0);
    let members = function.loop_instructions(index);
    members.into_iter().filter(executed).any(|at| {
        let code = &function.code[at];
        let by_one = !code.text.contains(',') || code.text.ends_with(",1");
        let halves = by_one || code.text.ends_with(",0x1");
        let mut halved = function.values.reads(at).iter();
        matches!(code.mnemonic, "shr" | "sar")
            && halves
            && halved.any(|&(_, value)| is_of_two(function, value, MAX_STEPS_TO_RANGE))
    })
}

/// Whether a value is, on one way at least, a sum or difference of two registers.
fn is_of_two(function: &FunctionInput, value: Value, steps: u32) -> bool {
    let values = &function.values;
    let Some(steps) = steps.checked_sub(1) else {
        return false;
    };
    match values.origin(value) {
        Origin::Join(_) => {
            let mut met = values.met(value).iter();
            met.any(|&one| is_of_two(function, one, steps))
        }
        Origin::Instruction(made) => {
            let (code, data) = (&function.code[made as usize], &function.data[made as usize]);
            match code.mnemonic {
                "add" | "lea" | "sub" => data.reads().count_ones() >= 2,
                // A difference of addresses is divided by the size of an element.
                "mov" | "movsxd" | "sar" | "shr" => passes(function, made as usize, steps),
                name if name.starts_with("cmov") => passes(function, made as usize, steps),
                _ => false,
            }
        }
        Origin::Constant | Origin::Entry => false,
    }
}

fn passes(function: &FunctionInput, at: usize, steps: u32) -> bool {
    let mut reads = function.values.reads(at).iter().filter(|one| one.0 < FLAGS);
    !function.data[at].loads() && reads.any(|one| is_of_two(function, one.1, steps))
}

/// Executions of a loop's exits at branches that test what was loaded.
pub(crate) fn exits_by_match(function: &FunctionInput, index: u32) -> f64 {
    let members = function.loop_instructions(index);
    let inside = |address: u64| {
        let at = function
            .code
            .binary_search_by_key(&address, |one| one.address);
        at.is_ok_and(|at| members.binary_search(&at).is_ok())
    };
    let mut sum = 0.0;
    for &at in &members {
        let Flow::CondJump(target) = function.code[at].flow else {
            continue;
        };
        let taken = function.taken.get(at).copied().flatten().unwrap_or(0) as f64;
        let all = function.counts[at] as f64;
        let before = at.checked_sub(1).map(|before| &function.data[before]);
        // Compared with memory, or with what the instruction before loaded.
        let of_loaded =
            before.is_some_and(|data| data.loads()) || at >= 2 && function.data[at - 2].loads();
        if !of_loaded {
            continue;
        }
        if !inside(target) {
            sum += taken;
        } else if members.binary_search(&(at + 1)).is_err() {
            sum += all - taken;
        }
    }
    sum
}
