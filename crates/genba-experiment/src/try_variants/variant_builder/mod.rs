//! Builder of variants: commands that run in builds, which are made in copies of the sources.

mod build_in_copy;

use std::path::{Path, PathBuf};
use std::time::Duration;

use genba_build::{
    BuildDirectory, BuildError, CompilerWrappers, Family, Recipe, SourceCopy, Toolchain, TreeState,
};
use genba_run::{CommandSpec, Stdin};

use crate::try_variants::VariantChange;
use crate::{Comparer, ExperimentError, VariantPlan};

/// How the program is built.
#[derive(Clone, Debug)]
pub struct BuildPlan {
    /// Directory of the sources.
    pub source: PathBuf,
    /// Shell command of the project's own build.
    pub build: String,
    /// Shell command that removes an earlier build.
    pub clean: Option<String>,
    /// Time-out of a build.
    pub timeout: Option<Duration>,
    /// Whether commands run in their own directory, although they run what is built in a copy.
    pub keep_directory: bool,
}

/// A built variant, or why there is none.
#[derive(Clone, Debug)]
pub enum VariantBuild {
    /// It can be measured.
    Variant {
        /// The variant.
        plan: Box<VariantPlan>,
        /// Build time, seconds.
        build_seconds: Option<f64>,
    },
    /// The build gave a program identical to the baseline.
    Identical {
        /// Build time, seconds.
        build_seconds: f64,
    },
    /// It does not build.
    Failed {
        /// Reason, with the end of the build log.
        reason: String,
    },
    /// This machine lacks something that it needs.
    Unavailable {
        /// What is missing.
        reason: String,
    },
}

struct Built {
    change: VariantChange,
    /// The copy with the build.
    tree: SourceCopy,
    seconds: f64,
}

/// Builds variants of one command.
pub struct VariantBuilder {
    base: VariantPlan,
    build: Option<BuildPlan>,
    /// Working directory of the run relative to the sources, if it is inside them.
    below: Option<PathBuf>,
    build_directory: Option<BuildDirectory>,
    chain: Toolchain,
    rust: bool,
    state: Option<TreeState>,
    built: Vec<Built>,
    notes: Vec<String>,
}

impl VariantBuilder {
    /// A builder for variants of this command.
    ///
    /// # Errors
    /// The directory for copies cannot be created, or there is no source directory.
    pub fn new(base: VariantPlan, build: Option<BuildPlan>) -> Result<Self, BuildError> {
        let mut builder = Self {
            base,
            build,
            below: None,
            build_directory: None,
            chain: Toolchain::look(),
            rust: false,
            state: None,
            built: Vec::new(),
            notes: Vec::new(),
        };
        if let Some(build) = &mut builder.build {
            build.source = (build.source.canonicalize()).map_err(|_| BuildError::NoTree {
                path: build.source.clone(),
            })?;
            let here = std::env::current_dir().unwrap_or_default();
            let run = match &builder.base.spec.directory {
                Some(directory) => here.join(directory),
                None => here,
            };
            let run = run.canonicalize().unwrap_or(run);
            builder.below = run.strip_prefix(&build.source).ok().map(Path::to_owned);
            builder.rust =
                build.source.join("Cargo.toml").exists() && build.build.contains("cargo");
            builder.state = Some(TreeState::of(&build.source));
            builder.build_directory = Some(BuildDirectory::open()?);
        }
        Ok(builder)
    }

    /// Whether it is a Cargo project.
    #[must_use]
    pub fn is_rust(&self) -> bool {
        self.rust
    }

    /// Whether there is a build command.
    #[must_use]
    pub fn builds(&self) -> bool {
        self.build.is_some()
    }

    /// Family of the compiler of the project.
    #[must_use]
    pub fn family(&self) -> Family {
        self.chain.usual_family()
    }

