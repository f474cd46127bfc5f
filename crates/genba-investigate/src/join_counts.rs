//! The step of the road that counts executions, and what makes costs of shares of time.

use std::ops::ControlFlow;
use std::time::Duration;

use genba_attribution::{Clock, Joined};
use genba_count::{CountError, CountRequest, Transfers};
use genba_host::{CalibrateOptions, CalibrateProgress, Origin};
use genba_model::{CounterState, Estimate, HostFingerprint, HostTable, RawCounts, Stat};
use genba_run::{CommandSpec, Finished, Output};

use crate::execution_counts::{announcement, shell_status};
use crate::explanation_inputs::{JOIN, Join};
use crate::pipeline::Pipeline;
use crate::{InvestigateError, Progress};

/// How executions are counted on the road.
#[derive(Clone, Debug)]
pub struct ExecutionCountOptions {
    /// Name of the engine; the best that can serve if `None`.
    pub engine: Option<String>,
    /// A count that would take longer, or takes longer, is left out.
    pub limit: Duration,
    /// Another command to count in the target's place, and what its counts are multiplied with.
    pub other: Option<(CommandSpec, f64)>,
}

/// What must be known of the runs that were sampled.
#[derive(Clone, Debug)]
pub(crate) struct Sampled {
    runs: usize,
    /// Of one run on average, seconds.
    cpu_seconds: f64,
    wall_seconds: f64,
    /// Share of the CPU time that processes beside the target took.
    children_share: f64,
    /// Exit status of the last run as a shell gives it.
    status: Option<i32>,
    clock: Option<Clock>,
}

/// Name of the file of raw counts in the case's directory.
pub const COUNTS_FILE: &str = "counts.json";

impl Sampled {
    pub(crate) fn of(runs: &[Finished], stat: Option<&Stat>) -> Self {
        let number = runs.len().max(1) as f64;
        let sum = |value: &dyn Fn(&Finished) -> f64| runs.iter().map(value).sum::<f64>();
        let cpu = sum(&|run| run.record.cpu().total());
        Self {
            runs: runs.len(),
            cpu_seconds: cpu / number,
            wall_seconds: sum(&|run| run.record.wall_seconds) / number,
            children_share: sum(&|run| run.record.children.total()) / cpu.max(1e-9),
            status: (runs.last()).and_then(|run| shell_status(run.record.exit)),
            clock: stat.and_then(clock_of),
        }
    }
}

/// The core clock as counters give it: cycles ÷ CPU time.
fn clock_of(stat: &Stat) -> Option<Clock> {
    let counted = |event: &str| {
        let found = stat.counters.iter().find(|c| c.event == event)?;
        let value = found
            .value
            .filter(|_| found.state == CounterState::Counted)?;
        // An extrapolated count is too coarse.
        (found.running_share > 0.9).then_some(value.value)
    };
    let milliseconds = counted("task-clock")?;
    let hz = counted("cycles")? / (milliseconds / 1e3);
    (hz.is_finite() && (1e8..2e10).contains(&hz)).then(|| Clock {
        hz: Estimate {
            value: hz,
            low: hz * (1.0 - DRIFT),
            high: hz * (1.0 + DRIFT),
        },
        source: "counters".to_owned(),
    })
}

/// How far the clock of the runs that were sampled may be from that of the run that was counted
/// by the hardware.
const DRIFT: f64 = 0.03;

/// CPU time beside the target that makes its children worth counting.
const CHILDREN: f64 = 0.01;

