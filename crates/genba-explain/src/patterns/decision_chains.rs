//! Chains of tests that all look at one value: an `if … else if` over a byte, bits of one word of
//! flags tested one after the other, one string compared with several. Or at two values, a mode and a
//! letter, where every test nearly always has the same outcome.

use genba_code::{BlockId, Flow, Location, Opaque, STACK_POINTER, entry_reads};

use crate::constants::counts::{
    MIN_PART_FROM_TEST_BEFORE, MIN_TESTS_OF_MAIN_VALUE, SELDOM_EXECUTIONS,
};
use crate::constants::registers::{FLAGS, POINTER_ARGUMENTS, RAX, XMM0};
use crate::constants::search_limits::{
    MAX_EXPRESSION_DEPTH, MAX_JUMPS_BETWEEN_TESTS, MAX_ROOTS_OF_TEST, MAX_TESTS_OF_CHAIN,
};
use crate::input::analysis_input::{AnalysisInput, CallTarget, FunctionInput};
use crate::input::values::{Address, CONSTANT, Origin, Value};
use crate::patterns::calls::index_of;
use crate::patterns::edge_counts::edge;
use crate::patterns::invariance::value_at;
use crate::patterns::search_loops::is_comparison;
use crate::patterns::usual_values::{
    is_constant, stored_before, usual_value_of_iteration, usually_kept,
};

/// What tests look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Root {
    /// A value in a register, and what is made of it and constants.
    Value(u32),
    /// Bytes of eight that are next to one another in memory.
    Word {
        base: u32,
        /// The index's number, offset apart, and its factor.
        index: Option<(u32, u8)>,
        word: i64,
    },
    /// What is compared with constants by calls: their arguments that are not constants.
    Compared([Option<Value>; POINTER_ARGUMENTS.len()]),
}

/// A test of a chain.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// The conditional jump.
    pub branch: usize,
    /// Its block's instructions.
    pub instructions: std::ops::Range<usize>,
    /// How often the test was executed.
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
    /// Values that they look at, one or two.
    pub values: usize,
    /// Tests that look at the value that most of them look at.
    pub of_main_value: usize,
    /// How often control leaves after each number of tests, from one on; the last entry has both outcomes of the
    /// last test.
    pub exits: Vec<f64>,
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

    /// Mean number of tests if the most frequent outcomes were tested for first.
    #[must_use]
    pub fn best_mean(&self) -> f64 {
        let mut exits = self.exits.clone();
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
        let of_one = Growing::from(input, function, block, 1);
        let of_two = Growing::from(input, function, block, MAX_ROOTS_OF_TEST);
        let longer = of_two.filter(|two| {
            let before = of_one.as_ref().map_or(0, |one| one.tests.len());
            two.tests.len() > before && two.of_main_value() >= MIN_TESTS_OF_MAIN_VALUE
        });
        let Some(chain) = longer.or(of_one).filter(|chain| chain.tests.len() >= 2) else {
            continue;
        };
        for &one in &chain.blocks {
            inside[one as usize] = true;
        }
        found.push(DecisionChain {
            values: chain.roots.len(),
            of_main_value: chain.of_main_value(),
            exits: exits_of(&chain.tests),
            tests: chain.tests,
        });
    }
    found
}

fn exits_of(tests: &[Test]) -> Vec<f64> {
    let after = tests.iter().skip(1).map(|test| test.executions);
    let pairs = tests.iter().zip(after.chain([0]));
    let exits = pairs.map(|(test, next)| test.executions.saturating_sub(next) as f64);
    exits.collect()
}

/// A chain to which tests are added at its end.
struct Growing {
    tests: Vec<Test>,
    blocks: Vec<BlockId>,
    /// What the tests look at.
    roots: Vec<Root>,
    /// Of each root the tests that look at it.
    of_root: Vec<usize>,
}

impl Growing {
    /// The chain that begins with a block's test and looks at no more than so many values.
    fn from(
        input: &AnalysisInput,
        function: &FunctionInput,
        block: BlockId,
        values: usize,
    ) -> Option<Self> {
        let (first, roots) = test_of(input, function, block, false)?;
        let mut chain = Self {
            tests: Vec::new(),
            blocks: Vec::new(),
            roots: Vec::new(),
            of_root: Vec::new(),
        };
        let mut next = chain.fits(&roots, values).then_some((block, first, roots));
        while let Some((block, test, roots)) = next {
            chain.add(block, test, roots);
            if chain.tests.len() >= MAX_TESTS_OF_CHAIN {
                break;
            }
            next = chain.next_test(input, function, block, values);
        }
        Some(chain)
    }

    fn fits(&self, roots: &[Root], values: usize) -> bool {
        let more = roots.iter().filter(|root| !self.roots.contains(root));
        self.roots.len() + more.count() <= values
    }

