//! `--without`: how a component is switched off, and the plan of all variants. Pure.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::{ExperimentError, Plan, VariantPlan};

/// How a component is switched off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DisableBy {
    /// By environment variables.
    Environment(BTreeMap<String, String>),
    /// By another command.
    Command(String),
    /// By a patch of the sources that removes it.
    Patch(PathBuf),
}

/// What a variant changes to switch off its components.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DisabledComponents {
    /// Another command than the baseline's.
    pub command: Option<String>,
    /// Environment variables to set.
    pub variables: BTreeMap<String, String>,
    /// Patches to apply, in order.
    pub patches: Vec<PathBuf>,
}

/// A variant of an ablation, or why there is none.
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

/// A named component of the workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// Name, unique within the ablation.
    pub name: String,
    /// How it is switched off.
    pub off: DisableBy,
    /// The same as written on the command line.
    pub how: String,
}

impl Component {
    /// Parses `gc=RUBYOPT=--disable-gems` (assignments to environment variables, separated by
    /// spaces) or `literal: ruby frozen.rb` (another command).
    ///
    /// # Errors
    /// A missing name, assignment or command; the message shows both forms.
    pub fn parse(text: &str) -> Result<Self, ExperimentError> {
        let wrong = |what: &str| ExperimentError::Plan {
            what: format!(
                "--without {text:?}: {what}; write 'NAME=VARIABLE=VALUE' or 'NAME: COMMAND'"
            ),
        };
        let Some(at) = text.find(['=', ':']) else {
            return Err(wrong("missing `=` or `:`"));
        };
        let name = text[..at].trim();
        let rest = text[at + 1..].trim();
        if name.is_empty() || rest.is_empty() {
            return Err(wrong("missing name, assignment or command"));
        }
        let off = if text[at..].starts_with(':') {
            DisableBy::Command(rest.to_owned())
        } else {
            DisableBy::Environment(
                assignments(rest)
                    .ok_or_else(|| wrong("no assignment VARIABLE=VALUE after the name"))?,
            )
        };
        Ok(Self {
            name: name.to_owned(),
            off,
            how: rest.to_owned(),
        })
    }
}

impl Component {
    /// The changes that switch it off.
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

    /// A component removed by a patch: `gc=no-gc.diff`, or the file alone, whose stem is the name.
    ///
    /// # Errors
    /// A missing name or file.
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

/// Parses `A=1 B='two words'`; `None` if it is not a list of assignments.
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

/// A word up to a space, without its quotes, and the rest. Spaces belong to the value if no other
/// assignment follows: `RUBYOPT=--disable-gems -W0`.
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

/// The plan of an ablation.
#[derive(Clone, Debug)]
pub struct AblatePlan {
    /// All variants: the baseline, one without each component, one without all, the empty loop.
    pub plan: Plan,
    /// The components; component i is switched off in variant i + 1.
    pub parts: Vec<Component>,
    /// Index of the variant with all components off.
    pub all_off: Option<usize>,
    /// Index of the variant that runs the empty loop.
    pub loop_only: Option<usize>,
    /// Iterations of one run, if known.
    pub per_iteration: Option<u64>,
    /// Notes for the report, such as why there is no variant with all components off.
    pub notes: Vec<String>,
}

/// Names of the baseline, of the variant with all components off, and of the empty loop.
pub(crate) const BASELINE: &str = "baseline";
const ALL_OFF: &str = "all off";
const LOOP: &str = "loop";

/// Note on plans with patched builds.
const LAYOUT_NOTE: &str = "a patched component is measured in another build, with another code \
                           layout: a cost of a few percent may be a layout effect";

/// Makes the plan of all variants. `make` makes one variant from its name and the components that
/// are off in it. A component that cannot be built is skipped, with a note.
///
/// # Errors
/// Two components of one name, a baseline that cannot be built, no component that can.
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
                "the name of the component {:?} is reserved or used twice",
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
                "the unchanged program cannot be built: {reason}"
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
            "no component can be switched off\n{}",
            notes.join("\n")
        )));
    }
    if parts
        .iter()
        .any(|part| matches!(part.off, DisableBy::Patch(_)))
    {
        notes.push(LAYOUT_NOTE.to_owned());
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
                    "unknown whether the components add up: {why}; give the command without all of them \
                     as --all-off"
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
                "unknown whether the components add up: they cannot all be switched off at once: \
                 {reason}"
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
            AblatedVariant::NotBuilt(reason) => {
                return Err(refused(format!("the empty loop cannot be built: {reason}")));
            }
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

/// The changes that switch all components off at once, or why they cannot be combined.
fn together(parts: &[Component]) -> Result<DisabledComponents, String> {
    let mut all = DisabledComponents::default();
    for part in parts {
        let one = part.disabled();
        if one.command.is_some() && all.command.is_some() {
            return Err("two components are commands of their own".to_owned());
        }
        all.command = all.command.or(one.command);
        all.patches.extend(one.patches);
        for (name, value) in one.variables {
            let known = all.variables.insert(name.clone(), value.clone());
            if known.is_some_and(|known| known != value) {
                return Err(format!("two components set {name}"));
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
    fn components_are_parsed_from_assignments_commands_and_patches() {
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
    fn all_off_exists_unless_two_components_exclude_each_other() {
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
    fn patches_are_combined_and_one_that_does_not_build_is_skipped() {
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
        fn any_text_is_a_component_or_refused(text in ".{0,40}") {
            if let Ok(part) = Component::parse(&text) {
                prop_assert!(!part.name.is_empty());
            }
        }
    }
}
