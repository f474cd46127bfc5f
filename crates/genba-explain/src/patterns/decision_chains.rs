//! Chains of tests that all look at one value: an `if … else if` over a byte, bits of one word of
//! flags tested one after the other, one string compared with several.

use genba_code::{BlockId, Flow, Location, Opaque, entry_reads};

use crate::constants::counts::MIN_PART_FROM_TEST_BEFORE;
use crate::constants::registers::{FLAGS, POINTER_ARGUMENTS, RAX, XMM0};
use crate::constants::search_limits::{MAX_EXPRESSION_DEPTH, MAX_TESTS_OF_CHAIN};
use crate::input::analysis_input::{AnalysisInput, CallTarget, FunctionInput};
use crate::input::values::{Address, CONSTANT, Origin, Value};
use crate::patterns::calls::index_of;
use crate::patterns::invariance::value_at;
use crate::patterns::search_loops::is_comparison;
use crate::patterns::usual_values::is_constant;

/// What all tests of a chain look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Root {
    /// A value in a register, and what is made of it and constants.
    Value(u32),
    /// Bytes of eight that are next to one another in memory.
    Word { base: u32, word: i64 },
    /// What is compared with constants by calls: their arguments that are no constants.
    Compared([Option<Value>; POINTER_ARGUMENTS.len()]),
}

/// A test of a chain.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// The conditional jump.
    pub branch: usize,
    /// Its block's instructions.
    pub instructions: std::ops::Range<usize>,
    /// Executions.
    pub executions: u64,
    /// The call that compares, where there is one.
    pub call: Option<usize>,
}

/// Tests in the order in which they are executed; each but the first is executed only when those
/// before it have decided nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionChain {
    /// The tests.
    pub tests: Vec<Test>,
}

impl DecisionChain {
    /// Executions of the first test.
    #[must_use]
    pub fn entered(&self) -> u64 {
        self.tests.first().map_or(0, |test| test.executions)
    }

    /// Mean number of tests for each time that the first is executed.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let all: f64 = self.tests.iter().map(|test| test.executions as f64).sum();
        all / self.entered().max(1) as f64
    }

    /// How often control leaves the chain after each number of tests, from one on; the last entry has
    /// both outcomes of the last test.
    #[must_use]
    pub fn exits(&self) -> Vec<f64> {
        let after = self.tests.iter().skip(1).map(|test| test.executions);
        let pairs = self.tests.iter().zip(after.chain([0]));
        let exits = pairs.map(|(test, next)| test.executions.saturating_sub(next) as f64);
        exits.collect()
    }

    /// Mean number of tests if the most frequent outcomes were tested for first.
    #[must_use]
    pub fn best_mean(&self) -> f64 {
        let mut exits = self.exits();
        exits.sort_by(|a, b| b.total_cmp(a));
        let ranked = exits.iter().enumerate();
        let all: f64 = ranked.map(|(rank, times)| times * (rank + 1) as f64).sum();
        all / self.entered().max(1) as f64
    }
}

/// Chains of two tests and more of a function.
#[must_use]
pub fn decision_chains(input: &AnalysisInput, function: &FunctionInput) -> Vec<DecisionChain> {
    let blocks = function.flow.blocks().len() as BlockId;
    if !function.counted || function.counts.len() != function.code.len() {
        return Vec::new();
    }
    let mut inside = vec![false; blocks as usize];
    let mut found = Vec::new();
    // In address order: a chain is met at its first test, or its tail was a chain of its own and
    // the longer one replaces it.
    for block in 0..blocks {
        if inside[block as usize] {
            continue;
        }
        let Some((first, root)) = test_of(input, function, block, false) else {
            continue;
        };
        let mut tests = vec![first];
        let mut members = vec![block];
        let mut at = block;
        while let Some((next, test)) = next_test(input, function, at, root, &members) {
            tests.push(test);
            members.push(next);
            at = next;
            if tests.len() >= MAX_TESTS_OF_CHAIN {
                break;
            }
        }
        if tests.len() >= 2 {
            members.iter().for_each(|&one| inside[one as usize] = true);
            found.push(DecisionChain { tests });
        }
    }
    found
}

/// The test of the same root to which control goes from a test's block, mostly from there.
fn next_test(
    input: &AnalysisInput,
    function: &FunctionInput,
    block: BlockId,
    root: Root,
    members: &[BlockId],
) -> Option<(BlockId, Test)> {
    let successors = &function.flow.blocks()[block as usize].successors;
    let candidates = successors.iter().filter(|next| !members.contains(next));
    let fitting = candidates.filter_map(|&next| {
        let (test, its) = test_of(input, function, next, true)?;
        let from_here = edge(function, block, next)? as f64;
        (its == root && from_here >= MIN_PART_FROM_TEST_BEFORE * test.executions as f64)
            .then_some((next, test))
    });
    fitting.max_by_key(|(_, test)| test.executions)
}

/// How often control goes from one block to a successor, for blocks that end in a conditional jump.
fn edge(function: &FunctionInput, from: BlockId, to: BlockId) -> Option<u64> {
    let last = (function.flow.blocks()[from as usize].instructions.end as usize).checked_sub(1)?;
    let taken = function.taken.get(last).copied().flatten()?;
    let target = function.code[last].flow.jump_target()?;
    let head = function.flow.blocks()[to as usize].instructions.start as usize;
    match function.code.get(head)?.address == target {
        true => Some(taken),
        false => Some(function.counts[last].saturating_sub(taken)),
    }
}

