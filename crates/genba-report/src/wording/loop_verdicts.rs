//! Sentences of the loop model: which bound explains a loop's cycles, and why.

use genba_model::{
    BranchOutcome, ChainPaths, Estimate, InstructionPlace, LoopChain, LoopModelFigures,
    LoopThroughput, LoopVerdict, NoLoopChain, OpaqueReason, ThroughputLimit,
};
use genba_units::format::{
    cycle_range, cycles, cycles_with_unit as with_unit, short_percent as percent,
};

use super::evidence::chain as chain_names;
use super::loops::bound as bound_name;

/// Modelled ÷ measured cycles from which a verdict says "all". Chosen: tables are no more exact.
const ALL_OF_MEASURED: f64 = 0.97;

/// The sentence of a loop's verdict.
#[must_use]
pub fn loop_verdict(verdict: &LoopVerdict) -> String {
    match verdict {
        LoopVerdict::NotMeasured { model } => {
            format!("no time was measured in it; {}", figures(model))
        }
        LoopVerdict::FewSamples { samples, model } => {
            format!(
                "only {} samples are in it; {}",
                cycles(*samples),
                figures(model)
            )
        }
        LoopVerdict::ChainAboveMeasured { chain, measured } => format!(
            "the model does not hold: its longest dependency chain ({}{}) would take {}, more than \
             the {} measured",
            chain_names(&chain.mnemonics),
            paths(chain.paths),
            with_unit(&chain.cycles),
            cycle_range(measured)
        ),
        LoopVerdict::ThroughputAboveMeasured {
            throughput,
            measured,
        } => format!(
            "the model does not hold: its {} would take {}, more than the {} measured",
            limit(&throughput.limit),
            with_unit(&throughput.cycles),
            cycle_range(measured)
        ),
        LoopVerdict::Latency {
            chain,
            measured,
            throughput,
        } => format!(
            "each iteration waits for the previous one: {} takes {}{}{}",
            chain_names(&chain.mnemonics),
            part(&chain.cycles, measured),
            paths(chain.paths),
            throughput.as_ref().map_or(String::new(), |one| format!(
                "; its {} would take {}",
                limit(&one.limit),
                cycle_range(&one.cycles)
            ))
        ),
        LoopVerdict::Throughput {
            throughput,
            measured,
            chain_cycles,
        } => format!(
            "its {} take {}{}",
            limit(&throughput.limit),
            part(&throughput.cycles, measured),
            chain_cycles.map_or(String::new(), |chain| format!(
                "; its longest dependency chain takes {}",
                cycle_range(&chain)
            ))
        ),
        LoopVerdict::Memory {
            measured,
            load,
            share,
            cycles_each,
            l1d_hit_cycles,
            levels,
        } => format!(
            "{} of its {} are at {}: {} per execution, {} if it hits L1d{}",
            percent(*share),
            with_unit(measured),
            place(load),
            cycles(*cycles_each),
            cycles(*l1d_hit_cycles),
            latencies(levels)
        ),
        LoopVerdict::Branch {
            measured,
            branch,
            share,
        } => format!(
            "{}, and {} of its {} are at it; a misprediction costs about {}",
            outcome(branch),
            percent(*share),
            with_unit(measured),
            cycles(branch.penalty_cycles)
        ),
        LoopVerdict::MispredictionsSuffice {
            measured,
            branch,
            mispredicted,
            unexplained,
        } => format!(
            "{}: mispredictions in {} of its executions, about {} cycles each, would explain {} of \
             its {}, and nothing else does",
            outcome(branch),
            percent(*mispredicted),
            cycles(branch.penalty_cycles),
            cycles(*unexplained),
            with_unit(measured)
        ),
        LoopVerdict::LoadsAndBranches {
            measured,
            loads,
            branches,
        } => format!(
            "{} of its {} are at loads and {} at branches with varying outcome",
            percent(*loads),
            with_unit(measured),
            percent(*branches)
        ),
        LoopVerdict::FewIterations { trips, model } => format!(
            "it is left after {} iterations on average, so entering and leaving it cost as much as \
             its iterations; {}",
            cycles(*trips),
            figures(model)
        ),
        LoopVerdict::Unexplained { .. } => unexplained(verdict),
        LoopVerdict::InnerLoop {
            address,
            share,
            bound,
        } => format!(
            "{} of its time is in the inner loop at {address:#x}{}",
            percent(*share),
            bound.map_or(String::new(), |bound| format!(
                ", which is {}",
                bound_name(bound)
            ))
        ),
        LoopVerdict::InnerLoops { share } => format!(
            "{} of its time is in inner loops, and such loops are not modelled",
            percent(*share)
        ),
    }
}

