//! A change of the build or of the run that makes a variant.

use std::collections::BTreeMap;
use std::path::PathBuf;

use genba_build::{Family, Recipe};
use genba_model::ChangeKind;
use genba_run::{CommandSpec, join_words};

/// What a change of the run affects; a combination has at most one change of each slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RunSlot {
    /// Another `malloc`.
    Allocator,
    /// A tunable of glibc's `malloc`, which other allocators ignore.
    Tunable(u8),
    /// When symbols are bound.
    Binding,
    /// CPU affinity.
    Placement,
    /// Buffering of standard output.
    Buffering,
    /// Locale.
    Locale,
    /// A change given by the user.
    Own,
}

/// Change of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunChange {
    /// What it affects.
    pub slots: Vec<RunSlot>,
    /// Environment variables to set.
    pub environment: BTreeMap<String, String>,
    /// glibc tunables, joined in `GLIBC_TUNABLES`.
    pub tunables: Vec<String>,
    /// Libraries to preload.
    pub preload: Vec<PathBuf>,
    /// CPU affinity.
    pub cpus: Option<Vec<usize>>,
    /// Arguments to append to the command.
    pub arguments: Vec<String>,
}

impl RunChange {
    /// Whether it changes nothing.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    fn can_combine_with(&self, other: &Self) -> bool {
        let clash = |one: &RunSlot, two: &RunSlot| match (one, two) {
            (RunSlot::Own, _) | (_, RunSlot::Own) => false,
            (RunSlot::Allocator, RunSlot::Tunable(_))
            | (RunSlot::Tunable(_), RunSlot::Allocator) => true,
            (one, two) => one == two,
        };
        !(self.slots.iter()).any(|one| other.slots.iter().any(|two| clash(one, two)))
    }

    fn combined_with(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.slots.extend(&other.slots);
        for (name, value) in &other.environment {
            both.environment.insert(name.clone(), value.clone());
        }
        both.tunables.extend(other.tunables.iter().cloned());
        both.preload.extend(other.preload.iter().cloned());
        both.cpus = other.cpus.clone().or(both.cpus);
        both.arguments.extend(other.arguments.iter().cloned());
        both
    }

    /// Applies the change to a command.
    ///
    /// # Errors
    /// A library whose path cannot be preloaded.
    pub fn apply(&self, spec: &mut CommandSpec) -> Result<(), genba_run::RunError> {
        for (name, value) in &self.environment {
            spec.environment.set(name, value);
        }
        if !self.tunables.is_empty() {
            let mut all = self.tunables.join(":");
            let before = spec.environment.get("GLIBC_TUNABLES".as_ref());
            if let Some(before) = before.filter(|before| !before.is_empty()) {
                all = format!("{}:{all}", before.to_string_lossy());
            }
            spec.environment.set("GLIBC_TUNABLES", all);
        }
        for library in &self.preload {
            spec.environment.add_preload(library)?;
        }
        if self.cpus.is_some() {
            spec.cpus.clone_from(&self.cpus);
        }
        if self.arguments.is_empty() {
            return Ok(());
        }
        match &mut spec.shell_line {
            None => spec.argv.extend(self.arguments.iter().map(Into::into)),
            Some(line) => {
                let more = join_words(&self.arguments);
                *line = format!("{line} {more}");
                if let Some(last) = spec.argv.last_mut() {
                    *last = line.clone().into();
                }
            }
        }
        Ok(())
    }

    /// The command line with the change, for a shell.
    #[must_use]
    pub fn line(&self, command: &str) -> String {
        let mut parts = Vec::new();
        let quote = |text: &str| join_words(&[text.to_owned()]);
        for (name, value) in &self.environment {
            parts.push(format!("{name}={}", quote(value)));
        }
        if !self.tunables.is_empty() {
            parts.push(format!("GLIBC_TUNABLES={}", self.tunables.join(":")));
        }
        if !self.preload.is_empty() {
            let all: Vec<String> = (self.preload.iter().rev())
                .map(|path| path.display().to_string())
                .collect();
            parts.push(format!("LD_PRELOAD={}", quote(&all.join(":"))));
        }
        if let Some(cpus) = &self.cpus {
            let list: Vec<String> = cpus.iter().map(ToString::to_string).collect();
            parts.push(format!("taskset -c {}", list.join(",")));
        }
        parts.push(command.to_owned());
        if !self.arguments.is_empty() {
            parts.push(join_words(&self.arguments));
        }
        parts.join(" ")
    }
}

/// A change of the build or of the run that makes a variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariantChange {
    /// Name of the variant.
    pub name: String,
    /// Kind of change.
    pub kind: ChangeKind,
    /// Build recipe; `None` for the project's own build.
    pub recipe: Option<Recipe>,
    /// Patches, applied in order.
    pub patches: Vec<PathBuf>,
    /// git revision.
    pub reference: Option<String>,
    /// Change of the run.
    pub run: RunChange,
    /// Order of trying: expected gain for its cost, 0 to 100.
    pub priority: u8,
    /// Drawback, if any.
    pub caution: Option<String>,
    /// Why it is unavailable here, if known beforehand.
    pub unavailable: Option<String>,
}

