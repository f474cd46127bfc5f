//! Conditions visible in the runs that disturb a comparison or limit its meaning. Pure.

use genba_model::{Hazard, Metric, VerdictName};
use genba_stats::{first_unlike_rest, median};

use crate::measurement::Measurement;
use crate::{Plan, VariantPlan, compare_variants};

/// Share of the wall time off the CPU from which waiting is reported.
const MIN_WAITING_SHARE: f64 = 0.3;
/// Time off the CPU from which waiting is reported, seconds.
const MIN_WAITING_SECONDS: f64 = 0.01;
/// Share of the CPU time in the kernel from which a program may do I/O.
const MIN_KERNEL_SHARE: f64 = 0.3;
/// CPU time in the kernel from which a program may do I/O, seconds.
const MIN_KERNEL_SECONDS: f64 = 0.005;
/// Relative difference of the first run from the others that is reported.
const MIN_FIRST_RUN_DIFFERENCE: f64 = 0.1;
/// Duration of the prepare commands relative to the run that may heat the CPU.
const MIN_PREPARE_FACTOR: f64 = 3.0;
/// Duration of the prepare commands that may heat the CPU, seconds.
const MIN_PREPARE_SECONDS: f64 = 0.5;
/// CPU time below which the split into user and system rests on fewer than some 25 ticks of 4 ms,
/// seconds.
const FEW_TICKS_SECONDS: f64 = 0.1;
/// Wall time below which the start of a shell (0.5 to 1 ms) is a large part, seconds.
const SHELL_SECONDS: f64 = 0.005;

/// The hazards visible in the runs.
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

/// Names of the variants for which `figure` returns a figure, with that figure.
fn variants_with(
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
    let names = variants_with(plan, measurement, |variant| {
        let wall = typical(measurement, variant, Metric::Wall)?;
        let cpu = typical(measurement, variant, Metric::Cpu)?;
        let off = wall - cpu;
        (off > MIN_WAITING_SHARE * wall && off > MIN_WAITING_SECONDS)
            .then(|| format!("{:.0} % of its wall time", off / wall * 100.0))
    })?;
    hazard(
        "waiting",
        format!("off the CPU for much of the wall time, waiting: {names}"),
        "--metric cpu compares CPU time without the waiting",
    )
}

fn page_cache(plan: &Plan, measurement: &Measurement) -> Option<Hazard> {
    let names = variants_with(plan, measurement, |variant| {
        let faults = measurement.find(Metric::MajorFaults.name())?;
        let values = measurement.variants[variant].finite(faults);
        let cpu = typical(measurement, variant, Metric::Cpu)?;
        let system = typical(measurement, variant, Metric::System)?;
        let wall = typical(measurement, variant, Metric::Wall)?;
        let io_like = system > MIN_KERNEL_SHARE * cpu && system > MIN_KERNEL_SECONDS;
        // A program that waits may wait for the disk.
        let waits = wall - cpu > MIN_WAITING_SHARE * wall;
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
        format!("no run waited for the disk, all files were in the page cache: {names}"),
        "to measure with a cold cache: --prepare 'sync; echo 3 | sudo tee /proc/sys/vm/drop_caches'",
    )
}

fn first_run(plan: &Plan, measurement: &Measurement) -> Option<Hazard> {
    let series = measurement.find(&plan.primary)?;
    let names = variants_with(plan, measurement, |variant| {
        let values = measurement.variants[variant].finite(series);
        let ratio = first_unlike_rest(&values).ok().flatten()?;
        ((ratio - 1.0).abs() >= MIN_FIRST_RUN_DIFFERENCE)
            .then(|| format!("{ratio:.2} times the others"))
    })?;
    hazard(
        "first-run",
        format!("the first run differs from the others (cold caches?): {names}"),
        "-w 3 runs three blocks that are not measured",
    )
}

fn prepare(plan: &Plan, measurement: &Measurement) -> Option<Hazard> {
    let names = variants_with(plan, measurement, |variant| {
        let data = &measurement.variants[variant];
        let runs = data.exits.len() as f64;
        let each = data.prepare_seconds / runs;
        let wall = typical(measurement, variant, Metric::Wall)?;
        (each > MIN_PREPARE_SECONDS && each > MIN_PREPARE_FACTOR * wall)
            .then(|| format!("{:.1} times as long as its run", each / wall))
    })?;
    hazard(
        "prepare",
        format!(
            "the prepare command runs much longer than the measured command and may heat the CPU \
             or evict caches: {names}"
        ),
        "use --setup, which runs once, if possible",
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
            "{disturbed} of {runs} runs were disturbed (steal time above {:.0} %); they are \
             retained, robust estimates limit their influence",
            crate::measurement::MAX_STEAL_SHARE * 100.0
        ),
        "--metric user is less sensitive to steal time",
    )
}

