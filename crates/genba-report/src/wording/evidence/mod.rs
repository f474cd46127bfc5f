//! What was observed: one sentence for each fact.

mod calls;
mod conversions;
mod divisions;
mod kernel;
mod loads;
mod loops;
mod memory;
mod observed;
mod paths;
mod quadratic;
mod threads;

#[cfg(test)]
mod sentence_tests;

use genba_model::{BuildFact, Fact};
use genba_units::format::{self, cycle_range, cycles, short_percent as percent};

/// The sentence for a fact.
pub(super) fn sentence(fact: &Fact) -> String {
    match fact {
        Fact::Loop(fact) => loops::sentence(fact),
        Fact::Load(fact) => loads::sentence(fact),
        Fact::Division(fact) => divisions::sentence(fact),
        Fact::Call(fact) => calls::sentence(fact),
        Fact::Conversion(fact) => conversions::sentence(fact),
        Fact::Build(fact) => build(fact),
        Fact::Memory(fact) => memory::sentence(fact),
        Fact::Kernel(fact) => kernel::sentence(fact),
        Fact::Thread(fact) => threads::sentence(fact),
        Fact::Path(fact) => paths::sentence(fact),
        Fact::Quadratic(fact) => quadratic::sentence(fact),
        Fact::Observed(fact) => observed::sentence(fact),
    }
}

fn build(fact: &BuildFact) -> String {
    match fact {
        BuildFact::UnoptimisedTime { share, functions } => format!(
            "{} of the time is in {} compiled without optimisation",
            percent(*share),
            format::plural(*functions as u64, "function")
        ),
        BuildFact::InstructionsPerCall { instructions } => format!(
            "{instructions:.0} instructions per call: mostly calls of small functions that \
             optimisation would inline"
        ),
        BuildFact::StackAccesses => {
            "most executed instructions access the stack frame, which is rare in optimised code"
                .to_owned()
        }
        BuildFact::Producer { text } => format!("compiled by: {text}"),
        BuildFact::CopiesOfLine { copies, share } => format!(
            "the compiler made {copies} copies of this line, which take {} of the time together",
            percent(*share)
        ),
        BuildFact::NoSymbols { share, module } => {
            format!(
                "{} of the time is in code of {module} without symbols",
                percent(*share)
            )
        }
    }
}

/// A count: `12,345`, `410.2 M`.
fn count(value: u64) -> String {
    format::count(value as f64)
}

/// A dependency chain: `div → div`, `load → imul → xor`; of a long one the beginning.
pub(super) fn chain(mnemonics: &[String]) -> String {
    const MOST_NAMED: usize = 6;
    let mut runs: Vec<(&str, usize)> = Vec::new();
    for name in mnemonics {
        match runs.last_mut() {
            Some(last) if last.0 == name => last.1 += 1,
            _ => runs.push((name, 1)),
        }
    }
    let named = runs.iter().take(MOST_NAMED);
    let mut parts: Vec<String> = named
        .map(|&(name, times)| match times {
            1 => name.to_owned(),
            2 => format!("{name} → {name}"),
            _ => format!("{times} × {name}"),
        })
        .collect();
    if runs.len() > MOST_NAMED {
        parts.push("…".to_owned());
    }
    parts.join(" → ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_chains_are_cut_and_runs_are_counted() {
        let chain_of = |names: &str| {
            let names: Vec<String> = names.split(' ').map(str::to_owned).collect();
            chain(&names)
        };
        assert_eq!(chain_of("div div"), "div → div");
        assert_eq!(chain_of("load add add add xor"), "load → 3 × add → xor");
        assert_eq!(chain_of("a b c d e f g"), "a → b → c → d → e → f → …");
    }
}
