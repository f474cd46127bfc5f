//! The order of measuring: all kernels in rounds, then those that did not settle.

use std::ops::ControlFlow;
use std::time::Instant;

use genba_model::{HostFingerprint, HostTable};
use rustix::io;

use super::batch_timing::Timer;
use super::cache_sizes::caches;
use super::cpu_pinning::Pinned;
use super::executable_memory::{Data, PAGE};
use super::repetition_statistics::{Round, Settled, Tolerance, quantile, settle};
use super::table_entries::{Figure, Rule, entries};
use super::timed_work::{Copy, FAULTS, Work};
use super::working_sets::Regions;
use super::x86_64::{self, Plan, Region};
use super::{CalibrateError, CalibrateOptions, CalibrateProgress, CalibrateWatch};
use crate::{NoiseWatch, Window, small_files};

/// Rounds of all kernels before any is repeated.
const ROUNDS: usize = 4;
/// Rounds of working sets beyond L1, if there is time.
const ROUNDS_OF_CACHES: usize = 8;
/// Rounds of one kernel at most.
const MOST_ROUNDS: usize = 12;
const REPETITIONS: usize = 24;

/// A kernel while it is measured.
struct Kernel {
    form: &'static str,
    group: &'static str,
    detail: Option<String>,
    rule: Rule,
    work: Work,
    region: Region,
    instances: f64,
    rounds: u64,
    repetitions: usize,
    tolerance: Tolerance,
    /// Whether it works on what all CPUs share: the last cache, memory.
    shared: bool,
    results: Vec<Round>,
}

impl Kernel {
    fn settled(&self) -> Option<Settled> {
        settle(&self.results, self.tolerance)
    }

    fn measure(&mut self, timer: &mut Timer, regions: &Regions) {
        if matches!(self.region, Region::Chase(1..=3)) {
            self.work.warm(regions.data(self.region));
        }
        if self.rounds == 0 {
            self.rounds = match self.work {
                Work::Code { .. } => {
                    // What depends on which lines are met needs many of them.
                    let many = matches!(self.region, Region::Chase(3 | 4));
                    timer.rounds_for(&mut self.work, if many { 12.0 } else { 1.0 })
                }
                Work::Faults(_) => 1,
                Work::Copy(_) => self.rounds_of_copy(),
            };
        }
        let round = timer.batch(
            &mut self.work,
            self.rounds,
            self.instances,
            self.repetitions,
        );
        self.results.extend(round);
    }

    /// About 5 µs at 10 bytes a nanosecond, one window at least.
    fn rounds_of_copy(&self) -> u64 {
        match &self.work {
            Work::Copy(copy) => (50_000 / copy.window as u64).max(1),
            _ => 1,
        }
    }
}

