//! The arguments that say what to run and how; shared by all verbs that run a command.

use std::path::PathBuf;

use clap::Args;

/// What to run and how.
#[derive(Debug, Args)]
pub struct CommandArgs {
    /// Interpret a single-string command with this shell.
    #[arg(short = 'S', long, value_name = "SHELL", default_value = "sh")]
    pub shell: String,

    /// Run a single-string command without a shell (the same as --shell=none).
    #[arg(short = 'N')]
    pub no_shell: bool,

    /// Standard input of the command: `null`, `inherit`, or a file.
    #[arg(long, value_name = "WHERE", default_value = "null")]
    pub input: String,

    /// Standard output and error of the command: `null`, `inherit`, or a file for standard
    /// output; without this each verb has its own default.
    #[arg(long, value_name = "WHERE")]
    pub output: Option<String>,

    /// End the command after this many seconds.
    #[arg(long, value_name = "SECONDS", value_parser = positive_seconds)]
    pub timeout: Option<f64>,

    /// Run the command in this directory.
    #[arg(short = 'C', long, value_name = "DIR")]
    pub directory: Option<PathBuf>,

    /// The command: a program with its arguments, or one string for the shell.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// Parses a number of seconds above zero.
pub fn positive_seconds(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('s').unwrap_or(text);
    match number.parse::<f64>() {
        Ok(seconds) if seconds.is_finite() && seconds > 0.0 && seconds < 1e9 => Ok(seconds),
        _ => Err(format!("`{text}` is not a number of seconds above zero; write 2.5 or 30s")),
    }
}
