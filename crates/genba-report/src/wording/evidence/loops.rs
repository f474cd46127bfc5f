//! Facts about a loop and its instructions.

use genba_model::{ByteOperation, EvidenceSource, LoopFact, ModelCase};
use genba_units::format;

use crate::wording::loop_verdicts::loop_verdict;

use super::{chain, count, cycle_range, cycles, percent};

pub(super) fn sentence(fact: &LoopFact) -> String {
    match fact {
        LoopFact::Time {
            share,
            iterations,
            cycles: each,
            trip_count,
        } => {
            let share = share.map_or(String::new(), |share| {
                format!("{} of the time is in this loop: ", percent(share))
            });
            let entries = trip_count.map_or(String::new(), |trips| {
                format!(", {} iterations per entry", count(trips.round() as u64))
            });
            format!(
                "{share}{} iterations of {} cycles each{entries}",
                count(*iterations),
                cycles(*each)
            )
        }
        LoopFact::Model {
            cycles: each,
            modelled,
            case,
        } => {
            let case = match case {
                ModelCase::Fixed => "with the fix".to_owned(),
                ModelCase::Vectors { elements } => format!("in vectors of {elements:.0} elements"),
                ModelCase::LoadsHitL1d => "if all loads hit L1d".to_owned(),
                ModelCase::Bound => "for its dependency chain and its throughput".to_owned(),
                ModelCase::Throughput => "if its instructions were independent".to_owned(),
            };
            format!(
                "an iteration takes {} cycles; the model gives {} {case}",
                cycles(*each),
                cycle_range(modelled)
            )
        }
        LoopFact::Verdict(verdict) => loop_verdict(verdict),
        LoopFact::Chain {
            instructions,
            cycles: latency,
            throughput_cycles,
        } => format!(
            "each iteration waits for the previous one: {} has a latency of {} cycles; without \
             that dependency an iteration would take {}",
            chain(instructions),
            cycles(*latency),
            cycles(*throughput_cycles)
        ),
        LoopFact::TimeAfterBranches { share } => format!(
            "{} of the loop's time is at the first instructions after these branches",
            percent(*share)
        ),
        LoopFact::ScalarElements { bytes } => format!(
            "one element of {} per iteration, consecutive loads and stores, no vector arithmetic",
            format::plural(u64::from(*bytes), "byte")
        ),
        LoopFact::RepeatedLoads { loads } => {
            let (number, read) = match loads {
                1 => ("1 load".to_owned(), "reads"),
                more => (format!("{more} loads"), "read"),
            };
            format!("{number} per iteration {read} an address that does not change")
        }
        LoopFact::SumsInMemory { sums, cycles: each } => {
            let kept = match sums {
                1 => "1 sum is".to_owned(),
                more => format!("{more} sums are"),
            };
            format!(
                "{kept} kept in memory: what an iteration stores the next one loads, which takes about {} cycles",
                cycles(*each)
            )
        }
        LoopFact::StoredSums { sums } => {
            let stored = match sums {
                1 => "1 sum is".to_owned(),
                more => format!("{more} sums are"),
            };
            format!("{stored} stored in each iteration: for all that the compiler knows, what the loop reads may lie there")
        }
        LoopFact::CopiesForChanges {
            copies,
            elements,
            copied_bytes,
            stored_bytes,
        } => format!(
            "{} copies of {} elements each, {} in all; everything else stores and reads {}, so that most of a copy is \
             as it was when it was copied last",
            count(*copies),
            count(*elements as u64),
            format::bytes(*copied_bytes),
            format::bytes(*stored_bytes)
        ),
        LoopFact::ByteRuns {
            operation,
            bytes,
            mean_run,
        } => format!(
            "{} bytes are {} one at a time, in runs of {mean_run:.0} bytes on average",
            count(*bytes),
            match operation {
                ByteOperation::Copy => "copied",
                ByteOperation::Compare => "compared",
                ByteOperation::Test => "tested",
                ByteOperation::Classify => "looked up",
            }
        ),
        LoopFact::ByteTests { bytes, mean_run } => format!(
            "{} bytes are compared with constants one at a time, {mean_run:.0} on average for each \
             start; every outcome goes through conditional moves, whether it changes anything or not",
            count(*bytes)
        ),
        LoopFact::SkipsInText {
            positions,
            mean_run,
        } => format!(
            "a search for a word tests {} positions one by one, {mean_run:.0} on average per search; a table has the distance \
             to the next position for each letter: two loads, of which the second waits for the first",
            count(*positions)
        ),
        LoopFact::AppendedBytes {
            bytes,
            mean_run,
            reloads,
        } => format!(
            "{} bytes are appended one at a time{}; {reloads} loads per iteration read the buffer's \
             pointer and length again, and the length is stored for each byte",
            count(*bytes),
            mean_run.map_or(String::new(), |run| format!(
                ", in runs of {run:.0} bytes on average"
            ))
        ),
        LoopFact::BytesThroughMemory {
            bytes,
            mean_run,
            reloads,
        } => {
            let read = match reloads {
                0 => String::new(),
                _ => format!(
                    "{reloads} loads per iteration read the position and what stays again, and "
                ),
            };
            format!(
                "{} bytes are only tested, one at a time, {mean_run:.0} on average until something else is done; \
                 {read}the position is stored for each byte",
                count(*bytes)
            )
        }
        LoopFact::ByteTime {
            share,
            cycles: each,
        } => format!(
            "{} of the time, {} cycles per byte",
            percent(*share),
            cycles(*each)
        ),
        LoopFact::WideByteCost { operation } => match operation {
            ByteOperation::Copy => {
                "memcpy copies 16 bytes or more per cycle and takes about a dozen cycles to start"
            }
            ByteOperation::Compare => {
                "eight bytes at a time take about a cycle, plus about a dozen cycles to start and \
                 to locate the byte"
            }
            ByteOperation::Classify => {
                "two look-ups for 16 bytes take a few cycles, plus about two dozen cycles to start and to \
                 go through the block where the run ends"
            }
            ByteOperation::Test => {
                "a loop with the position in a register and a table of the bytes that stop it takes one \
                 to two cycles per byte; the byte that stops it costs what it costs now"
            }
        }
        .to_owned(),
        LoopFact::BranchOutcomes {
            line,
            taken,
            executions,
        } => format!(
            "the branch{} is taken in {} of its {} executions",
            line.map_or(String::new(), |line| format!(" of line {line}")),
            percent(*taken),
            count(*executions)
        ),
        LoopFact::BitsOneByOne { numbers, bits } => format!(
            "the loop takes one bit from memory in each iteration: {} numbers of {bits:.1} bits on average",
            count(*numbers)
        ),
        LoopFact::BitsCounted { numbers, bits } => format!(
            "each iteration counts one bit of a number in a register: {} numbers of {bits:.1} bits on average",
            count(*numbers)
        ),
        LoopFact::QuotientBits { divisions, bits } => format!(
            "each iteration finds one bit of a quotient by shift, comparison and subtraction: {} divisions of {bits:.1} bits on average",
            count(*divisions)
        ),
        LoopFact::HalvingSteps { searches, steps } => format!(
            "{} searches by halves in a table at a fixed address, at least {steps} steps each, every one of which waits for the \
             load, the comparison and the choice of the one before",
            count(*searches)
        ),
        LoopFact::ShortTrips {
            entries,
            elements,
            element_bytes,
            vector_iterations,
        } => format!(
            "the vectorised loop is entered {} times, for {elements:.1} elements of {} each time; \
             its vector part makes {vector_iterations:.2} iterations per entry",
            count(*entries),
            bytes_of_element(*element_bytes)
        ),
        LoopFact::TripInstructions {
            instructions,
            plain,
        } => format!(
            "each entry executes {instructions:.0} instructions with checks, set-up and remainder; \
             a plain loop over the same elements would execute about {plain:.0}"
        ),
        LoopFact::Mispredictions {
            per_iteration,
            majority,
            penalty_cycles,
            source,
        } => {
            let found = match source {
                EvidenceSource::Model => "the unexplained cycles amount to ",
                _ => "",
            };
            format!(
                "{found}{per_iteration:.2} branch mispredictions per iteration (always predicting the \
                 more frequent outcome: {majority:.2}), {} cycles each on this host",
                cycles(*penalty_cycles)
            )
        }
    }
}

fn bytes_of_element(bytes: u16) -> String {
    match bytes {
        1 => "1 byte".to_owned(),
        more => format!("{more} bytes"),
    }
}
