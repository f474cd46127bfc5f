//! Positions that only advance while a loop runs, however many loops and states are inside it.
//!
//! Values that are handed on without change, or with a constant added, form a graph: an edge from
//! what meets at a block's head to each value that comes there from inside of the loop. If all of
//! its constants have one sign, and no cycle is without any, whoever goes round advances. The
//! executions of the edges say by how much in all. Scanners that are state machines have one
//! position and dozens of states, which no single loop shows.

use std::collections::HashMap;

use genba_code::BlockId;

use crate::constants::search_limits::MAX_VALUES_FOLLOWED;
use crate::input::analysis_input::FunctionInput;
use crate::input::values::{Origin, Value};
use crate::patterns::edge_counts::edge_at_most;

/// A value and those that it comes from by moves and constants, inside of one loop.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Handed {
    /// Numbers of the values that meet at heads of blocks.
    pub joins: Vec<u32>,
    /// What is made otherwise, inside of the loop: by instructions.
    pub made: Vec<Value>,
    edges: Vec<Edge>,
}

/// What becomes of a value while a loop runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Course {
    /// It is made anew, or does not depend on itself by moves.
    New,
    /// It is kept until it is replaced.
    Kept,
    /// A position, with the elements that it passes in all.
    Advances(f64),
    /// A counter, or something that is set back.
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Edge {
    from: u32,
    to: u32,
    added: i64,
    executions: u64,
}

impl Handed {
    /// Follows a value back through the executed ways of a loop.
    pub(crate) fn of(function: &FunctionInput, body: &[BlockId], value: Value) -> Self {
        let mut found = Self::default();
        let is_join = |value: Value| match function.values.origin(value) {
            Origin::Join(block) => body.contains(&block).then_some(block),
            _ => None,
        };
        match is_join(value) {
            Some(_) => found.joins.push(value.number),
            None => {
                found.add_made(function, body, value);
                return found;
            }
        }
        let mut next = 0;
        while let Some(&number) = found.joins.get(next) {
            next += 1;
            if found.joins.len() > MAX_VALUES_FOLLOWED {
                // Not a position: there is no telling where it comes from.
                found.made.push(Value { number, offset: 0 });
                break;
            }
            let one = Value { number, offset: 0 };
            let Some(block) = is_join(one) else { continue };
            let before = &function.flow.blocks()[block as usize].predecessors;
            for (&from, &met) in before.iter().zip(function.values.met(one)) {
                let executions = edge_at_most(function, from, block);
                if !body.contains(&from) || executions == 0 {
                    continue;
                }
                if is_join(met).is_none() {
                    found.add_made(function, body, met);
                    continue;
                }
                found.edges.push(Edge {
                    from: number,
                    to: met.number,
                    added: met.offset,
                    executions,
                });
                if !found.joins.contains(&met.number) {
                    found.joins.push(met.number);
                }
            }
        }
        found
    }

    /// What a block outside of the loop made is the same all the time, and constants are.
    fn add_made(&mut self, function: &FunctionInput, body: &[BlockId], value: Value) {
        let inside = match function.values.origin(value) {
            Origin::Constant | Origin::Entry => false,
            Origin::Join(block) => body.contains(&block),
            Origin::Instruction(at) => {
                (function.flow.block_of(at as usize)).is_some_and(|block| body.contains(&block))
            }
        };
        if inside && !self.made.contains(&value) {
            self.made.push(value);
        }
    }

    /// The instruction that makes one of [`Self::made`], and its operands: those that are the value itself, and others.
    pub(crate) fn operands(
        &self,
        function: &FunctionInput,
        made: Value,
    ) -> Option<(usize, Vec<Value>, Vec<Value>)> {
        let Origin::Instruction(at) = function.values.origin(made) else {
            return None;
        };
        let at = at as usize;
        let data = &function.data[at];
        let read = function.values.reads(at).iter();
        let (own, others) = read
            .filter(|one| data.data_reads >> one.0 & 1 == 1)
            .map(|one| one.1)
            .partition(|value| self.joins.contains(&value.number));
        Some((at, own, others))
    }

    /// What becomes of the first value while the loop runs.
    pub(crate) fn course(&self, most_at_once: u64) -> Course {
        let own = self.own_edges();
        if own.is_empty() {
            return Course::New;
        }
        if own.iter().all(|edge| edge.added == 0) {
            return Course::Kept;
        }
        let forward = own.iter().all(|edge| edge.added >= 0);
        let back = own.iter().all(|edge| edge.added <= 0);
        let small = (own.iter()).all(|edge| edge.added.unsigned_abs() <= most_at_once);
        let still: Vec<Edge> = own.iter().copied().filter(|edge| edge.added == 0).collect();
        let advances = self.made.is_empty() && small && (forward || back) && !has_cycle(&still);
        if !advances {
            return Course::Other;
        }
        let passed = |edge: &Edge| edge.added.unsigned_abs() as f64 * edge.executions as f64;
        Course::Advances(own.iter().map(passed).sum())
    }

    /// How often a constant is added to the first value, in all.
    pub(crate) fn steps(&self) -> f64 {
        let own = self.own_edges();
        let steps = own.iter().filter(|edge| edge.added != 0);
        steps.map(|edge| edge.executions as f64).sum()
    }

    /// Edges of the cycles that the first value is in.
    fn own_edges(&self) -> Vec<Edge> {
        let Some(&first) = self.joins.first() else {
            return Vec::new();
        };
        // All values are reached from the first one: those from which it is reached.
        let mut back = vec![first];
        let mut next = 0;
        while let Some(&number) = back.get(next) {
            next += 1;
            for edge in self.edges.iter().filter(|edge| edge.to == number) {
                if !back.contains(&edge.from) {
                    back.push(edge.from);
                }
            }
        }
        let inside = |edge: &&Edge| back.contains(&edge.from) && back.contains(&edge.to);
        self.edges.iter().filter(inside).copied().collect()
    }
}

/// Whether a cycle goes along edges.
fn has_cycle(edges: &[Edge]) -> bool {
    // Values without a way on are taken away until none is left, or only those that lead into cycles.
    let mut left: Vec<u32> = edges.iter().map(|edge| edge.from).collect();
    loop {
        let goes_on = |number: &u32| {
            (edges.iter()).any(|edge| edge.from == *number && left.contains(&edge.to))
        };
        let remaining: Vec<u32> = left.iter().copied().filter(goes_on).collect();
        if remaining.len() == left.len() {
            return !left.is_empty();
        }
        left = remaining;
    }
}

/// Values that meet at heads of blocks of a loop and are read there, by number.
pub(crate) fn carried(function: &FunctionInput, body: &[BlockId]) -> HashMap<u32, Value> {
    let joins = function.values.joins().filter_map(|(number, _)| {
        let value = Value { number, offset: 0 };
        match function.values.origin(value) {
            Origin::Join(block) if body.contains(&block) => Some((number, value)),
            _ => None,
        }
    });
    joins.collect()
}
