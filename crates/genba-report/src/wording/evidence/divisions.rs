//! Facts about integer divisions.

use genba_model::DivisionFact;

use super::{count, cycle_range, cycles, percent};

pub(super) fn sentence(fact: &DivisionFact) -> String {
    match fact {
        DivisionFact::Time {
            share,
            cycles: each,
            form,
            host_cycles,
        } => {
            let each = each.map_or(String::new(), |each| {
                format!(", {} cycles per execution", cycles(each))
            });
            let host = host_cycles.map_or(String::new(), |host| {
                format!(
                    "; the latency of `{form}` on this host is {} cycles",
                    cycle_range(&host)
                )
            });
            format!(
                "{} of the time is at the divisions and what waits for them{each}{host}",
                percent(*share)
            )
        }
        DivisionFact::SameOperands { form, executions } => format!(
            "two `{form}` with the same operands, {} executions each",
            count(*executions)
        ),
        DivisionFact::OperandReloaded => {
            "an operand is reloaded from memory between the two, because a store may have changed it"
                .to_owned()
        }
        DivisionFact::OnlyCompared {
            form,
            executions,
            one_way,
        } => format!(
            "the quotient of `{form}` is only compared ({} executions); the branch on it goes the \
             same way in at least {} of them",
            count(*executions),
            percent(*one_way)
        ),
        DivisionFact::SameMultiplier { instruction } => {
            format!("`{instruction}` multiplies by the same divisor")
        }
        DivisionFact::WrappedCounter {
            instruction,
            executions,
        } => format!(
            "`{instruction}` takes the remainder of the previous remainder plus one, {} times: the quotient can only be \
             zero or one",
            count(*executions)
        ),
        DivisionFact::InvariantDivisor {
            instruction,
            executions,
            entries,
        } => format!(
            "the divisor of `{instruction}` does not change in the loop: {} divisions, {} loop \
             entries",
            count(*executions),
            count(*entries)
        ),
        DivisionFact::AllNeeded {
            executions,
            share,
            both_results,
        } => {
            let both = both_results.as_ref().map_or(String::new(), |mnemonic| {
                format!(", and one `{mnemonic}` gives both quotient and remainder")
            });
            format!(
                "{} divisions take {} of the loop's time; no two have the same operands{both}",
                count(*executions),
                percent(*share)
            )
        }
        DivisionFact::Reciprocal {
            multiplication,
            remainder,
            executions,
        } => format!(
            "no division is executed: the loop multiplies by the divisor's reciprocal \
             (`{multiplication}`) and computes the remainder from the quotient (`{remainder}`), {} \
             times; no quotient is computed twice",
            count(*executions)
        ),
        DivisionFact::WordByWord {
            divisor,
            word_bits,
            digits,
        } => format!(
            "the loop divides a number of many {word_bits}-bit words by {divisor}; a word has room for \
             the remainder by {divisor}^{digits}"
        ),
        DivisionFact::DigitByDigit { base, digits } => format!(
            "each iteration divides the number by {base} for one digit; a number has {digits:.1} digits on average"
        ),
        DivisionFact::CalledFrom { caller, calls } => {
            format!("called {} times from `{caller}`", count(*calls))
        }
    }
}
