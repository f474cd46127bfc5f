//! Counts executions in the pipeline and joins them with samples, so that shares of time become costs
//! per execution.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use genba_attribution::{Clock, Joined};
use genba_count::{BurstPlan, CountError, CountRequest, TIME_LIMIT_REACHED, Transfers};
use genba_host::{CalibrateOptions, CalibrateProgress, Origin};
use genba_model::{CounterState, Estimate, ExitKind, HostFingerprint, HostTable, RawCounts, Stat};
use genba_run::{CommandSpec, Finished, Output};

use crate::counted_part::whole_by_part;
use crate::execution_counts::{announcement, shell_status};
use crate::explanation_inputs::{JOIN, Join};
use crate::observations::analysed;
use crate::pipeline::Pipeline;
use crate::{InvestigateError, Progress};

/// How executions are counted in the pipeline.
#[derive(Clone, Debug)]
pub struct ExecutionCountOptions {
    /// Name of the engine; the best that can serve if `None`.
    pub engine: Option<String>,
    /// Maximum time of the count; a longer one is skipped or stopped.
    pub limit: Duration,
    /// A command to count in place of the target, and the factor for its counts.
    pub other: Option<(CommandSpec, f64)>,
}

/// The runs that were sampled.
#[derive(Clone, Debug)]
pub(crate) struct Sampled {
    runs: usize,
    /// CPU time of one run on average, seconds.
    cpu_seconds: f64,
    wall_seconds: f64,
    /// Share of the CPU time in child processes.
    children_share: f64,
    /// How the last run ended.
    exit: Option<ExitKind>,
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
            exit: runs.last().map(|run| run.record.exit),
            clock: stat.and_then(clock_of),
        }
    }
}

/// Returns the core clock from counters: cycles ÷ CPU time.
fn clock_of(stat: &Stat) -> Option<Clock> {
    let counted = |event: &str| {
        let found = stat.counters.iter().find(|c| c.event == event)?;
        let value = found
            .value
            .filter(|_| found.state == CounterState::Counted)?;
        // Extrapolated counts are too imprecise.
        (found.running_share > 0.9).then_some(value.value)
    };
    let milliseconds = counted("task-clock")?;
    let hz = counted("cycles")? / (milliseconds / 1e3);
    (hz.is_finite() && (1e8..2e10).contains(&hz)).then(|| Clock {
        hz: Estimate {
            value: hz,
            low: hz * (1.0 - CLOCK_DRIFT),
            high: hz * (1.0 + CLOCK_DRIFT),
        },
        source: "counters".to_owned(),
    })
}

/// Relative difference allowed between the clocks of the sampled runs and of the run whose cycles were
/// counted.
const CLOCK_DRIFT: f64 = 0.03;

/// Share of the time that is left that a count may take where [`crate::Options::limit`] bounds all of it: its result
/// must be analysed.
const SHARE_OF_TIME_TO_COUNT: f64 = 0.8;

/// Minimum share of the CPU time in child processes for them to be counted.
const MIN_CHILDREN_SHARE: f64 = 0.01;

