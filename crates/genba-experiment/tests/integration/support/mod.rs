//! What the tests share: runs that never were.
use genba_experiment::{
    ExperimentError, Measurement, NoObserver, Plan, ReportContext, VariantPlan, report,
    run_with_clock,
};
use genba_model::{ComparisonReport, HostFingerprint};
use genba_run::{Cancel, CommandSpec, Finished, MockExecutor, RunError};

/// Deterministic noise in 0…1 (splitmix64).
pub struct Noise(pub u64);

impl Noise {
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A plan of commands that are called as their variants.
pub fn plan(names: &[&str]) -> Plan {
    let variants = names
        .iter()
        .map(|name| VariantPlan::new(*name, *name, CommandSpec::direct([*name])))
        .collect();
    Plan {
        seed: 7,
        ..Plan::new(variants)
    }
}

pub fn name_of(spec: &CommandSpec) -> String {
    spec.argv[0].to_string_lossy().into_owned()
}

pub type Respond<'a> = &'a mut dyn FnMut(&CommandSpec) -> Result<Finished, RunError>;

/// Runs a plan on a clock that advances by what the runs say.
pub fn simulate(plan: &Plan, respond: Respond<'_>) -> Result<Measurement, ExperimentError> {
    let clock = std::cell::Cell::new(0.0);
    let mut mock = MockExecutor::new(|spec: &CommandSpec| {
        let run = respond(spec)?;
        clock.set(clock.get() + run.record.wall_seconds + 0.001);
        Ok(run)
    });
    let cancel = Cancel::new().expect("a token");
    run_with_clock(plan, &mut mock, &cancel, &mut NoObserver, &mut || {
        clock.get()
    })
}

pub fn judged(plan: &Plan, measurement: &Measurement) -> ComparisonReport {
    let host = HostFingerprint {
        id: "test".into(),
        cpu: String::new(),
        microarchitecture: String::new(),
        cpus: 2,
        memory_bytes: 0,
        kernel: String::new(),
        os: String::new(),
        virtualisation: None,
        hardware_counters: false,
    };
    let setting = ReportContext {
        case: None,
        version: "0".into(),
        started: String::new(),
        host,
        hazards: Vec::new(),
    };
    let report = report(plan, measurement, setting);
    let text = serde_json::to_string(&report).expect("JSON");
    // NaN and infinities become null, which no field takes that must be a number.
    let again: ComparisonReport = serde_json::from_str(&text).expect("numbers that can be read");
    assert_eq!(again, report);
    report
}

/// A run of about 20 ms with 3 % noise, drift and bursts, times the factor.
pub fn noisy(noise: &mut Noise, factor: f64, index: u32) -> Finished {
    let drift = 1.0 + 0.3 * f64::from(index % 200) / 200.0;
    let burst = if noise.next() > 0.95 { 1.6 } else { 1.0 };
    let scatter = 1.0 + 0.06 * (noise.next() - 0.5);
    let wall = 0.020 * drift * burst * scatter * factor;
    let mut run = Finished::mock(wall);
    run.record.target.user = wall * 0.9;
    run.record.max_rss_bytes = 5 << 20;
    run
}
