//! `genba ablate`: parts switched off one at a time.

use std::collections::BTreeMap;

use clap::Args as ClapArgs;
use genba_experiment::ablate::{AblatePlan, Part, ablation, plan};
use genba_experiment::{ExperimentError, Stop, VariantPlan};
use genba_model::CaseKind;
use genba_report::{page, terminal};

use crate::exit::{Exit, Failure, VerbResult};
use crate::experimenting::{ExperimentArgs, Session, line_of};
use crate::output::Output;

/// Arguments of `genba ablate`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  genba ablate --without 'gc=APP_GC=off' --without 'log=APP_LOG=none' -- ./app input
  genba ablate --per-iteration 20000000 --baseline-loop 'ruby loop.rb' \\
      --without 'literal: ruby frozen.rb' -- ruby literal.rb
  genba ablate --metric user --without 'jit: ./ruby --disable-jit page.rb' -- ./ruby page.rb

What a part costs is the whole minus the variant without it, measured in the same blocks. With
two parts or more all are switched off at once as well: that shows whether they add up, and what
is left.")]
pub struct Args {
    /// A part and how to switch it off: 'NAME=VARIABLE=VALUE…' (environment) or 'NAME: COMMAND'
    /// (the command without it).
    #[arg(long, value_name = "PART", required = true)]
    without: Vec<String>,

    /// The command without any of the parts, where that does not follow from the parts.
    #[arg(long, value_name = "COMMAND")]
    all_off: Option<String>,

    /// The empty loop: its cost is taken off everything.
    #[arg(long, value_name = "COMMAND")]
    baseline_loop: Option<String>,

    /// Iterations that one run makes, for the cost of one.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    per_iteration: Option<u64>,

    /// Leave out variants that write something else to standard output than the whole.
    #[arg(long)]
    check_output: bool,

    /// Exactly so many runs of each variant, instead of as many as the answer needs.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    runs: Option<u32>,

    #[command(flatten)]
    experiment: ExperimentArgs,

    /// The whole: a program with its arguments, or one string for the shell.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true,
        value_name = "COMMAND"
    )]
    command: Vec<String>,
}

/// Blocks at least: the interval of a cost needs more than that of a verdict.
const LEAST_BLOCKS: u32 = 10;
/// Time for each variant when nobody said how much, seconds.
const SECONDS_EACH: f64 = 10.0;

/// Runs it.
pub fn run(args: Args, output: &Output) -> VerbResult {
    let line = match args.command.as_slice() {
        [line] => line.clone(),
        words => line_of(words),
    };
    if args.experiment.dry_run {
        let ablate = planned(&args, 0)?;
        return dry_run(&args, &ablate, output);
    }
    let mut session = Session::open(CaseKind::Ablation, &args.experiment, &line, output)?;
    let ablate = planned(&args, session.seed())?;
    let mut lab = session.lab(&ablate.plan)?;
    let measured = lab.compare(&ablate.plan);
    drop(lab);
    session.trouble()?;
    let found = ablation(&ablate, &measured?, session.setting());
    let go_on = session.how_to_go_on();
    let page = session.finish(&found, &page::ablation_html(&found))?;
    if args.experiment.json {
        output.json("ablation", found)?;
    } else {
        let mut text = terminal::ablation(&found, output.screen());
        if let Some(page) = page {
            text.push_str(&format!("\nPAGE  {}\n", genba_report::sanitise(&page)));
        }
        output.answer(&text)?;
    }
    if let Some(go_on) = go_on {
        output.note(&go_on);
    }
    Ok(Exit::Done)
}

fn planned(args: &Args, seed: u64) -> Result<AblatePlan, Failure> {
    let parts = (args.without.iter())
        .map(|text| Part::parse(text))
        .collect::<Result<Vec<Part>, ExperimentError>>()
        .map_err(Failure::usage)?;
    let make = |name: &str,
                command: Option<&str>,
                variables: &BTreeMap<String, String>|
     -> Result<VariantPlan, Failure> {
        let mut variant = match (command, args.command.as_slice()) {
            (Some(line), _) => args.experiment.variant(name, line)?,
            (None, [line]) if line.contains(char::is_whitespace) => {
                args.experiment.variant(name, line)?
            }
            (None, words) => args.experiment.variant_of_words(name, words)?,
        };
        for (variable, value) in variables {
            variant.spec.environment.set(variable, value);
            variant.parameters.insert(variable.clone(), value.clone());
        }
        Ok(variant)
    };
    let finish = |variants: Vec<VariantPlan>| {
        let budget = SECONDS_EACH * variants.len() as f64;
        let mut plan = args.experiment.plan(variants, seed)?;
        plan.stop = match (args.runs, args.experiment.budget) {
            (Some(runs), _) => Stop::Blocks(runs),
            (None, Some(_)) => plan.stop,
            (None, None) => Stop::Budget {
                seconds: budget,
                min_blocks: LEAST_BLOCKS,
            },
        };
        plan.check_output = args.check_output;
        Ok(plan)
    };
    plan(
        parts,
        args.all_off.as_deref(),
        args.baseline_loop.as_deref(),
        args.per_iteration,
        &make,
        &finish,
    )
}

fn dry_run(args: &Args, ablate: &AblatePlan, output: &Output) -> VerbResult {
    let most = match ablate.plan.stop {
        Stop::Budget { seconds, .. } | Stop::Time { seconds } => {
            format!(
                "at most {}, less if all is decided sooner",
                genba_report::number::duration(seconds)
            )
        }
        Stop::Blocks(blocks) => format!("{blocks} runs of each; unknown until the first run"),
    };
    if args.experiment.json {
        let variants: Vec<_> = (ablate.plan.variants.iter())
            .map(|one| serde_json::json!({ "name": one.name, "command": one.command, "environment": one.parameters }))
            .collect();
        output.json(
            "plan",
            serde_json::json!({ "variants": variants, "time": most }),
        )?;
        return Ok(Exit::Done);
    }
    let mut text = String::new();
    for variant in &ablate.plan.variants {
        let environment: String = (variant.parameters.iter())
            .map(|(name, value)| format!("{name}={value} "))
            .collect();
        text.push_str(&genba_report::sanitise(&format!(
            "{:24} {environment}{}",
            variant.name, variant.command
        )));
        text.push('\n');
    }
    text.push_str(&format!("expected time: {most}\n"));
    for note in &ablate.notes {
        text.push_str(&format!("! {}\n", genba_report::sanitise(note)));
    }
    output.answer(&text)?;
    Ok(Exit::Done)
}
