//! `genba campaign`: revisions × builds × options × hosts × repeats, in blocks.

#[path = "campaign/experiment_options.rs"]
mod experiment_options;
#[path = "campaign/history.rs"]
mod history;

pub use experiment_options::experiment_options;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args as ClapArgs;
use genba_campaign::{
    CampaignDirectory, CampaignObserver, CampaignPlan, CampaignProgress, CampaignRun,
    LocalScheduler, Matrix, ResolvedPlan, Scheduler, SlurmScheduler, StoredCampaign,
};
use genba_case::Store;
use genba_experiment::HostRunner;
use genba_investigate::Progress as _;
use genba_report::{page, terminal};
use genba_run::Launcher;

use crate::compare::ThisHost;
use crate::exit_code::{Exit, Failure, VerbResult};
use crate::interrupt;
use crate::json_args::JsonArgs;
use crate::output::Output;
use crate::output_file::write;
use crate::progress_line::ProgressLine;

/// Arguments of `genba campaign`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  genba campaign plan.toml --dry-run     the blocks, where they run, what they cost
  genba campaign plan.toml               here, one block after another
  genba campaign plan.toml --history     keep the blocks in the history as well
  genba campaign plan.toml --on slurm    a job for each block, on the nodes that the plan names

A plan, complete:
  [campaign]
  command = \"{tree}/sort {arguments} /data/words\"
  revisions = [\"v1.0\", \"main\"]           the first is the baseline
  repeats = 10                           blocks on each kind of host
  [[build]]
  name = \"O2\"
  command = \"make -j2 CFLAGS=-O2\"
  [[option]]
  name = \"numeric\"
  arguments = \"-n\"
  [[host]]
  name = \"zen4\"
  constraint = \"zen4\"

Run the same command again to resume: what is stored is not measured again. docs/campaigns.md
has the keys of a plan. Exit codes: 0 all variants are measured in all blocks; 3 a build, block or
variant failed, or is missing.")]
pub struct Args {
    /// The plan (TOML).
    #[arg(value_name = "PLAN", required_unless_present = "worker")]
    plan: Option<PathBuf>,

    /// Where the blocks run.
    #[arg(long, value_name = "WHERE", value_enum, default_value_t = Place::Local)]
    on: Place,

    /// Print the blocks, where they run and the expected time, without running anything.
    #[arg(long)]
    dry_run: bool,

    /// Measure only the first block of each group on each host, which gives --dry-run its times.
    #[arg(long, conflicts_with = "dry_run")]
    trial: bool,

    /// Make builds and blocks again that failed.
    #[arg(long)]
    retry_failed: bool,

    /// Keep the blocks in the history as well: sqlite:FILE, postgres://… [default: $GENBA_HISTORY or
    /// .genba/history.sqlite].
    #[arg(long, value_name = "STORE", num_args = 0..=1, require_equals = true, default_missing_value = "", conflicts_with = "dry_run")]
    history: Option<String>,

    #[command(flatten)]
    json: JsonArgs,

    /// Make one task of the campaign in this directory; added by schedulers.
    #[arg(long, value_name = "DIR", hide = true, requires_all = ["plan_key", "task"])]
    worker: Option<PathBuf>,

    /// Key of the worker's plan.
    #[arg(long, value_name = "KEY", hide = true)]
    plan_key: Option<String>,

    /// Key of the worker's task.
    #[arg(long, value_name = "KEY", hide = true)]
    task: Option<String>,
}

/// Where blocks run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Place {
    /// On this machine, one after another.
    Local,
    /// On a cluster: job arrays by sbatch.
    Slurm,
}

/// Runs `genba campaign`.
pub fn run(args: Args, output: &Output) -> VerbResult {
    if let (Some(directory), Some(plan), Some(task)) = (&args.worker, &args.plan_key, &args.task) {
        return work(directory, plan, task);
    }
    let file = args.plan.clone().unwrap_or_default();
    run_plan(&args, genba_campaign::load_plan(&file)?, &file, output)
}

/// Measures a plan that another verb has made, on these nodes.
pub fn run_made(
    plan: CampaignPlan,
    on: Place,
    dry_run: bool,
    json: JsonArgs,
    output: &Output,
) -> VerbResult {
    let args = Args {
        plan: None,
        on,
        dry_run,
        trial: false,
        retry_failed: false,
        history: None,
        json,
        worker: None,
        plan_key: None,
        task: None,
    };
    run_plan(&args, plan, Path::new("."), output)
}

fn run_plan(args: &Args, plan: CampaignPlan, file: &Path, output: &Output) -> VerbResult {
    let resolved = genba_campaign::resolve(plan, file)?;
    let matrix = resolved.matrix();
    genba_campaign::check(&resolved, &matrix)?;
    let store = Store::open_root();
    let place = store.root().join("campaigns").join(&resolved.plan.name);
    if args.dry_run && !place.exists() {
        return dry_run(args, &resolved, &matrix, None, output);
    }
    store.make_root()?;
    let directory = CampaignDirectory::at(&place)?;
    if args.dry_run {
        return dry_run(args, &resolved, &matrix, Some(&directory), output);
    }
    let _lock = directory.lock()?;
    if args.retry_failed {
        genba_campaign::forget_failed(&directory, &matrix)?;
    }
    let session = schedule(args, &directory, &resolved, &matrix, output)?;
    finish(args, &directory, &resolved, &matrix, &session, output)
}

