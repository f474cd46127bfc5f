//! Loops and functions of the user's own code as places.
//!
//! The time of a function is divided among its loops, each without the loops inside it. A loop, or
//! the code outside of loops, takes in the parts inside it that have less than half of its own
//! time: they are details of it.

use std::collections::HashMap;

use genba_model::{TimePlace, TimePlaceKind};

use super::idle_iterations::idle_iterations;
use super::{Costs, callers};
use crate::constants::time_shares::MOST_OF_IT;
use crate::finding_site::site;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::patterns::calls::Recursion;

/// A part of a function.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Piece {
    /// Index of its loop; `None` for what is in no loop.
    pub around: Option<u32>,
    /// Its instructions.
    pub members: Vec<usize>,
    /// Share of all time.
    pub share: f64,
    /// Whether loops inside it are pieces of their own.
    pub has_inner_pieces: bool,
}

/// All places in functions that are the user's.
pub(super) fn places(input: &AnalysisInput, costs: &Costs) -> Vec<TimePlace> {
    let users = input.functions.iter().filter(|f| f.is_users());
    users
        .flat_map(|function| {
            pieces(function)
                .into_iter()
                .map(|piece| place(input, costs, function, &piece))
        })
        .collect()
}

/// Divides a function into pieces; their shares add up to the function's.
pub(super) fn pieces(function: &FunctionInput) -> Vec<Piece> {
    let loops = function.flow.loops();
    // By loop, the last for what is in none.
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); loops.len() + 1];
    for at in 0..function.code.len() {
        let around = function.flow.loop_of_instruction(at);
        members[around.map_or(loops.len(), |index| index as usize)].push(at);
    }
    let mut share: Vec<f64> = (members.iter())
        .map(|list| function.heat_of(list.iter().copied()))
        .collect();
    let mut has_inner = vec![false; members.len()];
    // Inner loops come after those around them.
    for index in (0..loops.len()).rev() {
        let parent = loops[index].parent.map_or(loops.len(), |one| one as usize);
        if share[index] < MOST_OF_IT * share[parent] {
            let inner = std::mem::take(&mut members[index]);
            members[parent].extend(inner);
            share[parent] += share[index];
            has_inner[parent] |= has_inner[index];
        } else {
            has_inner[parent] = true;
        }
    }
    let parts = members.into_iter().zip(share).zip(has_inner).enumerate();
    parts
        .filter(|(_, ((members, share), _))| !members.is_empty() && *share > 0.0)
        .map(|(index, ((members, share), has_inner_pieces))| Piece {
            around: (index < loops.len()).then_some(index as u32),
            members,
            share,
            has_inner_pieces,
        })
        .collect()
}

fn place(
    input: &AnalysisInput,
    costs: &Costs,
    function: &FunctionInput,
    piece: &Piece,
) -> TimePlace {
    let cost = (piece.around).and_then(|index| function.loops.get(index as usize)?.as_ref());
    let kind = match piece.around {
        Some(_) => TimePlaceKind::Loop,
        None => TimePlaceKind::Function,
    };
    let executions = match piece.around {
        Some(_) => cost.map(|cost| cost.iterations),
        None => function.calls,
    };
    let mut at = site(function, &hottest_line(function, &piece.members));
    at = *at.inside.take().unwrap_or(Box::new(at));
    at.called_from = None;
    at.addresses = (piece.members.iter())
        .map(|&at| function.code[at].address)
        .collect();
    let mut place = costs.place(kind, at, piece.share, executions, input);
    place.entries = cost.and_then(|cost| cost.entries);
    place.idle_iterations = (piece.around).and_then(|index| idle_iterations(function, index));
    place.calls = function.calls;
    place.recursive_calls = Recursion::of(function).map(|one| one.by_itself);
    place.callers = callers(
        &function.user_callers,
        function.calls.unwrap_or_default() as f64,
    );
    // The model's figures are those of the whole loop.
    if let Some(cost) = cost.filter(|_| !piece.has_inner_pieces) {
        // Against costs that are estimates the model says nothing.
        if !input.program.part_counted {
            let bounds = [cost.chain_cycles, cost.throughput_cycles];
            let longest = (bounds.into_iter().flatten()).max_by(|a, b| a.value.total_cmp(&b.value));
            place.bound_cycles = longest;
            place.bound = longest.map(|_| cost.verdict.bound());
        }
        // Costs that the loop model knows have their own intervals.
        if let Some(cycles) = cost.cycles {
            place.cost_cycles = Some(cycles);
            let seconds = input.program.clock_hz.map(|hz| cycles.scaled(1.0 / hz));
            place.cost_seconds = seconds.or(place.cost_seconds);
        }
    }
    place
}

/// Instructions of the source line with most time; all where there are no lines.
fn hottest_line(function: &FunctionInput, members: &[usize]) -> Vec<usize> {
    type Line<'a> = (Option<&'a str>, Option<u32>);
    let mut lines: HashMap<Line<'_>, (f64, Vec<usize>)> = HashMap::new();
    for &at in members {
        let Some(place) = function.places.get(at).filter(|one| one.line.is_some()) else {
            continue;
        };
        let one = lines
            .entry((place.file.as_deref(), place.line))
            .or_default();
        one.0 += function.heat.get(at).copied().unwrap_or(0.0);
        one.1.push(at);
    }
    let most = lines
        .into_iter()
        .max_by(|a, b| a.1.0.total_cmp(&b.1.0).then_with(|| b.0.cmp(&a.0)));
    most.map_or_else(|| members.to_vec(), |(_, (_, members))| members)
}
