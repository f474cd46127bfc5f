//! Standard output carries the result, standard error everything else.

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd as _;

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
    behind: Option<SharedStream>,
}

/// What standard output is, where a command writes to it, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SharedStream {
    /// `/dev/null`: the command's output is not wanted, and results go to standard error.
    Null,
    /// A file, in which results are behind what the command wrote.
    File,
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
            behind: None,
        }
    }

    /// The same for results that come behind the output of a command that is passed through.
    pub fn behind_command(self, passes_output: bool) -> Self {
        let behind = passes_output.then(shared_stream).flatten();
        Self {
            color_out: match behind {
                Some(SharedStream::Null) => self.color_err,
                _ => self.color_out,
            },
            behind,
            ..self
        }
    }

    /// The same with colour everywhere or nowhere, and without progress and notes if `quiet`.
    pub fn with(self, color: Option<bool>, quiet: bool) -> Self {
        Self {
            color_out: color.unwrap_or(self.color_out),
            color_err: color.unwrap_or(self.color_err),
            quiet: self.quiet || quiet,
            ..self
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
        let write = |out: &mut dyn Write| out.write_all(text.as_bytes()).and_then(|()| out.flush());
        let result = match self.behind {
            Some(SharedStream::Null) => write(&mut io::stderr().lock()),
            _ => write(&mut io::stdout().lock()),
        };
        match result {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::usage(
                format!("cannot write to standard output: {error}"),
            )),
            _ => Ok(()),
        }
    }

    /// Prints the result of a command that was run, and says where it is mixed with the command's output.
    pub fn last_result(&self, text: &str) -> Result<(), Failure> {
        let mixed = self.behind == Some(SharedStream::File) && stdout_has_content();
        self.result(text)?;
        if mixed {
            self.note(
                "note: standard output has the command's output and this report behind it; to separate them: --output FILE, or null",
            );
        }
        Ok(())
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
            Some(file) => crate::output_file::write(file, &text),
            None => self.result(&text),
        }
    }

    /// Prints a note on standard error, unless `--quiet`.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            let _ = writeln!(io::stderr(), "{}", genba_report::sanitise_lines(text));
        }
    }

    /// Prints an error on standard error, and what to write instead.
    pub fn error(&self, failure: &Failure, tip: Option<String>) {
        let label = if self.color_err {
            "\x1b[1;31merror:\x1b[0m"
        } else {
            "error:"
        };
        let text = genba_report::sanitise_lines(&failure.message);
        let _ = writeln!(io::stderr(), "{label} {text}");
        if let Some(tip) = tip {
            let _ = writeln!(io::stderr(), "  {}", genba_report::sanitise_lines(&tip));
        }
    }
}

/// What standard output is, where results of genba could be lost in it or in the way.
fn shared_stream() -> Option<SharedStream> {
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
    let status = stdout_status()?;
    let null = std::fs::metadata("/dev/null").ok()?;
    if status.file_type().is_char_device() && status.rdev() == null.rdev() {
        return Some(SharedStream::Null);
    }
    status.is_file().then_some(SharedStream::File)
}

fn stdout_has_content() -> bool {
    stdout_status().is_some_and(|status| status.len() > 0)
}

fn stdout_status() -> Option<std::fs::Metadata> {
    let copy = io::stdout().as_fd().try_clone_to_owned().ok()?;
    std::fs::File::from(copy).metadata().ok()
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