/// What a worker does.
fn work(directory: &Path, plan: &str, task: &str) -> VerbResult {
    let directory = CampaignDirectory::at(directory)?;
    let resolved = directory.plan(plan)?;
    let host = ThisHost::detect().fingerprint;
    let cancel = interrupt::token()?;
    let runner = |events: &[String]| HostRunner::new(events);
    genba_campaign::run_task(&directory, &resolved, task, host, &runner, &cancel)?;
    Ok(Exit::Done)
}

fn schedule(
    args: &Args,
    directory: &CampaignDirectory,
    resolved: &ResolvedPlan,
    matrix: &Matrix,
    output: &Output,
) -> Result<CampaignRun, Failure> {
    let plan = directory.put_plan(resolved)?;
    let program = std::env::current_exe()
        .map_err(|error| Failure::usage(format!("cannot find genba itself: {error}")))?;
    let mut worker = vec![
        program.into_os_string(),
        "campaign".into(),
        "--worker".into(),
    ];
    worker.extend([
        directory.path().into(),
        "--plan-key".into(),
        plan.into(),
        "--task".into(),
    ]);
    let mut line = ProgressLine::new(output);
    if args.on == Place::Slurm {
        // Its programs retry for a minute where no controller answers.
        line.update("waiting for Slurm's controller", None);
    }
    let mut scheduler: Box<dyn Scheduler> = match args.on {
        Place::Local => Box::new(LocalScheduler::new(Launcher::new()?, worker)),
        Place::Slurm => Box::new(SlurmScheduler::new(
            directory,
            &resolved.plan.hosts,
            worker,
        )?),
    };
    let mut watcher = Watcher(line);
    Ok(genba_campaign::run_campaign(
        directory,
        resolved,
        matrix,
        args.trial,
        scheduler.as_mut(),
        &interrupt::token()?,
        &mut watcher,
    )?)
}

fn finish(
    args: &Args,
    directory: &CampaignDirectory,
    resolved: &ResolvedPlan,
    matrix: &Matrix,
    session: &CampaignRun,
    output: &Output,
) -> VerbResult {
    let (builds, blocks) = genba_campaign::stored(directory, matrix)?;
    let all = StoredCampaign {
        resolved,
        matrix,
        builds: &builds,
        blocks: &blocks,
    };
    let place = directory.path().display().to_string();
    let document = genba_campaign::campaign_report(all, &place, args.on.name(), session)?;
    let path = directory.path().join("campaign.html");
    write(&path, &page::campaign_html(&document))?;
    if let Some(option) = &args.history {
        output.note(&history::keep(option, all, output)?);
    }
    if args.json.wanted() {
        output.json(&args.json, "campaign", &document)?;
    } else {
        let mut text = terminal::campaign(&document, output.screen());
        let path = path.display().to_string();
        text.push_str(&format!("\nPAGE  {}\n", genba_report::sanitise(&path)));
        output.result(&text)?;
    }
    let failed = document.blocks.failed > 0
        || (document.blocks.missing > 0 && !args.trial)
        || (document.builds.iter()).any(|build| build.failure.is_some())
        || (document
            .results
            .iter()
            .flat_map(|result| &result.report.variants))
        .any(|variant| variant.excluded.is_some());
    Ok(match (session.interrupted, failed) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::TargetFailed,
        (false, false) => Exit::Done,
    })
}

fn dry_run(
    args: &Args,
    resolved: &ResolvedPlan,
    matrix: &Matrix,
    directory: Option<&CampaignDirectory>,
    output: &Output,
) -> VerbResult {
    let (builds, blocks) = match directory {
        Some(directory) => genba_campaign::stored(directory, matrix)?,
        None => Default::default(),
    };
    let all = StoredCampaign {
        resolved,
        matrix,
        builds: &builds,
        blocks: &blocks,
    };
    if let Some(note) = genba_campaign::nothing_compared(&resolved.plan, matrix) {
        output.note(&format!("note: {note}"));
    }
    let plan = genba_campaign::dry_run(all, args.on.name());
    match args.json.wanted() {
        true => output.json(&args.json, "campaign-plan", &plan)?,
        false => output.result(&terminal::campaign_dry_run(&plan, output.screen()))?,
    }
    Ok(Exit::Done)
}

impl Place {
    fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Slurm => "slurm",
        }
    }
}

/// Shows progress.
struct Watcher(ProgressLine);

impl CampaignObserver for Watcher {
    fn progress(&mut self, progress: &CampaignProgress<'_>) {
        let counts = progress.counts;
        let total = counts.waiting + counts.out + counts.done + counts.given_up;
        let mut text = format!("{} {} of {total}", progress.stage, counts.done);
        if counts.lost > 0 {
            text.push_str(&format!(", {} attempts lost", counts.lost));
        }
        if let Some(remark) = progress.remark {
            text.push_str(&format!(" · {remark}"));
        }
        let left = progress
            .left_seconds
            .and_then(|left| Duration::try_from_secs_f64(left).ok());
        self.0.update(&text, left);
    }
}
