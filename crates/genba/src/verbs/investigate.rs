//! `genba investigate`: the whole road.

use std::time::Duration;

use clap::Args as ClapArgs;
use genba_case::Store;
use genba_investigate::Options;
use genba_profile::sampler::CallGraph;
use genba_report::terminal::{self, Next};
use genba_run::Output as Stream;

use crate::command_args::{CommandArgs, positive_seconds};
use crate::exit::{Exit, Failure, VerbResult};
use crate::interrupt;
use crate::output::Output;
use crate::progress::Line;
use crate::sampling_args::SamplingArgs;

/// Arguments of `genba investigate`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  genba investigate -- ./prog args          measure, profile, annotate; page under .genba/
  genba investigate --budget 10 'gzip -c file | wc -c'
  genba investigate -g -- ./prog            stacks by frame pointers, in one sampled run")]
pub struct Args {
    /// Time for repeated runs, seconds; they stop sooner when the time is known to 1 %.
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = positive_seconds)]
    budget: f64,

    /// Measure a command that fails.
    #[arg(short, long)]
    ignore_failure: bool,

    #[command(flatten)]
    sampling: SamplingArgs,

    /// Where sources are that have moved since the build.
    #[arg(long, value_name = "OLD=NEW")]
    source_prefix: Vec<String>,

    /// Name of the case.
    #[arg(short = 'n', long, value_name = "NAME")]
    name: Option<String>,

    /// Print one JSON document.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    run: CommandArgs,
}

/// Functions that are annotated on the page.
const ANNOTATIONS: usize = 8;

/// Runs it.
pub fn run(args: Args, output: &Output) -> VerbResult {
    let mut prepared = args.run.prepare(Stream::Null)?;
    prepared.spec.stderr = Stream::Capture {
        limit: super::ERROR_OUTPUT,
    };
    prepared.workload.name = args.name;
    let mut source_prefixes = Vec::new();
    for prefix in &args.source_prefix {
        let Some((old, new)) = prefix.split_once('=') else {
            return Err(Failure::usage(format!(
                "--source-prefix {prefix}: write OLD=NEW, the path at build time and the path here"
            )));
        };
        source_prefixes.push((old.to_owned(), new.to_owned()));
    }
    let options = Options {
        budget: Duration::from_secs_f64(args.budget),
        ignore_failure: args.ignore_failure,
        record: args.sampling.options(CallGraph::None),
        annotations: ANNOTATIONS,
        source_prefixes,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let cancel = interrupt::token()?;
    let store = Store::open_root();
    let mut progress = Line::new(output);
    let outcome = genba_investigate::investigate(
        &store,
        &prepared.workload,
        &prepared.spec,
        &options,
        &cancel,
        &mut progress,
    )?;
    drop(progress);
    if args.json {
        output.json("investigation", outcome.investigation)?;
        return Ok(Exit::Done);
    }
    let page = outcome.page.display().to_string();
    let hottest = outcome.investigation.annotations.first();
    let command = hottest.map(|a| {
        format!(
            "genba annotate -i {} '{}'",
            outcome.investigation.case, a.function
        )
    });
    let next = Next {
        page: Some(&page),
        command: command.as_deref(),
    };
    output.answer(&terminal::investigation(
        &outcome.investigation,
        next,
        output.screen(),
    ))?;
    Ok(Exit::Done)
}
