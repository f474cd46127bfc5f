//! The runs of a proof: native, with two copies of the code as it is, with one of them edited.

use std::time::{Duration, Instant};

use genba_count::native::{DuetRequest, DuetRun, NoReplicas, run_duet};
use genba_model::{Estimate, ExitKind, ProofKind, Proven};
use genba_run::{Cancel, CommandSpec, Finished, Launcher, Output};
use genba_stats::{Judge, Verdict, median};

use crate::window_pairs::{Pairs, bound_by_samples, pairs, pairs_of_replicas, site_speedup};
use crate::{Plan, ProveError};

/// Mean length of windows, CPU time of a thread. The kernel's timers of CPU time fire at its ticks, of 1
/// to 4 ms.
const WINDOW: Duration = Duration::from_millis(6);
/// Differences of two copies of the same code below this are none, and a proof has an interval of about
/// this width on either side.
const MARGIN: f64 = 0.01;
/// The same for copies of the process, whose page faults and caches differ more; by what they do differ,
/// the interval of a bound is wider.
const MARGIN_OF_REPLICAS: f64 = 0.05;
/// Time per execution in copies of the process ÷ the program's, above which they say nothing of it: they begin with
/// cold caches and page faults, which a short run does not make good. Chosen.
const MAX_COST_OF_REPLICAS: f64 = 2.0;
/// Significance level of the comparison of both codes.
const ALPHA: f64 = 0.05;
/// Significance level of the comparison of two copies of the same code: its false alarms.
const SELF_CHECK_ALPHA: f64 = 0.01;
/// Least pairs for a claim.
const MIN_PAIRS: usize = 20;
/// Pairs before which no proof ends while there is time.
const WANTED_PAIRS: usize = 100;
/// CPU time translated ÷ native, above which a change without a gain says nothing of the native program: what it leaves out
/// is a smaller part of the time, and may run beside what the engine adds. Chosen.
const MAX_COST_OF_NO_GAIN: f64 = 1.5;
/// Widest interval of a claim, of its value, where no difference was found.
const MAX_WIDTH: f64 = 0.1;
/// Longest run that tries one of several changes.
const MAX_TRIAL: Duration = Duration::from_secs(3);

/// What to prove.
#[derive(Clone, Debug)]
pub struct ProofRequest {
    /// The command, and how it is run.
    pub spec: CommandSpec,
    /// Path of the module that is edited, as mapped.
    pub module: String,
    /// Changes that may be the fix. The best is measured.
    pub plans: Vec<Plan>,
    /// Share of the program's time at the site.
    pub share: Estimate,
    /// CPU time of the whole program for each execution of the site, as it was measured; `None` if that is unknown.
    pub program_seconds: Option<f64>,
    /// Time for all runs.
    pub budget: Duration,
    /// Seed of the order of windows.
    pub seed: u64,
}

/// What a proof found.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// A measured speedup, with notes.
    Proven(Box<Proven>, Vec<String>),
    /// Nothing that can be claimed; why, and what to do.
    NoClaim(String),
}

/// Is told what is being done, and how long it takes.
pub trait Progress {
    /// A stage begins or goes on.
    fn update(&mut self, stage: &str, left: Option<Duration>);
}

impl<F: FnMut(&str, Option<Duration>)> Progress for F {
    fn update(&mut self, stage: &str, left: Option<Duration>) {
        self(stage, left);
    }
}

struct Runs<'a> {
    request: &'a ProofRequest,
    launcher: &'a mut Launcher,
    cancel: &'a Cancel,
    progress: &'a mut dyn Progress,
    began: Instant,
    seed: u64,
}

impl Runs<'_> {
    fn left(&self) -> Duration {
        self.request.budget.saturating_sub(self.began.elapsed())
    }

    fn spec(&self, limit: Duration) -> CommandSpec {
        let mut spec = self.request.spec.clone();
        spec.stdout = Output::Count;
        spec.timeout = Some(spec.timeout.map_or(limit, |own| own.min(limit)));
        spec
    }

    fn native(&mut self) -> Result<Finished, ProveError> {
        self.progress.update("native run", Some(self.left()));
        let spec = self.spec(self.left());
        Ok(self.launcher.start(&spec)?.wait(self.cancel)?)
    }

    fn duet(&mut self, plan: &Plan, edited: bool, limit: Duration) -> Result<DuetRun, ProveError> {
        let stage = match (edited, plan.replicas.is_some()) {
            (true, false) => "code as it is and changed, by turns",
            (false, false) => "two copies of the code as it is, by turns",
            (true, true) => "copies of the process, as it is and with the work taken out",
            (false, true) => "copies of the process, both as it is",
        };
        self.progress.update(stage, Some(self.left()));
        self.seed += 1;
        let request = DuetRequest {
            spec: self.spec(limit),
            module: self.request.module.clone(),
            edits: plan.edits.clone(),
            edited,
            single_thread: plan.single_thread,
            replicas: plan.replicas,
            window: WINDOW,
            seed: self.seed,
        };
        Ok(run_duet(&request, self.launcher, self.cancel)?)
    }

    fn is_over(&self) -> bool {
        self.cancel.is_triggered() || self.left().is_zero()
    }
}

