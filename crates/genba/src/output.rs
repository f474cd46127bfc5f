//! Standard output carries the result, standard error everything else.

use std::io::{self, IsTerminal, Write};

use genba_report::Screen;

use crate::cli::ColorWhen;
use crate::exit_code::Failure;
use crate::json_args::JsonArgs;

/// How progress is shown on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Not at all.
    Nothing,
    /// As a line that is drawn again and again.
    Line,
    /// As a few lines, where there is no terminal.
    SparseLines,
}

/// Writes results to standard output, notes and errors to standard error.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    color_out: bool,
    color_err: bool,
    quiet: bool,
}

impl Output {
    /// Decides about colour once for the whole run.
    pub fn new(when: ColorWhen, quiet: bool) -> Self {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty())
            || std::env::var_os("TERM").is_some_and(|v| v == "dumb");
        let decide = |terminal: bool| match when {
            ColorWhen::Always => true,
            ColorWhen::Never => false,
            ColorWhen::Auto => terminal && !unwanted,
        };
        Self {
            color_out: decide(io::stdout().is_terminal()),
            color_err: decide(io::stderr().is_terminal()),
            quiet,
        }
    }

    /// The same with colour everywhere or nowhere, and without progress and notes if `quiet`.
    pub fn with(self, color: Option<bool>, quiet: bool) -> Self {
        Self {
            color_out: color.unwrap_or(self.color_out),
            color_err: color.unwrap_or(self.color_err),
            quiet: self.quiet || quiet,
        }
    }

    /// Width and colour that results are laid out for.
    pub fn screen(&self) -> Screen {
        // A pipe has no width: long names are shortened only far out.
        let usual = if io::stdout().is_terminal() { 100 } else { 160 };
        let width = clap_width().unwrap_or(usual).clamp(60, 200);
        Screen {
            width,
            colour: self.color_out,
        }
    }

    /// How progress is shown.
    pub fn progress(&self) -> Shown {
        match (self.quiet, io::stderr().is_terminal()) {
            (true, _) => Shown::Nothing,
            (false, true) => Shown::Line,
            (false, false) => Shown::SparseLines,
        }
    }

    /// Prints a result. A closed pipe (`| head`) is not an error.
    pub fn result(&self, text: &str) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        let result = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        match result {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::usage(
                format!("cannot write to standard output: {error}"),
            )),
            _ => Ok(()),
        }
    }

    /// Prints a JSON document as the only thing on standard output, or writes it to its file.
    pub fn json<T: serde::Serialize>(
        &self,
        target: &JsonArgs,
        kind: &str,
        body: T,
    ) -> Result<(), Failure> {
        let document = genba_model::Document::new(kind, body);
        let mut text = serde_json::to_string(&document)
            .map_err(|error| Failure::usage(format!("cannot write this as JSON: {error}")))?;
        text.push('\n');
        match target.file() {
            Some(file) => crate::compare::write(file, &text),
            None => self.result(&text),
        }
    }

    /// Prints a note on standard error, unless `--quiet`.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            let _ = writeln!(io::stderr(), "{}", genba_report::sanitise_lines(text));
        }
    }

    /// Prints an error on standard error.
    pub fn error(&self, failure: &Failure) {
        let label = if self.color_err {
            "\x1b[1;31merror:\x1b[0m"
        } else {
            "error:"
        };
        let text = genba_report::sanitise_lines(&failure.message);
        let _ = writeln!(io::stderr(), "{label} {text}");
    }
}

/// Width of the terminal that standard output is, or `$COLUMNS`.
fn clap_width() -> Option<usize> {
    let asked = std::env::var("COLUMNS")
        .ok()
        .and_then(|columns| columns.parse().ok());
    asked.or_else(|| {
        rustix::termios::tcgetwinsize(io::stdout())
            .ok()
            .map(|size| usize::from(size.ws_col))
            .filter(|&columns| columns > 0)
    })
}
