//! From a suite's comparison to the driver's plan.

use genba_experiment::{MetricPlan, Plan, Stop, VariantPlan};
use genba_run::{CommandSpec, Shell, Stdin};

use crate::suite_model::{Benchmark, MetricSource, MetricSpec, Settings, Variant, Work};
use crate::{Session, SuiteError};

impl Session {
    /// The plans of a suite that [`Session::prepare`] has made ready, one a benchmark, with what
    /// the file asks for and the driver's defaults otherwise; options of the command line are
    /// the caller's to put over them. `shell` is for commands, unless the file names one.
    ///
    /// # Errors
    /// A command that cannot be split into words, metrics of one name that differ, a snippet
    /// that has not been made ready.
    pub fn plans(&self, shell: &Shell) -> Result<Vec<Plan>, SuiteError> {
        let settings = &self.suite().settings;
        let shell = match &settings.shell {
            Some(text) => Shell::parse(text)?,
            None => shell.clone(),
        };
        let benchmarks = self.suite().benchmarks.iter();
        benchmarks
            .map(|benchmark| plan(benchmark, settings, &shell))
            .collect()
    }
}

fn plan(benchmark: &Benchmark, settings: &Settings, shell: &Shell) -> Result<Plan, SuiteError> {
    let variant = |variant| variant_plan(variant, benchmark, settings, shell);
    let variants = benchmark.variants.iter().map(variant);
    let mut plan = Plan::new(variants.collect::<Result<_, _>>()?);
    plan.name = Some(benchmark.name.clone());
    plan.metrics = metrics(benchmark)?;
    if let Some(metric) = benchmark.metric.as_ref().or(settings.metric.as_ref()) {
        plan.primary.clone_from(metric);
    }
    if let Some(budget) = settings.budget
        && let Stop::Budget { min_blocks, .. } = plan.stop
    {
        plan.stop = Stop::Budget {
            seconds: budget.as_secs_f64(),
            min_blocks,
        };
    }
    if let Some(runs) = settings.runs {
        plan.stop = Stop::Blocks(runs);
    }
    plan.warmup = settings.warmup.unwrap_or(plan.warmup);
    plan.delta = settings.delta.unwrap_or(plan.delta);
    plan.alpha = settings.alpha.unwrap_or(plan.alpha);
    plan.check_output = settings.check_output;
    Ok(plan)
}

fn variant_plan(
    variant: &Variant,
    benchmark: &Benchmark,
    settings: &Settings,
    shell: &Shell,
) -> Result<VariantPlan, SuiteError> {
    let (mut spec, command) = match &variant.work {
        Work::Line(line) => (CommandSpec::from_line(line, shell)?, line.clone()),
        Work::Direct(words) => (CommandSpec::direct(words), words.join(" ")),
        Work::Snippet(snippet) => {
            return Err(SuiteError::Unprepared {
                label: snippet.script.label.clone(),
            });
        }
    };
    surround(&mut spec, variant);
    spec.timeout = settings.timeout;
    if let Some(path) = &variant.stdin {
        spec.stdin = Stdin::File(path.clone());
    }
    let step = |line: &Option<String>| {
        let step = line.as_ref().map(|line| {
            let mut spec = CommandSpec::shell(line);
            surround(&mut spec, variant);
            spec
        });
        step.into_iter().collect()
    };
    let command = variant.shown.clone().unwrap_or(command);
    let mut plan = VariantPlan::new(&variant.name, command, spec);
    plan.parameters.clone_from(&benchmark.parameters);
    plan.setup = step(&variant.setup);
    plan.prepare = step(&variant.prepare);
    plan.conclude = step(&variant.conclude);
    plan.cleanup = step(&variant.cleanup);
    plan.iterations = variant.iterations;
    if let Some(other) = &benchmark.subtract {
        plan.overhead_only = *other == variant.name;
        plan.subtract = (!plan.overhead_only).then(|| other.clone());
    }
    Ok(plan)
}

fn surround(spec: &mut CommandSpec, variant: &Variant) {
    spec.directory.clone_from(&variant.directory);
    for (name, value) in &variant.environment {
        spec.environment.set(name, value);
    }
}

/// The metrics of all variants, each once.
fn metrics(benchmark: &Benchmark) -> Result<Vec<MetricPlan>, SuiteError> {
    let mut known: Vec<&MetricSpec> = Vec::new();
    for metric in benchmark
        .variants
        .iter()
        .flat_map(|variant| &variant.metrics)
    {
        match known.iter().find(|other| other.name == metric.name) {
            Some(other) if **other == *metric => {}
            Some(_) => {
                return Err(SuiteError::Metrics {
                    benchmark: benchmark.name.clone(),
                    metric: metric.name.clone(),
                });
            }
            None => known.push(metric),
        }
    }
    known.into_iter().map(metric_plan).collect()
}

fn metric_plan(metric: &MetricSpec) -> Result<MetricPlan, SuiteError> {
    let (name, unit, direction) = (&metric.name, &metric.unit, Some(metric.direction));
    let plan = match &metric.source {
        MetricSource::Regex(text) => MetricPlan::regex(name, unit, direction, text),
        MetricSource::Json(text) => MetricPlan::json(name, unit, direction, text),
        MetricSource::Reported => Ok(MetricPlan::channel(name, unit, direction)),
    };
    Ok(plan?)
}
