//! The plan of a comparison, made of its arguments.

use std::collections::{BTreeMap, BTreeSet};

use genba_experiment::parameters::{Parameter, mentions, product, replace};
use genba_experiment::{Plan, Stop, VariantPlan};
use genba_profile::event::EventSpec;
use genba_run::{CommandSpec, Output as Stream, Stdin};
use genba_runtime::shim::{PER_REQUEST, Shims};

use super::compare_args::CompareArgs;
use crate::exit_code::Failure;
use crate::measurement_args::name_and_value;
use crate::other_meanings::{input_file, refuse_recording};

impl CompareArgs {
    /// The plan for the commands; the shims, if any, must live as long as it.
    pub fn plan(&self, shims: Option<&Shims>) -> Result<Plan, Failure> {
        self.json.check_output(Some(self.output()))?;
        if self.commands().is_empty() {
            return Err(Failure::usage(
                "no command to measure: give each as one word, as in 'COMMAND ARGUMENT' 'OTHER COMMAND'",
            ));
        }
        if let Some(name) = &self.commands.left_over {
            return Err(Failure::usage(format!(
                "-n {name}: more names than commands"
            )));
        }
        let mut plan = Plan::new(self.variants(shims)?);
        plan.metrics = self.measurement.metrics()?;
        if let Some(shims) = shims {
            self.runtime.prepare_plan(&mut plan, shims)?;
        }
        if self.runtime.per_request.is_some() {
            plan.primary = PER_REQUEST.to_owned();
        }
        self.apply_to(&mut plan)?;
        Ok(plan)
    }

    /// Overrides the settings of a plan (of a suite) with those of the command line.
    pub fn apply_to(&self, plan: &mut Plan) -> Result<(), Failure> {
        if let Some(metric) = &self.metric {
            plan.primary.clone_from(metric);
        }
        if let Some(events) = &self.counters {
            let events = events.split(',').map(|name| name.trim().to_owned());
            plan.counters = events.collect();
        }
        let known = genba_model::Metric::ALL
            .iter()
            .any(|one| one.name() == plan.primary)
            || plan.metrics.iter().any(|one| one.name == plan.primary)
            || plan.counters.contains(&plan.primary);
        if !known {
            let iterations = plan.variants.iter().any(|one| one.iterations.is_some());
            // Naming a runtime's metric or an event as the primary metric asks for it.
            if let Some(metric) = self.runtime.metric(&plan.primary, iterations)? {
                plan.metrics.push(metric);
            } else if EventSpec::parse(&plan.primary).is_ok() {
                plan.counters.push(plan.primary.clone());
            }
        }
        self.measurement.apply_to(plan, self.budget);
        if let Some(runs) = self.runs {
            plan.stop = Stop::Blocks(runs);
        }
        if let (Some(least), Some(most)) = (self.min_runs, self.max_runs)
            && least > most
        {
            return Err(Failure::usage(format!(
                "at least {least} runs (-m) and at most {most} (-M) contradict each other; give an -M of {least} or more"
            )));
        }
        plan.min_runs = self.min_runs.unwrap_or(plan.min_runs);
        plan.max_runs = self.max_runs.or(plan.max_runs);
        if let (Stop::Budget { min_blocks, .. }, Some(least)) = (&mut plan.stop, self.min_runs) {
            *min_blocks = least;
        }
        plan.check_output |= self.check_output;
        plan.threshold = self.threshold;
        let cpus = self.measurement.cpus()?;
        for variant in &mut plan.variants {
            variant.spec.timeout = self.measurement.timeout.or(variant.spec.timeout);
            variant.spec.cpus = cpus.clone().or(variant.spec.cpus.take());
        }
        if let Some(name) = &self.subtract {
            for variant in &mut plan.variants {
                variant.overhead_only = variant.name == *name;
                variant.subtract = (variant.name != *name).then(|| name.clone());
            }
        }
        plan.check().map_err(Failure::usage)
    }

    fn parameters(&self) -> Result<Vec<Parameter>, Failure> {
        let mut parameters = Vec::new();
        for pair in self.parameter_list.chunks_exact(2) {
            parameters.push(Parameter::list(&pair[0], &pair[1]));
        }
        let steps = &self.parameter_step_size;
        for (index, range) in self.parameter_scan.chunks_exact(3).enumerate() {
            let step = if steps.len() == 1 {
                steps.first()
            } else {
                steps.get(index)
            };
            let step = step.map(String::as_str);
            parameters.push(Parameter::range(&range[0], &range[1], &range[2], step));
        }
        parameters
            .into_iter()
            .collect::<Result<_, _>>()
            .map_err(Failure::usage)
    }

    fn variants(&self, shims: Option<&Shims>) -> Result<Vec<VariantPlan>, Failure> {
        let parameters = self.parameters()?;
        let commands = self.commands();
        let count = commands.len();
        let mut variants: Vec<VariantPlan> = Vec::new();
        let mut used = BTreeSet::new();
        for (index, &command) in commands.iter().enumerate() {
            let texts = self.texts(command, index, count)?;
            let own: Vec<Parameter> = (parameters.iter())
                .filter(|one| texts.all().any(|text| mentions(text, &one.name)))
                .cloned()
                .collect();
            used.extend(own.iter().map(|one| one.name.clone()));
            for values in product(&own).map_err(Failure::usage)? {
                variants.push(self.variant(&texts, values, shims)?);
            }
        }
        if let Some(unused) = parameters.iter().find(|one| !used.contains(&one.name)) {
            return Err(Failure::usage(format!(
                "no command contains {{{}}}, which -L or -P defines",
                unused.name
            )));
        }
        make_unique(&mut variants);
        Ok(variants)
    }

