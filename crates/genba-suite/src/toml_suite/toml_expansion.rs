//! From the document to comparisons.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use toml::Spanned;

use super::Places;
use super::toml_document::{Compare, Document, Operation, System, Text};
use crate::error::invalid;
use crate::field_checks::TextBudget;
use crate::snippet;
use crate::suite_model::{
    Benchmark, MetricSource, MetricSpec, Settings, Step, Suite, Variant, Work,
};
use crate::{MAX_VARIANTS, SuiteError, command_template, field_checks};

pub type Variables = BTreeMap<String, String>;

/// A document on its way to a suite.
pub struct Expansion<'a> {
    text: &'a str,
    document: Document,
    pub(super) places: &'a Places<'a>,
    directory: PathBuf,
    budget: TextBudget,
    /// The metrics of each operation, by its name: checked once, not once a variant.
    metrics: BTreeMap<String, Vec<MetricSpec>>,
}

impl<'a> Expansion<'a> {
    pub fn new(
        text: &'a str,
        document: Document,
        places: &'a Places<'a>,
    ) -> Result<Self, SuiteError> {
        let directory = document.suite.directory.as_ref();
        let directory = directory.map_or_else(PathBuf::new, |text| text.as_ref().into());
        let mut expansion = Self {
            text,
            directory: join(places.directory, &directory),
            document,
            places,
            budget: TextBudget::new(),
            metrics: BTreeMap::new(),
        };
        expansion.check_names()?;
        for operation in &expansion.document.operation {
            let metrics = expansion.metrics(operation)?;
            (expansion.metrics).insert(operation.name.as_ref().clone(), metrics);
        }
        Ok(expansion)
    }

    /// An error at something's place.
    pub(super) fn at<T>(&self, place: &Spanned<T>, message: impl Into<String>) -> SuiteError {
        let before = &self.text.as_bytes()[..place.span().start.min(self.text.len())];
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        invalid(self.places.file, line, message)
    }

    fn check_names(&self) -> Result<(), SuiteError> {
        let document = &self.document;
        if document.system.is_empty() || document.operation.is_empty() {
            let message = "a suite needs at least one [[system]] and one [[operation]]";
            return Err(invalid(self.places.file, None, message));
        }
        let systems = document.system.iter().map(|system| &system.name);
        let operations = document.operation.iter().map(|operation| &operation.name);
        for names in [systems.collect::<Vec<_>>(), operations.collect()] {
            let mut seen = BTreeSet::new();
            for name in names {
                field_checks::name(name.as_ref()).map_err(|message| self.at(name, message))?;
                if !seen.insert(name.as_ref()) {
                    return Err(self.at(name, format!("{:?} is there twice", name.as_ref())));
                }
            }
        }
        for operation in &document.operation {
            let skipped = operation.skip_for.iter();
            for name in skipped.chain(operation.only_for.iter().flatten()) {
                if !(document.system.iter()).any(|system| system.name.as_ref() == name.as_ref()) {
                    return Err(self.at(name, format!("there is no system {:?}", name.as_ref())));
                }
            }
        }
        Ok(())
    }

    pub fn suite(&self) -> Result<Suite, SuiteError> {
        let document = &self.document;
        let mut benchmarks = Vec::new();
        for parameters in self.combinations()? {
            match document.suite.compare {
                Compare::Systems => {
                    for operation in &document.operation {
                        let cells = document.system.iter().map(|system| (system, operation));
                        let name = operation.name.as_ref();
                        benchmarks.extend(self.benchmark(name, &parameters, cells)?);
                    }
                }
                Compare::Operations => {
                    for system in &document.system {
                        let cells = document.operation.iter().map(|other| (system, other));
                        let name = system.name.as_ref();
                        benchmarks.extend(self.benchmark(name, &parameters, cells)?);
                    }
                }
            }
        }
        let builds = document.build.iter().map(|build| {
            Ok(Step {
                command: self.fill(&build.command, &self.builtin())?,
                directory: Some(self.directory(build.directory.as_ref(), &self.builtin())?),
            })
        });
        Ok(Suite {
            name: document.suite.name.as_ref().clone(),
            builds: builds.collect::<Result<_, SuiteError>>()?,
            benchmarks,
            settings: self.settings()?,
            notes: document.suite.notes.clone(),
        })
    }