pub(super) fn calibrate(
    host: HostFingerprint,
    options: &CalibrateOptions,
    watch: CalibrateWatch<'_>,
) -> Result<HostTable, CalibrateError> {
    let started = Instant::now();
    let memory = |error: io::Errno| CalibrateError::Memory(format!("memory: {error}"));
    let pinned = Pinned::to(options.cpu);
    if let (Some(cpu), false) = (options.cpu, pinned.holds()) {
        return Err(CalibrateError::Cpu { cpu });
    }
    let noise = NoiseWatch::start();
    let plan = x86_64::kernels();
    let code = x86_64::assemble(&plan).map_err(|error| {
        CalibrateError::Memory(format!(
            "{error}; a system that forbids memory to become executable has no such table"
        ))
    })?;
    let sizes = caches(pinned.cpu);
    let regions = Regions::new(&sizes).map_err(memory)?;
    let mut kernels = kernels(plan, &code, &regions);
    kernels.extend(native(&regions).map_err(memory)?);
    let mut timer = Timer::new(code.reference);
    let all = kernels.len();
    let mut measured = 0;
    let mut tick = |measured: usize| -> Result<(), CalibrateError> {
        let progress = CalibrateProgress {
            measured,
            kernels: all,
            left: options.budget.saturating_sub(started.elapsed()),
        };
        match watch(progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(CalibrateError::Interrupted),
        }
    };
    for round in 0..ROUNDS {
        for kernel in &mut kernels {
            tick(measured)?;
            // Two rounds are the least; a slow host has no time for more.
            if round < 2 || started.elapsed() < options.budget {
                kernel.measure(&mut timer, &regions);
            }
            measured = (measured + 1).min(all);
        }
    }
    repeat(&mut kernels, &mut timer, &regions, |_| {
        tick(all)?;
        Ok(started.elapsed() < options.budget)
    })?;
    let window = noise.stop(0.0);
    // Others that fill the last cache do so all the time: rounds agree on a wrong figure.
    let crowded = window.is_some_and(|window| is_busy(&window));
    let settled = |kernel: &Kernel| {
        let settled = kernel.settled()?;
        Some(Settled {
            disturbed: settled.disturbed || kernel.shared && crowded,
            ..settled
        })
    };
    let figures: Vec<Figure> = kernels
        .iter()
        .map(|kernel| Figure {
            form: kernel.form,
            group: kernel.group,
            detail: kernel.detail.clone(),
            rule: kernel.rule.clone(),
            settled: settled(kernel),
        })
        .collect();
    let entries = entries(&figures);
    timer.rates.sort_by(f64::total_cmp);
    let rate = |share| quantile(&timer.rates, share).unwrap_or(0.0);
    let mut notes = Vec::new();
    if !pinned.holds() {
        notes.push("the measuring thread could not be pinned to one CPU".to_owned());
    }
    if small_files::line("/sys/devices/cpu_atom/cpus").is_some() {
        notes.push(format!(
            "this host has cores of different kinds: the figures hold for those like CPU {}",
            pinned.cpu
        ));
    }
    notes.extend(window.and_then(disturbance));
    for (level, chase) in ["L1", "L2", "L3", "memory"].iter().zip(&regions.chases) {
        if chase.is_none() {
            notes.push(format!(
                "no entry `load [{level}]`: the cache's size is unknown, too near its neighbour's, or there is too little free memory"
            ));
        }
    }
    let disturbed = entries.iter().filter(|entry| entry.disturbed).count();
    if disturbed > 0 {
        notes.push(format!(
            "entries marked as disturbed, whose repetitions did not agree in the time given or which others spoilt: {disturbed} of {}",
            entries.len()
        ));
    }
    Ok(HostTable {
        host,
        measured: jiff::Timestamp::now()
            .round(jiff::Unit::Second)
            .unwrap_or_else(|_| jiff::Timestamp::now())
            .to_string(),
        frequency_hz: rate(0.5),
        frequency_range_hz: (rate(0.02), rate(0.98)),
        seconds: started.elapsed().as_secs_f64(),
        entries,
        notes,
    })
}

/// Whether others used so much of the machine that they matter.
fn is_busy(window: &Window) -> bool {
    window.others_cpus() > (window.cpus / 10.0).max(0.5)
}

/// What the machine did meanwhile, if it matters.
fn disturbance(window: Window) -> Option<String> {
    if window.steal_share > 0.02 {
        return Some(format!(
            "the hypervisor took {:.0} % of the CPU's time meanwhile",
            window.steal_share * 100.0
        ));
    }
    is_busy(&window).then(|| {
        format!(
            "other processes used {:.1} of {:.0} CPUs during the measurement: the costs of L3 and memory are unreliable",
            window.others_cpus(),
            window.cpus
        )
    })
}

