//! `--without`: how a part is switched off, and the plan of all variants. Pure.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::{ExperimentError, Plan, VariantPlan};

/// How a part is switched off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DisableBy {
    /// Variables of the environment.
    Environment(BTreeMap<String, String>),
    /// Another command.
    Command(String),
    /// A patch of the sources that takes it out.
    Patch(PathBuf),
}

/// Parts switched off, for one variant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DisabledComponents {
    /// Another command than the whole's.
    pub command: Option<String>,
    /// Variables to set.
    pub variables: BTreeMap<String, String>,
    /// Patches to apply, in order.
    pub patches: Vec<PathBuf>,
}

/// A variant that was to be made.
#[derive(Clone, Debug)]
pub enum AblatedVariant {
    /// It can be run.
    Ready(Box<VariantPlan>),
    /// It cannot be built: the reason, with the end of the build log.
    NotBuilt(String),
}

impl From<VariantPlan> for AblatedVariant {
    fn from(plan: VariantPlan) -> Self {
        Self::Ready(Box::new(plan))
    }
}

/// A part with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// Name.
    pub name: String,
    /// How it is switched off.
    pub off: DisableBy,
    /// The same as it was given.
    pub how: String,
}

impl Component {
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
            DisableBy::Command(rest.to_owned())
        } else {
            DisableBy::Environment(assignments(rest).ok_or_else(|| {
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

impl Component {
    /// What is to be done for it to be off.
    #[must_use]
    pub fn disabled(&self) -> DisabledComponents {
        let mut switched = DisabledComponents::default();
        match &self.off {
            DisableBy::Environment(variables) => switched.variables.clone_from(variables),
            DisableBy::Command(command) => switched.command = Some(command.clone()),
            DisableBy::Patch(path) => switched.patches.push(path.clone()),
        }
        switched
    }

    /// A patch that takes a part out: `gc=no-gc.diff`, or the file alone, whose name it then has.
    ///
    /// # Errors
    /// There is no name or no file in it.
    pub fn from_patch(text: &str) -> Result<Self, ExperimentError> {
        let (name, file) = match text.split_once('=') {
            Some((name, file)) => (name.trim(), file.trim()),
            None => (text, text),
        };
        let path = PathBuf::from(file);
        let name = match (name == file, path.file_stem()) {
            (true, Some(stem)) => stem.to_string_lossy().into_owned(),
            _ => name.to_owned(),
        };
        if name.is_empty() || path.file_name().is_none() {
            return Err(ExperimentError::Plan {
                what: format!("--patch {text:?}: write 'NAME=FILE', or FILE"),
            });
        }
        Ok(Self {
            name,
            how: format!("patch {file}"),
            off: DisableBy::Patch(path),
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
    pub parts: Vec<Component>,
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
pub(crate) const BASELINE: &str = "baseline";
const ALL_OFF: &str = "all off";
const LOOP: &str = "loop";

/// Note of a plan with patched builds in it.
const LAYOUT: &str = "parts taken out by a patch are measured in builds of their own, in which \
                      code lies elsewhere: a cost of a few percent may be no more than that";

/// Puts the variants together. `make` makes a variant of a name and what is switched off for it.
/// A part that cannot be built is left out, with a note.
///
/// # Errors
/// Two parts of one name, a whole that cannot be made, no part that can.
pub fn plan<E: From<ExperimentError>>(
    parts: Vec<Component>,
    all_off: Option<&str>,
    baseline_loop: Option<&str>,
    per_iteration: Option<u64>,
    make: &mut dyn FnMut(&str, &DisabledComponents) -> Result<AblatedVariant, E>,
    finish: &dyn Fn(Vec<VariantPlan>) -> Result<Plan, E>,
) -> Result<AblatePlan, E> {
    let refused = |what: String| E::from(ExperimentError::Plan { what });
    let reserved = [BASELINE, ALL_OFF, LOOP];
    for (index, part) in parts.iter().enumerate() {
        let twice = parts[..index].iter().any(|one| one.name == part.name);
        if twice || reserved.contains(&part.name.as_str()) {
            return Err(refused(format!(
                "the part {:?} needs a name of its own",
                part.name
            )));
        }
    }
    let mut notes = Vec::new();
    let mut variants = Vec::new();
    match make(BASELINE, &DisabledComponents::default())? {
        AblatedVariant::Ready(plan) => variants.push(*plan),
        AblatedVariant::NotBuilt(reason) => {
            return Err(refused(format!(
                "the program as it is cannot be built: {reason}"
            )));
        }
    }
    let mut built = Vec::new();
    for part in parts {
        match make(&format!("without {}", part.name), &part.disabled())? {
            AblatedVariant::Ready(plan) => {
                variants.push(*plan);
                built.push(part);
            }
            AblatedVariant::NotBuilt(reason) => {
                notes.push(format!("without {}: {reason}", part.name))
            }
        }
    }
    let parts = built;
    if parts.is_empty() {
        return Err(refused(format!(
            "no part can be switched off\n{}",
            notes.join("\n")
        )));
    }
    if parts
        .iter()
        .any(|part| matches!(part.off, DisableBy::Patch(_)))
    {
        notes.push(LAYOUT.to_owned());
    }
    let mut all_off_at = None;
    let together = match (all_off, parts.len()) {
        (Some(command), _) => Some(DisabledComponents {
            command: Some(command.to_owned()),
            ..DisabledComponents::default()
        }),
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
    if let Some(switched) = together {
        match make(ALL_OFF, &switched)? {
            AblatedVariant::Ready(plan) => {
                all_off_at = Some(variants.len());
                variants.push(*plan);
            }
            AblatedVariant::NotBuilt(reason) => notes.push(format!(
                "whether the parts add up is not known: all of them cannot be switched off at \
                 once: {reason}"
            )),
        }
    }
    let mut loop_at = None;
    if let Some(command) = baseline_loop {
        loop_at = Some(variants.len());
        let switched = DisabledComponents {
            command: Some(command.to_owned()),
            ..DisabledComponents::default()
        };
        let mut variant = match make(LOOP, &switched)? {
            AblatedVariant::Ready(plan) => *plan,
            AblatedVariant::NotBuilt(reason) => return Err(refused(format!("the loop: {reason}"))),
        };
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
fn together(parts: &[Component]) -> Result<DisabledComponents, String> {
    let mut all = DisabledComponents::default();
    for part in parts {
        let one = part.disabled();
        if one.command.is_some() && all.command.is_some() {
            return Err("two parts are commands of their own".to_owned());
        }
        all.command = all.command.or(one.command);
        all.patches.extend(one.patches);
        for (name, value) in one.variables {
            let known = all.variables.insert(name.clone(), value.clone());
            if known.is_some_and(|known| known != value) {
                return Err(format!("two parts set {name}"));
            }
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use genba_run::CommandSpec;
    use proptest::prelude::*;

    #[test]
    fn parts() {
        let part = Component::parse("gc=RUBYOPT=-W0 -d RUBY_X='a b'").unwrap();
        let DisableBy::Environment(variables) = part.off else {
            panic!()
        };
        assert_eq!(part.name, "gc");
        assert_eq!(variables["RUBYOPT"], "-W0 -d");
        assert_eq!(variables["RUBY_X"], "a b");
        let part = Component::parse("literal: ruby -e 'a=1'").unwrap();
        assert_eq!(part.off, DisableBy::Command("ruby -e 'a=1'".to_owned()));
        for bad in ["", "gc", "gc=", "gc=1", "=A=1", "a:", ": b"] {
            assert!(Component::parse(bad).is_err(), "{bad}");
        }
    }

    fn made(parts: &[&str], all_off: Option<&str>) -> AblatePlan {
        let parse = |text: &&str| match text.strip_prefix("patch ") {
            Some(file) => Component::from_patch(file).unwrap(),
            None => Component::parse(text).unwrap(),
        };
        let parts = parts.iter().map(parse).collect();
        let mut make = |name: &str, switched: &DisabledComponents| {
            let command = switched.command.as_deref().unwrap_or("baseline");
            let broken = (switched.patches.iter()).find(|path| path.ends_with("broken.diff"));
            Ok::<_, ExperimentError>(match broken {
                Some(_) => AblatedVariant::NotBuilt("it does not build".to_owned()),
                None => VariantPlan::new(name, command, CommandSpec::direct([command])).into(),
            })
        };
        plan(
            parts,
            all_off,
            Some("empty"),
            Some(10),
            &mut make,
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
        assert_eq!(names(&one), ["baseline", "without a", "loop"]);
        let two = made(&["a=A=1", "b: other"], None);
        assert_eq!(names(&two)[3], "all off");
        assert_eq!(two.plan.variants[3].command, "other");
        let three = made(&["a: x", "b: y"], None);
        assert_eq!((three.all_off, three.notes.len()), (None, 1));
        assert_eq!(made(&["a: x", "b: y"], Some("z")).all_off, Some(3));
        assert!(made(&["a=A=1", "b=A=2"], None).all_off.is_none());
    }

    #[test]
    fn patches_go_together_and_one_that_does_not_build_is_left_out() {
        let two = made(&["patch a/one.diff", "patch second=b.diff", "c=C=1"], None);
        let names: Vec<&str> = two.parts.iter().map(|part| part.name.as_str()).collect();
        assert_eq!(names, ["one", "second", "c"]);
        assert_eq!(two.all_off, Some(4));
        assert_eq!(together(&two.parts).unwrap().patches.len(), 2);
        let left = made(&["patch broken.diff", "c=C=1"], None);
        assert_eq!(left.parts.len(), 1);
        assert!(left.notes[0].contains("without broken: it does not build"));
        assert!(Component::from_patch("").is_err() && Component::from_patch("a=").is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_a_part_or_refused(text in ".{0,40}") {
            if let Ok(part) = Component::parse(&text) {
                prop_assert!(!part.name.is_empty());
            }
        }
    }
}