    fn settings(&self) -> Result<Settings, SuiteError> {
        let head = &self.document.suite;
        let duration = |text: &Option<Text>| self.parse(text, genba_units::parse_duration);
        let share = |text: &Option<Text>| self.parse(text, genba_units::parse_share);
        Ok(Settings {
            budget: duration(&head.budget)?,
            shell: head.shell.clone(),
            metric: head.metric.as_ref().map(|text| text.as_ref().clone()),
            delta: share(&head.delta)?,
            alpha: share(&head.alpha)?,
            runs: head.runs,
            warmup: head.warmup,
            timeout: duration(&head.timeout)?,
            check_output: head.check_output,
        })
    }

    fn parse<T>(
        &self,
        text: &Option<Text>,
        parse: fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, SuiteError> {
        text.as_ref()
            .map(|text| parse(text.as_ref()).map_err(|message| self.at(text, message)))
            .transpose()
    }

    /// All combinations of parameters; the last one changes fastest.
    fn combinations(&self) -> Result<Vec<Variables>, SuiteError> {
        let cells = self.document.system.len() * self.document.operation.len();
        let mut count = cells;
        let mut combinations = vec![Variables::new()];
        for (name, values) in &self.document.parameters {
            if values.as_ref().is_empty() {
                return Err(self.at(values, format!("parameter {name:?} has no value")));
            }
            count = count.saturating_mul(values.as_ref().len());
            if count > MAX_VARIANTS {
                break;
            }
            let mut extended = Vec::with_capacity(combinations.len() * values.as_ref().len());
            for combination in &combinations {
                for value in values.as_ref() {
                    let mut combination: Variables = combination.clone();
                    combination.insert(name.clone(), value.to_string());
                    self.charge(combination.iter().flat_map(|(name, value)| [name, value]))?;
                    extended.push(combination);
                }
            }
            combinations = extended;
        }
        if count > MAX_VARIANTS {
            return Err(SuiteError::TooMany {
                file: self.places.file.to_owned(),
                limit: MAX_VARIANTS,
            });
        }
        Ok(combinations)
    }

    /// One comparison; `None` where no system does the operation.
    fn benchmark<'s>(
        &self,
        name: &str,
        parameters: &Variables,
        cells: impl Iterator<Item = (&'s System, &'s Operation)>,
    ) -> Result<Option<Benchmark>, SuiteError> {
        let operations = self.document.suite.compare == Compare::Operations;
        let mut benchmark = Benchmark {
            name: name.to_owned(),
            parameters: parameters.clone(),
            variants: Vec::new(),
            metric: None,
            subtract: None,
        };
        for (parameter, values) in &self.document.parameters {
            if let (2.., Some(value)) = (values.as_ref().len(), parameters.get(parameter)) {
                benchmark.name.push_str(&format!(" {parameter}={value}"));
            }
        }
        let mut subtract = None;
        for (system, operation) in cells {
            let system_name = system.name.as_ref();
            let named = |names: &[Text]| names.iter().any(|name| name.as_ref() == system_name);
            if named(&operation.skip_for)
                || operation
                    .only_for
                    .as_deref()
                    .is_some_and(|only| !named(only))
            {
                continue;
            }
            let variant_name = if operations {
                &operation.name
            } else {
                &system.name
            };
            let variant = self.variant(variant_name.as_ref(), system, operation, parameters)?;
            if let Some(metric) = &operation.metric {
                benchmark.metric = Some(metric.as_ref().clone());
            } else if matches!(variant.work, Work::Snippet(_)) {
                benchmark
                    .metric
                    .get_or_insert_with(|| snippet::PER_ITERATION.to_owned());
            }
            subtract = subtract.or(operation.subtract.as_ref());
            benchmark.variants.push(variant);
        }
        if let Some(name) = subtract {
            let mut variants = benchmark.variants.iter();
            if !variants.any(|variant| &variant.name == name.as_ref()) {
                let message = format!("there is no variant {:?} to subtract", name.as_ref());
                return Err(self.at(name, message));
            }
            benchmark.subtract = Some(name.as_ref().clone());
        }
        Ok((!benchmark.variants.is_empty()).then_some(benchmark))
    }

