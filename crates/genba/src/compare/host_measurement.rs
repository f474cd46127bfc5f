//! Measures a plan on this host.

use genba_experiment::{
    ExactRunner, HostRunner, Observer, Plan, ReportContext, Runner, counting_plan, now, report, run,
};
use genba_host::NoiseWatch;
use genba_model::{ComparisonReport, HostFingerprint};
use genba_run::Cancel;

use crate::exit_code::Failure;

/// The host that genba runs on.
pub struct ThisHost {
    /// Identity of the host, for comparing cases.
    pub fingerprint: HostFingerprint,
}

impl ThisHost {
    /// Reads the host's identity and whether cycles can be counted.
    pub fn detect() -> Self {
        let hardware = genba_profile::sampler::hardware_cycles_work();
        Self {
            fingerprint: genba_host::fingerprint(hardware.is_ok()),
        }
    }
}

/// Measures a plan and returns its report with verdicts.
pub fn measure(
    plan: &Plan,
    here: &ThisHost,
    cancel: &Cancel,
    observer: &mut dyn Observer,
) -> Result<ComparisonReport, Failure> {
    measure_with(
        plan,
        &mut HostRunner::new(&plan.counters)?,
        here,
        cancel,
        observer,
    )
}

/// Counts the instructions of each variant of a plan in one run under a count engine.
pub fn count_instructions(
    plan: &Plan,
    here: &ThisHost,
    cancel: &Cancel,
    observer: &mut dyn Observer,
) -> Result<ComparisonReport, Failure> {
    let plan = counting_plan(plan);
    measure_with(&plan, &mut ExactRunner::new()?, here, cancel, observer)
}

fn measure_with(
    plan: &Plan,
    runner: &mut impl Runner,
    here: &ThisHost,
    cancel: &Cancel,
    observer: &mut dyn Observer,
) -> Result<ComparisonReport, Failure> {
    let started = now();
    let watch = NoiseWatch::start();
    let measurement = run(plan, runner, cancel, observer)?;
    let window = watch.stop(measurement.cpu_seconds());
    let setting = ReportContext {
        case: None,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started,
        host: here.fingerprint.clone(),
        hazards: genba_host::current_hazards(window),
    };
    Ok(report(plan, &measurement, setting))
}
