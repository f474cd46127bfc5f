//! `genba record`: sample a command or a process into a perf.data file.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use crate::command_args::CommandArgs;

/// Arguments of `genba record`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  genba record -g -- ./prog args             frame-pointer call stacks
  genba record --call-graph dwarf -- ./prog  stacks of programs built without frame pointers
  genba record -p 1234                       a running process, until Ctrl-C or its end
  genba report; genba annotate FUNCTION      what was recorded")]
pub struct Args {
    #[command(flatten)]
    sampling: SamplingArgs,

    /// Attach to this running process.
    #[arg(short, long, value_name = "PID", conflicts_with = "command")]
    pid: Option<i32>,

    /// File to write; an existing one becomes FILE.old.
    #[arg(short, long, value_name = "FILE", default_value = "perf.data")]
    file: PathBuf,

    #[command(flatten)]
    run: CommandArgs,
}
