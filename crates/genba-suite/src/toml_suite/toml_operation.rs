//! Fields of an operation: snippet, iterations, metrics.

use super::toml_document::{Operation, Snippet, System, Text};
use super::toml_expansion::{Expansion, Variables};
use crate::snippet::{self, MAX_LOOP_COUNT, Part};
use crate::suite_model::{MetricSource, MetricSpec};
use crate::{MetricTable, SuiteError, command_template, field_checks};

impl Expansion<'_> {
    pub(super) fn snippet(
        &self,
        system: &System,
        operation: &Operation,
        source: &Snippet,
    ) -> Result<snippet::Snippet, SuiteError> {
        let default = source.language.runner().default_interpreter();
        let interpreter = match &system.interpreter {
            None => vec![default.to_owned()],
            Some(line) => shlex::split(line.as_ref())
                .filter(|words| !words.is_empty())
                .ok_or_else(|| self.at(line, "an interpreter and its options, quotes closed"))?,
        };
        if let Some(count) = &source.loop_count
            && !(1..=MAX_LOOP_COUNT).contains(count.as_ref())
        {
            return Err(self.at(count, format!("loop_count is 1 to {MAX_LOOP_COUNT}")));
        }
        let texts = [&source.prelude, &source.teardown].into_iter().flatten();
        let texts = texts.chain([&source.script]).map(AsRef::as_ref);
        self.charge(texts.chain(&interpreter))?;
        // Not filled in: braces are part of these languages.
        let part = |kind: &str, text: &Text| {
            Part::new(
                format!("{kind} of {:?}", operation.name.as_ref()),
                text.as_ref().as_str(),
            )
        };
        let parts = |kind, text: &Option<Text>| text.iter().map(|text| part(kind, text)).collect();
        Ok(snippet::Snippet {
            language: source.language,
            interpreter,
            preludes: parts("prelude", &source.prelude),
            script: part("script", &source.script),
            teardowns: parts("teardown", &source.teardown),
            loop_count: source.loop_count.as_ref().map(|count| *count.as_ref()),
            required_version: source
                .required_version
                .as_ref()
                .map(|text| text.as_ref().clone()),
        })
    }

    pub(super) fn iterations(
        &self,
        operation: &Operation,
        variables: &Variables,
    ) -> Result<Option<u64>, SuiteError> {
        let Some(source) = &operation.per_iteration else {
            return Ok(None);
        };
        let text = command_template::expand(&source.as_ref().to_string(), variables)
            .map_err(|message| self.at(source, message))?;
        match text.trim().replace('_', "").parse::<u64>() {
            Ok(count) if count > 0 => Ok(Some(count)),
            _ => Err(self.at(
                source,
                format!("per_iteration is a number of iterations, and {text:?} is none"),
            )),
        }
    }

    pub(super) fn metrics(&self, operation: &Operation) -> Result<Vec<MetricSpec>, SuiteError> {
        let metric = |metric: &MetricTable| {
            let name = &metric.name;
            let source = match (&metric.regex, &metric.json) {
                (Some(text), None) => {
                    field_checks::regex(text.as_ref()).map_err(|message| self.at(text, message))?;
                    MetricSource::Regex(text.as_ref().clone())
                }
                (None, Some(text)) => {
                    field_checks::json_pointer(text.as_ref())
                        .map_err(|message| self.at(text, message))?;
                    MetricSource::Json(text.as_ref().clone())
                }
                (None, None) => MetricSource::Reported,
                _ => return Err(self.at(name, "a metric has a regex or a json pointer, not both")),
            };
            field_checks::metric_name(name.as_ref()).map_err(|message| self.at(name, message))?;
            Ok(MetricSpec {
                name: name.as_ref().clone(),
                source,
                unit: metric.unit.clone(),
                direction: metric.direction(),
            })
        };
        operation.metrics.iter().map(metric).collect()
    }
}
