//! Builds in copies of the sources: with other compilers, patches, and trained by the workload.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use genba_build::{BuildError, Recipe, Stage, Tools, Tree, Workshop, apply_patch, same_code};
use genba_model::ExitKind;
use genba_run::CommandSpec;

use super::{BuildPlan, Built, Ready, Workplace};
use crate::try_variants::Change;
use crate::{ExperimentError, Lab};

/// Lines of a log that are shown.
const LOG_LINES: usize = 8;
/// A build that takes so many times as long as the project's own hangs.
const SLOWEST_BUILD: f64 = 20.0;
/// No build is taken to hang before, seconds.
const PATIENCE: f64 = 300.0;

impl Workplace {
    /// Builds a change; the build is kept for others that differ in how they run only.
    pub(super) fn build_one(
        &mut self,
        lab: &mut Lab<'_>,
        change: &Change,
    ) -> Result<Ready, ExperimentError> {
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
}

fn refused(error: &BuildError) -> Ready {
    let reason = error.to_string();
    match error {
        BuildError::Missing { .. } => Ready::Unavailable { reason },
        _ => Ready::Failed { reason },
    }
}