/// Pairs with their judge.
struct Compared {
    judge: Judge,
    pairs: Pairs,
}

impl Compared {
    fn new(alpha: f64, margin: f64) -> Result<Self, ProveError> {
        Ok(Self {
            judge: Judge::new(alpha, margin)?,
            pairs: Pairs::default(),
        })
    }

    fn add(&mut self, plan: &Plan, run: &DuetRun) -> Result<(), ProveError> {
        let found = pairs_of(plan, run);
        for pair in &found.compared {
            self.judge.push(pair.as_is, pair.edited)?;
        }
        self.pairs.extend(found);
        Ok(())
    }

    fn count(&self) -> usize {
        self.pairs.compared.len()
    }

    /// Why there are few pairs of copies of the process: of most moments each counts as two seconds without work.
    fn interrupted(&self) -> Option<&'static str> {
        let without = self.pairs.other_seconds / 2.0;
        (self.pairs.of_replicas && without > self.count() as f64).then_some(
            "in most moments the instructions are executed fewer than 64 times before the program's next system call, \
             where a copy of the process must end: no bound is measured of work that is split like that",
        )
    }

    /// Half the width of the interval, of its value.
    fn half_width(&self) -> f64 {
        let ratio = self.judge.ratio();
        ratio.map_or(f64::INFINITY, |ratio| {
            (ratio.high - ratio.low) / 2.0 / ratio.value
        })
    }
}

fn pairs_of(plan: &Plan, run: &DuetRun) -> Pairs {
    match plan.replicas {
        Some(_) => pairs_of_replicas(&run.windows),
        None => pairs(&run.windows),
    }
}

/// How a run ended, and what it wrote to standard output.
fn result(finished: &Finished) -> (ExitKind, Option<u64>, Option<u64>) {
    let stdout = &finished.stdout;
    (finished.record.exit, stdout.bytes, stdout.hash)
}

fn is_whole(finished: &Finished) -> bool {
    !matches!(
        finished.record.exit,
        ExitKind::TimedOut | ExitKind::Cancelled
    )
}

fn cpu(finished: &Finished) -> f64 {
    let cpu = finished.record.cpu();
    cpu.user + cpu.system
}

/// Applies the fix of a finding to the running program and measures what it gains.
///
/// # Errors
/// If the program cannot be run.
pub fn prove(
    request: &ProofRequest,
    launcher: &mut Launcher,
    cancel: &Cancel,
    progress: &mut dyn Progress,
) -> Result<Outcome, ProveError> {
    let mut runs = Runs {
        request,
        launcher,
        cancel,
        progress,
        began: Instant::now(),
        seed: request.seed,
    };
    // The output of a run with copies is the program's own, and is not compared.
    let bounds = request.plans.iter().all(|plan| plan.replicas.is_some());
    let mut native = match bounds {
        true => Vec::new(),
        false => vec![runs.native()?],
    };
    let Some(plan) = best_plan(&mut runs)? else {
        return Ok(Outcome::NoClaim(
            "the edited code was not executed: the command may take another way than when it was measured"
                .to_owned(),
        ));
    };
    let margin = match plan.replicas {
        Some(_) => MARGIN_OF_REPLICAS,
        None => MARGIN,
    };
    let mut alike = Compared::new(SELF_CHECK_ALPHA, margin)?;
    let mut changed = Compared::new(ALPHA, margin)?;
    let (mut costs, mut notes) = (Vec::new(), Vec::new());
    let mut identical = None;
    let mut lost = LostReplicas::default();
    loop {
        let left = runs.left();
        let run = runs.duet(plan, false, left / 2)?;
        // Copies of the process are part of what a run with them takes.
        let whole = native.last().filter(|_| plan.replicas.is_none());
        let whole = whole.filter(|last| is_whole(last));
        if let Some(last) = whole.filter(|last| is_whole(&run.finished) && cpu(last) > 0.0) {
            costs.push(cpu(&run.finished) / cpu(last));
        }
        alike.add(plan, &run)?;
        lost.note(&run);
        if cancel.is_triggered() {
            break;
        }
        let left = runs.left();
        let run = runs.duet(plan, true, left.max(Duration::from_millis(100)))?;
        changed.add(plan, &run)?;
        lost.note(&run);
        if let Some(reference) = native.first().filter(|_| is_whole(&run.finished))
            && is_whole(reference)
        {
            let same = result(reference) == result(&run.finished);
            identical = Some(identical.unwrap_or(true) && same);
        }
        let decided = |one: &Compared| one.judge.verdict() != Verdict::Undecided;
        let enough = changed.count() >= WANTED_PAIRS && changed.half_width() <= margin;
        let done = enough && decided(&alike) && (bounds || native.len() > 1);
        if done || identical == Some(false) || runs.is_over() {
            break;
        }
        if bounds {
            continue;
        }
        let longest = native
            .iter()
            .map(|run| run.record.wall_seconds)
            .fold(0.0, f64::max);
        // A round is three runs; one that does not fit would say nothing of the output.
        if native.len() > 1 && runs.left().as_secs_f64() < 3.0 * longest {
            break;
        }
        native.push(runs.native()?);
    }
    if cancel.is_triggered() {
        return Ok(Outcome::NoClaim("interrupted".to_owned()));
    }
    if changed.count() < MIN_PAIRS
        && let Some(reason) = lost.reason().or_else(|| changed.interrupted())
    {
        return Ok(Outcome::NoClaim(reason.to_owned()));
    }
    let first = native.first().map(result);
    let deterministic = native.iter().all(|run| Some(result(run)) == first);
    if !deterministic && plan.kind == ProofKind::Equivalent {
        identical = None;
        notes.push("its output differs from run to run natively, and was not compared".to_owned());
    }
    Ok(judged(
        request, plan, &alike, &changed, &costs, identical, notes,
    ))
}

