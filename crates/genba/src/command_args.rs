//! Arguments of the command to run, shared by all verbs that run one.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use genba_experiment::parameters::replace;
use genba_model::Workload;
use genba_run::{CommandSpec, Output, Shell, Stdin};

use genba_units::parse_duration;

use crate::exit_code::Failure;
use crate::json_args::JsonArgs;
use crate::other_meanings::{input_file, refuse_recording};

/// The command to run, and how.
#[derive(Debug, Args)]
pub struct CommandArgs {
    /// Shell that runs a command given as one string.
    #[arg(short = 'S', long, value_name = "SHELL", default_value = "sh")]
    pub shell: String,

    /// Run a command given as one string without a shell (the same as --shell=none).
    #[arg(short = 'N')]
    pub no_shell: bool,

    /// Standard input of the command: `null`, `inherit`, or a file [default: inherit where the
    /// command runs once (record, stat, wait, top --once), else null].
    #[arg(long, value_name = "WHERE")]
    pub input: Option<String>,

    /// Standard output of the command: `null`, `inherit`, or a file; the default depends on the
    /// verb.
    #[arg(long, value_name = "WHERE")]
    pub output: Option<String>,

    /// End the command after this time.
    #[arg(long, value_name = "DURATION", allow_negative_numbers = true, value_parser = parse_duration)]
    pub timeout: Option<Duration>,

    /// Run the command in this directory.
    #[arg(long, value_name = "DIR")]
    pub directory: Option<PathBuf>,

    /// The command: a program with its arguments, or one string for the shell.
    // Without `allow_hyphen_values`: a misspelt option would be taken for the program.
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// A command ready to start, and as the case stores it.
pub struct Prepared {
    /// The command for the launcher.
    pub spec: CommandSpec,
    /// The command as the case stores it.
    pub workload: Workload,
}

impl CommandArgs {
    /// Makes the command; its output goes to `default_output` without `--output`.
    pub fn prepare(&self, default_output: Output) -> Result<Prepared, Failure> {
        let Some(first) = self.command.first() else {
            return Err(Failure::usage(
                "no command to run: append it after `--`, for example: -- ls -l",
            ));
        };
        refuse_recording(first)?;
        let shell = if self.no_shell {
            Shell::None
        } else {
            self.shell()?
        };
        // One word with shell syntax in it is a line for the shell, as hyperfine has it; several
        // words are program and arguments, as perf has it.
        let is_line = self.command.len() == 1 && has_shell_syntax(first);
        let mut spec = if is_line {
            CommandSpec::from_line(first, &shell).map_err(Failure::from)?
        } else {
            CommandSpec::direct(&self.command)
        };
        spec.stdin = match self.input.as_deref() {
            None | Some("null") => Stdin::Null,
            Some("inherit") => Stdin::Inherit,
            Some(path) => Stdin::File(input_file(path)?),
        };
        spec.stdout = match self.output.as_deref() {
            None => default_output,
            Some("null") => Output::Null,
            Some("inherit") => Output::Inherit,
            Some(path) => Output::File(genba_run::bytes_of(path).into()),
        };
        spec.directory.clone_from(&self.directory);
        spec.timeout = self.timeout;
        let directory = match &self.directory {
            Some(directory) => directory.clone(),
            None => std::env::current_dir().unwrap_or_default(),
        };
        let workload = Workload {
            command: self.command.clone(),
            shell: (is_line && !self.no_shell).then(|| self.shell.clone()),
            directory: directory.display().to_string(),
            name: None,
        };
        Ok(Prepared { spec, workload })
    }

    /// Lets the command read genba's standard input unless the user says otherwise, as perf does. For
    /// verbs that run it once.
    pub fn pass_input_on(&mut self) {
        self.input.get_or_insert_with(|| "inherit".to_owned());
    }

    /// As [`Self::prepare`]; the command's output is passed through, as perf does, but where standard
    /// output is the JSON document's.
    pub fn prepare_shown(&self, json: &JsonArgs) -> Result<Prepared, Failure> {
        json.check_output(self.output.as_deref())?;
        let mut prepared = self.prepare(match json.takes_stdout() {
            true => Output::Null,
            false => Output::Inherit,
        })?;
        prepared.spec.stderr = Output::Inherit;
        Ok(prepared)
    }

    /// Whether [`Self::prepare_shown`] lets the command write to genba's standard output.
    pub fn passes_output_on(&self, json: &JsonArgs) -> bool {
        let inherits = matches!(self.output.as_deref(), None | Some("inherit"));
        !self.command.is_empty() && inherits && !json.takes_stdout()
    }

    /// The same with every `{name}` of the command replaced by its value.
    pub fn with_values(&self, values: &BTreeMap<String, String>) -> Self {
        let words = self.command.iter().map(|word| replace(word, values));
        Self {
            shell: self.shell.clone(),
            input: self.input.as_ref().map(|input| replace(input, values)),
            output: self.output.clone(),
            directory: self.directory.clone(),
            command: words.collect(),
            ..*self
        }
    }

    /// Another command line with the shell, input, directory and time-out of this command.
    pub fn line(&self, line: &str) -> Result<CommandSpec, Failure> {
        let other = Self {
            shell: self.shell.clone(),
            no_shell: self.no_shell,
            input: self.input.clone(),
            output: None,
            timeout: self.timeout,
            directory: self.directory.clone(),
            command: vec![line.to_owned()],
        };
        Ok(other.prepare(Output::Null)?.spec)
    }

    fn shell(&self) -> Result<Shell, Failure> {
        Shell::parse(&self.shell).map_err(Failure::from)
    }
}

/// Whether a single word contains shell syntax and does not name a file.
fn has_shell_syntax(word: &str) -> bool {
    word.chars()
        .any(|c| c.is_whitespace() || "|&;<>()$`\\\"'*?[]#~=%!{}".contains(c))
        && !std::path::Path::new(&genba_run::bytes_of(word)).exists()
}