impl Pipeline<'_> {
    /// Counts one run and joins it with what was sampled; `None`, with a note, where that
    /// cannot be done or would not be true.
    pub(crate) fn count_executions(
        &mut self,
        sampled: &Sampled,
        host: &HostFingerprint,
        progress: &mut dyn Progress,
    ) -> Result<Option<Joined>, InvestigateError> {
        let Some(plan) = self.options.executions.clone() else {
            return Ok(None);
        };
        let other = plan.other.is_some();
        let (mut spec, scale) = (plan.other.clone()).unwrap_or_else(|| (self.spec.clone(), 1.0));
        spec.stdout = Output::Null;
        spec.stderr = Output::Null;
        // Who waits for an answer waits for the count as well: what is left, but on a machine
        // that others use, too, what a count usually takes.
        let usual = Duration::try_from_secs_f64(sampled.wall_seconds * USUAL_COUNT);
        let usual = usual.map_or(MAX_AWAITED, |usual| usual.clamp(LEAST_COUNT, MAX_AWAITED));
        let available = self.time_left().map(|left| left.max(usual));
        let limit = available.map_or(plan.limit, |left| left.min(plan.limit));
        spec.timeout = Some(spec.timeout.map_or(limit, |own| own.min(limit)));
        let request = CountRequest {
            children: spec.shell_line.is_some() || sampled.children_share > CHILDREN,
            spec,
            transfers: Transfers::Everywhere,
        };
        let raw = match self.run_engine(&plan, limit, &request, sampled, progress) {
            Ok(Some(raw)) => raw,
            Ok(None) => return Ok(None),
            Err(error) => {
                self.check_cancelled()?;
                self.notes.push(format!("no exact counts: {error}"));
                return Ok(None);
            }
        };
        self.check_cancelled()?;
        let path = self.case.directory().join(COUNTS_FILE);
        if let Err(error) = genba_count::saved_counts::write(&path, &raw) {
            self.notes.push(error.to_string());
        }
        if let Some(reason) = untrue(&raw, sampled, other) {
            self.notes.push(reason);
            return Ok(None);
        }
        let host = self.host_table(host, progress);
        let join = Join {
            runs: sampled.runs.max(1) as f64,
            native_cpu_seconds: Some(sampled.cpu_seconds),
            scale,
            clock: (sampled.clock.clone())
                .or_else(|| host.as_ref().map(clock_of_table))
                .map(|clock| (clock.hz, clock.source)),
            host,
        };
        self.case.put_document(JOIN, &join)?;
        Ok(Some(join.with(&raw)))
    }

    fn run_engine(
        &mut self,
        plan: &ExecutionCountOptions,
        limit: Duration,
        request: &CountRequest,
        sampled: &Sampled,
        progress: &mut dyn Progress,
    ) -> Result<Option<RawCounts>, CountError> {
        let choice = genba_count::choose(plan.engine.as_deref(), request)?;
        self.notes.extend(choice.passed_over.iter().cloned());
        let least = sampled.wall_seconds * choice.engine.usual_slowdown().start();
        if plan.other.is_none() && least > limit.as_secs_f64() {
            self.notes.push(not_counted(least, limit, plan.limit));
            return Ok(None);
        }
        progress.update(&announcement(&choice, sampled.wall_seconds), None);
        (choice.engine.count(request, self.launcher, self.cancel)).map(Some)
    }

    /// What instructions cost here, measured now where it is not known yet.
    fn host_table(
        &mut self,
        host: &HostFingerprint,
        progress: &mut dyn Progress,
    ) -> Option<HostTable> {
        let mut watch = |state: CalibrateProgress| {
            progress.update("measuring what instructions cost here", Some(state.left));
            if self.cancel.is_triggered() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let options = CalibrateOptions::default();
        match genba_host::load_or_calibrate(host.clone(), &options, &mut watch) {
            Ok(loaded) => {
                if let Origin::NotKept(error) = &loaded.origin {
                    self.notes
                        .push(format!("the host table was not kept: {error}"));
                }
                Some(loaded.table)
            }
            Err(error) => {
                self.notes.push(error.to_string());
                None
            }
        }
    }
}

/// A count may take so long however little of the time is left: without it little can be explained.
const LEAST_COUNT: Duration = Duration::from_secs(5);

/// Nor more than this, by which half a minute may be overdrawn.
const MAX_AWAITED: Duration = Duration::from_secs(15);

/// Wall times of a run that a count with all jumps takes, even of an interpreter.
const USUAL_COUNT: f64 = 3.2;

/// Why a count was not begun.
fn not_counted(least: f64, limit: Duration, most: Duration) -> String {
    let time = genba_units::format::rough_duration(least);
    if limit < most {
        return format!(
            "executions were not counted: that would take over {time}, and an answer within half a minute leaves {:.0} s for it; --count-limit gives it more, or explain a smaller run",
            limit.as_secs_f64()
        );
    }
    format!(
        "executions were not counted: that would take over {time}; --count-cmd counts a smaller run, --count-limit gives it more time"
    )
}

/// The clock while the host table was measured.
#[must_use]
pub fn clock_of_table(table: &HostTable) -> Clock {
    let (low, high) = table.frequency_range_hz;
    Clock {
        hz: Estimate {
            value: table.frequency_hz,
            low,
            high,
        },
        source: "host table".to_owned(),
    }
}

/// Why counts must not be joined with the samples, if they must not.
fn untrue(raw: &RawCounts, sampled: &Sampled, other: bool) -> Option<String> {
    let cut_short = raw
        .processes
        .iter()
        .find_map(|one| one.cut_short.as_deref());
    if let Some(reason) = cut_short {
        return Some(format!(
            "the count was cut short ({reason}): no costs per execution; `genba count` shows what was counted until then"
        ));
    }
    let native = sampled.status?;
    (raw.exit != native && !other).then(|| {
        format!(
            "under {} the command ended with status {}, without it with {native}: no costs per execution",
            raw.engine.name, raw.exit
        )
    })
}
