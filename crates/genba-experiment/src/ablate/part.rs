//! `--without`: how a part is switched off, and the plan of all variants. Pure.

use std::collections::BTreeMap;

use crate::{ExperimentError, Plan, VariantPlan};

/// How a part is switched off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Off {
    /// Variables of the environment.
    Environment(BTreeMap<String, String>),
    /// Another command.
    Command(String),
}

/// A part with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Name.
    pub name: String,
    /// How it is switched off.
    pub off: Off,
    /// The same as it was given.
    pub how: String,
}

impl Part {
    /// `gc=RUBYOPT=--disable-gems` (assignments to the environment, several with spaces between
    /// them) or `literal: ruby frozen.rb` (another command).
    ///
    /// # Errors
    /// What it cannot be.
    pub fn parse(text: &str) -> Result<Self, ExperimentError> {
        let wrong = |what: &str| ExperimentError::Plan {
            what: format!(
                "--without {text:?}: {what}; write 'NAME=VARIABLE=VALUE' or 'NAME: COMMAND'"
            ),
        };
        let Some(at) = text.find(['=', ':']) else {
            return Err(wrong("there is neither `=` nor `:`"));
        };
        let name = text[..at].trim();
        let rest = text[at + 1..].trim();
        if name.is_empty() || rest.is_empty() {
            return Err(wrong("a name or what follows it is missing"));
        }
        let off = if text[at..].starts_with(':') {
            Off::Command(rest.to_owned())
        } else {
            Off::Environment(assignments(rest).ok_or_else(|| {
                wrong("after the name there are no assignments to the environment")
            })?)
        };
        Ok(Self {
            name: name.to_owned(),
            off,
            how: rest.to_owned(),
        })
    }
}

/// `A=1 B='two words'`.
fn assignments(text: &str) -> Option<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (name, tail) = rest.split_once('=')?;
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(plain) {
            return None;
        }
        let (value, after) = word(tail)?;
        found.insert(name.to_owned(), value);
        rest = after.trim_start();
    }
    (!found.is_empty()).then_some(found)
}

/// A word up to a space, quotes taken off. If no further assignment follows, spaces belong to
/// the value: `RUBYOPT=--disable-gems -W0`.
fn word(text: &str) -> Option<(String, &str)> {
    if let Some(quote) = text.chars().next().filter(|c| matches!(c, '\'' | '"')) {
        let (value, after) = text[1..].split_once(quote)?;
        return Some((value.to_owned(), after));
    }
    let mut from = 0;
    while let Some(space) = text[from..].find(' ').map(|at| from + at) {
        let next = text[space..].trim_start();
        let name = next.split('=').next().unwrap_or_default();
        let plain = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        if next.contains('=') && !name.is_empty() && name.chars().all(plain) {
            return Some((text[..space].to_owned(), &text[space..]));
        }
        from = space + 1;
    }
    Some((text.to_owned(), ""))
}

/// What is ablated.
#[derive(Clone, Debug)]
pub struct AblatePlan {
    /// All variants: the whole, those without a part, without any, the loop.
    pub plan: Plan,
    /// The parts; that of index i is variant i + 1.
    pub parts: Vec<Part>,
    /// Index of the variant without any part.
    pub all_off: Option<usize>,
    /// Index of the loop alone.
    pub loop_only: Option<usize>,
    /// Iterations of one run.
    pub per_iteration: Option<u64>,
    /// Why there is no variant without any part, and the like.
    pub notes: Vec<String>,
}

/// Name of the whole, of what is left without any part, and of the loop.
pub(crate) const WHOLE: &str = "whole";
const ALL_OFF: &str = "all off";
const LOOP: &str = "loop";

