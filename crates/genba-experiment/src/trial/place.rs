//! Where variants are made: builds in copies, and the commands that run in them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use genba_build::{
    BuildError, Family, Recipe, Stage, Toolchain, Tools, Tree, TreeState, Workshop, apply_patch,
    same_code,
};
use genba_model::ExitKind;
use genba_run::{CommandSpec, Stdin};

use crate::trial::Change;
use crate::{ExperimentError, Lab, VariantPlan};

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
pub enum Ready {
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

/// Lines of a log that are shown.
const LOG_LINES: usize = 8;
/// A build that takes so many times as long as the project's own hangs.
const SLOWEST_BUILD: f64 = 20.0;
/// No build is taken to hang before, seconds.
const PATIENCE: f64 = 300.0;

struct Built {
    change: Change,
    /// Without a build of its own it is the baseline's.
    tree: Tree,
    seconds: f64,
}

/// Makes variants of changes.
pub struct Workplace {
    base: VariantPlan,
    build: Option<BuildPlan>,
    /// The directory of the run below that of the sources, if it is in there.
    below: Option<PathBuf>,
    workshop: Option<Workshop>,
    chain: Toolchain,
    rust: bool,
    state: Option<TreeState>,
    built: Vec<Built>,
    notes: Vec<String>,
}

impl Workplace {
    /// A place for variants of this command.
    ///
    /// # Errors
    /// The directory for copies cannot be made, the sources are none.
    pub fn new(base: VariantPlan, build: Option<BuildPlan>) -> Result<Self, BuildError> {
        let mut place = Self {
            base,
            build,
            below: None,
            workshop: None,
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
            place.workshop = Some(Workshop::open()?);
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
    pub fn rebuild(&self, change: &Change, directory: &Path) -> Option<String> {
        let (plan, recipe) = (self.build.as_ref()?, change.recipe.as_ref()?);
        let made = Tools::export(directory, recipe, &self.chain);
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
    pub fn baseline(&mut self, lab: &mut Lab<'_>) -> Result<Ready, ExperimentError> {
        let change = Change::nothing(&self.base.name);
        if self.build.is_none() {
            return Ok(self.variant_in(&change, None, None));
        }
        let ready = self.build_one(lab, &change)?;
        if let (Ready::Variant { .. }, Some(path)) = (&ready, self.trespass()) {
            return Ok(Ready::Failed {
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
    /// As [`Workplace::baseline`].
    pub fn ready(&mut self, lab: &mut Lab<'_>, change: &Change) -> Result<Ready, ExperimentError> {
        if let Some(reason) = &change.unavailable {
            return Ok(Ready::Unavailable {
                reason: reason.clone(),
            });
        }
        if !change.needs_build() {
            let tree = self.built.first().map(|built| built.tree.clone());
            return Ok(self.variant_in(change, tree.as_ref(), None));
        }
        if self.build.is_none() {
            return Ok(Ready::Unavailable {
                reason: "it must be built for that; give --build COMMAND".to_owned(),
            });
        }
        // The same build, run otherwise.
        let known = self.built.iter().find(|built| {
            let same = |one: &Change| {
                (&one.patches, &one.reference) == (&change.patches, &change.reference)
            };
            same(&built.change) && same_recipe(&built.change, change)
        });
        if let Some(built) = known {
            let (tree, seconds) = (built.tree.clone(), built.seconds);
            return Ok(self.variant_in(change, Some(&tree), Some(seconds)));
        }
        self.build_one(lab, change)
    }

    /// A command in a build with these patches, of any name: `plan` itself in that copy. The
    /// baseline must have been built.
    ///
    /// # Errors
    /// As [`Workplace::baseline`].
    pub fn patched(
        &mut self,
        lab: &mut Lab<'_>,
        plan: &VariantPlan,
        patches: &[PathBuf],
    ) -> Result<Ready, ExperimentError> {
        let change = Change {
            patches: patches.to_vec(),
            ..Change::nothing(&plan.name)
        };
        let ready = self.ready(lab, &change)?;
        let Ready::Variant { build_seconds, .. } = ready else {
            return Ok(ready);
        };
        let built = (self.built.iter())
            .find(|built| built.change.patches == patches && built.change.recipe.is_none());
        let moved = built.map_or_else(|| plan.clone(), |built| self.in_tree(plan, &built.tree));
        Ok(Ready::Variant {
            plan: Box::new(moved),
            build_seconds,
        })
    }

    fn build_one(&mut self, lab: &mut Lab<'_>, change: &Change) -> Result<Ready, ExperimentError> {
        let (Some(plan), Some(workshop)) = (self.build.clone(), self.workshop.take()) else {
            return Ok(Ready::Unavailable {
                reason: "there is no --build".to_owned(),
            });
        };
        let began = lab.elapsed();
        let tree = self.build_in(lab, change, &plan, &workshop);
        self.workshop = Some(workshop);
        let seconds = (lab.elapsed() - began).max(0.0);
        let tree = match tree? {
            Ok(tree) => tree,
            Err(ready) => return Ok(ready),
        };
        for note in tree.notes() {
            if !self.notes.contains(note) {
                self.notes.push(note.clone());
            }
        }
        let pure = change.patches.is_empty() && change.reference.is_none();
        let identical = pure
            && change.run.is_nothing()
            && (self.built.first()).is_some_and(|first| same_code(first.tree.path(), tree.path()));
        self.built.push(Built {
            change: change.clone(),
            tree: tree.clone(),
            seconds,
        });
        if identical {
            return Ok(Ready::Identical {
                build_seconds: seconds,
            });
        }
        Ok(self.variant_in(change, Some(&tree), Some(seconds)))
    }

    /// The tree with the build in it, or why there is none.
    fn build_in(
        &self,
        lab: &mut Lab<'_>,
        change: &Change,
        plan: &BuildPlan,
        workshop: &Workshop,
    ) -> Result<Result<Tree, Ready>, ExperimentError> {
        let made = match &change.reference {
            None => workshop.copy(&plan.source),
            Some(reference) => workshop.checkout(&plan.source, reference),
        };
        let tree = match made {
            Ok(tree) => tree,
            Err(error) => return Ok(Err(refused(&error))),
        };
        let plain = Recipe::plain("as it is");
        let recipe = change.recipe.as_ref().unwrap_or(&plain);
        if recipe.profiled {
            if let Err(ready) = self.stage(lab, change, recipe, Stage::Instrumented, plan, &tree)? {
                return Ok(Err(ready));
            }
            if let Err(ready) = self.train(lab, &tree)? {
                return Ok(Err(ready));
            }
            if let Err(error) = workshop.copy_again(&tree) {
                return Ok(Err(refused(&error)));
            }
        }
        let done = self.stage(lab, change, recipe, Stage::Final, plan, &tree)?;
        Ok(done.map(|()| tree))
    }

    fn stage(
        &self,
        lab: &mut Lab<'_>,
        change: &Change,
        recipe: &Recipe,
        stage: Stage,
        plan: &BuildPlan,
        tree: &Tree,
    ) -> Result<Result<(), Ready>, ExperimentError> {
        for patch in &change.patches {
            if let Err(error) = apply_patch(tree.path(), patch) {
                return Ok(Err(refused(&error)));
            }
        }
        let tools = match Tools::make(tree, recipe, stage, &self.chain) {
            Ok(tools) => tools,
            Err(error) => return Ok(Err(refused(&error))),
        };
        if let Some(clean) = &plan.clean {
            // What was never built cannot be cleaned by everybody's rules.
            lab.command(&tools.command(clean))?;
        }
        lab.say(&format!("building {}", change.name), None);
        let mut spec = tools.command(&plan.build);
        let slowest = self
            .baseline_seconds()
            .map(|seconds| seconds * SLOWEST_BUILD);
        spec.timeout = plan
            .timeout
            .or_else(|| slowest.map(|seconds| Duration::from_secs_f64(seconds.max(PATIENCE))));
        let finished = lab.command(&spec)?;
        let exit = finished.record.exit;
        if exit == ExitKind::Cancelled {
            return Err(ExperimentError::Interrupted);
        }
        if !finished.record.exit.success() {
            let what = match exit {
                ExitKind::TimedOut => "the build hangs: it was ended by the time-out".to_owned(),
                ExitKind::Code(code) => format!("the build failed with exit code {code}"),
                ExitKind::Signal { signal, .. } => {
                    format!("the build was ended by signal {signal}")
                }
                ExitKind::Cancelled => "the build was cancelled".to_owned(),
            };
            let log = tools.log_end(LOG_LINES);
            return Ok(Err(Ready::Failed {
                reason: if log.is_empty() {
                    what
                } else {
                    format!("{what}\n{log}")
                },
            }));
        }
        if tools.calls() == 0 && *recipe != Recipe::plain(&recipe.name) {
            return Ok(Err(Ready::Failed {
                reason: "the build called no compiler through PATH, so that nothing was changed; \
                         if it was built already, give --clean"
                    .to_owned(),
            }));
        }
        Ok(Ok(()))
    }

    /// Runs the workload in the instrumented build.
    fn train(&self, lab: &mut Lab<'_>, tree: &Tree) -> Result<Result<(), Ready>, ExperimentError> {
        lab.say("training with the workload", None);
        let plan = self.in_tree(&self.base, tree);
        for spec in plan.setup.iter().chain(&plan.prepare) {
            lab.command(spec)?;
        }
        let finished = lab.command(&plan.spec)?;
        for spec in plan.conclude.iter().chain(&plan.cleanup) {
            lab.command(spec)?;
        }
        if finished.record.exit == ExitKind::Cancelled {
            return Err(ExperimentError::Interrupted);
        }
        if !finished.record.exit.success() {
            return Ok(Err(Ready::Failed {
                reason: "the instrumented program failed when it was trained".to_owned(),
            }));
        }
        let left: Vec<PathBuf> = (fs::read_dir(tree.profile()).into_iter().flatten().flatten())
            .map(|entry| entry.path())
            .collect();
        if left.is_empty() {
            return Ok(Err(Ready::Failed {
                reason: "the training run left no profile: does the command run the program that \
                         was built?"
                    .to_owned(),
            }));
        }
        // Clang's counts, whoever called it.
        let raw = |path: &PathBuf| path.extension().is_some_and(|end| end == "profraw");
        let files: Vec<PathBuf> = left.into_iter().filter(raw).collect();
        if !files.is_empty() {
            let Some(merge) = self.chain.find("llvm-profdata") else {
                return Ok(Err(Ready::Unavailable {
                    reason: "llvm-profdata is not installed; install it with: apt-get install llvm"
                        .to_owned(),
                }));
            };
            let mut spec =
                CommandSpec::direct([merge.into_os_string(), "merge".into(), "-o".into()]);
            spec.argv
                .push(tree.profile().join("merged.profdata").into());
            spec.argv.extend(files.into_iter().map(Into::into));
            if !lab.command(&spec)?.record.exit.success() {
                return Ok(Err(Ready::Failed {
                    reason: "llvm-profdata cannot merge what the training run left".to_owned(),
                }));
            }
        }
        Ok(Ok(()))
    }

    fn variant_in(&self, change: &Change, tree: Option<&Tree>, seconds: Option<f64>) -> Ready {
        let mut plan =
            tree.map_or_else(|| self.base.clone(), |tree| self.in_tree(&self.base, tree));
        plan.name.clone_from(&change.name);
        plan.command = change.run.line(&self.base.command);
        match change.run.apply(&mut plan.spec) {
            Ok(()) => Ready::Variant {
                plan: Box::new(plan),
                build_seconds: seconds,
            },
            Err(error) => Ready::Failed {
                reason: error.to_string(),
            },
        }
    }

    /// A command and what is round it, in a tree.
    fn in_tree(&self, plan: &VariantPlan, tree: &Tree) -> VariantPlan {
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
        for spec in (plan.setup.iter_mut())
            .chain(&mut plan.prepare)
            .chain(&mut plan.conclude)
            .chain(&mut plan.cleanup)
        {
            move_in(spec);
        }
        plan
    }
}

fn same_recipe(one: &Change, two: &Change) -> bool {
    match (&one.recipe, &two.recipe) {
        (None, None) => true,
        (Some(one), Some(two)) => {
            let bare = |recipe: &Recipe| Recipe {
                name: String::new(),
                slots: Vec::new(),
                caution: None,
                promise: 0,
                ..recipe.clone()
            };
            bare(one) == bare(two)
        }
        _ => false,
    }
}

fn refused(error: &BuildError) -> Ready {
    let reason = error.to_string();
    match error {
        BuildError::Missing { .. } => Ready::Unavailable { reason },
        _ => Ready::Failed { reason },
    }
}