    /// Notes for the report, including changes of the source tree.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.notes.clone();
        notes.extend(self.trespass().map(|path| {
            format!(
                "{} in the source tree changed during the experiment: by you, or by a build that uses \
                 its absolute path",
                path.display()
            )
        }));
        notes
    }

    /// Time of the project's own build, seconds.
    #[must_use]
    pub fn baseline_seconds(&self) -> Option<f64> {
        self.built.first().map(|built| built.seconds)
    }

    /// A file of the user's source tree that changed while builds ran in copies, if any.
    #[must_use]
    pub fn trespass(&self) -> Option<PathBuf> {
        let build = self.build.as_ref()?;
        self.state.as_ref()?.changed(&build.source)
    }

    /// Exports the compiler wrappers of a change to a directory and returns the shell command that
    /// builds with them; `None` if it needs more than one build.
    #[must_use]
    pub fn rebuild(&self, change: &VariantChange, directory: &Path) -> Option<String> {
        let (plan, recipe) = (self.build.as_ref()?, change.recipe.as_ref()?);
        let made = CompilerWrappers::export(directory, recipe, &self.chain);
        if !made.is_ok_and(|made| made) {
            return None;
        }
        let clean = (plan.clean.as_ref()).map_or(String::new(), |clean| format!("{clean}; "));
        let script = format!("{clean}{}", plan.build).replace('\'', r"'\''");
        Some(format!(
            "PATH=\"{}:$PATH\" sh -c '{script}'",
            directory.display()
        ))
    }

    /// Builds the baseline.
    ///
    /// # Errors
    /// An interruption or a failing launcher.
    pub fn baseline(
        &mut self,
        comparer: &mut Comparer<'_>,
    ) -> Result<VariantBuild, ExperimentError> {
        let change = VariantChange::nothing(&self.base.name);
        if self.build.is_none() {
            return Ok(self.variant_in(&change, None, None));
        }
        let ready = self.build_one(comparer, &change)?;
        if let (VariantBuild::Variant { .. }, Some(path)) = (&ready, self.trespass()) {
            return Ok(VariantBuild::Failed {
                reason: format!(
                    "the build in a copy has written {} in the original tree: it uses an absolute path \
                     and cannot be built in copies; let --build configure the copy",
                    path.display()
                ),
            });
        }
        let called = (self.built.first()).map_or_else(Vec::new, |built| built.tree.called());
        self.chain.learn_from(&called);
        if called.is_empty() {
            self.notes.push(
                "the build called no known compiler, so compiler flags cannot be changed; if it was \
                 built already, give --clean"
                    .to_owned(),
            );
        }
        Ok(ready)
    }

    /// Builds the variant of a change; the baseline must have been built.
    ///
    /// # Errors
    /// As [`VariantBuilder::baseline`].
    pub fn ready(
        &mut self,
        comparer: &mut Comparer<'_>,
        change: &VariantChange,
    ) -> Result<VariantBuild, ExperimentError> {
        if let Some(reason) = &change.unavailable {
            return Ok(VariantBuild::Unavailable {
                reason: reason.clone(),
            });
        }
        if !change.needs_build() {
            let tree = self.built.first().map(|built| built.tree.clone());
            return Ok(self.variant_in(change, tree.as_ref(), None));
        }
        if self.build.is_none() {
            return Ok(VariantBuild::Unavailable {
                reason: "it needs a build; give --build COMMAND".to_owned(),
            });
        }
        // The same build with another run.
        let known = self.built.iter().find(|built| {
            let same = |one: &VariantChange| {
                (&one.patches, &one.reference) == (&change.patches, &change.reference)
            };
            same(&built.change) && same_recipe(&built.change, change)
        });
        if let Some(built) = known {
            let (tree, seconds) = (built.tree.clone(), built.seconds);
            return Ok(self.variant_in(change, Some(&tree), Some(seconds)));
        }
        self.build_one(comparer, change)
    }

    /// The variant `plan` in a build with these patches. The baseline must have been built.
    ///
    /// # Errors
    /// As [`VariantBuilder::baseline`].
    pub fn patched(
        &mut self,
        comparer: &mut Comparer<'_>,
        plan: &VariantPlan,
        patches: &[PathBuf],
    ) -> Result<VariantBuild, ExperimentError> {
        let change = VariantChange {
            patches: patches.to_vec(),
            ..VariantChange::nothing(&plan.name)
        };
        let ready = self.ready(comparer, &change)?;
        let VariantBuild::Variant { build_seconds, .. } = ready else {
            return Ok(ready);
        };
        let built = (self.built.iter())
            .find(|built| built.change.patches == patches && built.change.recipe.is_none());
        let moved = built.map_or_else(|| plan.clone(), |built| self.in_tree(plan, &built.tree));
        Ok(VariantBuild::Variant {
            plan: Box::new(moved),
            build_seconds,
        })
    }

    /// Directory of the copy with the build of these patches and nothing else, if it was built.
    #[must_use]
    pub fn copy_of(&self, patches: &[PathBuf]) -> Option<&Path> {
        let plain = |change: &VariantChange| change.recipe.is_none() && change.reference.is_none();
        (self.built.iter())
            .find(|built| built.change.patches == patches && plain(&built.change))
            .map(|built| built.tree.path())
    }

    fn variant_in(
        &self,
        change: &VariantChange,
        tree: Option<&SourceCopy>,
        seconds: Option<f64>,
    ) -> VariantBuild {
        let mut plan =
            tree.map_or_else(|| self.base.clone(), |tree| self.in_tree(&self.base, tree));
        plan.name.clone_from(&change.name);
        plan.command = change.run.line(&self.base.command);
        match change.run.apply(&mut plan.spec) {
            Ok(()) => VariantBuild::Variant {
                plan: Box::new(plan),
                build_seconds: seconds,
            },
            Err(error) => VariantBuild::Failed {
                reason: error.to_string(),
            },
        }
    }

    /// A variant with all its commands moved into a copy.
    fn in_tree(&self, plan: &VariantPlan, tree: &SourceCopy) -> VariantPlan {
        let mut plan = plan.clone();
        let below = self.below.clone().unwrap_or_default();
        let keep_directory = (self.build.as_ref()).is_some_and(|build| build.keep_directory);
        let move_in = |spec: &mut CommandSpec| {
            if !keep_directory {
                spec.directory = Some(tree.path().join(&below));
            }
            for word in &mut spec.argv {
                *word = tree.word(word);
            }
            for value in spec.environment.changes.values_mut().flatten() {
                *value = tree.word(value);
            }
            if let Stdin::File(path) = &mut spec.stdin {
                *path = tree.word(&path.clone().into_os_string()).into();
            }
        };
        move_in(&mut plan.spec);
        plan.steps_mut().for_each(move_in);
        plan
    }
}

fn same_recipe(one: &VariantChange, two: &VariantChange) -> bool {
    match (&one.recipe, &two.recipe) {
        (None, None) => true,
        (Some(one), Some(two)) => {
            let bare = |recipe: &Recipe| Recipe {
                name: String::new(),
                slots: Vec::new(),
                caution: None,
                priority: 0,
                ..recipe.clone()
            };
            bare(one) == bare(two)
        }
        _ => false,
    }
}