/// Replicas that said nothing.
#[derive(Default)]
struct LostReplicas {
    failed: u32,
    why: Option<NoReplicas>,
}

impl LostReplicas {
    fn note(&mut self, run: &DuetRun) {
        self.failed += run.failed_replicas;
        self.why = self.why.or(run.no_replicas);
    }

    /// Why there are none, or few.
    fn reason(&self) -> Option<&'static str> {
        Some(match self.why {
            Some(NoReplicas::Unconfined) => {
                "the kernel cannot confine a copy of the process (seccomp), and without that no run with wrong data \
                 is made"
            }
            Some(NoReplicas::Threads) => {
                "an upper bound is measured in copies of the process, which a program with several threads has not"
            }
            Some(NoReplicas::NoFork) => "the kernel created no copies of the process (fork)",
            None if self.failed > 0 => {
                "copies of the process did not do the same, or ended before the measurement: they may read clocks, random \
                 numbers or memory that another process writes"
            }
            None => return None,
        })
    }
}

/// Returns the plan that gained most in a trial; `None` if none of its code was executed.
fn best_plan<'a>(runs: &mut Runs<'a>) -> Result<Option<&'a Plan>, ProveError> {
    let plans = &runs.request.plans;
    if let [only] = &plans[..] {
        return Ok(Some(only));
    }
    let limit = MAX_TRIAL.min(runs.request.budget / 3 / plans.len().max(1) as u32);
    let mut best: Option<(f64, &Plan)> = None;
    for plan in plans {
        let run = runs.duet(plan, true, limit)?;
        let ratios: Vec<f64> = pairs_of(plan, &run)
            .compared
            .iter()
            .map(|pair| pair.edited / pair.as_is)
            .collect();
        if run.blocks == 0 || ratios.is_empty() {
            continue;
        }
        let ratio = median(&ratios)?;
        if best.is_none_or(|(least, _)| ratio < least) {
            best = Some((ratio, plan));
        }
    }
    Ok(best.map(|(_, plan)| plan))
}

