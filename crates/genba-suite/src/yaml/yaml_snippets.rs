//! `type: ruby`: snippets in contexts and executables.

use std::collections::BTreeSet;

use super::yaml_document::{Context, Job, Ruby};
use crate::error::invalid;
use crate::field_checks::TextBudget;
use crate::snippet::{self, Language, MAX_LOOP_COUNT, Part, Snippet};
use crate::suite_model::{Benchmark, Settings, Suite, Variant, Work};
use crate::{Executable, MAX_VARIANTS, Places, SuiteError, field_checks};

/// A column of benchmark_driver's table.
struct Column<'a> {
    name: String,
    executable: &'a Executable,
    prelude: Option<Part>,
}

pub fn suite(
    document: Ruby,
    places: &Places<'_>,
    executables: &[Executable],
) -> Result<Suite, SuiteError> {
    let columns = columns(&document, places, executables)?;
    let jobs = &document.benchmark.0;
    if jobs.is_empty() {
        return Err(invalid(
            places.file,
            None,
            "benchmark: there is nothing in it",
        ));
    }
    if jobs.len().saturating_mul(columns.len()) > MAX_VARIANTS {
        return Err(SuiteError::TooMany {
            file: places.file.to_owned(),
            limit: MAX_VARIANTS,
        });
    }
    let names = names(jobs, places)?;
    let budget = TextBudget::new();
    let mut benchmarks = Vec::new();
    if columns.len() == 1 {
        let variants = jobs.iter().zip(&names).map(|(job, name)| {
            let work = snippet(&document, job, name, &columns[0], places)?;
            charge(&work, &budget, places)?;
            Ok(variant(name, work))
        });
        let name = document.name.clone().unwrap_or(columns[0].name.clone());
        benchmarks.push(benchmark(
            name,
            variants.collect::<Result<_, SuiteError>>()?,
        ));
    } else {
        for (job, name) in jobs.iter().zip(&names) {
            let variants = columns.iter().map(|column| {
                let work = snippet(&document, job, name, column, places)?;
                charge(&work, &budget, places)?;
                Ok(variant(&column.name, work))
            });
            let variants = variants.collect::<Result<_, SuiteError>>()?;
            benchmarks.push(benchmark(name.clone(), variants));
        }
    }
    Ok(Suite {
        name: document.name.unwrap_or_else(|| places.file.to_owned()),
        builds: Vec::new(),
        benchmarks,
        settings: Settings::default(),
        notes: Vec::new(),
    })
}

/// Adds up the size of a snippet's texts, which is limited.
fn charge(snippet: &Snippet, budget: &TextBudget, places: &Places<'_>) -> Result<(), SuiteError> {
    let parts = snippet.preludes.iter().chain(&snippet.teardowns);
    let texts = parts.chain([&snippet.script]).map(|part| &part.text);
    let mut texts = texts.chain(&snippet.interpreter);
    texts.try_for_each(|text| budget.take(text.len(), places.file))
}

fn benchmark(name: String, variants: Vec<Variant>) -> Benchmark {
    Benchmark {
        name,
        parameters: Default::default(),
        variants,
        metric: Some(snippet::PER_ITERATION.to_owned()),
        subtract: None,
    }
}

fn variant(name: &str, snippet: Snippet) -> Variant {
    let mut variant = Variant::new(name, Work::Snippet(snippet));
    variant
        .metrics
        .push(snippet::metric(snippet::PER_ITERATION));
    variant
}

/// Names of the jobs: their own, else their script in one line.
fn names(jobs: &[Job], places: &Places<'_>) -> Result<Vec<String>, SuiteError> {
    let mut names: Vec<String> = Vec::with_capacity(jobs.len());
    let mut seen = BTreeSet::new();
    for job in jobs {
        let name = match &job.name {
            Some(name) => name.clone(),
            None => snippet::one_line(&job.script),
        };
        field_checks::name(&name).map_err(|message| invalid(places.file, None, message))?;
        if !seen.insert(name.clone()) {
            let message = format!("benchmark {name:?} is there twice; give each a name");
            return Err(invalid(places.file, None, message));
        }
        names.push(name);
    }
    Ok(names)
}

