//! Ways of building and running by their names, and the person's own. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::{Change, Facts, RunChange, RunSlot, battery};
use crate::ExperimentError;

/// How much is hoped of a way that the person asked for.
const ASKED_FOR: u8 = 95;

fn refused(what: String) -> ExperimentError {
    ExperimentError::Plan { what }
}

fn any_workload(cpus: &[usize]) -> Facts {
    Facts {
        wall: 1.0,
        user: 1.0,
        cpus: cpus.to_vec(),
        ..Facts::default()
    }
}

/// All the ways that are known.
#[must_use]
pub fn known(cpus: &[usize]) -> Vec<Change> {
    let mut all = battery(&any_workload(cpus));
    for rust in [false, true] {
        all.extend(genba_build::catalogue(rust).into_iter().map(Change::build));
    }
    all
}

/// A way of running of the person's own: `NAME=VAR=VALUE … OPTION …`.
///
/// # Errors
/// What it cannot be.
pub fn own_run(text: &str) -> Result<Change, ExperimentError> {
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
    Ok(Change::run(name.trim(), run, ASKED_FOR))
}

fn is_variable(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes
        .next()
        .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// A way of building of the person's own: `NAME=FLAGS`.
///
/// # Errors
/// What it cannot be.
pub fn own_flags(text: &str) -> Result<Change, ExperimentError> {
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
    Ok(Change {
        promise: ASKED_FOR,
        ..Change::build(recipe)
    })
}

/// A known way by its name, of two of one name that for this kind of project.
///
/// # Errors
/// There is none of that name.
pub fn named(name: &str, rust: bool, cpus: &[usize]) -> Result<Change, ExperimentError> {
    let fits = |change: &Change| {
        let recipe = change.recipe.as_ref();
        recipe
            .is_none_or(|recipe| rust != (recipe.cargo.is_empty() && recipe.rust_flags.is_empty()))
    };
    (known(cpus).into_iter())
        .filter(|one| one.name.eq_ignore_ascii_case(name.trim()))
        .max_by_key(fits)
        .ok_or_else(|| {
            refused(format!(
                "--with {name}: there is no such way; `genba try --list` names them"
            ))
        })
}

/// Refuses two ways of one name.
///
/// # Errors
/// There are such.
pub fn no_name_twice(changes: &[Change]) -> Result<(), ExperimentError> {
    let mut names = BTreeSet::new();
    match changes.iter().find(|one| !names.insert(&one.name)) {
        None => Ok(()),
        Some(twice) => Err(refused(format!(
            "two ways are called {:?}; give them other names",
            twice.name
        ))),
    }
}

/// All the ways that are known, for people.
#[must_use]
pub fn list_in_words(cpus: &[usize]) -> String {
    let mut text = String::new();
    for (title, rust) in [("C and C++", false), ("Rust", true)] {
        text.push_str(&format!("ways of building {title} (--build)\n"));
        for recipe in genba_build::catalogue(rust) {
            let words = recipe.in_words(genba_build::Family::Gcc, rust);
            text.push_str(&format!("  {:28}  {words}\n", recipe.name));
        }
    }
    text.push_str("ways of running\n");
    for change in battery(&any_workload(cpus)) {
        let words = match &change.unavailable {
            Some(reason) => format!("not here: {reason}"),
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
    fn own_ways() {
        let way = own_run("big=CACHE=64M --depth 3").unwrap();
        assert_eq!(way.run.environment["CACHE"], "64M");
        assert_eq!(way.run.arguments, ["--depth", "3"]);
        for bad in ["", "big", "big=", "=A=1", "big='"] {
            assert!(own_run(bad).is_err(), "{bad}");
        }
        let way = own_flags("fast=-Ofast -g0").unwrap();
        assert_eq!(way.recipe.unwrap().flags, ["-Ofast", "-g0"]);
        assert!(own_flags("fast").is_err() && own_flags("=-O3").is_err());
    }

    #[test]
    fn known_ways_are_found_for_the_sort_of_project() {
        let c = named("lto", false, &[0]).unwrap();
        let rust = named("LTO", true, &[0]).unwrap();
        assert!(c.recipe.unwrap().link_time && !rust.recipe.unwrap().cargo.is_empty());
        assert!(named("warp speed", false, &[0]).is_err());
        assert!(
            no_name_twice(&[
                named("-O3", false, &[]).unwrap(),
                own_flags("-O3=-O3").unwrap()
            ])
            .is_err()
        );
        assert!(list_in_words(&[0, 1]).contains("jemalloc"));
    }
}
