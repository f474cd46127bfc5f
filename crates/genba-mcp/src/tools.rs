//! The tools, and what a checked call of one needs.

use std::path::{Path, PathBuf};

use crate::arguments::Arguments;
use crate::command_lines::{
    CASE, Line, annotate, bench, bisect, explain, fix, investigate, observe, prove, try_variants,
    wait,
};
use crate::{Refusal, Workspace};

/// A tool.
pub struct Tool {
    pub name: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    pub required: &'static [&'static str],
    pub optional: &'static [&'static str],
    /// Whether it runs the command; others read what was measured.
    pub measures: bool,
    line: fn(&Arguments, &Workspace, &Path) -> Result<Line, Refusal>,
}

/// A call that was checked.
pub struct Call {
    pub line: Line,
    /// Working directory.
    pub directory: PathBuf,
    /// The case that is read, if one is.
    pub case: Option<CaseRead>,
}

/// The case that a call reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaseRead {
    /// The newest investigation: cases of `try` and `wait` that came later have no profile.
    NewestInvestigation,
    /// The case with this id, or a prefix of it, or `latest`.
    Named(String),
}

/// All tools.
pub const TOOLS: [Tool; 10] = [
    Tool {
        name: "investigate",
        title: "Where does the time of a command go, and why?",
        description: "Start here when a program is slow. Runs it repeatedly, samples it, counts executions; returns \
            where the time goes (functions with intervals, cost per call) and causes with evidence, fix and predicted \
            gain. Makes a case that annotate, observe and explain read. Takes about 30 s.",
        required: &["command"],
        optional: &["budget_seconds", "ignore_failure"],
        measures: true,
        line: investigate,
    },
    Tool {
        name: "explain",
        title: "Causes with evidence, fix and predicted gain",
        description: "The causes of a case's time, most profitable first: line, evidence (measured, counted, observed), \
            fix, predicted gain with interval. Where no cause fits, the places with most time. A prediction is not a \
            result: confirm a change with try or bench.",
        required: &[],
        optional: &["case"],
        measures: false,
        line: explain,
    },
    Tool {
        name: "prove",
        title: "What would this fix gain, measured before any edit?",
        description: "Applies the fix of a finding to the running code of the case's command and measures the gain, with \
            output compared. Where no change computes the same, the upper bound: the gain if the cause were free. Use it \
            before you edit the source. Takes up to a minute.",
        required: &[],
        optional: &["case", "finding", "upper_bound", "budget_seconds"],
        measures: true,
        line: prove,
    },
    Tool {
        name: "fix",
        title: "A source patch for a finding, tried",
        description: "Writes a patch for a finding of C or C++ code where a rule makes one, builds it in a copy of \
            `directory`, compares output and time. Returns the patch with its verdict, or why there is none. The tree \
            itself is not changed.",
        required: &[],
        optional: &[
            "case",
            "finding",
            "build",
            "clean",
            "check",
            "budget_seconds",
        ],
        measures: true,
        line: fix,
    },
    Tool {
        name: "annotate",
        title: "Source and assembly of a function",
        description: "Source beside assembly of one function of a case, with each instruction's share of time, \
            execution count, cost per execution and this machine's latency.",
        required: &["function"],
        optional: &["case"],
        measures: false,
        line: annotate,
    },
    Tool {
        name: "observe",
        title: "What a function or line did",
        description: "What a function or line of a case did, seen in bursts over the whole run: values of arguments and \
            operands, cache levels, branch outcomes, work done again, each with an interval.",
        required: &["place"],
        optional: &["case", "command"],
        measures: true,
        line: observe,
    },
    Tool {
        name: "wait",
        title: "What the wall clock waits for",
        description: "Use it when a program is slow but not on a CPU all the time. What each thread waited for (lock, \
            join, child, pipe, socket, file, sleep), at which line, who held it, the critical path, and causes of \
            needless waiting with gains of wall time.",
        required: &["command"],
        optional: &[],
        measures: true,
        line: wait,
    },
    Tool {
        name: "bench",
        title: "Which command is faster, by how much, how certain?",
        description: "Compares commands by interleaved, paired runs; stops when the verdict is decided: faster, slower, \
            same, or undecided. Intervals hold at any stopping time. No verdict is given for a command that prints \
            something else than the first.",
        required: &["commands"],
        optional: &[
            "metric",
            "budget_seconds",
            "compare_output",
            "ignore_failure",
        ],
        measures: true,
        line: bench,
    },
    Tool {
        name: "try",
        title: "Is the program faster with this patch?",
        description: "Builds the program in copies of its directory with and without a patch (the tree itself is not \
            changed), and compares both by paired runs, beside the effect of code layout alone. No verdict is given \
            where the patched program prints something else or fails. Use it to confirm a fix before you apply it.",
        required: &["command", "build"],
        optional: &["patch", "presets", "clean", "metric", "budget_seconds"],
        measures: true,
        line: try_variants,
    },
    Tool {
        name: "bisect",
        title: "Find what made it slower",
        description: "Finds the culprit of a difference: the value of a parameter, a commit, elements of a set, or \
            regions of a C or C++ file. Noisy measurements are searched by probability; the culprit is confirmed by \
            paired runs.",
        required: &["search", "command"],
        optional: &[
            "parameter",
            "values",
            "good",
            "bad",
            "build",
            "items",
            "file",
            "metric",
            "budget_seconds",
        ],
        measures: true,
        line: bisect,
    },
];

impl Tool {
    /// The tool of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        TOOLS.iter().find(|tool| tool.name == name)
    }

    /// The command line of a call.
    ///
    /// # Errors
    /// The call leads outside of the workspace, or cannot be expressed.
    pub fn call(&self, arguments: &Arguments, workspace: &Workspace) -> Result<Call, Refusal> {
        let directory = workspace.directory(arguments.directory.as_deref())?;
        let mut line = (self.line)(arguments, workspace, &directory)?;
        if line.words.iter().any(|word| word.contains('\0')) {
            return Err(Refusal("an argument has a NUL character".to_owned()));
        }
        let head = [Some(self.name), line.subverb, Some("--json")];
        let head = head.into_iter().flatten().map(str::to_owned);
        line.words.splice(0..0, head);
        let reads = line.words.iter().any(|word| word == CASE);
        let case = reads.then(|| match &arguments.case {
            None => CaseRead::NewestInvestigation,
            Some(id) => CaseRead::Named(id.clone()),
        });
        if let Some(CaseRead::Named(id)) = &case {
            workspace.case(id)?;
        }
        // Cases are read from the root: a file there cannot be taken for one.
        let directory = match case {
            Some(_) => workspace.root().to_owned(),
            None => directory,
        };
        Ok(Call {
            line,
            directory,
            case,
        })
    }
}
