//! `genba fix`: a source patch for a finding, tried in a copy of the sources.

use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use genba_case::{Case, Store};
use genba_experiment::VariantPlan;
use genba_experiment::fix::{
    BuildableSources, FixOptions, Proposal, apply_to_sources, check_cause, proposals, try_proposals,
};
use genba_experiment::try_variants::VariantBuilder;
use genba_model::{CaseKind, Finding, FixVerdict, SourceFix, TriedRewrite, Workload};
use genba_report::{fix_by_hand, patch_header, terminal};
use genba_run::line_as_given;

use crate::exit_code::{Exit, Failure, VerbResult};
use crate::output::Output;
use crate::session::{BuildArgs, ExperimentArgs, Session};

/// Arguments of `genba fix`.
#[derive(Debug, ClapArgs)]
// -i is the case, as in the other verbs about one.
#[command(mut_arg("ignore_failure", |arg| arg.short(None)))]
// What changes is the program's own work.
#[command(mut_arg("metric", |arg| {
    arg.help("Primary metric, which decides the verdict, as of `genba try` [default: cpu]")
        .long_help(None)
}))]
#[command(after_help = "Examples:
  genba fix                                   the first finding of the newest case
  genba fix 2 -i 7f3a --build make            finding 2 of a case; builds in copies of this tree
  genba fix --build make --check 'make test'  only a patch with which the project's tests pass
  genba fix --apply                           write a patch that gains into the sources
  genba fix --dry-run                         show the rewrites without trying them

Rewrites C and C++ where a rule applies; no patch comes out that does not compile, changes the
output or gains nothing. Without --build the program is built with the options that its debug
information records, if it has few translation units.")]
pub struct Args {
    /// Number of the finding.
    #[arg(value_name = "N", default_value_t = 1)]
    finding: u32,

    /// The case; `latest` is the newest of investigate or explain.
    #[arg(short = 'i', long, value_name = "CASE", default_value = "latest")]
    case: String,

    #[command(flatten)]
    building: BuildArgs,

    /// The project's own tests, run in the copy; a patch with which they fail is discarded.
    #[arg(long, value_name = "COMMAND", requires = "build")]
    check: Option<String>,

    /// Write a patch that gains into the sources.
    #[arg(long)]
    apply: bool,

    /// Write the patch to this file [default: fix-N.patch in the case's directory].
    #[arg(short = 'o', long, value_name = "FILE")]
    patch_file: Option<PathBuf>,

    /// Number of builds that differ only in code layout, to measure the effect of layout.
    #[arg(long, value_name = "N", default_value_t = 1)]
    layouts: usize,

    #[command(flatten)]
    experiment: ExperimentArgs,
}

/// Default budget for each rewrite and layout build, seconds.
const BUDGET_PER_VARIANT: f64 = 15.0;

/// Runs `genba fix`.
pub fn run(mut args: Args, output: &Output) -> VerbResult {
    let store = Store::open_root();
    let case = store.find(&store.id_among(&args.case, &[CaseKind::Investigation])?)?;
    let finding = case.finding(args.finding)?;
    let workload = case.investigation()?.workload;
    if args.experiment.directory.is_none() && Path::new(&workload.directory).is_dir() {
        args.experiment.directory = Some(PathBuf::from(&workload.directory));
    }
    args.experiment
        .metric
        .get_or_insert_with(|| "cpu".to_owned());
    // The result belongs to the case of the finding.
    args.experiment.no_case = true;
    let mut document = document(&case, &args, &finding, &workload);
    // First what cannot be helped, then what the user can give.
    let found = check_cause(&finding.cause).map_err(|reason| (FixVerdict::NoRewrite, reason));
    let found = found
        .and_then(|()| {
            let directory = args.experiment.directory.clone().unwrap_or_default();
            BuildableSources::of_finding(
                &finding,
                &workload,
                &directory,
                args.building.plan(),
                args.building.build_timeout,
            )
            .map_err(|reason| (FixVerdict::NotTried, reason))
        })
        .and_then(|sources| {
            let proposals = proposals(&finding, &sources.tree);
            let proposals = proposals.map_err(|reason| (FixVerdict::NoRewrite, reason))?;
            Ok((sources, proposals))
        });
    let (sources, proposals) = match found {
        Ok(found) => found,
        Err((verdict, reason)) => {
            document.verdict = verdict;
            document.reason = Some(reason);
            document.notes.push(fix_by_hand(&finding.fix));
            return finish(&args, &document, output, Exit::Done);
        }
    };
    document.build = Some(sources.plan.build.clone());
    document.applied = true;
    let mut exit = Exit::Done;
    if args.experiment.dry_run {
        document.verdict = FixVerdict::NotTried;
        document.reason = Some("--dry-run".to_owned());
        document.tried = proposals.iter().map(Proposal::untried).collect();
    } else {
        let (tried, notes, interrupted) = tried(&args, &workload, &sources, &proposals, output)?;
        document.tried = tried;
        document.notes = notes;
        if interrupted {
            exit = Exit::Interrupted;
        }
        document.take_verdict_of_best();
    }
    if let (Some(best), true) = (document.tried.first(), document.verdict == FixVerdict::Gain) {
        let patch = patch_header(&document, best) + &best.diff;
        let file = args
            .patch_file
            .clone()
            .unwrap_or_else(|| case.directory().join(format!("fix-{}.patch", args.finding)));
        match std::fs::write(&file, &patch) {
            Ok(()) => document.patch_file = Some(file.display().to_string()),
            Err(error) => {
                let what = format!("cannot write the patch to {}: {error}", file.display());
                if args.patch_file.is_some() {
                    return Err(Failure::usage(what));
                }
                document.notes.push(format!("{what}; give --patch-file"));
            }
        }
        if args.apply {
            let chosen = proposals.iter().find(|one| one.diff == best.diff);
            let chosen =
                chosen.ok_or_else(|| Failure::usage("the patch is not one of the rewrites"))?;
            apply_to_sources(chosen, &sources.tree, &sources.root).map_err(Failure::usage)?;
            document.applied_to_sources = true;
        }
        document.patch = Some(patch);
    }
    finish(&args, &document, output, exit)
}