    fn add(&mut self, block: BlockId, test: Test, roots: Vec<Root>) {
        self.tests.push(test);
        self.blocks.push(block);
        for root in roots {
            match self.roots.iter().position(|known| *known == root) {
                Some(at) => self.of_root[at] += 1,
                None => {
                    self.roots.push(root);
                    self.of_root.push(1);
                }
            }
        }
    }

    fn of_main_value(&self) -> usize {
        self.of_root.iter().copied().max().unwrap_or(0)
    }

    /// The test of the same values to which control goes from a test's block, mostly from there.
    fn next_test(
        &self,
        input: &AnalysisInput,
        function: &FunctionInput,
        block: BlockId,
        values: usize,
    ) -> Option<(BlockId, Test, Vec<Root>)> {
        let before = self.tests.last()?.executions as f64;
        let successors = &function.flow.blocks()[block as usize].successors;
        let fitting = successors.iter().filter_map(|&after| {
            let next = behind_jumps(function, after)?;
            if self.blocks.contains(&next) {
                return None;
            }
            let (test, its) = test_of(input, function, next, true)?;
            let from_here = edge(function, block, after)? as f64;
            // Of two values no order of outcomes is known: one must be the usual one everywhere.
            let usual = values == 1 || from_here >= (1.0 - SELDOM_EXECUTIONS) * before;
            let mostly = from_here >= MIN_PART_FROM_TEST_BEFORE * test.executions as f64;
            (self.fits(&its, values) && usual && mostly).then_some((next, test, its))
        });
        fitting.max_by_key(|(_, test, _)| test.executions)
    }
}

/// The block to which control comes from the head of one through blocks that only compute and jump.
pub(crate) fn behind_jumps(function: &FunctionInput, block: BlockId) -> Option<BlockId> {
    let mut block = block;
    for _ in 0..MAX_JUMPS_BETWEEN_TESTS {
        let one = &function.flow.blocks()[block as usize];
        let instructions = one.instructions.start as usize..one.instructions.end as usize;
        let last = instructions.end.checked_sub(1)?;
        let tests = matches!(function.code.get(last)?.flow, Flow::CondJump(_));
        match one.successors.as_slice() {
            &[next] if !tests && is_pure(function, instructions, None) => block = next,
            _ => return Some(block),
        }
    }
    None
}

/// The test that a block ends with, and what it looks at. A block within a chain does nothing else
/// that anyone could see.
pub(crate) fn test_of(
    input: &AnalysisInput,
    function: &FunctionInput,
    block: BlockId,
    within: bool,
) -> Option<(Test, Vec<Root>)> {
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
    let roots = match comparison {
        Some(call) => vec![compared(input, function, call)?],
        None => roots_of_instruction(function, flags, MAX_EXPRESSION_DEPTH)?,
    };
    let test = Test {
        branch,
        executions: function.counts[branch],
        instructions,
        call: comparison,
    };
    Some((test, roots))
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
    let tested = roots_of_instruction(function, flags, MAX_EXPRESSION_DEPTH);
    let tests_result =
        function.code[flags].mnemonic == "test" && tested == Some(vec![Root::Value(result.number)]);
    let compares = site.targets.iter().all(|one| is_comparison(input, one));
    (tests_result && compares).then_some(call)
}

/// The arguments of a comparing call that are not constants, where at least one is one.
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
    let taken = entry_reads(&callee.code, &callee.data, &callee.flow, &|_| false).reads;
    let mut all = POINTER_ARGUMENTS.to_vec();
    all.retain(|location| taken >> location & 1 == 1);
    all
}

/// Whether instructions only compute in registers and jump, a comparing call and what is kept on the stack apart.
pub(crate) fn is_pure(
    function: &FunctionInput,
    mut instructions: std::ops::Range<usize>,
    comparison: Option<usize>,
) -> bool {
    instructions.all(|at| {
        let data = &function.data[at];
        let mut written = data.memory.iter().filter(|one| one.writes);
        let kept = written.all(|one| one.stack || one.base == Some(STACK_POINTER));
        comparison == Some(at) || kept && matches!(data.opaque, None | Some(Opaque::Exit))
    })
}