fn columns<'a>(
    document: &Ruby,
    places: &Places<'_>,
    executables: &'a [Executable],
) -> Result<Vec<Column<'a>>, SuiteError> {
    if document.contexts.is_empty() {
        let column = |executable: &'a Executable| Column {
            name: executable.name.clone(),
            executable,
            prelude: None,
        };
        return Ok(executables.iter().map(column).collect());
    }
    let mut columns: Vec<Column<'_>> = Vec::new();
    for (index, context) in document.contexts.iter().enumerate() {
        let text = context_prelude(context, places)?;
        let name = context
            .name
            .clone()
            .unwrap_or_else(|| context_name(context, index));
        for executable in executables {
            let name = if executables.len() == 1 {
                name.clone()
            } else {
                format!("{name} {}", executable.name)
            };
            field_checks::name(&name).map_err(|message| invalid(places.file, None, message))?;
            if columns.iter().any(|column| column.name == name) {
                let message = format!("context {name:?} is there twice; give each a name");
                return Err(invalid(places.file, None, message));
            }
            columns.push(Column {
                prelude: Some(Part::new(
                    format!("prelude of context {name:?}"),
                    text.clone(),
                )),
                name,
                executable,
            });
        }
    }
    Ok(columns)
}

fn context_name(context: &Context, index: usize) -> String {
    if context.gems.0.is_empty() {
        return format!("context {}", index + 1);
    }
    let gems = context.gems.0.iter();
    let gems: Vec<_> = gems
        .map(|(gem, version)| format!("{gem} {version}"))
        .collect();
    gems.join(", ")
}

fn context_prelude(context: &Context, places: &Places<'_>) -> Result<String, SuiteError> {
    let mut prelude = String::new();
    for (gem, version) in &context.gems.0 {
        // These become part of a program, so that only what can be a gem's may be in them.
        let plain = |text: &str, more: &str| {
            !text.is_empty()
                && (text.chars()).all(|c| c.is_ascii_alphanumeric() || more.contains(c))
        };
        if !plain(gem, "-_./") || !plain(version, "._- <>=~") {
            let message = format!("contexts: {gem:?}: {version:?} is not a gem with its version");
            return Err(invalid(places.file, None, message));
        }
        prelude.push_str(&format!("gem '{gem}', '{version}'\n"));
        if context.require {
            prelude.push_str(&format!("require '{gem}'\n"));
        }
    }
    prelude.push_str(context.prelude.as_deref().unwrap_or_default());
    Ok(prelude)
}

fn snippet(
    document: &Ruby,
    job: &Job,
    name: &str,
    column: &Column<'_>,
    places: &Places<'_>,
) -> Result<Snippet, SuiteError> {
    let loop_count = job.loop_count.or(document.loop_count);
    if loop_count.is_some_and(|count| !(1..=MAX_LOOP_COUNT).contains(&count)) {
        let message = format!("{name:?}: loop_count is 1 to {MAX_LOOP_COUNT}");
        return Err(invalid(places.file, None, message));
    }
    let common = |kind: &str, text: &Option<String>| {
        text.as_deref().map(|text| Part::new(kind.to_owned(), text))
    };
    let own = |kind: &str, text: &Option<String>| {
        (text.as_deref()).map(|text| Part::new(format!("{kind} of {name:?}"), text))
    };
    // The context's comes first, as with benchmark_driver, then the file's, then the job's.
    let preludes = [
        column.prelude.clone(),
        common("prelude", &document.prelude),
        own("prelude", &job.prelude),
    ];
    let teardowns = [
        common("teardown", &document.teardown),
        own("teardown", &job.teardown),
    ];
    let required = job.required_ruby_version.as_ref();
    Ok(Snippet {
        language: Language::Ruby,
        interpreter: column.executable.command.clone(),
        preludes: preludes.into_iter().flatten().collect(),
        script: Part::new(format!("script of {name:?}"), job.script.as_str()),
        teardowns: teardowns.into_iter().flatten().collect(),
        loop_count,
        required_version: required
            .or(document.required_ruby_version.as_ref())
            .cloned(),
    })
}
