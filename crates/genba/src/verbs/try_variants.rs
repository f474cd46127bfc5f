//! `genba try`: compare other builds and settings of a program with the baseline.

use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use genba_campaign::{BuiltTree, CampaignPlan, try_plan};
use genba_case::Store;
use genba_experiment::VariantPlan;
use genba_experiment::try_variants::{
    self, SessionInfo, TryOptions, TryResult, VariantBuilder, VariantChange, document,
};
use genba_investigate::diff::{Effort, Subject, diff_against_baseline};
use genba_model::{CaseKind, ChangeKind, Finding, ProfileDiff, TriedOutcome, Workload};
use genba_report::{page, terminal};

use crate::exit_code::{Exit, Failure, VerbResult};
use crate::other_meanings::refuse_recording;
use crate::output::Output;
use crate::progress_line::ProgressLine;
use crate::session::{BuildArgs, ExperimentArgs, Session, causes, check_patch};
use crate::verbs::campaign;

/// Arguments of `genba try`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  genba try -- ./prog args                         allocators, tunables, huge pages, … that apply
  genba try --auto --build 'make -C src' --clean 'make -C src clean' -- ./src/lua bench.lua
  genba try --with LTO,-O3 --build make -- ./prog  these builds only
  genba try --with jemalloc,mimalloc -- ./prog     these allocators only
  genba try --variant 'big=CACHE=64M --depth 3' -- ./prog
  genba try --patch fix.diff --build make -- ./prog
  genba try --git-ref v1.2 --git-ref topic --build make -- ./prog
  genba try --auto 7f3a                            the workload of a case, its causes first
  genba try --patch fix.diff --build make --on slurm -- ./prog   on the nodes of a cluster
  genba try --list                                 all presets

With --build the program is built in copies of its source tree (--source), never in the tree
itself. The command runs in the copy, in the directory that corresponds to the current one:
write ./src/prog, and absolute paths for files outside. {tree} is replaced by the directory of
the copy; absolute paths into the source tree are redirected to the copy. Flags are added by
compiler wrappers in PATH.")]
pub struct Args {
    /// Try all presets that apply, those for the causes found by `explain` first; drop those that
    /// cannot win, and combine those that gain. The default where nothing else is named.
    #[arg(long)]
    auto: bool,

    /// Try only these presets, by name.
    #[arg(
        long,
        value_name = "NAME,…",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    with: Vec<String>,

    /// Own variant: environment variables, then options appended to the command.
    #[arg(long, value_name = "NAME=[VAR=VALUE …] [OPTION …]")]
    variant: Vec<String>,

    /// Own build variant: flags for the C and C++ compilers.
    #[arg(long, value_name = "NAME=FLAGS", allow_hyphen_values = true)]
    flags: Vec<String>,

    /// Patch of the source tree, for `git apply` or `patch`.
    #[arg(long, value_name = "FILE")]
    patch: Vec<PathBuf>,

    /// Revision of the source tree.
    #[arg(long, value_name = "REVISION")]
    git_ref: Vec<String>,

    #[command(flatten)]
    building: BuildArgs,

    /// Number of builds that differ only in code layout, to measure the effect of layout.
    #[arg(long, value_name = "N", default_value_t = 2)]
    layouts: usize,

    /// Do not check that the output of every variant equals the baseline's.
    #[arg(long)]
    no_check_output: bool,

    /// Do not profile the winner and the worst loser against the baseline.
    #[arg(long)]
    no_diff: bool,

    /// List the presets.
    #[arg(long)]
    list: bool,

    /// Measure the named variants in blocks on the nodes of a cluster (slurm), or here (local), as a
    /// campaign: a verdict for each variant and kind of host; resumed by the same command.
    #[arg(long, value_name = "WHERE", value_enum, conflicts_with_all = ["auto", "layouts", "no_diff"])]
    on: Option<campaign::Place>,

    #[command(flatten)]
    experiment: ExperimentArgs,

