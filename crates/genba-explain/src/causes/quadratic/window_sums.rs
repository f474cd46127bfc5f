//! The sum over a window that moves by little, added up anew for each place.
//!
//! **Signature.** An innermost loop that adds up what it loads, and nothing else, from nothing on. In an iteration of a loop
//! around, all that it loads begins a little further on: most of the elements are those of the sum before.
//!
//! **Near misses.** Products with the weights of a filter; sums over stretches that do not overlap (rows, blocks); windows of
//! a few elements; sums that go on from the one before.
//!
//! **Gain.** For each place what enters is added and what leaves is subtracted. Floating-point numbers: by a sum that
//! is begun anew now and then, since errors add up.
//!
//! **Source.** M. J. McDonnell, "Box-filtering techniques", Computer Graphics and Image Processing 17, 1981; R. M. Karp,
//! M. O. Rabin, "Efficient randomized pattern-matching algorithms", 1987 (the same for hashes).

use genba_model::{Cause, Confirmation, Fix, QuadraticFact};

use super::residual_fraction;
use crate::candidate::Candidate;
use crate::constants::counts::{MIN_ELEMENTS_OF_WINDOW, MIN_PLACES_OF_WINDOW, MIN_SEARCHES};
use crate::constants::gains::CYCLES_OF_WINDOW_STEP;
use crate::constants::registers::FLAGS;
use crate::constants::search_limits::{MAX_EXPRESSION_DEPTH, MAX_LOOPS_AROUND_WINDOW};
use crate::input::values::{Address, Origin, Value};
use crate::patterns::hot_loops::HotLoop;
use crate::patterns::plain_sums::{is_addition, is_made_of_load};
use crate::patterns::value_steps::{Step, address_step, first_value, step_of_first_address};

/// A sum over a window for each of its places.
pub(super) fn window_sums(found: &HotLoop<'_>) -> Option<Candidate> {
    let function = found.input;
    let trips = found.trips?;
    let long = trips >= MIN_ELEMENTS_OF_WINDOW;
    if !function.can_be_changed() || !long || found.has_opaque() || !only_adds(found) {
        return None;
    }
    let steps = steps_of_loads(found)?;
    let mut levels =
        std::iter::successors(found.parent(), HotLoop::parent).take(MAX_LOOPS_AROUND_WINDOW);
    let (around, overlap) = levels.find_map(|around| {
        let places = steps
            .iter()
            .map(|one| places_in_window(&around, trips, one));
        let least = places.collect::<Option<Vec<f64>>>()?;
        let least = least.into_iter().fold(f64::INFINITY, f64::min);
        (least >= MIN_PLACES_OF_WINDOW).then_some((around, least))
    })?;
    let adds = found.usual().find(|&at| begins_anew(found, &around, at))?;
    let places = around.cost.iterations;
    if places < MIN_SEARCHES {
        return None;
    }
    // Of a window of rows the sums of the columns are kept as well; without them one element of each row enters.
    let rows = (found.cost.entries? as f64 / places as f64).max(1.0);
    let all = found.cycles.value * found.cost.iterations as f64 / places as f64;
    let [likely, least, most] = CYCLES_OF_WINDOW_STEP;
    let cycles = [likely * rows.min(2.0), least, most * rows];
    let mut one = Candidate::new(
        Cause::Quadratic,
        Some(found.function),
        vec![adds],
        Fix::SlideSum,
    );
    one.affected.clone_from(&found.members);
    one.residual_fraction = residual_fraction(all, cycles);
    one.executions = Some(found.cost.iterations);
    one.cycles = Some(found.cycles);
    one.confirmation = Confirmation::InputSweep;
    Some(
        one.fact(QuadraticFact::WindowSums {
            places,
            elements: overlap * rows,
        })
        .fact(QuadraticFact::PassTime {
            share: found.share,
            cycles: all,
        }),
    )
}

/// How many places of the window an element is in that a load of the loop goes through, where the loop around moves the
/// window along the same elements.
fn places_in_window(around: &HotLoop<'_>, trips: f64, load: &SteppingLoad) -> Option<f64> {
    let moved = step_of_first_address(around.input, around.index, &load.address)?;
    let Step::Constant(moved) = moved else {
        return None;
    };
    let step = load.step.unsigned_abs();
    let moved = moved.unsigned_abs();
    // Columns side by side are moved by less than a step, and have no element in common.
    let along = u64::from(load.address.bytes) >= step || moved % step == 0;
    (moved > 0 && along).then(|| trips * step as f64 / moved as f64)
}

/// Whether a loop does nothing but add up what it loads.
fn only_adds(found: &HotLoop<'_>) -> bool {
    let function = found.input;
    (found.usual()).all(|at| is_addition(function, at) && !function.data[at].stores())
}

/// Whether an instruction adds what is loaded to a sum that begins with nothing for each iteration of the loop around.
fn begins_anew(found: &HotLoop<'_>, around: &HotLoop<'_>, at: usize) -> bool {
    let function = found.input;
    let head = function.flow.loops()[found.index as usize].head;
    let name = function.code[at].mnemonic.trim_start_matches('v');
    let adds = name.starts_with("add") || name.starts_with("padd");
    let reads = || {
        let reads = function.values.reads(at).iter();
        reads.filter(|one| one.0 < FLAGS).map(|one| one.1)
    };
    let loaded = function.data[at].loads()
        || reads().any(|one| is_made_of_load(function, &found.members, one, MAX_EXPRESSION_DEPTH));
    let is_nothing = |value: Value| match function.values.origin(value) {
        Origin::Constant => true,
        Origin::Instruction(at) => {
            let name = function.code[at as usize].mnemonic.trim_start_matches('v');
            matches!(name, "xor" | "pxor" | "xorps" | "xorpd")
        }
        _ => false,
    };
    let mut sums = reads().filter(|&one| function.values.origin(one) == Origin::Join(head));
    adds && loaded
        && sums.any(|sum| first_value(function, around.index, sum).is_some_and(is_nothing))
}

/// A load that goes through memory.
struct SteppingLoad {
    address: Address,
    /// What the address gains with each iteration, bytes.
    step: i64,
}

/// The loads that go through memory; `None` if there is none, or one whose step is not known.
fn steps_of_loads(found: &HotLoop<'_>) -> Option<Vec<SteppingLoad>> {
    let function = found.input;
    let mut steps = Vec::new();
    for at in found.usual().filter(|&at| function.data[at].loads()) {
        for address in function.values.addresses(at) {
            let address = (*address)?;
            match address_step(function, found.index, &address)? {
                Step::Constant(0) => {}
                Step::Constant(step) => steps.push(SteppingLoad { address, step }),
                Step::Invariant => return None,
            }
        }
    }
    (!steps.is_empty()).then_some(steps)
}