/// The roots of what an instruction reads, [`MAX_ROOTS_OF_TEST`] at most.
fn roots_of_instruction(function: &FunctionInput, at: usize, depth: u32) -> Option<Vec<Root>> {
    let depth = depth.checked_sub(1)?;
    let data = function.data.get(at)?;
    if data.opaque.is_some() {
        return None;
    }
    let mut roots = Vec::new();
    let from_memory = data.loads();
    if from_memory {
        let [Some(address)] = function.values.addresses(at) else {
            return None;
        };
        let kept = data
            .memory
            .iter()
            .any(|one| one.base == Some(STACK_POINTER));
        let stored = kept
            .then(|| stored_before(function, at, address).or_else(|| usually_kept(function, at)));
        let stored = stored.flatten();
        match stored.filter(|(_, bytes)| address.bytes <= *bytes) {
            Some((value, _)) => roots.extend(roots_of_value(function, value, depth)?),
            None => roots.push(word(function, address)?),
        }
    }
    // What a condition is put into a part of is not part of it.
    let sets = function.code[at].mnemonic.starts_with("set");
    for &(location, value) in function.values.reads(at) {
        let of_address = from_memory && data.data_reads >> location & 1 == 0;
        if of_address || value.number == CONSTANT || sets && location < FLAGS {
            continue;
        }
        if (XMM0..FLAGS).contains(&location) {
            return None;
        }
        if location >= FLAGS {
            // A condition kept as a number; other readers of flags are moves or sums with a carry.
            if sets {
                let Origin::Instruction(from) = function.values.origin(value) else {
                    return None;
                };
                roots.extend(roots_of_instruction(function, from as usize, depth)?);
            }
            continue;
        }
        roots.extend(roots_of_value(function, value, depth)?);
    }
    let mut distinct: Vec<Root> = Vec::new();
    for root in roots {
        if !distinct.contains(&root) {
            distinct.push(root);
        }
    }
    (1..=MAX_ROOTS_OF_TEST)
        .contains(&distinct.len())
        .then_some(distinct)
}

/// What a value is made of besides constants, where nearly every execution brings it from; two only where it is
/// the outcomes of two tests.
pub(crate) fn roots_of_value(
    function: &FunctionInput,
    value: Value,
    depth: u32,
) -> Option<Vec<Root>> {
    let value = usual_value_of_iteration(function, value);
    if value.number == CONSTANT {
        return Some(Vec::new());
    }
    let itself = || vec![Root::Value(value.number)];
    let Origin::Instruction(at) = function.values.origin(value) else {
        return Some(itself());
    };
    let at = at as usize;
    let name = function.code[at].mnemonic;
    let of_numbers = [
        "and", "or", "shr", "sar", "shl", "add", "sub", "lea", "movzx", "movsx", "movsxd", "mov",
        "xor",
    ];
    if !of_numbers.contains(&name) && !name.starts_with("set") {
        return Some(itself());
    }
    let made_of = roots_of_instruction(function, at, depth);
    let outcomes = is_outcome(function, at, depth);
    Some(
        made_of
            .filter(|all| all.len() == 1 || outcomes)
            .unwrap_or_else(itself),
    )
}

/// Whether an instruction makes the outcome of a test a number, or joins such numbers.
fn is_outcome(function: &FunctionInput, at: usize, depth: u32) -> bool {
    let name = function.code[at].mnemonic;
    let joins = || {
        let mut reads = function.values.reads(at).iter().filter(|one| one.0 < XMM0);
        reads.all(
            |one| match (function.values.origin(one.1), depth.checked_sub(1)) {
                (Origin::Instruction(from), Some(depth)) => {
                    is_outcome(function, from as usize, depth)
                }
                _ => false,
            },
        )
    };
    name.starts_with("set") || matches!(name, "and" | "or") && joins()
}

/// A value as it was before the compiler had no register for it.
fn unspilled(function: &FunctionInput, value: Value) -> Value {
    let value = usual_value_of_iteration(function, value);
    let Origin::Instruction(load) = function.values.origin(value) else {
        return value;
    };
    let load = load as usize;
    let moved = function.code[load].mnemonic == "mov";
    let kept = usually_kept(function, load).filter(|_| moved);
    kept.filter(|(_, bytes)| usize::from(*bytes) == size_of::<u64>())
        .and_then(|(kept, _)| {
            let kept = usual_value_of_iteration(function, kept);
            let offset = kept.offset.checked_add(value.offset)?;
            Some(Value { offset, ..kept })
        })
        .unwrap_or(value)
}

/// The eight bytes that an access is in, if it is at a constant distance from a base, or from an element.
fn word(function: &FunctionInput, address: &Address) -> Option<Root> {
    let fits = address.bytes <= 8 && address.bytes > 0;
    let base = unspilled(function, address.base);
    let index = (address.index).map(|(index, factor)| (unspilled(function, index), factor));
    let offset = match index {
        Some((index, factor)) => (index.offset.checked_mul(i64::from(factor)))
            .and_then(|offset| base.offset.checked_add(offset))?,
        None => base.offset,
    };
    fits.then_some(Root::Word {
        base: base.number,
        index: index.map(|(index, factor)| (index.number, factor)),
        word: offset.div_euclid(8),
    })
}