fn unexplained(verdict: &LoopVerdict) -> String {
    let LoopVerdict::Unexplained {
        measured,
        model,
        unknown_form,
        paths_differ,
        forwarding_fails,
        at_loads,
        at_branches,
    } = verdict
    else {
        return String::new();
    };
    let mut text = format!(
        "{} per iteration are unexplained: {}",
        with_unit(measured),
        figures(model)
    );
    if let Some(form) = unknown_form {
        text.push_str(&format!("; the host table has no `{form}`"));
    }
    if *paths_differ {
        text.push_str("; its paths have different dependency chains");
    }
    if *forwarding_fails {
        text.push_str("; a load overlaps a part of an earlier store, so store forwarding fails");
    }
    if let Some(share) = at_loads {
        text.push_str(&format!("; {} of the time is at loads", percent(*share)));
    }
    if let Some(share) = at_branches {
        text.push_str(&format!(
            "; {} is at branches with varying outcome",
            percent(*share)
        ));
    }
    text
}

/// What the model gives, as far as it does.
fn figures(model: &LoopModelFigures) -> String {
    let chain = match &model.chain {
        Ok(chain) if chain.mnemonics.is_empty() => {
            "in the model no iteration depends on the previous one".to_owned()
        }
        Ok(chain) => chain_figure(chain),
        Err(reason) => no_chain(reason),
    };
    match &model.throughput {
        Some(one) => format!("{chain}, and its {}", throughput_figure(one)),
        None => chain,
    }
}

fn chain_figure(chain: &LoopChain) -> String {
    format!(
        "in the model its longest dependency chain takes {} ({}{})",
        with_unit(&chain.cycles),
        chain_names(&chain.mnemonics),
        paths(chain.paths)
    )
}

fn throughput_figure(one: &LoopThroughput) -> String {
    format!("{} take {}", limit(&one.limit), cycle_range(&one.cycles))
}

fn no_chain(reason: &NoLoopChain) -> String {
    match reason {
        NoLoopChain::Irreducible => "it is irreducible (entered in more than one place)".to_owned(),
        NoLoopChain::ContainsLoops => "it contains other loops".to_owned(),
        NoLoopChain::TooLong => "its iterations are too long for the model".to_owned(),
        NoLoopChain::PathsNotCounted => "the paths of its iterations were not counted".to_owned(),
        NoLoopChain::Opaque {
            instruction,
            reason,
        } => match reason {
            OpaqueReason::Call => format!(
                "each iteration calls (`{instruction}`), and chains through calls are not modelled"
            ),
            OpaqueReason::Kernel => format!("each iteration enters the kernel (`{instruction}`)"),
            OpaqueReason::Repeated => {
                format!("the time of `{instruction}` depends on its repeat count")
            }
            OpaqueReason::Serialising => format!("`{instruction}` is serialising"),
            OpaqueReason::Exit => format!("`{instruction}` is not modelled"),
        },
    }
}

/// Which iterations a chain is of: ` on the path of at least 83 % of its iterations`.
fn paths(paths: ChainPaths) -> String {
    match paths {
        ChainPaths::All => String::new(),
        ChainPaths::Dominant { share } => format!(
            " on the path of at least {} of its iterations",
            percent(share)
        ),
        ChainPaths::Several { paths } => format!(" over {paths} paths"),
    }
}

fn limit(limit: &ThroughputLimit) -> String {
    match limit {
        ThroughputLimit::Width {
            instructions,
            per_cycle,
        } => {
            return format!(
                "{} instructions, {} a cycle at most",
                cycles(*instructions),
                cycles(*per_cycle)
            );
        }
        ThroughputLimit::Mnemonic(name) => name,
        ThroughputLimit::TakenBranches => "taken branches",
        ThroughputLimit::LockedOperations => "locked operations",
        ThroughputLimit::Loads => "loads",
        ThroughputLimit::Stores => "stores",
        ThroughputLimit::IntegerOperations => "integer operations",
        ThroughputLimit::Multiplications => "multiplications",
        ThroughputLimit::Divisions => "divisions",
        ThroughputLimit::Shifts => "shifts",
        ThroughputLimit::FloatAdditions => "floating-point additions",
        ThroughputLimit::FloatMultiplications => "floating-point multiplications",
        ThroughputLimit::FloatDivisions => "floating-point divisions and roots",
        ThroughputLimit::FloatMultiplyAdds => "floating-point multiply-adds",
    }
    .to_owned()
}

/// How much of the measured cycles a figure of the model is.
fn part(figure: &Estimate, measured: &Estimate) -> String {
    if figure.low >= ALL_OF_MEASURED * measured.value {
        return format!("all of its {}", with_unit(measured));
    }
    format!("{} of its {}", cycle_range(figure), with_unit(measured))
}