    /// Variables that are there everywhere.
    fn builtin(&self) -> Variables {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        [
            ("directory".to_owned(), text(&self.directory)),
            ("temp".to_owned(), text(self.places.temp)),
        ]
        .into()
    }

    fn variant(
        &self,
        name: &str,
        system: &System,
        operation: &Operation,
        parameters: &Variables,
    ) -> Result<Variant, SuiteError> {
        let mut variables = self.builtin();
        variables.insert("system".to_owned(), system.name.as_ref().clone());
        variables.insert("operation".to_owned(), operation.name.as_ref().clone());
        variables.extend(parameters.clone());
        for (key, value) in &system.variables {
            if variables.insert(key.clone(), value.to_string()).is_some() {
                let message = format!(
                    "variable {key:?} of system {:?} has the name of a parameter or of one of \
                     genba's variables",
                    system.name.as_ref()
                );
                return Err(self.at(&system.name, message));
            }
        }
        self.charge(variables.iter().flat_map(|(name, value)| [name, value]))?;
        let work = self.work(system, operation, &variables)?;
        let mut variant = Variant::new(name, work);
        let fill = |text: &Option<Text>| {
            (text.as_ref())
                .map(|text| self.fill(text, &variables))
                .transpose()
        };
        variant.directory = Some(self.directory(operation.directory.as_ref(), &variables)?);
        variant.stdin = fill(&operation.stdin)?.map(|path| join(&self.directory, path.as_ref()));
        variant.setup = fill(&operation.setup)?;
        variant.prepare = fill(&operation.prepare)?;
        variant.conclude = fill(&operation.conclude)?;
        variant.cleanup = fill(&operation.cleanup)?;
        for (key, value) in system.environment.iter().chain(&operation.environment) {
            if key.is_empty() || key.contains(['=', '\0']) {
                return Err(self.at(
                    value,
                    format!("{key:?} is not the name of an environment variable"),
                ));
            }
            let value = self.fill(value, &variables)?;
            variant.environment.insert(key.clone(), value);
        }
        variant.iterations = self.iterations(operation, &variables)?;
        if let Some(metrics) = self.metrics.get(operation.name.as_ref()) {
            for metric in metrics {
                let (MetricSource::Regex(source) | MetricSource::Json(source)) = &metric.source
                else {
                    continue;
                };
                self.charge([&metric.name, &metric.unit, source])?;
            }
            variant.metrics.clone_from(metrics);
        }
        if matches!(variant.work, Work::Snippet(_)) {
            variant
                .metrics
                .push(snippet::metric(snippet::PER_ITERATION));
        }
        Ok(variant)
    }

    fn work(
        &self,
        system: &System,
        operation: &Operation,
        variables: &Variables,
    ) -> Result<Work, SuiteError> {
        match (&operation.command, &operation.snippet) {
            (Some(command), None) => Ok(Work::Line(self.fill(command, variables)?)),
            (None, Some(snippet)) => self.snippet(system, operation, snippet).map(Work::Snippet),
            _ => Err(self.at(
                &operation.name,
                "an operation has either a command or a snippet",
            )),
        }
    }

    /// Takes account of texts that a variant holds.
    pub(super) fn charge<'t>(
        &self,
        texts: impl IntoIterator<Item = &'t String>,
    ) -> Result<(), SuiteError> {
        let mut texts = texts.into_iter();
        texts.try_for_each(|text| self.budget.take(text.len(), self.places.file))
    }

    fn fill(&self, text: &Text, variables: &Variables) -> Result<String, SuiteError> {
        let filled = command_template::expand(text.as_ref(), variables);
        let filled = filled.map_err(|message| self.at(text, message))?;
        self.budget.take(filled.len(), self.places.file)?;
        Ok(filled)
    }

    fn directory(&self, text: Option<&Text>, variables: &Variables) -> Result<PathBuf, SuiteError> {
        let Some(text) = text else {
            return Ok(self.directory.clone());
        };
        Ok(join(&self.directory, self.fill(text, variables)?.as_ref()))
    }
}

/// A path relative to a directory, without a trailing `.` or slash.
fn join(directory: &Path, path: &Path) -> PathBuf {
    directory.join(path).components().collect()
}
