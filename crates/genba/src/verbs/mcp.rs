//! `genba mcp`: genba's measurements as tools of coding agents.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use genba_mcp::Workspace;

use crate::exit_code::{Exit, Failure, VerbResult};

/// Arguments of `genba mcp`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  genba mcp                              tools for this directory; started by an agent, not by hand
  genba mcp --allow make,python3 ~/src/project

An agent starts it as a server of the Model Context Protocol: it speaks on standard input and
output. Its tools run programs of the directory and those of --allow, and name no path outside
(docs/agents.md).")]
pub struct Args {
    /// Program from PATH that may be started as well, such as make or python3.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    allow: Vec<String>,

    /// Directory in which programs may be measured.
    #[arg(value_name = "DIR", default_value = ".")]
    directory: PathBuf,
}

/// Runs `genba mcp`.
pub fn run(args: &Args) -> VerbResult {
    let workspace = Workspace::open(&args.directory, &args.allow).map_err(Failure::usage)?;
    genba_mcp::serve(workspace, env!("CARGO_PKG_VERSION")).map_err(Failure::usage)?;
    Ok(Exit::Done)
}