    /// Command, or the id of a case.
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Default budget of `--auto` without builds, seconds.
const BUDGET_RUN: f64 = 120.0;
/// Default budget of `--auto` with builds, seconds.
const BUDGET_BUILD: f64 = 300.0;
/// Default budget for each named variant, seconds.
const BUDGET_PER_VARIANT: f64 = 15.0;

/// Samples and time for each side of a differential profile.
const DIFF_EFFORT: Effort = Effort {
    samples: 4_000,
    sampling: 15.0,
    counting: 15.0,
};

/// Runs `genba try`.
pub fn run(args: Args, output: &Output) -> VerbResult {
    let cpus = genba_host::allowed_cpus();
    if args.list {
        output.result(&try_variants::list_presets(&cpus))?;
        return Ok(Exit::Done);
    }
    let (given, known) = args.workload()?;
    let mut changes = args.changes(&cpus)?;
    if let Some(on) = args.on {
        let plan = args.campaign(&changes, &given)?;
        let (dry_run, json) = (args.experiment.dry_run, args.experiment.json.clone());
        return campaign::run_made(plan, on, dry_run, json, output);
    }
    let auto = args.auto || changes.is_empty();
    for change in &mut changes {
        change.priority = change.priority.max(60);
    }
    let options = TryOptions {
        auto,
        budget: args.budget(auto, changes.len()),
        // What was asked for is measured however long its builds take, unless a time is given.
        builds_count: auto || args.experiment.budget.is_some(),
        as_long_as_builds: !auto && args.experiment.budget.is_none(),
        layouts: args.layouts,
        causes: known,
        cpus,
    };
    let words = match &given[..] {
        [one] => args.experiment.variant("baseline", one)?,
        words => args.experiment.variant_of_words("baseline", words)?,
    };
    let command = words.command.clone();
    let mut place =
        VariantBuilder::new(words.clone(), args.building.plan()).map_err(Failure::usage)?;
    if args.experiment.dry_run {
        return dry_run(&place, &changes, &options, &command, output);
    }
    let mut session = Session::open(CaseKind::Trial, &args.experiment, &command, output)?;
    let mut plan = args.experiment.plan(vec![words], session.seed())?;
    plan.check_output = !args.no_check_output;
    let mut comparer = session.comparer(&plan)?;
    let mut explain = |baseline: &VariantPlan, seconds: f64| {
        let built = args.building.build.is_some();
        causes(
            &session,
            &given,
            built,
            baseline,
            seconds,
            options.budget,
            output,
        )
    };
    let mut tried = try_variants::run(
        &mut comparer,
        &plan,
        &mut place,
        changes,
        &options,
        &mut explain,
    )?;
    let rebuild = match (session.case_id(), &tried.change) {
        (Some(id), Some(change)) => {
            let root = std::path::absolute(Store::open_root().root()).unwrap_or_default();
            place.rebuild(change, &root.join(id).join("tools"))
        }
        _ => None,
    };
    if let Some(keep) = &mut tried.keep {
        keep.rebuild = rebuild;
    }
    let interrupted = comparer.cancelled();
    let wanted = !args.no_diff && !args.experiment.is_exact() && !interrupted;
    let differences = match wanted {
        true => differences(&session, &tried, output).map_err(|failure| failure.message),
        false => Ok(Vec::new()),
    };
    let session_info = SessionInfo {
        setting: session.setting(),
        command,
        elapsed_seconds: comparer.elapsed(),
        interrupted,
        differences,
    };
    let document = document(tried, &plan, &options, session_info);
    // The profiles read binaries in the build directories, so these are removed last.
    let removing = session.cancel().protect();
    drop((comparer, place));
    drop(removing);
    let html = page::trial_html(&document);
    let exit = session.finish(&document, &html, &args.experiment.json, |screen| {
        terminal::trial(&document, screen)
    })?;
    let mut asked = (document.tried.iter()).filter(|one| one.kind != ChangeKind::Layout);
    let any_failed = (asked.clone()).any(|one| one.outcome == TriedOutcome::Failed);
    let all_failed = any_failed && asked.all(|one| one.outcome == TriedOutcome::Failed);
    Ok(match exit {
        Exit::Done if all_failed => Exit::TargetFailed,
        exit => exit,
    })
}

/// Differential profiles of the winner and of the worst loser, sampled and counted while their
/// build directories still exist.
fn differences(
    session: &Session,
    tried: &TryResult,
    output: &Output,
) -> Result<Vec<ProfileDiff>, Failure> {
    let others: Vec<Subject<'_>> = tried.rivals().map(|plan| subject(plan, tried)).collect();
    Ok(diff_against_baseline(
        &subject(&tried.baseline, tried),
        &others,
        &DIFF_EFFORT,
        session.cancel(),
        &mut ProgressLine::new(output),
    )?)
}

/// A variant to be profiled, with the commands that each of its runs needs.
fn subject<'a>(plan: &'a VariantPlan, tried: &TryResult) -> Subject<'a> {
    Subject {
        name: &plan.name,
        spec: &plan.spec,
        before: plan.setup.iter().chain(&plan.prepare).collect(),
        after: plan.conclude.iter().chain(&plan.cleanup).collect(),
        seconds: tried.cpu_seconds(&plan.name),
    }
}