/// Puts the variants together. `make` makes a variant of a name, another command (`None`: the
/// whole's) and variables of the environment.
///
/// # Errors
/// Two parts of one name, a variant that cannot be made.
#[allow(clippy::type_complexity, reason = "one closure, used once")]
pub fn plan<E: From<ExperimentError>>(
    parts: Vec<Part>,
    all_off: Option<&str>,
    baseline_loop: Option<&str>,
    per_iteration: Option<u64>,
    make: &dyn Fn(&str, Option<&str>, &BTreeMap<String, String>) -> Result<VariantPlan, E>,
    finish: &dyn Fn(Vec<VariantPlan>) -> Result<Plan, E>,
) -> Result<AblatePlan, E> {
    let reserved = [WHOLE, ALL_OFF, LOOP];
    for (index, part) in parts.iter().enumerate() {
        let twice = parts[..index].iter().any(|one| one.name == part.name);
        if twice || reserved.contains(&part.name.as_str()) {
            return Err(E::from(ExperimentError::Plan {
                what: format!("the part {:?} needs a name of its own", part.name),
            }));
        }
    }
    let nothing = BTreeMap::new();
    let mut notes = Vec::new();
    let mut variants = vec![make(WHOLE, None, &nothing)?];
    for part in &parts {
        let name = format!("without {}", part.name);
        variants.push(match &part.off {
            Off::Environment(variables) => make(&name, None, variables)?,
            Off::Command(command) => make(&name, Some(command), &nothing)?,
        });
    }
    let mut all_off_at = None;
    let together = match (all_off, parts.len()) {
        (Some(command), _) => Some((Some(command.to_owned()), BTreeMap::new())),
        (None, 0 | 1) => None,
        (None, _) => match together(&parts) {
            Ok(together) => Some(together),
            Err(why) => {
                notes.push(format!(
                    "whether the parts add up is not known: {why}; give the command without any of \
                     them as --all-off"
                ));
                None
            }
        },
    };
    if let Some((command, variables)) = together {
        all_off_at = Some(variants.len());
        variants.push(make(ALL_OFF, command.as_deref(), &variables)?);
    }
    let mut loop_at = None;
    if let Some(command) = baseline_loop {
        loop_at = Some(variants.len());
        let mut variant = make(LOOP, Some(command), &nothing)?;
        variant.overhead_only = true;
        variants.push(variant);
        for variant in &mut variants {
            if !variant.overhead_only {
                variant.subtract = Some(LOOP.to_owned());
            }
        }
    }
    for variant in &mut variants {
        variant.iterations = per_iteration;
    }
    Ok(AblatePlan {
        plan: finish(variants)?,
        parts,
        all_off: all_off_at,
        loop_only: loop_at,
        per_iteration,
        notes,
    })
}

/// All parts off at once, if that can be said.
fn together(parts: &[Part]) -> Result<(Option<String>, BTreeMap<String, String>), String> {
    let mut command = None;
    let mut variables = BTreeMap::new();
    for part in parts {
        match &part.off {
            Off::Command(other) => {
                if command.replace(other.clone()).is_some() {
                    return Err("two parts are commands of their own".to_owned());
                }
            }
            Off::Environment(own) => {
                for (name, value) in own {
                    if variables
                        .insert(name.clone(), value.clone())
                        .is_some_and(|known| known != *value)
                    {
                        return Err(format!("two parts set {name}"));
                    }
                }
            }
        }
    }
    Ok((command, variables))
}

#[cfg(test)]
mod tests {
    use super::*;
    use genba_run::CommandSpec;
    use proptest::prelude::*;

    #[test]
    fn parts() {
        let part = Part::parse("gc=RUBYOPT=-W0 -d RUBY_X='a b'").unwrap();
        let Off::Environment(variables) = part.off else {
            panic!()
        };
        assert_eq!(part.name, "gc");
        assert_eq!(variables["RUBYOPT"], "-W0 -d");
        assert_eq!(variables["RUBY_X"], "a b");
        let part = Part::parse("literal: ruby -e 'a=1'").unwrap();
        assert_eq!(part.off, Off::Command("ruby -e 'a=1'".to_owned()));
        for bad in ["", "gc", "gc=", "gc=1", "=A=1", "a:", ": b"] {
            assert!(Part::parse(bad).is_err(), "{bad}");
        }
    }

    fn made(parts: &[&str], all_off: Option<&str>) -> AblatePlan {
        let parts = parts
            .iter()
            .map(|text| Part::parse(text).unwrap())
            .collect();
        let make = |name: &str, command: Option<&str>, _: &BTreeMap<String, String>| {
            let command = command.unwrap_or("whole");
            Ok::<_, ExperimentError>(VariantPlan::new(
                name,
                command,
                CommandSpec::direct([command]),
            ))
        };
        plan(
            parts,
            all_off,
            Some("empty"),
            Some(10),
            &make,
            &|variants| {
                let plan = Plan::new(variants);
                plan.check()?;
                Ok(plan)
            },
        )
        .unwrap()
    }

    #[test]
    fn all_off_where_it_can_be() {
        let names = |plan: &AblatePlan| -> Vec<String> {
            plan.plan
                .variants
                .iter()
                .map(|one| one.name.clone())
                .collect()
        };
        let one = made(&["a=A=1"], None);
        assert_eq!(names(&one), ["whole", "without a", "loop"]);
        let two = made(&["a=A=1", "b: other"], None);
        assert_eq!(names(&two)[3], "all off");
        assert_eq!(two.plan.variants[3].command, "other");
        let three = made(&["a: x", "b: y"], None);
        assert_eq!((three.all_off, three.notes.len()), (None, 1));
        assert_eq!(made(&["a: x", "b: y"], Some("z")).all_off, Some(3));
        assert!(made(&["a=A=1", "b=A=2"], None).all_off.is_none());
    }

    proptest! {
        #[test]
        fn any_text_is_a_part_or_refused(text in ".{0,40}") {
            if let Ok(part) = Part::parse(&text) {
                prop_assert!(!part.name.is_empty());
            }
        }
    }
}
