//! Where variants are made: commands that run in builds, which are made in copies.

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
    /// The project's own build, a line for the shell.
    pub build: String,
    /// What removes a former build, a line for the shell.
    pub clean: Option<String>,
    /// A build that takes longer is ended.
    pub timeout: Option<Duration>,
}

/// A change that was to be made a variant.
#[derive(Clone, Debug)]
pub enum VariantBuild {
    /// It can be measured.
    Variant {
        /// How it is run.
        plan: Box<VariantPlan>,
        /// Time that its build took, seconds.
        build_seconds: Option<f64>,
    },
    /// The build gave the very same program as the baseline's.
    Identical {
        /// Time that its build took, seconds.
        build_seconds: f64,
    },
    /// It does not build.
    Failed {
        /// Why, with the end of its log.
        reason: String,
    },
    /// This machine lacks what it needs.
    Unavailable {
        /// What.
        reason: String,
    },
}

struct Built {
    change: VariantChange,
    /// Without a build of its own it is the baseline's.
    tree: SourceCopy,
    seconds: f64,
}

/// Makes variants of changes.
pub struct VariantBuilder {
    base: VariantPlan,
    build: Option<BuildPlan>,
    /// The directory of the run below that of the sources, if it is in there.
    below: Option<PathBuf>,
    build_directory: Option<BuildDirectory>,
    chain: Toolchain,
    rust: bool,
    state: Option<TreeState>,
    built: Vec<Built>,
    notes: Vec<String>,
}

impl VariantBuilder {
    /// A place for variants of this command.
    ///
    /// # Errors
    /// The directory for copies cannot be made, the sources are none.
    pub fn new(base: VariantPlan, build: Option<BuildPlan>) -> Result<Self, BuildError> {
        let mut place = Self {
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
        if let Some(build) = &mut place.build {
            build.source = (build.source.canonicalize()).map_err(|_| BuildError::NoTree {
                path: build.source.clone(),
            })?;
            let here = std::env::current_dir().unwrap_or_default();
            let run = match &place.base.spec.directory {
                Some(directory) => here.join(directory),
                None => here,
            };
            let run = run.canonicalize().unwrap_or(run);
            place.below = run.strip_prefix(&build.source).ok().map(Path::to_owned);
            place.rust = build.source.join("Cargo.toml").exists() && build.build.contains("cargo");
            place.state = Some(TreeState::of(&build.source));
            place.build_directory = Some(BuildDirectory::open()?);
        }
        Ok(place)
    }

    /// Whether it is a Cargo project.
    #[must_use]
    pub fn is_rust(&self) -> bool {
        self.rust
    }

    /// Whether anything is built.
    #[must_use]
    pub fn builds(&self) -> bool {
        self.build.is_some()
    }

    /// Family of the project's compiler.
    #[must_use]
    pub fn family(&self) -> Family {
        self.chain.usual_family()
    }

    /// What must be said, and whether the source tree was written to.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.notes.clone();
        notes.extend(self.trespass().map(|path| {
            format!(
                "{} changed in the source tree while this ran: by you, or by a build that names \
                 it by an absolute path",
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

    /// The file in the user's tree that was written to while builds ran in copies, if any was.
    #[must_use]
    pub fn trespass(&self) -> Option<PathBuf> {
        let build = self.build.as_ref()?;
        self.state.as_ref()?.changed(&build.source)
    }

    /// Keeps the compilers of a change's build in a directory; the line for the shell that builds
    /// with them. `None` where one build does not do it.
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
    /// An interruption; the launcher dies.
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
                    "built in a copy of its sources it has written {}, in the original: the build \
                     names its place by an absolute path, and cannot be tried in copies; let \
                     --build configure it anew",
                    path.display()
                ),
            });
        }
        let called = (self.built.first()).map_or_else(Vec::new, |built| built.tree.called());
        self.chain.learn_from(&called);
        if called.is_empty() {
            self.notes.push(
                "the build calls no compiler that genba knows: if it was built already, give \
                 --clean; other flags cannot be tried so"
                    .to_owned(),
            );
        }
        Ok(ready)
    }

    /// Makes a variant of a change; the baseline must have been built.
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
                reason: "it must be built for that; give --build COMMAND".to_owned(),
            });
        }
        // The same build, run otherwise.
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

    /// A command in a build with these patches, of any name: `plan` itself in that copy. The
    /// baseline must have been built.
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

    /// A command and what is round it, in a tree.
    fn in_tree(&self, plan: &VariantPlan, tree: &SourceCopy) -> VariantPlan {
        let mut plan = plan.clone();
        let below = self.below.clone().unwrap_or_default();
        let move_in = |spec: &mut CommandSpec| {
            spec.directory = Some(tree.path().join(&below));
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