/// Repeats kernels whose rounds disagree, as long as `go_on` returns true.
fn repeat(
    kernels: &mut [Kernel],
    timer: &mut Timer,
    regions: &Regions,
    mut go_on: impl FnMut(()) -> Result<bool, CalibrateError>,
) -> Result<(), CalibrateError> {
    loop {
        let mut any = false;
        for kernel in kernels.iter_mut() {
            // Caches are shared with others: more rounds, more chances of a quiet one.
            let shared = matches!(kernel.region, Region::Chase(2..=4))
                && kernel.results.len() < ROUNDS_OF_CACHES;
            let restless = shared || kernel.settled().is_none_or(|settled| settled.disturbed);
            if !restless || kernel.results.len() >= MOST_ROUNDS {
                continue;
            }
            if !go_on(())? {
                return Ok(());
            }
            kernel.measure(timer, regions);
            any = true;
        }
        if !any {
            return Ok(());
        }
    }
}

/// The kernels of machine code whose data there is.
fn kernels(plan: Plan, code: &x86_64::Assembled, regions: &Regions) -> Vec<Kernel> {
    let mut kernels = Vec::new();
    for (spec, &entry) in plan.specs.iter().zip(&code.entries) {
        let Some(data) = regions.data(spec.region) else {
            continue;
        };
        let scattered = matches!(spec.region, Region::Chase(3 | 4));
        let detail = match spec.region {
            Region::Chase(_) => Some(format!(
                "random in {}, 4K pages",
                binary(data.bytes().len())
            )),
            _ => spec.detail.map(str::to_owned),
        };
        kernels.push(Kernel {
            form: spec.form,
            group: spec.group,
            detail,
            rule: spec.rule.clone(),
            work: Work::Code {
                entry,
                data: data.start(),
            },
            region: spec.region,
            instances: f64::from(spec.instances),
            rounds: 0,
            repetitions: REPETITIONS,
            tolerance: tolerance(scattered || matches!(spec.rule, Rule::Seconds)),
            shared: scattered,
            results: Vec::new(),
        });
    }
    kernels
}

fn tolerance(scattered: bool) -> Tolerance {
    Tolerance {
        share: if scattered { 0.12 } else { 0.03 },
        cycles: 0.04,
    }
}

/// Page faults and copies.
fn native(regions: &Regions) -> io::Result<Vec<Kernel>> {
    let kernel = |form, group, detail: String, rule, work, instances| Kernel {
        form,
        group,
        detail: Some(detail),
        rule,
        work,
        region: Region::Scratch,
        instances,
        rounds: 0,
        repetitions: REPETITIONS,
        tolerance: tolerance(true),
        shared: false,
        results: Vec::new(),
    };
    let mut kernels = vec![kernel(
        "page fault [minor]",
        "system",
        "first touch, 4 KiB".to_owned(),
        Rule::Seconds,
        Work::Faults(Data::new(FAULTS * PAGE, false)?),
        FAULTS as f64,
    )];
    let names = [
        "memcpy [L1]",
        "memcpy [L2]",
        "memcpy [L3]",
        "memcpy [memory]",
    ];
    for (level, (form, from)) in names.into_iter().zip(&regions.chases).enumerate() {
        let Some(from) = from else { continue };
        let length = from.bytes().len();
        let part = if level == 3 { length } else { length / 2 };
        // In memory: windows that move on, so that neither end is in any cache.
        let window = part.min(1 << 20);
        let Ok(to) = Data::new(if level == 3 { length / 2 } else { part }, true) else {
            continue;
        };
        let detail = format!("by the C library, {}", binary(part));
        let mut kernel = kernel(
            form,
            "bandwidth",
            detail,
            Rule::Bytes(window as f64),
            Work::Copy(Copy {
                from: from.start(),
                from_length: part,
                to,
                window,
                place: 0,
            }),
            1.0,
        );
        kernel.shared = level >= 2;
        if level == 3 {
            kernel.repetitions = 10;
        }
        kernels.push(kernel);
    }
    Ok(kernels)
}

/// `16 KiB`, `8 MiB`.
fn binary(bytes: usize) -> String {
    match bytes {
        b if b >= 1 << 20 => format!("{} MiB", b >> 20),
        b => format!("{} KiB", b >> 10),
    }
}
