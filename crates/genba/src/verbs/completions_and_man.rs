//! `genba completions` and `genba man`, generated from the definition of the arguments.

use std::path::PathBuf;

use clap::{Args, CommandFactory};

use crate::cli::Cli;
use crate::exit_code::{Exit, Failure, VerbResult};
use crate::output::Output;

/// Arguments of `genba completions`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  genba completions bash > ~/.local/share/bash-completion/completions/genba")]
pub struct CompletionsArgs {
    /// Shell.
    shell: clap_complete::Shell,
}

/// Arguments of `genba man`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  genba man ~/.local/share/man/man1; man genba-bench")]
pub struct ManArgs {
    /// Directory for the pages; created if missing.
    directory: PathBuf,
}

/// Prints the completion script of a shell.
pub fn completions(args: &CompletionsArgs, output: &Output) -> VerbResult {
    // Not straight to standard output: clap panics where that is a closed pipe.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "genba", &mut script);
    output.result(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}

/// Writes genba.1 and one page per verb.
pub fn man(args: &ManArgs) -> VerbResult {
    let fail = |error| {
        Failure::usage(format!(
            "cannot write man pages to {}: {error}",
            args.directory.display()
        ))
    };
    std::fs::create_dir_all(&args.directory).map_err(fail)?;
    clap_mangen::generate_to(Cli::command(), &args.directory).map_err(fail)?;
    Ok(Exit::Done)
}
