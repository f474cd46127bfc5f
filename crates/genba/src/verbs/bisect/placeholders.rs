//! Replaces placeholders in a command, its environment, its input and its steps.

use std::collections::BTreeMap;
use std::ffi::OsString;

use genba_experiment::VariantPlan;
use genba_experiment::parameters::replace;
use genba_run::{CommandSpec, Stdin};

use crate::exit_code::Failure;
use crate::session::ExperimentArgs;

/// The variant of these words with `{NAME}` replaced in them, in the environment, in the input and
/// in the commands before and after.
pub fn variant_with_values(
    experiment: &ExperimentArgs,
    name: &str,
    words: &[String],
    values: &BTreeMap<String, String>,
) -> Result<VariantPlan, Failure> {
    let words: Vec<String> = words.iter().map(|word| replace(word, values)).collect();
    let mut variant = experiment.variant_of_words(name, &words)?;
    fill(&mut variant.spec, values);
    for step in variant.steps_mut() {
        step.argv = (step.argv.iter())
            .map(|word| word_of(word, values))
            .collect();
        step.shell_line = (step.shell_line.as_deref()).map(|line| replace(line, values));
        fill(step, values);
    }
    Ok(variant)
}

fn fill(spec: &mut CommandSpec, values: &BTreeMap<String, String>) {
    for value in spec.environment.changes.values_mut().flatten() {
        *value = word_of(value, values);
    }
    if let Stdin::File(path) = &mut spec.stdin {
        *path = word_of(&path.clone().into_os_string(), values).into();
    }
}

fn word_of(word: &OsString, values: &BTreeMap<String, String>) -> OsString {
    match word.to_str() {
        Some(text) => replace(text, values).into(),
        None => word.clone(),
    }
}