    /// The texts of one command, before parameters are replaced.
    fn texts<'a>(
        &'a self,
        (name, command): (Option<&'a str>, &'a str),
        index: usize,
        count: usize,
    ) -> Result<CommandTexts<'a>, Failure> {
        Ok(CommandTexts {
            name,
            command,
            setup: value_for("--setup", &self.setup, index, count)?,
            prepare: value_for("--prepare", &self.prepare, index, count)?,
            conclude: value_for("--conclude", &self.conclude, index, count)?,
            cleanup: value_for("--cleanup", &self.cleanup, index, count)?,
            input: value_for("--input", &self.input, index, count)?,
            directory: value_for("--directory", &self.directory, index, count)?,
            env: &self.measurement.env,
        })
    }

    fn variant(
        &self,
        texts: &CommandTexts<'_>,
        values: BTreeMap<String, String>,
        shims: Option<&Shims>,
    ) -> Result<VariantPlan, Failure> {
        let shell = self.measurement.shell()?;
        let fill = |text: &str| replace(text, &values);
        let spec_of = |line: &str| -> Result<CommandSpec, Failure> {
            let mut spec = CommandSpec::from_line(&fill(line), &shell)?;
            spec.directory = texts
                .directory
                .map(|path| genba_run::bytes_of(&fill(path)).into());
            for variable in texts.env {
                let (name, value) = name_and_value(variable)?;
                spec.environment
                    .set(fill(name), genba_run::bytes_of(&fill(value)));
            }
            Ok(spec)
        };
        let step = |line: Option<&str>| -> Result<Vec<CommandSpec>, Failure> {
            line.map(&spec_of)
                .transpose()
                .map(|spec| spec.into_iter().collect())
        };
        let line = fill(texts.command);
        if !line.contains(char::is_whitespace) {
            refuse_recording(&line)?;
        }
        let mut spec = spec_of(&self.runtime.command(texts.command, shims))?;
        spec.stdin = match texts.input.map(fill).as_deref() {
            None | Some("null") => Stdin::Null,
            Some(path) => Stdin::File(input_file(path)?),
        };
        spec.stdout = match self.output() {
            "null" => Stream::Null,
            "pipe" => Stream::Count,
            "inherit" => Stream::Inherit,
            path => Stream::File(genba_run::bytes_of(path).into()),
        };
        if self.output() == "inherit" {
            spec.stderr = Stream::Inherit;
        }
        let command = fill(texts.command);
        let name = texts.name.map_or_else(|| command.clone(), fill);
        let mut variant = VariantPlan::new(name, command, spec);
        variant.setup = step(texts.setup)?;
        variant.prepare = step(texts.prepare)?;
        variant.conclude = step(texts.conclude)?;
        variant.cleanup = step(texts.cleanup)?;
        variant.iterations = self.per_iteration;
        variant.parameters = values;
        Ok(variant)
    }
}

struct CommandTexts<'a> {
    name: Option<&'a str>,
    command: &'a str,
    setup: Option<&'a str>,
    prepare: Option<&'a str>,
    conclude: Option<&'a str>,
    cleanup: Option<&'a str>,
    input: Option<&'a str>,
    directory: Option<&'a str>,
    env: &'a [String],
}

impl<'a> CommandTexts<'a> {
    fn all(&self) -> impl Iterator<Item = &'a str> {
        let one = [
            self.name,
            Some(self.command),
            self.setup,
            self.prepare,
            self.conclude,
            self.cleanup,
            self.input,
            self.directory,
        ];
        let env = self.env.iter().map(String::as_str);
        one.into_iter().flatten().chain(env)
    }
}

/// The value of an option that is given once for all commands or once for each.
fn value_for<'a>(
    option: &str,
    values: &'a [String],
    index: usize,
    count: usize,
) -> Result<Option<&'a str>, Failure> {
    match values.len() {
        0 | 1 => Ok(values.first().map(String::as_str)),
        some if some == count => Ok(values.get(index).map(String::as_str)),
        some => Err(Failure::usage(format!(
            "{option} is given {some} times for {count} commands: give it once for all or once for each"
        ))),
    }
}

/// Makes the names of variants unique: by their parameters, else by a number.
fn make_unique(variants: &mut [VariantPlan]) {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for variant in variants.iter() {
        *counts.entry(variant.name.clone()).or_default() += 1;
    }
    for variant in variants.iter_mut() {
        if counts[&variant.name] > 1 && !variant.parameters.is_empty() {
            let values: Vec<String> = (variant.parameters.iter())
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            variant.name = format!("{} ({})", variant.name, values.join(", "));
        }
    }
    let mut taken = BTreeSet::new();
    for variant in variants.iter_mut() {
        let base = variant.name.clone();
        let mut number = 1;
        while !taken.insert(variant.name.clone()) {
            number += 1;
            variant.name = format!("{base} ({number})");
        }
    }
}
