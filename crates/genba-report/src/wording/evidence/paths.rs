//! Facts about which paths through a function are usual, and about the order of tests.

use genba_model::PathFact;

use super::{count, cycles, percent};

pub(super) fn sentence(fact: &PathFact) -> String {
    match fact {
        PathFact::TestChain {
            tests,
            strings,
            values,
            executions,
            common,
            after,
        } => {
            let what = match (*strings, *values) {
                (true, _) => "string comparisons",
                (false, 0 | 1) => "tests of one value",
                _ => "tests of two values",
            };
            format!(
                "this chain of {tests} {what} is entered {} times; {} of them leave it by one \
                 outcome, after {after} tests",
                count(*executions),
                percent(*common)
            )
        }
        PathFact::MeanTests { mean, best } => format!(
            "{mean:.1} tests are executed each time; with the most frequent outcomes tested for \
             first {best:.1} would be"
        ),
        PathFact::TestTime {
            share,
            cycles: each,
        } => format!(
            "the tests behind the first take {} of the time, {} cycles each",
            percent(*share),
            cycles(*each)
        ),
        PathFact::RareFind {
            searches,
            elements,
            found,
        } => {
            let found = match *found > 0.0 {
                true => format!("{} of the searches find something", percent(*found)),
                false => "no search finds anything".to_owned(),
            };
            format!(
                "the same {elements:.1} elements are searched {} times; {found}",
                count(*searches)
            )
        }
        PathFact::UnequalComparisons {
            function,
            calls,
            unequal,
        } => format!(
            "`{function}` is called {} times; {} of the calls find a difference",
            count(*calls),
            percent(*unequal)
        ),
        PathFact::DecisionTime {
            share,
            cycles: each,
        } => format!(
            "the code that only serves this decision takes {} of the time, {} cycles each time",
            percent(*share),
            cycles(*each)
        ),
        PathFact::RarePath {
            function,
            calls,
            rare,
        } => {
            let rare = match *rare > 0.0 {
                true => format!("{} of them leave", percent(*rare)),
                false => "none of them leaves".to_owned(),
            };
            format!(
                "`{function}` is called {} times; {rare} the usual path",
                count(*calls)
            )
        }
        PathFact::FrameInstructions {
            instructions,
            saving,
        } => format!(
            "of the {instructions:.1} instructions of the other calls {saving:.1} save and restore \
             registers or move the stack pointer, which only the other paths need"
        ),
        PathFact::FunctionTime { share } => {
            format!("the function itself takes {} of the time", percent(*share))
        }
    }
}