/// Tries the rewrites; whether that was interrupted.
fn tried(
    args: &Args,
    workload: &Workload,
    sources: &BuildableSources,
    proposals: &[Proposal],
    output: &Output,
) -> Result<(Vec<TriedRewrite>, Vec<String>, bool), Failure> {
    let base = base(args, workload, sources)?;
    let command = base.command.clone();
    let mut builder =
        VariantBuilder::new(base.clone(), Some(sources.plan.clone())).map_err(Failure::usage)?;
    let mut session = Session::open(CaseKind::Trial, &args.experiment, &command, output)?;
    let plan = args.experiment.plan(vec![base], session.seed())?;
    let mut comparer = session.comparer(&plan)?;
    let given = args.experiment.budget.map(|budget| budget.as_secs_f64());
    let options = FixOptions {
        budget: given.unwrap_or(BUDGET_PER_VARIANT * (proposals.len() + args.layouts) as f64),
        is_default_budget: given.is_none(),
        layouts: args.layouts,
        check: args.check.clone(),
    };
    let (tried, notes) = try_proposals(&mut comparer, &plan, &mut builder, proposals, &options)?;
    let interrupted = comparer.cancelled();
    let removing = session.cancel().protect();
    drop((comparer, builder));
    drop(removing);
    Ok((tried, notes, interrupted))
}

/// The workload of the case as a variant; a derived build's program instead of the case's.
fn base(
    args: &Args,
    workload: &Workload,
    sources: &BuildableSources,
) -> Result<VariantPlan, Failure> {
    if workload.shell.is_some() {
        return args
            .experiment
            .variant("baseline", &line_as_given(&workload.command));
    }
    let words = sources.command_words(workload);
    args.experiment.variant_of_words("baseline", &words)
}

fn document(case: &Case, args: &Args, finding: &Finding, workload: &Workload) -> SourceFix {
    SourceFix {
        case: case.id().to_owned(),
        finding: args.finding,
        cause: finding.cause.clone(),
        site: finding.site.clone(),
        predicted_speedup: finding.predicted_speedup,
        command: match workload.shell {
            Some(_) => line_as_given(&workload.command),
            None => genba_run::join_words(&workload.command),
        },
        build: None,
        metric: args.experiment.metric.clone().unwrap_or_default(),
        patch: None,
        patch_file: None,
        applied: false,
        applied_to_sources: false,
        compiles: None,
        output_identical: None,
        speedup: None,
        pairs: 0,
        verdict: FixVerdict::NoRewrite,
        reason: None,
        tried: Vec::new(),
        notes: Vec::new(),
    }
}

fn finish(args: &Args, document: &SourceFix, output: &Output, exit: Exit) -> VerbResult {
    if args.experiment.json.wanted() {
        output.json(&args.experiment.json, "fix", document)?;
    } else {
        output.result(&terminal::source_fix(document, output.screen()))?;
    }
    Ok(exit)
}
