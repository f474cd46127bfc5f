//! `genba ablate`: measure what components cost by switching them off one at a time.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use genba_experiment::ablate::{
    AblatePlan, AblatedVariant, Component, DisabledComponents, ablation, build_variant, plan,
};
use genba_experiment::try_variants::VariantBuilder;
use genba_experiment::{ExperimentError, Stop, VariantPlan};
use genba_model::{CaseKind, ExperimentDryRun, PlannedVariant};
use genba_report::{page, terminal};
use genba_run::line_as_given;

use crate::exit_code::{Exit, Failure, VerbResult};
use crate::output::Output;
use crate::session::{BuildArgs, ExperimentArgs, Session, check_patch};

/// Arguments of `genba ablate`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  genba ablate --without 'gc=APP_GC=off' --without 'log=APP_LOG=none' -- ./app input
  genba ablate --per-iteration 20000000 --baseline-loop 'ruby loop.rb' \\
      --without 'literal: ruby frozen.rb' -- ruby literal.rb
  genba ablate --metric user --without 'jit: ./ruby --disable-jit page.rb' -- ./ruby page.rb
  genba ablate --patch checks=no-checks.diff --patch log=no-log.diff --build make -- ./app input

The cost of a component is the baseline minus the variant without it, measured in the same blocks.
With two or more components, a variant without all of them shows whether costs add up, and the
residual.")]
pub struct Args {
    /// Component and how to switch it off: 'NAME=VARIABLE=VALUE…' (environment) or 'NAME: COMMAND'
    /// (the command without it).
    #[arg(long, value_name = "COMPONENT", required_unless_present = "patch")]
    without: Vec<String>,

    /// Patch of the source tree that removes a component, for `git apply` or `patch`; built with
    /// --build.
    #[arg(long, value_name = "[NAME=]FILE", requires = "build")]
    patch: Vec<String>,

    #[command(flatten)]
    building: BuildArgs,

    /// Command without any component, if it does not follow from --without.
    #[arg(long, value_name = "COMMAND")]
    all_off: Option<String>,

    /// Command of the empty loop; its cost is subtracted from all others.
    #[arg(long, value_name = "COMMAND")]
    baseline_loop: Option<String>,

    /// Iterations per run, to report the cost of one iteration.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    per_iteration: Option<u64>,

    /// Exclude variants whose standard output differs from the baseline's.
    #[arg(long)]
    check_output: bool,

    /// Number of runs of each variant, instead of as many as the verdict needs.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    runs: Option<u32>,

    #[command(flatten)]
    experiment: ExperimentArgs,

    /// Baseline command: a program with its arguments, or one string for the shell.
    #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Minimum number of blocks: the interval of a cost needs more than a verdict.
const MIN_BLOCKS: u32 = 10;
/// Default budget for each variant, seconds.
const SECONDS_PER_VARIANT: f64 = 10.0;

/// Runs `genba ablate`.
pub fn run(args: Args, output: &Output) -> VerbResult {
    let line = line_as_given(&args.command);
    if args.experiment.dry_run {
        let ablate = planned(&args, 0, &mut |plan, _| Ok(plan.into()))?;
        return dry_run(&args, &ablate, output);
    }
    let mut session = Session::open(CaseKind::Ablation, &args.experiment, &line, output)?;
    let unbuilt = planned(&args, session.seed(), &mut |plan, _| Ok(plan.into()))?;
    let mut comparer = session.comparer(&unbuilt.plan)?;
    let mut place = None;
    let mut ablate = match args.building.plan() {
        None => unbuilt,
        Some(build) => {
            let whole = unbuilt.plan.variants[0].clone();
            let place =
                place.insert(VariantBuilder::new(whole, Some(build)).map_err(Failure::usage)?);
            planned(&args, session.seed(), &mut |plan, patches| {
                Ok(build_variant(&mut comparer, place, &plan, patches)?)
            })?
        }
    };
    let measured = comparer.compare(&ablate.plan);
    let said = place.as_ref().map_or_else(Vec::new, VariantBuilder::notes);
    ablate.notes.extend(said);
    let removing = session.cancel().protect();
    drop((comparer, place));
    drop(removing);
    session.check_stored()?;
    let found = ablation(&ablate, &measured?, session.setting());
    let html = page::ablation_html(&found);
    let exit = session.finish(&found, &html, &args.experiment.json, |screen| {
        terminal::ablation(&found, screen)
    })?;
    let none_measured = found.components.iter().all(|one| one.costs.is_empty());
    Ok(match exit {
        Exit::Done if none_measured => Exit::TargetFailed,
        exit => exit,
    })
}

/// Makes the variant of a command in its build.
type Build<'a> = dyn FnMut(VariantPlan, &[PathBuf]) -> Result<AblatedVariant, Failure> + 'a;

fn planned(args: &Args, seed: u64, build: &mut Build<'_>) -> Result<AblatePlan, Failure> {
    let without = args.without.iter().map(|text| Component::parse(text));
    let patches = args.patch.iter().map(|text| Component::from_patch(text));
    let parts = (without.chain(patches))
        .collect::<Result<Vec<Component>, ExperimentError>>()
        .map_err(Failure::usage)?;
    let mut make = |name: &str, switched: &DisabledComponents| -> Result<AblatedVariant, Failure> {
        let mut variant = match &switched.command {
            Some(line) => args.experiment.variant(name, line)?,
            None => args.experiment.variant_as_given(name, &args.command)?,
        };
        switched
            .patches
            .iter()
            .try_for_each(|path| check_patch(path))?;
        for (variable, value) in &switched.variables {
            variant
                .spec
                .environment
                .set(variable, genba_run::bytes_of(value));
            variant.parameters.insert(variable.clone(), value.clone());
        }
        build(variant, &switched.patches)
    };
    let finish = |variants: Vec<VariantPlan>| {
        let budget = SECONDS_PER_VARIANT * variants.len() as f64;
        let mut plan = args.experiment.plan(variants, seed)?;
        plan.stop = match (args.runs, args.experiment.budget) {
            (Some(runs), _) => Stop::Blocks(runs),
            (None, Some(_)) => plan.stop,
            (None, None) => Stop::Budget {
                seconds: budget,
                min_blocks: MIN_BLOCKS,
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
        &mut make,
        &finish,
    )
}

fn dry_run(args: &Args, ablate: &AblatePlan, output: &Output) -> VerbResult {
    let most = match ablate.plan.stop {
        Stop::Budget { seconds, .. } | Stop::Time { seconds } => {
            format!(
                "at most {}, less if all verdicts are decided sooner",
                genba_units::format::duration(seconds)
            )
        }
        Stop::Blocks(blocks) => format!("{blocks} runs of each; unknown until the first run"),
    };
    if args.experiment.json.wanted() {
        let variants = (ablate.plan.variants.iter()).map(|one| PlannedVariant {
            name: one.name.clone(),
            command: one.command.clone(),
            environment: one.parameters.clone(),
        });
        let (runs, max_seconds) = match ablate.plan.stop {
            Stop::Budget { seconds, .. } | Stop::Time { seconds } => (None, Some(seconds)),
            Stop::Blocks(blocks) => {
                let variants = ablate.plan.variants.len() as u64;
                (Some(u64::from(blocks) * variants), None)
            }
        };
        let document = ExperimentDryRun {
            variants: variants.collect(),
            runs,
            max_seconds,
            ..ExperimentDryRun::default()
        };
        output.json(&args.experiment.json, "plan", document)?;
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
    output.result(&text)?;
    Ok(Exit::Done)
}