fn shell(plan: &Plan, measurement: &Measurement) -> Option<Hazard> {
    let names = variants_with(plan, measurement, |variant| {
        plan.variants[variant].spec.shell_line.as_ref()?;
        let wall = typical(measurement, variant, Metric::Wall)?;
        (wall < SHELL_SECONDS).then(|| format!("{:.1} ms", wall * 1e3))
    })?;
    hazard(
        "shell",
        format!("the start of the shell is a large part of the measured time: {names}"),
        "-N starts commands without a shell",
    )
}

/// Kernels that split CPU time by ticks report processes without any system time, although every
/// process starts and ends in the kernel; kernels that measure it do not.
fn ticks(plan: &Plan, measurement: &Measurement) -> Option<Hazard> {
    if ![Metric::User, Metric::System]
        .map(Metric::name)
        .contains(&plan.primary.as_str())
    {
        return None;
    }
    let names = variants_with(plan, measurement, |variant| {
        let data = &measurement.variants[variant];
        let user = measurement.find(Metric::User.name())?;
        let system = measurement.find(Metric::System.name())?;
        let sampled = data.finite(system).contains(&0.0) || data.finite(user).contains(&0.0);
        let cpu = typical(measurement, variant, Metric::Cpu)?;
        (sampled && cpu < FEW_TICKS_SECONDS).then(|| format!("{:.0} ms", cpu * 1e3))
    })?;
    hazard(
        "ticks",
        format!(
            "this kernel splits CPU time into user and system by ticks (1 to 10 ms), which is \
             inexact for single short runs: {names}"
        ),
        "--metric cpu, their sum, is exact",
    )
}

/// Largest difference that the physical pages of a file may cause: copies of one program differed
/// by up to 8 %, each the same from run to run.
const MAX_PLACEMENT_EFFECT: f64 = 0.06;

/// Reports a small difference between two programs that are different files. The page cache keeps
/// a file in the same pages from run to run, and L2 caches are indexed by physical address, so
/// that two copies of the same code can differ.
fn placement(plan: &Plan, measurement: &Measurement) -> Option<Hazard> {
    let compared = compare_variants::compare(plan, measurement).comparisons;
    let compared_in_time = compared.iter().filter(|one| {
        let differs = matches!(one.verdict, VerdictName::Faster | VerdictName::Slower);
        let effect = (one.ratio.value - 1.0).abs();
        differs && one.metric == plan.primary && effect < MAX_PLACEMENT_EFFECT
    });
    let time = [Metric::Wall, Metric::User, Metric::Cpu].map(Metric::name);
    if !time.contains(&plan.primary.as_str()) {
        return None;
    }
    let of = |name: &str| plan.variants.iter().find(|variant| variant.name == name);
    let names: Vec<&str> = compared_in_time
        .filter_map(|one| {
            let (baseline, variant) = (of(&one.baseline)?, of(&one.variant)?);
            // A program that is copied before each run has other pages each time.
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
            "a difference below {:.0} % between two files may come from their physical pages \
             instead of their code: {}",
            MAX_PLACEMENT_EFFECT * 100.0,
            names.join(", ")
        ),
        "--prepare 'cp new new.run' and running the copy gives each run new pages",
    )
}

/// The file that a variant runs, if its command line names it by a path with a slash.
fn program(variant: &VariantPlan) -> Option<String> {
    let word = match &variant.spec.shell_line {
        Some(line) => (line.split_whitespace())
            .find(|word| !word.contains('='))?
            .to_owned(),
        None => variant.spec.argv.first()?.to_str()?.to_owned(),
    };
    word.contains('/').then_some(word)
}
