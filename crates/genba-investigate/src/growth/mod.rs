//! `genba grow`: exact counts of a command at several sizes of its input, and the law by which each
//! function's executions grow.

mod next_size;
pub mod size_parameter;

use std::collections::BTreeMap;
use std::time::Instant;

use genba_count::Transfers;
use genba_model::{
    CountEngine, CountedDetail, Estimate, FittedLaw, FunctionGrowth, Growth, SizedCount,
};
use genba_run::{Cancel, CommandSpec, Launcher};
use genba_stats::growth_law::{self, GrowthLaw, MIN_SIZES};

use crate::execution_counts::{self, CountPlan};
use crate::progress::NoProgress;
use crate::{InvestigateError, Progress, repeat_runs};

pub use next_size::SizeLimits;
use next_size::{SizedRun, next_size};

/// Functions below this share, at the largest size and at the size asked for, are not listed.
const MIN_SHARE: f64 = 0.002;
/// Share of the instructions of unknown growth that is reported.
const MIN_TOLD: f64 = 0.01;

/// Which sizes to count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// These.
    Given(Vec<u64>),
    /// Chosen within limits.
    Chosen(SizeLimits),
}

/// What to count, and how.
pub struct GrowthPlan<'a> {
    /// Program and arguments, with the parameter's name in braces.
    pub command: Vec<String>,
    /// Name of the parameter.
    pub parameter: String,
    /// Sizes.
    pub sizes: Sizes,
    /// Size to extrapolate to; ten times the largest if `None`, less if all grows exponentially.
    pub at: Option<f64>,
    /// Name of the count engine; the best that can serve if `None`.
    pub engine: Option<String>,
    /// Makes the command for a size, and the command that prepares it, if there is one.
    pub make: &'a dyn Fn(u64) -> (CommandSpec, Option<CommandSpec>),
}

/// A function in all runs.
type Key = (String, u64, String);

/// Executions of a function at the sizes.
#[derive(Clone, Debug, Default)]
struct Executions {
    instructions: Vec<u64>,
    calls: Vec<u64>,
    place: (Option<String>, Option<u32>),
}

/// Counts the command at several sizes and fits the laws.
///
/// # Errors
/// When no engine can serve, the command cannot be started, or it fails at the first size; when
/// interrupted before there are enough sizes.
pub fn grow(
    launcher: &mut Launcher,
    plan: &GrowthPlan<'_>,
    cancel: &Cancel,
    progress: &mut dyn Progress,
) -> Result<Growth, InvestigateError> {
    let mut runs: Vec<SizedRun> = Vec::new();
    let mut counted: Vec<(SizedCount, CountedDetail)> = Vec::new();
    let mut notes: Vec<String> = Vec::new();
    while let Some(size) = next(&plan.sizes, &runs) {
        let stage = format!("counting at {} = {size}", plan.parameter);
        progress.update(&stage, None);
        let began = Instant::now();
        let (detail, seconds) = match count(launcher, plan, size, cancel) {
            Ok(counted) => counted,
            Err(InvestigateError::Interrupted { .. }) if runs.len() >= MIN_SIZES => {
                notes.push("interrupted: larger sizes are missing".to_owned());
                break;
            }
            Err(error) if runs.is_empty() || cancel.is_triggered() => return Err(error),
            Err(error) => {
                notes.push(format!("stopped at {} = {size}: {error}", plan.parameter));
                break;
            }
        };
        let instructions = detail
            .functions
            .iter()
            .flat_map(|function| &function.sites)
            .map(|site| site.count)
            .sum();
        runs.push(SizedRun {
            size,
            instructions,
            seconds: began.elapsed().as_secs_f64(),
        });
        let count = SizedCount {
            size,
            instructions,
            seconds,
        };
        counted.push((count, detail));
    }
    counted.sort_by_key(|(count, _)| count.size);
    let engine = counted.first().map(|(_, detail)| detail.engine.clone());
    let engine = engine.ok_or_else(InvestigateError::nothing_measured)?;
    Ok(document(plan, engine, &counted, notes))
}