/// The test that a block ends with, and what it looks at. A block within a chain does nothing else
/// that anyone could see.
fn test_of(
    input: &AnalysisInput,
    function: &FunctionInput,
    block: BlockId,
    within: bool,
) -> Option<(Test, Root)> {
    let range = &function.flow.blocks()[block as usize].instructions;
    let instructions = range.start as usize..range.end as usize;
    let branch = instructions.end.checked_sub(1)?;
    if !matches!(function.code.get(branch)?.flow, Flow::CondJump(_)) || function.counts[branch] == 0
    {
        return None;
    }
    let flags = (instructions.start..branch)
        .rev()
        .find(|&at| function.values.writes(at).iter().any(|one| one.0 >= FLAGS))?;
    let comparison = comparison_before(input, function, instructions.start, flags);
    if within && !is_pure(function, instructions.clone(), comparison) {
        return None;
    }
    let root = match comparison {
        Some(call) => compared(input, function, call)?,
        None => root_of_instruction(function, flags, MAX_EXPRESSION_DEPTH)?,
    };
    let test = Test {
        branch,
        executions: function.counts[branch],
        instructions,
        call: comparison,
    };
    Some((test, root))
}

/// The call of a comparison whose result the instruction at `flags` tests.
fn comparison_before(
    input: &AnalysisInput,
    function: &FunctionInput,
    begin: usize,
    flags: usize,
) -> Option<usize> {
    let calls = |at: &usize| function.data[*at].opaque == Some(Opaque::Call);
    let call = (begin..flags).rev().find(calls)?;
    let site = function.call_sites.iter().find(|site| site.at == call)?;
    let result = function.values.written(call, RAX)?;
    let tested = root_of_instruction(function, flags, MAX_EXPRESSION_DEPTH);
    let tests_result =
        function.code[flags].mnemonic == "test" && tested == Some(Root::Value(result.number));
    let compares = site.targets.iter().all(|one| is_comparison(input, one));
    (tests_result && compares).then_some(call)
}

/// The arguments of a comparing call that are no constants, where at least one is one.
fn compared(input: &AnalysisInput, function: &FunctionInput, call: usize) -> Option<Root> {
    let site = function.call_sites.iter().find(|site| site.at == call)?;
    let taken = site.targets.first().map(|one| arguments_of(input, one))?;
    let mut root = [None; POINTER_ARGUMENTS.len()];
    let mut constants = 0;
    for (&location, argument) in POINTER_ARGUMENTS.iter().zip(&mut root) {
        if !taken.contains(&location) {
            continue;
        }
        let value = value_at(function, call, location)?;
        match is_constant(function, value) {
            true => constants += 1,
            false => *argument = Some(value),
        }
    }
    let any = root.iter().any(Option::is_some);
    (any && constants > 0).then_some(Root::Compared(root))
}

/// Registers from which a comparison takes what it compares: of the library's the first two arguments.
fn arguments_of(input: &AnalysisInput, target: &CallTarget) -> Vec<Location> {
    let Some(callee) = index_of(input, &target.function, &target.module)
        .map(|index| &input.functions[index])
        .filter(|callee| callee.own)
    else {
        return POINTER_ARGUMENTS[..2].to_vec();
    };
    let taken = entry_reads(&callee.code, &callee.data, &callee.flow).reads;
    let mut all = POINTER_ARGUMENTS.to_vec();
    all.retain(|location| taken >> location & 1 == 1);
    all
}

/// Whether instructions only compute in registers and jump, a comparing call apart.
fn is_pure(
    function: &FunctionInput,
    mut instructions: std::ops::Range<usize>,
    comparison: Option<usize>,
) -> bool {
    instructions.all(|at| {
        let data = &function.data[at];
        comparison == Some(at) || !data.stores() && matches!(data.opaque, None | Some(Opaque::Exit))
    })
}

/// The one root of what an instruction reads.
fn root_of_instruction(function: &FunctionInput, at: usize, depth: u32) -> Option<Root> {
    let depth = depth.checked_sub(1)?;
    let data = function.data.get(at)?;
    if data.opaque.is_some() {
        return None;
    }
    if data.loads() {
        let [Some(address)] = function.values.addresses(at) else {
            return None;
        };
        let others = function
            .values
            .reads(at)
            .iter()
            .filter(|(location, value)| {
                *location < XMM0 && value.number != CONSTANT && data.data_reads >> location & 1 == 1
            });
        return (others.count() == 0).then(|| word(address)).flatten();
    }
    let mut root = None;
    for &(location, value) in function.values.reads(at) {
        if (XMM0..FLAGS).contains(&location) {
            return None;
        }
        if location >= FLAGS || value.number == CONSTANT {
            continue;
        }
        let its = root_of_value(function, value, depth)?;
        if root.is_some_and(|before| before != its) {
            return None;
        }
        root = Some(its);
    }
    root
}

/// What a value is made of besides constants.
fn root_of_value(function: &FunctionInput, value: Value, depth: u32) -> Option<Root> {
    let itself = Some(Root::Value(value.number));
    let Origin::Instruction(at) = function.values.origin(value) else {
        return itself;
    };
    let at = at as usize;
    let made_of_one = [
        "and", "shr", "sar", "shl", "sub", "movzx", "movsx", "movsxd", "mov", "xor",
    ]
    .contains(&function.code[at].mnemonic);
    if !made_of_one {
        return itself;
    }
    root_of_instruction(function, at, depth).or(itself)
}

/// The eight bytes that an access is in, if it is at a constant distance from a base.
fn word(address: &Address) -> Option<Root> {
    let fits = address.index.is_none() && address.bytes <= 8 && address.bytes > 0;
    fits.then_some(Root::Word {
        base: address.base.number,
        word: address.base.offset.div_euclid(8),
    })
}