impl VariantChange {
    fn bare(name: &str, kind: ChangeKind) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            recipe: None,
            patches: Vec::new(),
            reference: None,
            run: RunChange::default(),
            priority: 50,
            caution: None,
            unavailable: None,
        }
    }

    /// The unchanged program.
    #[must_use]
    pub fn nothing(name: &str) -> Self {
        Self::bare(name, ChangeKind::Run)
    }

    /// A change of the build.
    #[must_use]
    pub fn build(recipe: Recipe) -> Self {
        let layout = recipe.slots == [genba_build::Slot::Layout];
        Self {
            priority: recipe.priority,
            caution: recipe.caution.clone(),
            ..Self::bare(
                &recipe.name.clone(),
                if layout {
                    ChangeKind::Layout
                } else {
                    ChangeKind::Build
                },
            )
        }
        .with_recipe(recipe)
    }

    fn with_recipe(mut self, recipe: Recipe) -> Self {
        self.recipe = Some(recipe);
        self
    }

    /// A change of the run.
    #[must_use]
    pub fn run(name: &str, run: RunChange, priority: u8) -> Self {
        Self {
            run,
            priority,
            ..Self::bare(name, ChangeKind::Run)
        }
    }

    /// A patch of the sources.
    #[must_use]
    pub fn patch(path: PathBuf) -> Self {
        let name = path.file_name().map_or_else(
            || path.display().to_string(),
            |name| name.to_string_lossy().into_owned(),
        );
        Self {
            patches: vec![path],
            priority: 95,
            ..Self::bare(&name, ChangeKind::Source)
        }
    }

    /// Another git revision.
    #[must_use]
    pub fn reference(name: &str) -> Self {
        Self {
            reference: Some(name.to_owned()),
            priority: 95,
            ..Self::bare(name, ChangeKind::Source)
        }
    }

    /// Whether it runs other code than the baseline, with another layout.
    pub(crate) fn is_other_code(&self) -> bool {
        self.needs_build() && self.kind != ChangeKind::Layout
    }

    /// Whether it needs its own build.
    #[must_use]
    pub fn needs_build(&self) -> bool {
        self.recipe.is_some() || !self.patches.is_empty() || self.reference.is_some()
    }

    /// Whether both can be combined.
    #[must_use]
    pub fn can_combine_with(&self, other: &Self) -> bool {
        let recipes = match (&self.recipe, &other.recipe) {
            (Some(one), Some(two)) => one.can_combine_with(two),
            _ => true,
        };
        recipes
            && self.run.can_combine_with(&other.run)
            && !(self.reference.is_some() && other.reference.is_some())
    }

    /// The combination of both.
    #[must_use]
    pub fn combined_with(&self, other: &Self) -> Self {
        let recipe = match (&self.recipe, &other.recipe) {
            (Some(one), Some(two)) => Some(one.combined_with(two)),
            (one, two) => one.clone().or_else(|| two.clone()),
        };
        let cautions: Vec<&str> = [&self.caution, &other.caution]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .collect();
        Self {
            name: format!("{} + {}", self.name, other.name),
            kind: ChangeKind::Combination,
            recipe,
            patches: [&self.patches[..], &other.patches[..]].concat(),
            reference: self.reference.clone().or_else(|| other.reference.clone()),
            run: self.run.combined_with(&other.run),
            priority: 100,
            caution: (!cautions.is_empty()).then(|| cautions.join("; ")),
            unavailable: None,
        }
    }

    /// Description of the change of the build; `None` if there is none.
    #[must_use]
    pub fn describe_build(&self, family: Family, rust: bool) -> Option<String> {
        let mut parts = Vec::new();
        if let Some(reference) = &self.reference {
            parts.push(format!("revision {reference}"));
        }
        for patch in &self.patches {
            parts.push(format!("patch {}", patch.display()));
        }
        if let Some(recipe) = &self.recipe {
            parts.push(recipe.describe(family, rust));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// Description of the whole change.
    #[must_use]
    pub fn describe(&self, family: Family, rust: bool) -> String {
        let run = (!self.run.is_nothing()).then(|| self.run.line("…"));
        let parts = [self.describe_build(family, rust), run];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if parts.is_empty() {
            "unchanged".to_owned()
        } else {
            parts.join("; ")
        }
    }
}

#[cfg(test)]
mod unit {
    use super::*;

    fn set(name: &str, slot: RunSlot) -> RunChange {
        RunChange {
            slots: vec![slot],
            environment: BTreeMap::from([(name.to_owned(), "1".to_owned())]),
            ..RunChange::default()
        }
    }

    #[test]
    fn combinations_have_at_most_one_change_of_each_slot() {
        let allocator = VariantChange::run("a", set("A", RunSlot::Allocator), 1);
        let tunable = VariantChange::run("t", set("T", RunSlot::Tunable(1)), 1);
        let other = VariantChange::run("u", set("U", RunSlot::Tunable(2)), 1);
        assert!(!allocator.can_combine_with(&tunable) && !allocator.can_combine_with(&allocator));
        assert!(tunable.can_combine_with(&other) && !tunable.can_combine_with(&tunable));
        let both = tunable.combined_with(&other);
        assert_eq!(
            (both.run.environment.len(), both.name.as_str()),
            (2, "t + u")
        );
    }

    #[test]
    fn applied_change_agrees_with_its_command_line() {
        let change = RunChange {
            environment: BTreeMap::from([("A".to_owned(), "x y".to_owned())]),
            tunables: vec!["glibc.malloc.arena_max=1".to_owned()],
            arguments: vec!["--fast".to_owned(), "it's".to_owned()],
            ..RunChange::default()
        };
        let mut spec = CommandSpec::direct(["prog", "1"]);
        change.apply(&mut spec).unwrap();
        assert_eq!(spec.argv, ["prog", "1", "--fast", "it's"]);
        assert_eq!(spec.environment.get("A".as_ref()), Some("x y".into()));
        let mut shell = CommandSpec::shell("prog | cat");
        change.apply(&mut shell).unwrap();
        assert_eq!(shell.argv[2], "prog | cat --fast 'it'\\''s'");
        assert_eq!(
            change.line("prog 1"),
            "A='x y' GLIBC_TUNABLES=glibc.malloc.arena_max=1 prog 1 --fast 'it'\\''s'"
        );
    }
}
