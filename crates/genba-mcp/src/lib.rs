//! `genba mcp`: the Model Context Protocol over standard input and output, so that coding agents
//! measure instead of guess.
//!
//! **Scope.** The tools and what they may run and read: programs, arguments, cases and patches of one directory
//! ([`Workspace`], checked by pure functions), the child processes, and answers of a bounded size.
//!
//! **Not here.** Measuring, and what a document says in words (`genba-report`).
//!
//! **How.** A tool is a verb of the command line: its arguments become a command line, genba runs it as a child
//! process with `--json`, and the document is rendered by `genba-report`. A child process and not a call
//! of the same functions, because a verb owns its process: Ctrl-C with its deadline, private directories,
//! the process tree below the launcher. Ending the child is then ending the measurement, as tested for
//! the command line, and an answer says what the command line would say.

mod answer;
mod arguments;
mod case_resources;
mod child;
mod command_lines;
mod patch_paths;
mod rendered;
mod server;
mod tool_result;
mod tools;
mod workspace;

pub use server::{ServeError, serve};
pub use workspace::{Refusal, Workspace};
