//! Code for an interpreter, timed inside one process, with the cost of the loop subtracted.
//!
//! **Method.** As benchmark_driver does, a script is generated that runs `while i < n` around
//! the code and around nothing, and the second is taken off the first. Other than there, both
//! loops alternate in several rounds after one that does not count, so that the code's caches
//! are warm and a drift of the machine's speed falls on both alike (a script with a
//! `loop_count` of 1 runs once, as it does there); and one process is one run,
//! so that the schedule interleaves interpreters and snippets. The number of iterations is
//! found once per snippet with the first interpreter and is the same for all of them.
//!
//! **What a script reports**, as lines `name value unit` to the descriptor in
//! `$GENBA_METRICS_FD`, or to standard error where there is none:
//!
//! | metric | unit | |
//! |---|---|---|
//! | `per_iteration` | seconds | one iteration, the empty loop taken off; decides |
//! | `per_iteration_user` | seconds | of it, in user mode |
//! | `per_iteration_system` | seconds | of it, in the kernel |
//! | `with_loop` | seconds | one iteration with the loop round it; always above zero |
//! | `empty_loop` | seconds | one iteration of the empty loop |
//! | `iterations_per_second` | iterations/s | the inverse of `per_iteration`, where that is above zero |

mod generated_script;
mod python;
mod ruby;

use genba_model::Direction;

pub use generated_script::{Generated, SourceMap};
pub use python::Python;
pub use ruby::Ruby;

use crate::suite_model::{MetricSource, MetricSpec};

/// Primary metric of snippets: seconds per iteration after subtracting the empty loop.
pub const PER_ITERATION: &str = "per_iteration";
/// Primary metric if that is too close to zero: seconds per iteration with the loop.
pub const WITH_LOOP: &str = "with_loop";
/// Seconds of one iteration of the empty loop.
pub const EMPTY_LOOP: &str = "empty_loop";

/// Iterations that a script may be asked for.
pub const MAX_LOOP_COUNT: u64 = 1_000_000_000_000;

/// A piece of the user's code with its name for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Such as `script of "join"`.
    pub label: String,
    /// The code.
    pub text: String,
}

impl Part {
    /// A piece of code.
    #[must_use]
    pub fn new(label: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            text: text.into(),
        }
    }
}

/// Code to be timed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// What it is written in.
    pub language: Language,
    /// Interpreter and its options.
    pub interpreter: Vec<String>,
    /// Run once before; what it defines is visible to the script.
    pub preludes: Vec<Part>,
    /// What is timed.
    pub script: Part,
    /// Run once after.
    pub teardowns: Vec<Part>,
    /// Iterations in one run; found by trying if `None`.
    pub loop_count: Option<u64>,
    /// Oldest version of the interpreter that will do.
    pub required_version: Option<String>,
}

impl Snippet {
    /// Interpreter and script in a line, for people.
    #[must_use]
    pub fn shown(&self) -> String {
        let script = one_line(&self.script.text);
        format!("{}: {script}", self.interpreter.join(" "))
    }
}

/// A script in a line, its end left off where it is long.
pub(crate) fn one_line(script: &str) -> String {
    let words: Vec<_> = script.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Languages with a runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// Ruby 2.4 or later.
    Ruby,
    /// Python 3.8 or later.
    Python,
}

impl Language {
    /// Its runner.
    #[must_use]
    pub fn runner(self) -> &'static dyn SnippetRunner {
        match self {
            Self::Ruby => &Ruby,
            Self::Python => &Python,
        }
    }
}

/// Mode of a generated script.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// Finds how many iterations take this many seconds, and reports them as `iterations`
    /// beside `per_iteration` and `empty_loop`.
    Calibrate {
        /// Seconds that the loop around the script should take.
        seconds: f64,
    },
    /// Times this many iterations and reports the metrics above.
    Measure {
        /// Iterations that count.
        loop_count: u64,
        /// Whether a round that does not count comes first. Not for scripts that were written
        /// to run once: what they define may not be defined again.
        warm_up: bool,
    },
}

/// Makes scripts of one language. Pure: nothing is run here.
pub trait SnippetRunner {
    /// Name of the language.
    fn language(&self) -> &'static str;
    /// Interpreter where none is given.
    fn default_interpreter(&self) -> &'static str;
    /// Extension of its scripts, without the dot.
    fn extension(&self) -> &'static str;
    /// Arguments that make the interpreter print its version and nothing else.
    fn version_arguments(&self) -> &'static [&'static str];
    /// The script.
    ///
    /// # Errors
    /// What no script can be made of, as a sentence.
    fn generate(&self, snippet: &Snippet, mode: Mode) -> Result<Generated, String>;
}

/// Rounds in which the loops alternate: how many come first and do not count, and the
/// iterations of each. Few iterations are not divided: a round of one would measure the clock.
pub(crate) fn rounds(loop_count: u64, warm_up: bool) -> (usize, Vec<u64>) {
    const ROUNDS: u64 = 4;
    const LEAST: u64 = 100;
    let mut rounds = if loop_count < ROUNDS * LEAST {
        vec![loop_count]
    } else {
        let share = loop_count / ROUNDS;
        vec![share, share, share, loop_count - share * (ROUNDS - 1)]
    };
    if warm_up {
        rounds.insert(0, loop_count.div_ceil(ROUNDS));
    }
    (usize::from(warm_up), rounds)
}

/// One of the metrics above that are seconds, as something to be found.
#[must_use]
pub fn metric(name: &str) -> MetricSpec {
    MetricSpec {
        name: name.to_owned(),
        source: MetricSource::Reported,
        unit: "seconds".to_owned(),
        direction: Direction::LessIsBetter,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rounds_that_count_add_up(loop_count in 1..MAX_LOOP_COUNT, warm_up: bool) {
            let (first, rounds) = rounds(loop_count, warm_up);
            prop_assert_eq!(rounds[first..].iter().sum::<u64>(), loop_count);
            prop_assert_eq!(rounds[..first].len(), usize::from(warm_up));
            prop_assert!(rounds.iter().all(|&count| count > 0 && count <= loop_count));
        }
    }
}