impl Pipeline<'_> {
    /// Counts one run and joins it with the samples; `None`, with a note, where that fails or counts and
    /// samples do not belong together.
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
        let (mut spec, mut scale) =
            (plan.other.clone()).unwrap_or_else(|| (self.spec.clone(), 1.0));
        spec.stdout = Output::Null;
        spec.stderr = Output::Null;
        // The count may take the remaining time, or, on a busy machine, what a count usually takes.
        let usual = usual_count_time(sampled.wall_seconds, sampled.cpu_seconds);
        let available = match self.options.limit {
            Some(_) => self
                .time_left()
                .map(|left| left.mul_f64(SHARE_OF_TIME_TO_COUNT)),
            None => self.time_left().map(|left| left.max(usual)),
        };
        let limit = available.map_or(plan.limit, |left| left.min(plan.limit));
        spec.timeout = Some(spec.timeout.map_or(limit, |own| own.min(limit)));
        let request = CountRequest {
            children: spec.shell_line.is_some() || sampled.children_share > MIN_CHILDREN_SHARE,
            spec,
            transfers: Transfers::Everywhere,
            observe: Some(BurstPlan::default()),
            // Another command may end otherwise.
            native_exit: sampled.exit.filter(|_| !other),
        };
        let began = Instant::now();
        let mut raw = match self.run_engine(&plan, limit, &request, sampled, progress) {
            Ok(Some(raw)) => raw,
            Ok(None) => return Ok(None),
            Err(error) => {
                self.check_cancelled()?;
                self.notes.push(format!("no exact counts: {error}"));
                return Ok(None);
            }
        };
        self.check_cancelled()?;
        let run = began.elapsed();
        let path = self.case.directory().join(COUNTS_FILE);
        if let Err(error) = genba_count::saved_counts::write(&path, &raw) {
            self.notes.push(error.to_string());
        }
        let of_part = is_of_part(&raw) && !other;
        if of_part {
            scale = whole_by_part(&raw, sampled.cpu_seconds);
        } else if let Some(reason) = mismatch(&raw, sampled, other) {
            self.notes.push(reason);
            return Ok(None);
        }
        let observed = self.observed_with_more(&mut raw, &plan, &request, run, progress);
        progress.update("analysing bursts", None);
        let limit = self.options.limit.and(self.time_left());
        let (observed, note) = analysed(observed, limit);
        self.observations = observed;
        self.notes.extend(note);
        let host = self.host_table(host, progress);
        if of_part {
            self.notes.push(format!(
                "only the first part of a run was counted ({:.0} s of about {:.0} s): executions are multiplied as if the rest were like it; \
                 give it more time (--limit, --count-limit) to count it whole",
                sampled.cpu_seconds / scale,
                sampled.cpu_seconds
            ));
        }
        let join = Join {
            runs: sampled.runs.max(1) as f64,
            native_cpu_seconds: Some(match of_part {
                true => sampled.cpu_seconds / scale,
                false => sampled.cpu_seconds,
            }),
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
        let least = MIN_COUNTED_PART.as_secs_f64().min(sampled.wall_seconds);
        if plan.other.is_none() && least > limit.as_secs_f64() {
            self.notes.push(not_counted(least, limit, plan.limit));
            return Ok(None);
        }
        progress.update(
            &announcement(&choice, sampled.wall_seconds, Some(limit)),
            None,
        );
        (choice.engine.count(request, self.launcher, self.cancel)).map(Some)
    }

    /// Returns the host table, measured now if it is not stored yet.
    fn host_table(
        &mut self,
        host: &HostFingerprint,
        progress: &mut dyn Progress,
    ) -> Option<HostTable> {
        let mut watch = |state: CalibrateProgress| {
            progress.update("measuring instruction costs on this host", Some(state.left));
            if self.cancel.is_triggered() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let options = CalibrateOptions::default();
        match genba_host::load_or_calibrate(host.clone(), &options, &mut watch) {
            Ok(loaded) => {
                if let Origin::NotStored(error) = &loaded.origin {
                    self.notes
                        .push(format!("the host table could not be stored: {error}"));
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

/// Shortest part of a run that is worth counting.
const MIN_COUNTED_PART: Duration = Duration::from_secs(2);

/// Time that a count may always take: without counts few causes can be detected.
const MIN_COUNT_TIME: Duration = Duration::from_secs(5);

/// Maximum time of a count beyond [`crate::Options::answer_within`], on an idle machine: enough for a
/// program of five seconds.
const MAX_COUNT_OVERRUN: Duration = Duration::from_secs(18);

/// Maximum factor on [`MAX_COUNT_OVERRUN`] for a program that others keep from the CPU. Chosen.
const MAX_BUSY_FACTOR: f64 = 4.0;

/// Returns how long a count usually takes of a program with these times; at least [`MIN_COUNT_TIME`], at most
/// [`MAX_COUNT_OVERRUN`], both of which are longer where the program has to wait for the CPU: the count waits
/// as long.
fn usual_count_time(wall_seconds: f64, cpu_seconds: f64) -> Duration {
    let ratio = wall_seconds / cpu_seconds.max(1e-3);
    // Also 1 where the times say nothing (not a number).
    let busy = if ratio > 1.0 {
        ratio.min(MAX_BUSY_FACTOR)
    } else {
        1.0
    };
    let (least, most) = (
        MIN_COUNT_TIME.mul_f64(busy),
        MAX_COUNT_OVERRUN.mul_f64(busy),
    );
    let usual = Duration::try_from_secs_f64(wall_seconds * USUAL_SLOWDOWN);
    usual.map_or(most, |usual| usual.clamp(least, most))
}

/// Usual slowdown of a count with all jumps, also of an interpreter.
const USUAL_SLOWDOWN: f64 = 3.2;

/// Returns the note on a count that was not started.
fn not_counted(least: f64, limit: Duration, most: Duration) -> String {
    let time = genba_units::format::rough_duration(least);
    if limit < most {
        return format!(
            "executions were not counted: that takes more than {time}, {:.0} s were left; give more time (investigate --limit, explain --count-limit) or a smaller run",
            limit.as_secs_f64()
        );
    }
    format!(
        "executions were not counted: that takes more than {time}; increase --count-limit or count a smaller run with --count-cmd"
    )
}

/// Returns the core clock during the measurement of the host table.
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

/// Whether the counts are of the first part of the run, since the time was over.
fn is_of_part(raw: &RawCounts) -> bool {
    let mut ends = raw
        .processes
        .iter()
        .filter_map(|one| one.cut_short.as_deref());
    let Some(first) = ends.next() else {
        return false;
    };
    first == TIME_LIMIT_REACHED && ends.all(|why| why == TIME_LIMIT_REACHED)
}

/// Returns why counts must not be joined with the samples; `None` where they can.
fn mismatch(raw: &RawCounts, sampled: &Sampled, other: bool) -> Option<String> {
    let cut_short = raw
        .processes
        .iter()
        .find_map(|one| one.cut_short.as_deref());
    if let Some(reason) = cut_short {
        return Some(format!(
            "the count ended early ({reason}): no costs per execution; `genba count` shows the incomplete counts"
        ));
    }
    let native = shell_status(sampled.exit?)?;
    (raw.exit != native && !other).then(|| {
        format!(
            "the command ended with status {} under {}, but with {native} without it: no costs per execution",
            raw.exit, raw.engine.name
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn count_of_a_program_that_waits_for_the_cpu_gets_more_time() {
        let seconds = |wall, cpu| usual_count_time(wall, cpu).as_secs_f64();
        assert_eq!(seconds(0.1, 0.1), 5.0, "short");
        assert_eq!(seconds(0.9, 0.3), 15.0, "short, on a busy machine");
        assert!((seconds(3.0, 3.0) - 9.6).abs() < 1e-9);
        assert_eq!(seconds(20.0, 20.0), 18.0, "an idle machine");
        assert!((seconds(8.0, 2.0) - 25.6).abs() < 1e-9, "a busy one");
        assert_eq!(seconds(100.0, 1.0), 72.0);
        assert_eq!(seconds(f64::NAN, f64::NAN), 18.0);
    }
}
