//! What in the runs themselves spoils the comparison, or limits what it says. Pure.

use genba_model::{Hazard, Metric, VerdictName};
use genba_stats::{first_unlike_rest, median};

use crate::measurement::Measurement;
use crate::{Plan, VariantPlan, compare_variants};

/// Off the CPU for more than this share of the wall time, and for so long, is worth a word.
const WAITING_SHARE: f64 = 0.3;
const WAITING_SECONDS: f64 = 0.01;
/// This share of the CPU time in the kernel makes a program one that may do I/O.
const KERNEL_SHARE: f64 = 0.3;
const KERNEL_SECONDS: f64 = 0.005;
/// A first run this far from the rest is named.
const FIRST_RUN: f64 = 0.1;
/// Preparation that takes so many times longer than the run, and so long, may heat the machine.
const PREPARE_FACTOR: f64 = 3.0;
const PREPARE_SECONDS: f64 = 0.5;

/// CPU time that is split by fewer than some 25 ticks of 4 ms.
const FEW_TICKS: f64 = 0.1;
/// Of a run shorter than this the start of a shell (½ to 1 ms) is a good part.
const SHELL_SECONDS: f64 = 0.005;

/// The hazards that the runs show.
pub(crate) fn of_runs(plan: &Plan, measurement: &Measurement) -> Vec<Hazard> {
    [
        waiting(plan, measurement),
        page_cache(plan, measurement),
        first_run(plan, measurement),
        prepare(plan, measurement),
        disturbed(plan, measurement),
        shell(plan, measurement),
        ticks(plan, measurement),
        placement(plan, measurement),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn hazard(id: &str, text: String, remedy: &str) -> Option<Hazard> {
    Some(Hazard {
        id: id.to_owned(),
        text,
        remedy: Some(remedy.to_owned()),
    })
}

fn typical(measurement: &Measurement, variant: usize, metric: Metric) -> Option<f64> {
    let series = measurement.find(metric.name())?;
    median(&measurement.variants[variant].finite(series)).ok()
}

/// Names of the variants for which something holds, with a figure each.
fn named(
    plan: &Plan,
    measurement: &Measurement,
    figure: impl Fn(usize) -> Option<String>,
) -> Option<String> {
    let found: Vec<String> = measurement
        .compared(plan)
        .into_iter()
        .filter_map(|variant| {
            Some(format!(
                "{} ({})",
                plan.variants[variant].name,
                figure(variant)?
            ))
        })
        .collect();
    match found.len() {
        0 => None,
        1..=4 => Some(found.join(", ")),
        more => Some(format!(
            "{}, … {} variants in all",
            found[..3].join(", "),
            more
        )),
    }
}

fn waiting(plan: &Plan, measurement: &Measurement) -> Option<Hazard> {
    if plan.primary != Metric::Wall.name() {
        return None;
    }
    let names = named(plan, measurement, |variant| {
        let wall = typical(measurement, variant, Metric::Wall)?;
        let cpu = typical(measurement, variant, Metric::Cpu)?;
        let off = wall - cpu;
        (off > WAITING_SHARE * wall && off > WAITING_SECONDS)
            .then(|| format!("{:.0} % of its wall time", off / wall * 100.0))
    })?;
    hazard(
        "waiting",
        format!("off the CPU for much of the time, waiting for something or somebody: {names}"),
        "--metric cpu compares the work, without the waiting",
    )
}

fn page_cache(plan: &Plan, measurement: &Measurement) -> Option<Hazard> {
    let names = named(plan, measurement, |variant| {
        let faults = measurement.find(Metric::MajorFaults.name())?;
        let values = measurement.variants[variant].finite(faults);
        let cpu = typical(measurement, variant, Metric::Cpu)?;
        let system = typical(measurement, variant, Metric::System)?;
        let wall = typical(measurement, variant, Metric::Wall)?;
        let io_like = system > KERNEL_SHARE * cpu && system > KERNEL_SECONDS;
        // One that waits may well wait for the disk.
        let waits = wall - cpu > WAITING_SHARE * wall;
        (io_like && !waits && !values.is_empty() && values.iter().all(|faults| *faults == 0.0))
            .then(|| {
                format!(
                    "{:.0} % of its CPU time in the kernel",
                    system / cpu * 100.0
                )
            })
    })?;
    hazard(
        "page-cache",
        format!(
            "no run waited for the disk: whatever files are read come from the page cache: {names}"
        ),
        "to measure cold: --prepare 'sync; echo 3 | sudo tee /proc/sys/vm/drop_caches'",
    )
}

fn first_run(plan: &Plan, measurement: &Measurement) -> Option<Hazard> {
    let series = measurement.find(&plan.primary)?;
    let names = named(plan, measurement, |variant| {
        let values = measurement.variants[variant].finite(series);
        let ratio = first_unlike_rest(&values).ok().flatten()?;
        ((ratio - 1.0).abs() >= FIRST_RUN).then(|| format!("{ratio:.2} times the rest"))
    })?;
    hazard(
        "first-run",
        format!("the first run is unlike the rest (cold caches?): {names}"),
        "-w 3 makes three rounds that are not measured",
    )
}

fn prepare(plan: &Plan, measurement: &Measurement) -> Option<Hazard> {
    let names = named(plan, measurement, |variant| {
        let data = &measurement.variants[variant];
        let runs = data.exits.len() as f64;
        let each = data.prepare_seconds / runs;
        let wall = typical(measurement, variant, Metric::Wall)?;
        (each > PREPARE_SECONDS && each > PREPARE_FACTOR * wall)
            .then(|| format!("{:.1} times as long as its run", each / wall))
    })?;
    hazard(
        "prepare",
        format!(
            "the prepare command works much longer than what is measured, and may heat the CPU or \
             turn caches over: {names}"
        ),
        "prepare once with --setup where that is possible",
    )
}

fn disturbed(plan: &Plan, measurement: &Measurement) -> Option<Hazard> {
    let compared = measurement.compared(plan);
    let of = |count: fn(&crate::measurement::VariantData) -> u64| -> u64 {
        let variants = compared.iter().map(|index| &measurement.variants[*index]);
        variants.map(count).sum()
    };
    let disturbed = of(|data| u64::from(data.disturbed));
    let runs = of(|data| data.exits.len() as u64);
    if disturbed == 0 {
        return None;
    }
    hazard(
        "disturbed",
        format!(
            "{disturbed} of {runs} runs were disturbed (the hypervisor took more than {:.0} % of \
             the CPU): kept, they weigh little",
            crate::measurement::DISTURBED * 100.0
        ),
        "--metric user is less sensitive to that",
    )
}

fn shell(plan: &Plan, measurement: &Measurement) -> Option<Hazard> {
    let names = named(plan, measurement, |variant| {
        plan.variants[variant].spec.shell_line.as_ref()?;
        let wall = typical(measurement, variant, Metric::Wall)?;
        (wall < SHELL_SECONDS).then(|| format!("{:.1} ms", wall * 1e3))
    })?;
    hazard(
        "shell",
        format!("the start of the shell is a good part of what was measured: {names}"),
        "-N starts commands without a shell",
    )
}

/// Kernels that split CPU time by samples say that a process spent no time at all in the kernel,
/// where it began and ended there; those that measure never do.
fn ticks(plan: &Plan, measurement: &Measurement) -> Option<Hazard> {
    if ![Metric::User, Metric::System]
        .map(Metric::name)
        .contains(&plan.primary.as_str())
    {
        return None;
    }
    let names = named(plan, measurement, |variant| {
        let data = &measurement.variants[variant];
        let user = measurement.find(Metric::User.name())?;
        let system = measurement.find(Metric::System.name())?;
        let sampled = data.finite(system).contains(&0.0) || data.finite(user).contains(&0.0);
        let cpu = typical(measurement, variant, Metric::Cpu)?;
        (sampled && cpu < FEW_TICKS).then(|| format!("{:.0} ms", cpu * 1e3))
    })?;
    hazard(
        "ticks",
        format!(
            "this kernel splits CPU time into user and system by what its ticks (1 to 10 ms) hit, \
             so single short runs have too much of one and too little of the other: {names}"
        ),
        "--metric cpu, their sum, is exact",
    )
}

/// So much can be decided by which pages of memory a file happens to lie in: copies of one
/// program were up to 8 % apart, each the same from run to run.
const PLACEMENT: f64 = 0.06;

/// A small difference between programs that are two files. The page cache keeps a file in the
/// same pages from run to run, and second-level caches are indexed by physical addresses; so
/// the interval is that of these files, whose code may differ in nothing.
fn placement(plan: &Plan, measurement: &Measurement) -> Option<Hazard> {
    let compared = compare_variants::compare(plan, measurement).comparisons;
    let compared_in_time = compared.iter().filter(|one| {
        let differs = matches!(one.verdict, VerdictName::Faster | VerdictName::Slower);
        let effect = (one.ratio.value - 1.0).abs();
        differs && one.metric == plan.primary && effect < PLACEMENT
    });
    let time = [Metric::Wall, Metric::User, Metric::Cpu].map(Metric::name);
    if !time.contains(&plan.primary.as_str()) {
        return None;
    }
    let of = |name: &str| plan.variants.iter().find(|variant| variant.name == name);
    let names: Vec<&str> = compared_in_time
        .filter_map(|one| {
            let (baseline, variant) = (of(&one.baseline)?, of(&one.variant)?);
            // What copies its program before each run has other pages each time.
            let fresh = !baseline.prepare.is_empty() && !variant.prepare.is_empty();
            (!fresh && program(baseline)? != program(variant)?).then_some(one.variant.as_str())
        })
        .collect();
    if names.is_empty() {
        return None;
    }
    hazard(
        "placement",
        format!(
            "differences under {:.0} % between two files may come from where they lie in memory, \
             not from their code: {}",
            PLACEMENT * 100.0,
            names.join(", ")
        ),
        "--prepare 'cp new new.run' and running the copy draws new pages for each run",
    )
}

/// The file that a variant runs, as far as its command line tells: a path with a slash.
fn program(variant: &VariantPlan) -> Option<String> {
    let word = match &variant.spec.shell_line {
        Some(line) => (line.split_whitespace())
            .find(|word| !word.contains('='))?
            .to_owned(),
        None => variant.spec.argv.first()?.to_str()?.to_owned(),
    };
    word.contains('/').then_some(word)
}
