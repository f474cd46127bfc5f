//! Tests of one value whose ways part and meet again: rules that are asked one after the other whether they are for a letter,
//! each by a switch or a few comparisons of its own. Of a chain ([`super::decision_chains`]) each test is reached from
//! one other only.

use std::collections::BTreeSet;

use genba_code::{BlockId, Flow};

use crate::constants::counts::{
    MIN_CALLS_IN_HOT_CODE, MIN_PART_FROM_TEST_BEFORE, MIN_TESTS_OF_REGION,
};
use crate::constants::search_limits::{
    MAX_BLOCKS_OF_REGION, MAX_EXPRESSION_DEPTH, MAX_TESTS_OF_CHAIN,
};
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::values::Origin;
use crate::patterns::decision_chains::{
    DecisionChain, Root, Test, is_pure, roots_of_value, test_of,
};
use crate::patterns::edge_counts::{edge_at_most, executions};

/// Regions of a function, each as a chain whose most frequent outcome comes after the tests that are made on average.
pub(crate) fn decision_regions(
    input: &AnalysisInput,
    function: &FunctionInput,
) -> Vec<DecisionChain> {
    let mut found: Vec<DecisionChain> = Vec::new();
    if !function.counted || function.counts.len() != function.code.len() {
        return found;
    }
    for first in 0..function.flow.blocks().len() as BlockId {
        let start = function.flow.blocks()[first as usize].instructions.start as usize;
        let mut known = found.iter().flat_map(|one| &one.tests);
        let usual = executions(function, first) >= MIN_CALLS_IN_HOT_CODE;
        if usual && !known.any(|test| test.instructions.start == start) {
            found.extend(region_from(input, function, first));
        }
    }
    found
}

/// The region of the tests of the value that a block's test looks at.
fn region_from(
    input: &AnalysisInput,
    function: &FunctionInput,
    first: BlockId,
) -> Option<DecisionChain> {
    let (test, root) = only_root(input, function, first, false)?;
    let mut region = Region {
        input,
        function,
        root,
        inside: BTreeSet::from([first]),
        outside: BTreeSet::new(),
        tests: vec![test],
    };
    while region.inside.len() < MAX_BLOCKS_OF_REGION && region.tests.len() < MAX_TESTS_OF_CHAIN {
        let Some((block, test)) = region.next(first) else {
            break;
        };
        region.inside.insert(block);
        region.tests.extend(test);
    }
    (region.tests.len() >= MIN_TESTS_OF_REGION).then(|| region.into_chain())
}

struct Region<'a> {
    input: &'a AnalysisInput,
    function: &'a FunctionInput,
    root: Root,
    inside: BTreeSet<BlockId>,
    /// Blocks behind it that do something else.
    outside: BTreeSet<BlockId>,
    tests: Vec<Test>,
}

impl Region<'_> {
    /// A block to which control mostly comes from the region and that only tests the same value, or computes; with its
    /// test.
    fn next(&mut self, first: BlockId) -> Option<(BlockId, Option<Test>)> {
        let function = self.function;
        let blocks = function.flow.blocks();
        let around = function.flow.innermost_loop(first);
        let after: BTreeSet<BlockId> = (self.inside.iter())
            .flat_map(|&block| blocks[block as usize].successors.iter().copied())
            .filter(|block| !self.inside.contains(block) && !self.outside.contains(block))
            .collect();
        after.into_iter().find_map(|block| {
            let all = executions(function, block);
            let here = all > 0 && function.flow.innermost_loop(block) == around;
            let same = || {
                let test = only_root(self.input, function, block, true);
                test.filter(|(_, root)| *root == self.root).map(|one| one.0)
            };
            let test = here.then(same).flatten();
            if !here || test.is_none() && !self.passes(block) {
                self.outside.insert(block);
                return None;
            }
            let before = blocks[block as usize].predecessors.iter();
            let elsewhere: u64 = before
                .filter(|from| !self.inside.contains(from))
                .map(|&from| edge_at_most(function, from, block))
                .sum();
            let rest = (1.0 - MIN_PART_FROM_TEST_BEFORE) * all as f64;
            (elsewhere as f64 <= rest).then_some((block, test))
        })
    }

    /// Whether a block only computes and goes on: a test of something else is needed whatever this value is.
    fn passes(&self, block: BlockId) -> bool {
        let one = &self.function.flow.blocks()[block as usize];
        let range = one.instructions.start as usize..one.instructions.end as usize;
        is_pure(self.function, range, None) && one.successors.len() == 1
    }

    fn into_chain(self) -> DecisionChain {
        let function = self.function;
        let blocks = function.flow.blocks();
        let entered = self.tests[0].executions as f64;
        let tested: u64 = self.tests.iter().map(|test| test.executions).sum();
        let ways: BTreeSet<BlockId> = (self.inside.iter())
            .flat_map(|&block| blocks[block as usize].successors.iter().copied())
            .filter(|to| !self.inside.contains(to))
            .collect();
        let outcome = |to: BlockId| -> f64 {
            let before = blocks[to as usize].predecessors.iter();
            let from_here = before.filter(|from| self.inside.contains(from));
            from_here
                .map(|&from| edge_at_most(function, from, to) as f64)
                .sum()
        };
        let usual = ways
            .into_iter()
            .map(outcome)
            .fold(0.0, f64::max)
            .min(entered);
        let after = (tested as f64 / entered).round().max(1.0) as usize;
        // The other outcomes are behind them all.
        let mut exits = vec![0.0; self.tests.len().max(after) + 1];
        exits[after - 1] = usual;
        if let Some(last) = exits.last_mut() {
            *last += entered - usual;
        }
        let mut tests = self.tests;
        tests[1..].sort_by_key(|test| test.branch);
        DecisionChain {
            values: 1,
            of_main_value: tests.len(),
            exits,
            tests,
        }
    }
}

/// The test that a block ends with, if it looks at one value: a branch, or a jump through a table.
fn only_root(
    input: &AnalysisInput,
    function: &FunctionInput,
    block: BlockId,
    within: bool,
) -> Option<(Test, Root)> {
    let found = test_of(input, function, block, within).or_else(|| {
        let range = &function.flow.blocks()[block as usize].instructions;
        let instructions = range.start as usize..range.end as usize;
        let branch = instructions.end.checked_sub(1)?;
        let jumps = matches!(function.code.get(branch)?.flow, Flow::IndirectJump);
        if !jumps || within && !is_pure(function, instructions.clone(), None) {
            return None;
        }
        let test = Test {
            branch,
            executions: function.counts[branch],
            instructions,
            call: None,
        };
        Some((
            test,
            roots_of_table(function, branch, MAX_EXPRESSION_DEPTH)?,
        ))
    });
    let (test, roots) = found?;
    let [root] = roots.as_slice() else {
        return None;
    };
    test.call.is_none().then_some((test, *root))
}

/// What the index is made of with which a jump's target is looked up in a table.
fn roots_of_table(function: &FunctionInput, at: usize, depth: u32) -> Option<Vec<Root>> {
    let depth = depth.checked_sub(1)?;
    let loaded = function.values.addresses(at).iter().flatten();
    if let Some((index, _)) = loaded.filter_map(|one| one.index).next() {
        return roots_of_value(function, index, depth);
    }
    let reads = function.values.reads(at).iter();
    reads
        .filter(|one| function.data[at].data_reads >> one.0 & 1 == 1)
        .find_map(|one| match function.values.origin(one.1) {
            Origin::Instruction(from) => roots_of_table(function, from as usize, depth),
            _ => None,
        })
}
