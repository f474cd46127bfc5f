//! Builds in copies of the sources: compiler flags, patches, revisions, profile-guided builds.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use genba_build::{
    BuildDirectory, BuildError, BuildStage, CompilerWrappers, Recipe, SourceCopy, apply_patch,
    same_code,
};
use genba_model::ExitKind;
use genba_run::CommandSpec;

use super::{BuildPlan, Built, VariantBuild, VariantBuilder};
use crate::try_variants::VariantChange;
use crate::{Comparer, ExperimentError};

/// Lines of a build log in a message.
const LOG_LINES: usize = 8;
/// Time-out of a build relative to the project's own.
const BUILD_TIMEOUT_FACTOR: f64 = 20.0;
/// Shortest time-out of a build, seconds.
const MIN_BUILD_TIMEOUT_SECONDS: f64 = 300.0;

impl VariantBuilder {
    /// Builds a change; the build is reused for variants that differ only in the run.
    pub(super) fn build_one(
        &mut self,
        comparer: &mut Comparer<'_>,
        change: &VariantChange,
    ) -> Result<VariantBuild, ExperimentError> {
        let (Some(plan), Some(build_directory)) = (self.build.clone(), self.build_directory.take())
        else {
            return Ok(VariantBuild::Unavailable {
                reason: "there is no build; give --build COMMAND".to_owned(),
            });
        };
        let began = comparer.elapsed();
        let tree = self.build_in(comparer, change, &plan, &build_directory);
        self.build_directory = Some(build_directory);
        let seconds = (comparer.elapsed() - began).max(0.0);
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
            return Ok(VariantBuild::Identical {
                build_seconds: seconds,
            });
        }
        Ok(self.variant_in(change, Some(&tree), Some(seconds)))
    }

    /// The copy with the finished build, or why there is none.
    fn build_in(
        &self,
        comparer: &mut Comparer<'_>,
        change: &VariantChange,
        plan: &BuildPlan,
        build_directory: &BuildDirectory,
    ) -> Result<Result<SourceCopy, VariantBuild>, ExperimentError> {
        let made = match &change.reference {
            None => build_directory.copy(&plan.source),
            Some(reference) => build_directory.checkout(&plan.source, reference),
        };
        let tree = match made {
            Ok(tree) => tree,
            Err(error) => return Ok(Err(refused(&error))),
        };
        let plain = Recipe::plain("unchanged");
        let recipe = change.recipe.as_ref().unwrap_or(&plain);
        if recipe.profiled {
            if let Err(ready) = self.stage(
                comparer,
                change,
                recipe,
                BuildStage::Instrumented,
                plan,
                &tree,
            )? {
                return Ok(Err(ready));
            }
            if let Err(ready) = self.train(comparer, &tree)? {
                return Ok(Err(ready));
            }
            if let Err(error) = build_directory.copy_again(&tree) {
                return Ok(Err(refused(&error)));
            }
        }
        let done = self.stage(comparer, change, recipe, BuildStage::Final, plan, &tree)?;
        Ok(done.map(|()| tree))
    }

    fn stage(
        &self,
        comparer: &mut Comparer<'_>,
        change: &VariantChange,
        recipe: &Recipe,
        stage: BuildStage,
        plan: &BuildPlan,
        tree: &SourceCopy,
    ) -> Result<Result<(), VariantBuild>, ExperimentError> {
        for patch in &change.patches {
            if let Err(error) = apply_patch(tree.path(), patch) {
                return Ok(Err(refused(&error)));
            }
        }
        let tools = match CompilerWrappers::make(tree, recipe, stage, &self.chain) {
            Ok(tools) => tools,
            Err(error) => return Ok(Err(refused(&error))),
        };
        if let Some(clean) = &plan.clean {
            // A clean command may fail in a tree that was never built.
            comparer.command(&tools.command(clean))?;
        }
        if let Some(failed) = self.build_once(comparer, change, plan, &tools)? {
            return Ok(Err(failed));
        }
        // The tree was built before: without its compiled files the copy is built as a clean one.
        if tools.calls() == 0
            && plan.clean.is_none()
            && tree.remove_compiled_files() > 0
            && let Some(failed) = self.build_once(comparer, change, plan, &tools)?
        {
            return Ok(Err(failed));
        }
        if tools.calls() == 0 && *recipe != Recipe::plain(&recipe.name) {
            return Ok(Err(VariantBuild::Failed {
                reason:
                    "the build called no compiler through PATH, so nothing was changed; if it was \
                         built already, give --clean"
                        .to_owned(),
            }));
        }
        Ok(Ok(()))
    }

    /// Runs the build; returns why there is no variant, or `None` if it succeeded.
    fn build_once(
        &self,
        comparer: &mut Comparer<'_>,
        change: &VariantChange,
        plan: &BuildPlan,
        tools: &CompilerWrappers,
    ) -> Result<Option<VariantBuild>, ExperimentError> {
        comparer.say(&format!("building {}", change.name), None);
        let mut spec = tools.command(&plan.build);
        let slowest = self
            .baseline_seconds()
            .map(|seconds| seconds * BUILD_TIMEOUT_FACTOR);
        spec.timeout = plan.timeout.or_else(|| {
            slowest.map(|seconds| Duration::from_secs_f64(seconds.max(MIN_BUILD_TIMEOUT_SECONDS)))
        });
        let finished = comparer.command(&spec)?;
        let exit = finished.record.exit;
        if exit == ExitKind::Cancelled {
            return Err(ExperimentError::Interrupted);
        }
        Ok(exit.failure().map(|how| {
            let log = tools.log_end(LOG_LINES);
            VariantBuild::Failed {
                reason: match log.is_empty() {
                    true => format!("the build {how}"),
                    false => format!("the build {how}\n{log}"),
                },
            }
        }))
    }

    /// Runs the workload in the instrumented build to record its profile.
    fn train(
        &self,
        comparer: &mut Comparer<'_>,
        tree: &SourceCopy,
    ) -> Result<Result<(), VariantBuild>, ExperimentError> {
        comparer.say("recording a profile with the workload", None);
        let plan = self.in_tree(&self.base, tree);
        for spec in plan.setup.iter().chain(&plan.prepare) {
            comparer.command(spec)?;
        }
        let finished = comparer.command(&plan.spec)?;
        for spec in plan.conclude.iter().chain(&plan.cleanup) {
            comparer.command(spec)?;
        }
        if finished.record.exit == ExitKind::Cancelled {
            return Err(ExperimentError::Interrupted);
        }
        if !finished.record.exit.success() {
            return Ok(Err(VariantBuild::Failed {
                reason: "the instrumented program failed in its profiling run".to_owned(),
            }));
        }
        let left: Vec<PathBuf> = (fs::read_dir(tree.profile()).into_iter().flatten().flatten())
            .map(|entry| entry.path())
            .collect();
        if left.is_empty() {
            return Ok(Err(VariantBuild::Failed {
                reason: "the training run left no profile: does the command run the program that \
                         was built?"
                    .to_owned(),
            }));
        }
        // Raw profiles of Clang must be merged.
        let raw = |path: &PathBuf| path.extension().is_some_and(|end| end == "profraw");
        let files: Vec<PathBuf> = left.into_iter().filter(raw).collect();
        if !files.is_empty() {
            let Some(merge) = self.chain.find("llvm-profdata") else {
                return Ok(Err(VariantBuild::Unavailable {
                    reason: "llvm-profdata is not installed; install it with: apt-get install llvm"
                        .to_owned(),
                }));
            };
            let mut spec =
                CommandSpec::direct([merge.into_os_string(), "merge".into(), "-o".into()]);
            spec.argv
                .push(tree.profile().join("merged.profdata").into());
            spec.argv.extend(files.into_iter().map(Into::into));
            if !comparer.command(&spec)?.record.exit.success() {
                return Ok(Err(VariantBuild::Failed {
                    reason: "llvm-profdata cannot merge the profile".to_owned(),
                }));
            }
        }
        Ok(Ok(()))
    }
}

fn refused(error: &BuildError) -> VariantBuild {
    let reason = error.to_string();
    match error {
        BuildError::Missing { .. } => VariantBuild::Unavailable { reason },
        _ => VariantBuild::Failed { reason },
    }
}
