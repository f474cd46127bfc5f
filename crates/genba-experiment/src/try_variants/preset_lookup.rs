//! Presets by name, and changes given by the user. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::{RunChange, RunSlot, VariantChange, WorkloadFacts, run_presets};
use crate::ExperimentError;

/// Priority of a change that the user asked for.
const REQUESTED_PRIORITY: u8 = 95;

fn refused(what: String) -> ExperimentError {
    ExperimentError::Plan { what }
}

fn any_workload(cpus: &[usize]) -> WorkloadFacts {
    WorkloadFacts {
        wall: 1.0,
        user: 1.0,
        cpus: cpus.to_vec(),
        ..WorkloadFacts::default()
    }
}

/// All presets.
#[must_use]
pub fn all_presets(cpus: &[usize]) -> Vec<VariantChange> {
    let mut all = run_presets(&any_workload(cpus));
    for rust in [false, true] {
        all.extend(
            genba_build::build_presets(rust)
                .into_iter()
                .map(VariantChange::build),
        );
    }
    all
}

/// Parses a change of the run: `NAME=VAR=VALUE … OPTION …`.
///
/// # Errors
/// An invalid definition; the message shows a valid one.
pub fn custom_run(text: &str) -> Result<VariantChange, ExperimentError> {
    let wrong = || {
        refused(format!(
            "--variant {text}: write NAME=, then variables and options, as in 'big=CACHE=64M -d 3'"
        ))
    };
    let (name, rest) = text.split_once('=').ok_or_else(wrong)?;
    let words = genba_run::split_words(rest).map_err(|_| wrong())?;
    let mut environment = BTreeMap::new();
    let mut arguments = Vec::new();
    for word in words {
        match word.split_once('=') {
            Some((variable, value)) if arguments.is_empty() && is_variable(variable) => {
                environment.insert(variable.to_owned(), value.to_owned());
            }
            _ => arguments.push(word),
        }
    }
    if name.trim().is_empty() || (environment.is_empty() && arguments.is_empty()) {
        return Err(wrong());
    }
    let run = RunChange {
        slots: vec![RunSlot::Own],
        environment,
        arguments,
        ..RunChange::default()
    };
    Ok(VariantChange::run(name.trim(), run, REQUESTED_PRIORITY))
}

fn is_variable(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes
        .next()
        .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Parses a change of the build: `NAME=FLAGS`.
///
/// # Errors
/// An invalid definition; the message shows a valid one.
pub fn custom_flags(text: &str) -> Result<VariantChange, ExperimentError> {
    let wrong = || {
        refused(format!(
            "--flags {text}: write NAME=FLAGS, as in 'fast=-Ofast -g0'"
        ))
    };
    let (name, rest) = text.split_once('=').ok_or_else(wrong)?;
    let words = genba_run::split_words(rest).map_err(|_| wrong())?;
    if name.trim().is_empty() || words.is_empty() {
        return Err(wrong());
    }
    let recipe = genba_build::Recipe::own(name.trim(), words);
    Ok(VariantChange {
        priority: REQUESTED_PRIORITY,
        ..VariantChange::build(recipe)
    })
}

/// A preset by its name; of two with the same name the one for this kind of project.
///
/// # Errors
/// An unknown name.
pub fn preset_by_name(
    name: &str,
    rust: bool,
    cpus: &[usize],
) -> Result<VariantChange, ExperimentError> {
    let fits = |change: &VariantChange| {
        let recipe = change.recipe.as_ref();
        recipe
            .is_none_or(|recipe| rust != (recipe.cargo.is_empty() && recipe.rust_flags.is_empty()))
    };
    (all_presets(cpus).into_iter())
        .filter(|one| one.name.eq_ignore_ascii_case(name.trim()))
        .max_by_key(fits)
        .ok_or_else(|| {
            refused(format!(
                "--with {name}: unknown preset; `genba try --list` lists them"
            ))
        })
}

/// Refuses two changes with the same name.
///
/// # Errors
/// The first name that is used twice.
pub fn check_unique_names(changes: &[VariantChange]) -> Result<(), ExperimentError> {
    let mut names = BTreeSet::new();
    match changes.iter().find(|one| !names.insert(&one.name)) {
        None => Ok(()),
        Some(twice) => Err(refused(format!(
            "two variants have the name {:?}; rename one",
            twice.name
        ))),
    }
}

/// A list of all presets for display.
#[must_use]
pub fn list_presets(cpus: &[usize]) -> String {
    let mut text = String::new();
    for (title, rust) in [("C and C++", false), ("Rust", true)] {
        text.push_str(&format!("presets for building {title} (--build)\n"));
        for recipe in genba_build::build_presets(rust) {
            let words = recipe.describe(genba_build::Family::Gcc, rust);
            text.push_str(&format!("  {:28}  {words}\n", recipe.name));
        }
    }
    text.push_str("presets for running\n");
    for change in run_presets(&any_workload(cpus)) {
        let words = match &change.unavailable {
            Some(reason) => format!("unavailable: {reason}"),
            None => change.run.line("…"),
        };
        text.push_str(&format!("  {:28}  {words}\n", change.name));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_the_user_are_parsed() {
        let way = custom_run("big=CACHE=64M --depth 3").unwrap();
        assert_eq!(way.run.environment["CACHE"], "64M");
        assert_eq!(way.run.arguments, ["--depth", "3"]);
        for bad in ["", "big", "big=", "=A=1", "big='"] {
            assert!(custom_run(bad).is_err(), "{bad}");
        }
        let way = custom_flags("fast=-Ofast -g0").unwrap();
        assert_eq!(way.recipe.unwrap().flags, ["-Ofast", "-g0"]);
        assert!(custom_flags("fast").is_err() && custom_flags("=-O3").is_err());
    }

    #[test]
    fn presets_are_found_for_the_kind_of_project() {
        let c = preset_by_name("lto", false, &[0]).unwrap();
        let rust = preset_by_name("LTO", true, &[0]).unwrap();
        assert!(c.recipe.unwrap().link_time && !rust.recipe.unwrap().cargo.is_empty());
        assert!(preset_by_name("warp speed", false, &[0]).is_err());
        assert!(
            check_unique_names(&[
                preset_by_name("-O3", false, &[]).unwrap(),
                custom_flags("-O3=-O3").unwrap()
            ])
            .is_err()
        );
        assert!(list_presets(&[0, 1]).contains("jemalloc"));
    }
}