impl Args {
    /// The command, and its causes if it is a case.
    fn workload(&self) -> Result<(Vec<String>, Option<Vec<String>>), Failure> {
        let Some(first) = self.command.first() else {
            return Err(Failure::usage(
                "no command to try: write it after `--`, as in: genba try --auto -- ./prog",
            ));
        };
        let store = Store::open_root();
        let looks_like = self.command.len() == 1
            && (4..=32).contains(&first.len())
            && first.bytes().all(|byte| byte.is_ascii_hexdigit());
        if looks_like && let Ok(case) = store.find(first) {
            let findings: Vec<Finding> = case.get_document("findings")?.unwrap_or_default();
            let causes = findings.into_iter().map(|finding| finding.cause).collect();
            let workload: Workload = case.investigation()?.workload;
            return Ok((workload.command, Some(causes)));
        }
        if self.command.len() > 1 || !first.contains(char::is_whitespace) {
            refuse_recording(first)?;
        }
        Ok((self.command.clone(), None))
    }

    fn budget(&self, auto: bool, variants: usize) -> f64 {
        if let Some(budget) = self.experiment.budget {
            return budget.as_secs_f64();
        }
        match (auto, self.building.build.is_some()) {
            (true, true) => BUDGET_BUILD,
            (true, false) => BUDGET_RUN,
            (false, _) => BUDGET_PER_VARIANT * (variants + 1 + self.layouts) as f64,
        }
    }

    /// The named variants as a campaign.
    fn campaign(
        &self,
        changes: &[VariantChange],
        command: &[String],
    ) -> Result<CampaignPlan, Failure> {
        let here = std::env::current_dir().map_err(Failure::usage)?;
        let built = self.building.plan();
        let source = std::fs::canonicalize(&self.building.source)
            .map_err(|error| Failure::usage(format!("--source: {error}")))?;
        let build = (built.as_ref()).map(|plan| match &plan.clean {
            Some(clean) => format!("{clean}; {}", plan.build),
            None => plan.build.clone(),
        });
        let tree = build.as_deref().map(|build| BuiltTree {
            source: &source,
            build,
            timeout: self.building.build_timeout.map(|time| time.as_secs_f64()),
            below: here.strip_prefix(&source).unwrap_or(Path::new("")),
        });
        let options = campaign::experiment_options("try", command, &self.experiment)?;
        let check_output = !self.no_check_output;
        Ok(try_plan(
            changes,
            tree.as_ref(),
            check_output,
            &options,
            &here,
        )?)
    }

    /// The changes named on the command line.
    fn changes(&self, cpus: &[usize]) -> Result<Vec<VariantChange>, Failure> {
        self.patch.iter().try_for_each(|path| check_patch(path))?;
        for name in &self.git_ref {
            genba_build::rev_parse(&self.building.source, name).map_err(Failure::usage)?;
        }
        let mut changes: Vec<VariantChange> = self
            .patch
            .iter()
            .cloned()
            .map(VariantChange::patch)
            .collect();
        changes.extend(
            self.git_ref
                .iter()
                .map(|name| VariantChange::reference(name)),
        );
        for text in &self.variant {
            changes.push(try_variants::custom_run(text).map_err(Failure::usage)?);
        }
        for text in &self.flags {
            changes.push(try_variants::custom_flags(text).map_err(Failure::usage)?);
        }
        let rust = (self.building.build.as_ref()).is_some_and(|build| build.contains("cargo"));
        for name in &self.with {
            changes.push(try_variants::preset_by_name(name, rust, cpus).map_err(Failure::usage)?);
        }
        try_variants::check_unique_names(&changes).map_err(Failure::usage)?;
        Ok(changes)
    }
}

fn dry_run(
    place: &VariantBuilder,
    changes: &[VariantChange],
    options: &TryOptions,
    command: &str,
    output: &Output,
) -> VerbResult {
    let mut text = format!(
        "would try variants of: {command}\nfor at most {}; the time of a run and a build is unknown \
         before the first\n",
        genba_units::format::duration(options.budget)
    );
    for line in try_variants::describe_plan(place, changes, options) {
        text.push_str(&format!("  {line}\n"));
    }
    if options.auto {
        text.push_str("then the combination of the best\n");
    }
    output.result(&genba_report::sanitise_lines(&text))?;
    Ok(Exit::Done)
}