fn judged(
    request: &ProofRequest,
    plan: &Plan,
    alike: &Compared,
    changed: &Compared,
    costs: &[f64],
    identical: Option<bool>,
    mut notes: Vec<String>,
) -> Outcome {
    let percent = |ratio: Estimate| (ratio.value - 1.0).abs() * 100.0;
    if identical == Some(false) {
        return Outcome::NoClaim(
            "the changed program's output or exit status differs from a native run's: the change is not \
             equivalent here"
                .to_owned(),
        );
    }
    let (Some(own), Some(ratio)) = (alike.judge.ratio(), changed.judge.ratio()) else {
        return Outcome::NoClaim(format!(
            "{} pairs of windows are too few: give the command more work, or a longer --budget",
            changed.count()
        ));
    };
    if alike.count() < MIN_PAIRS || changed.count() < MIN_PAIRS {
        return Outcome::NoClaim(format!(
            "{} pairs of windows are too few: give the command more work, or a longer --budget",
            alike.count().min(changed.count())
        ));
    }
    // Copies that are not known to be equal within the margin: by what they may differ, the result is less certain.
    let alike_within_margin = alike.judge.verdict() == Verdict::Same;
    let ratio = match (plan.replicas, alike_within_margin) {
        (None, true) => ratio,
        (Some(_), _) => widened(ratio, own),
        (None, false) => widened(ratio, either_way(own)),
    };
    let includes_none = ratio.low <= 1.0 && ratio.high >= 1.0;
    if includes_none && (ratio.high - ratio.low) / ratio.value > MAX_WIDTH {
        return Outcome::NoClaim(match alike_within_margin {
            true => format!(
                "undecided after {} pairs of windows: give the command more work, or a longer --budget",
                changed.count()
            ),
            false => format!(
                "undecided: the change makes {:.1} % of difference, and two copies of the unchanged code may differ by \
                 {:.1} % after {} pairs: give the command more work, or a longer --budget",
                percent(ratio),
                (either_way(own).high - 1.0) * 100.0,
                alike.count()
            ),
        });
    }
    if !alike_within_margin {
        notes.push(format!(
            "two copies of the unchanged code are known to be equally fast within {:.1} % only, after {} pairs: the interval \
             contains that",
            (either_way(own).high - 1.0) * 100.0,
            alike.count()
        ));
    }
    if plan.replicas.is_some()
        && let (Some(here), Some(native)) = (changed.pairs.as_is_seconds(), request.program_seconds)
        && here > MAX_COST_OF_REPLICAS * native
    {
        return Outcome::NoClaim(format!(
            "no bound: copies of the process take {:.1} ns per execution of the site, all between two included; the program \
             itself takes {:.1} ns",
            here * 1e9,
            native * 1e9
        ));
    }
    let mut program_speedup = changed.pairs.program_speedup(ratio);
    let site_speedup = site_speedup(program_speedup, request.share);
    let translated_cost = cost(costs);
    let bounds = plan.kind == ProofKind::UpperBound;
    if let Some(cost) = translated_cost.filter(|cost| cost.value > MAX_COST_OF_NO_GAIN)
        && !bounds
        && program_speedup.low <= 1.0
    {
        return Outcome::NoClaim(format!(
            "translated code takes {:.2}× the native program's time here, beside which a gain of the native one does not \
             show: make the fix in the source and compare (genba bench)",
            cost.value
        ));
    }
    if identical.is_none() && notes.is_empty() && !bounds {
        notes.push("no run ended within the time: its output was not compared".to_owned());
    }
    let by_samples = bound_by_samples(program_speedup, request.share).filter(|_| bounds);
    if let Some(bound) = by_samples {
        notes.push(format!(
            "the site has {:.0} % of the samples, without which the program would be {:.2}× faster; copies measure {:.2}× at \
             moments at which the site is executed, or other code waits for it",
            request.share.value * 100.0,
            bound.value,
            program_speedup.value
        ));
        program_speedup = bound;
    }
    let proven = Proven {
        kind: plan.kind,
        change: plan.change,
        site_speedup,
        program_speedup,
        pairs: changed.count() as u64,
        output_identical: identical.filter(|_| !bounds),
        self_check: own,
        log_share: plan
            .replicas
            .filter(|one| one.log_entry > 0 && by_samples.is_none())
            .and(changed.pairs.log_share()),
        translated_cost,
    };
    Outcome::Proven(Box::new(proven), notes)
}

/// A ratio with the interval of what two copies of the same code differ by added to its own.
fn widened(ratio: Estimate, own: Estimate) -> Estimate {
    Estimate {
        value: ratio.value,
        low: ratio.low * own.low.min(1.0),
        high: ratio.high * own.high.max(1.0),
    }
}

/// By what two copies of the same code may differ, in either direction: the edited code lies at another place than both.
fn either_way(own: Estimate) -> Estimate {
    let most = own.high.max(1.0 / own.low).max(1.0);
    Estimate {
        value: 1.0,
        low: 1.0 / most,
        high: most,
    }
}

/// Median, least and greatest of the ratios translated ÷ native.
fn cost(costs: &[f64]) -> Option<Estimate> {
    let value = median(costs).ok()?;
    Some(Estimate {
        value,
        low: costs.iter().copied().fold(value, f64::min),
        high: costs.iter().copied().fold(value, f64::max),
    })
}

#[cfg(test)]
#[path = "proof_run_tests.rs"]
mod tests;