fn next(sizes: &Sizes, runs: &[SizedRun]) -> Option<u64> {
    match sizes {
        Sizes::Given(sizes) => sizes.get(runs.len()).copied(),
        Sizes::Chosen(limits) => next_size(runs, limits),
    }
}

/// Counts one run; also its wall time under the engine, seconds.
fn count(
    launcher: &mut Launcher,
    plan: &GrowthPlan<'_>,
    size: u64,
    cancel: &Cancel,
) -> Result<(CountedDetail, f64), InvestigateError> {
    let (spec, prepare) = (plan.make)(size);
    if let Some(prepare) = prepare {
        repeat_runs::check(&launcher.run(&prepare, cancel)?, false)
            .map_err(|error| prepare_failed(error, plan, size))?;
    }
    let how = CountPlan {
        engine: plan.engine.clone(),
        transfers: Transfers::Entries,
        // The work may be in any of them: `sh -c 'seq {N} | sort'`.
        children: true,
        native: false,
        ignore_failure: true,
        observe: false,
    };
    let began = Instant::now();
    let counted = execution_counts::count(launcher, &spec, &how, cancel, &mut NoProgress)?;
    let took = began.elapsed().as_secs_f64();
    if cancel.is_triggered() {
        return Err(InvestigateError::Interrupted {
            kept: String::new(),
        });
    }
    let raw = &counted.raw;
    if raw.exit != 0 {
        return Err(InvestigateError::TargetFailed {
            how: format!(
                "the command failed with exit status {} at {} = {size}",
                raw.exit, plan.parameter
            ),
            advice: "run it by hand to see why",
            output: String::new(),
        });
    }
    Ok((genba_attribution::counted_detail(raw), took))
}

/// The error of a failed preparation, which no option lets pass.
fn prepare_failed(error: InvestigateError, plan: &GrowthPlan<'_>, size: u64) -> InvestigateError {
    match error {
        InvestigateError::TargetFailed { how, output, .. } => InvestigateError::TargetFailed {
            how: format!("--prepare at {} = {size}: {how}", plan.parameter),
            advice: "run it by hand to see why",
            output,
        },
        other => other,
    }
}

fn document(
    plan: &GrowthPlan<'_>,
    engine: CountEngine,
    counted: &[(SizedCount, CountedDetail)],
    mut notes: Vec<String>,
) -> Growth {
    let sizes: Vec<SizedCount> = counted.iter().map(|(count, _)| *count).collect();
    let axis: Vec<f64> = sizes.iter().map(|one| one.size as f64).collect();
    let largest = axis.last().copied().unwrap_or(1.0);
    let all: Vec<u64> = sizes.iter().map(|one| one.instructions).collect();
    let total = law(&axis, &all);
    let exponential = total
        .as_ref()
        .is_some_and(|one| one.law == GrowthLaw::Exponential);
    let farther = if exponential { 1.2 } else { 10.0 };
    let at = plan.at.unwrap_or((farther * largest).round());
    if sizes.len() < MIN_SIZES {
        notes.push(format!(
            "{} sizes tell no law; at least {MIN_SIZES} are necessary: give a smaller first size or a longer --budget",
            sizes.len()
        ));
    }
    let mut functions = Vec::new();
    let mut at_few_sizes = 0;
    let mut extrapolated = Estimate::exact(0.0);
    for (key, executions) in by_function(counted) {
        let executed = executions.instructions.last().copied().unwrap_or(0);
        let Some(function) = function_growth(key, &executions, &axis, at) else {
            at_few_sizes += executed;
            continue;
        };
        if let Some(one) = function.extrapolated {
            extrapolated.value += one.value;
            extrapolated.low += one.low;
            extrapolated.high += one.high;
        }
        functions.push(function);
    }
    let last = all.last().copied().unwrap_or(0).max(1) as f64;
    let mut irregular = 0.0;
    for function in &mut functions {
        function.share = function.instructions.last().copied().unwrap_or(0) as f64 / last;
        match function.extrapolated {
            Some(one) => {
                function.extrapolated_share = Some(one.value / extrapolated.value.max(1.0));
            }
            None => irregular += function.share,
        }
    }
    let mut unknown = |share: f64, why: &str| {
        if share >= MIN_TOLD && sizes.len() >= MIN_SIZES {
            let share = genba_units::format::short_percent(share);
            notes.push(format!(
                "functions with {share} of the instructions at the largest size {why}: they are not in the extrapolation"
            ));
        }
    };
    unknown(irregular, "grow irregularly");
    let few = format!("were executed at fewer than {MIN_SIZES} sizes");
    unknown(at_few_sizes as f64 / last, &few);
    let weight = |one: &FunctionGrowth| one.extrapolated_share.unwrap_or(0.0).max(one.share);
    functions.retain(|one| weight(one) >= MIN_SHARE);
    functions.sort_by(|a, b| {
        let then = |one: &FunctionGrowth| one.extrapolated_share.unwrap_or(one.share);
        then(b).total_cmp(&then(a))
    });
    Growth {
        command: plan.command.clone(),
        parameter: plan.parameter.clone(),
        engine,
        total: total.as_ref().map(fitted),
        sizes,
        at,
        extrapolated,
        functions,
        notes,
    }
}