fn outcome(branch: &BranchOutcome) -> String {
    format!(
        "{} is taken {}",
        place(&branch.instruction),
        percent(branch.taken)
    )
}

fn place(instruction: &InstructionPlace) -> String {
    format!("`{}` at {:#x}", instruction.text, instruction.address)
}

/// The latencies of memory levels: ` (L2 14, L3 50, memory 300)`.
fn latencies(levels: &[(String, f64)]) -> String {
    if levels.is_empty() {
        return String::new();
    }
    let list: Vec<String> = levels
        .iter()
        .map(|(name, latency)| format!("{name} {}", cycles(*latency)))
        .collect();
    format!(" ({})", list.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(value: f64) -> Estimate {
        Estimate::exact(value)
    }

    fn chain(paths: ChainPaths) -> LoopChain {
        LoopChain {
            cycles: exact(3.0),
            mnemonics: vec!["load".to_owned(), "addsd".to_owned()],
            paths,
        }
    }

    fn width() -> LoopThroughput {
        LoopThroughput {
            cycles: exact(1.5),
            limit: ThroughputLimit::Width {
                instructions: 6.0,
                per_cycle: 4.0,
            },
        }
    }

    fn model(chain: Result<LoopChain, NoLoopChain>) -> LoopModelFigures {
        LoopModelFigures {
            chain,
            throughput: Some(width()),
        }
    }

    fn branch() -> BranchOutcome {
        BranchOutcome {
            instruction: InstructionPlace {
                text: "jge 0x12".to_owned(),
                address: 0x10,
            },
            taken: 0.5,
            penalty_cycles: 16.0,
        }
    }

    #[test]
    fn every_verdict_has_a_sentence() {
        let opaque = |reason| {
            Err(NoLoopChain::Opaque {
                instruction: "call 0x20".to_owned(),
                reason,
            })
        };
        let load = InstructionPlace {
            text: "mov rax, [rax]".to_owned(),
            address: 0x14,
        };
        let verdicts = [
            LoopVerdict::NotMeasured {
                model: model(opaque(OpaqueReason::Call)),
            },
            LoopVerdict::FewSamples {
                samples: 3.0,
                model: model(Err(NoLoopChain::Irreducible)),
            },
            LoopVerdict::ChainAboveMeasured {
                chain: chain(ChainPaths::Several { paths: 4 }),
                measured: exact(1.5),
            },
            LoopVerdict::ThroughputAboveMeasured {
                throughput: width(),
                measured: exact(1.0),
            },
            LoopVerdict::Latency {
                chain: chain(ChainPaths::Dominant { share: 0.83 }),
                measured: exact(3.01),
                throughput: Some(width()),
            },
            LoopVerdict::Throughput {
                throughput: width(),
                measured: exact(2.0),
                chain_cycles: Some(exact(1.0)),
            },
            LoopVerdict::Memory {
                measured: exact(90.0),
                load,
                share: 0.95,
                cycles_each: 85.5,
                l1d_hit_cycles: 4.0,
                levels: vec![("L2".to_owned(), 14.0), ("memory".to_owned(), 300.0)],
            },
            LoopVerdict::Branch {
                measured: exact(9.0),
                branch: branch(),
                share: 0.7,
            },
            LoopVerdict::MispredictionsSuffice {
                measured: exact(8.7),
                branch: branch(),
                mispredicted: 0.44,
                unexplained: 7.2,
            },
            LoopVerdict::LoadsAndBranches {
                measured: exact(30.0),
                loads: 0.4,
                branches: 0.5,
            },
            LoopVerdict::FewIterations {
                trips: 2.0,
                model: model(Ok(chain(ChainPaths::All))),
            },
            LoopVerdict::Unexplained {
                measured: exact(7.0),
                model: model(Ok(LoopChain {
                    mnemonics: Vec::new(),
                    ..chain(ChainPaths::All)
                })),
                unknown_form: Some("pdep r64, r64, r64".to_owned()),
                paths_differ: true,
                forwarding_fails: true,
                at_loads: Some(0.35),
                at_branches: Some(0.25),
            },
            LoopVerdict::InnerLoop {
                address: 0x40,
                share: 0.9,
                bound: Some(genba_model::LoopBound::Latency),
            },
            LoopVerdict::InnerLoops { share: 0.8 },
        ];
        let text: Vec<String> = verdicts.iter().map(loop_verdict).collect();
        insta::assert_snapshot!(text.join("\n"));
        for limit_ in [
            ThroughputLimit::Loads,
            ThroughputLimit::Mnemonic("pdep".to_owned()),
        ] {
            assert!(!limit(&limit_).is_empty());
        }
    }
}