/// Executions of every function at each size; 0 where it was not executed.
fn by_function(counted: &[(SizedCount, CountedDetail)]) -> BTreeMap<Key, Executions> {
    let mut all: BTreeMap<Key, Executions> = BTreeMap::new();
    for (index, (_, detail)) in counted.iter().enumerate() {
        for function in &detail.functions {
            let module = detail
                .modules
                .get(function.module as usize)
                .map_or(String::new(), |module| module.path.clone());
            let key = (module, function.address, function.name.clone());
            let one = all.entry(key).or_default();
            one.instructions.resize(counted.len(), 0);
            one.calls.resize(counted.len(), 0);
            one.instructions[index] += function.sites.iter().map(|site| site.count).sum::<u64>();
            one.calls[index] += function.calls;
            let mut lines: BTreeMap<(u32, u32), u64> = BTreeMap::new();
            for site in &function.sites {
                if let (Some(file), Some(line)) = (site.file, site.line)
                    && line > 0
                {
                    *lines.entry((file, line)).or_default() += site.count;
                }
            }
            let hottest = lines.into_iter().max_by_key(|&(_, count)| count);
            let (file, line) = match hottest {
                Some(((file, line), _)) => (Some(file), Some(line)),
                None => (function.file, function.line),
            };
            // The largest size comes last.
            one.place = (
                file.and_then(|file| detail.files.get(file as usize).cloned()),
                line,
            );
        }
    }
    all
}

fn function_growth(
    (module, _, function): Key,
    executions: &Executions,
    axis: &[f64],
    at: f64,
) -> Option<FunctionGrowth> {
    let found = law(axis, &executions.instructions)?;
    let per_call: Vec<u64> = (executions.instructions.iter().zip(&executions.calls))
        .map(|(&instructions, &calls)| instructions.checked_div(calls).unwrap_or(0))
        .collect();
    Some(FunctionGrowth {
        function,
        module,
        file: executions.place.0.clone(),
        line: executions.place.1,
        extrapolated: found.at(at),
        growth: fitted(&found),
        instructions: executions.instructions.clone(),
        share: 0.0,
        extrapolated_share: None,
        calls: executions.calls.clone(),
        calls_growth: law(axis, &executions.calls).map(|law| fitted(&law)),
        per_call_growth: law(axis, &per_call).map(|law| fitted(&law)),
    })
}

fn law(axis: &[f64], counts: &[u64]) -> Option<growth_law::Growth> {
    let points: Vec<(f64, u64)> = axis.iter().copied().zip(counts.iter().copied()).collect();
    growth_law::growth(&points)
}

fn fitted(growth: &growth_law::Growth) -> FittedLaw {
    FittedLaw {
        law: growth.law.name().to_owned(),
        exponent: growth.exponent,
        coefficient: growth.coefficient,
        residual: growth.residual,
    }
}
