//! `genba try --on` as a campaign: sources are revisions, settings are options. Pure.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use genba_experiment::try_variants::VariantChange;
use genba_model::CampaignAxis;

use crate::exit_code::Failure;
use crate::session::{ExperimentArgs, line_as_given};
use crate::verbs::campaign::plan_of_experiment::{
    braces, head, is_line, metrics, name, option, quoted,
};

/// What is built, where, and from where the command is started.
pub struct Tree<'a> {
    /// Root of the sources, absolute.
    pub source: &'a Path,
    /// Command of the build, after that which removes an earlier one.
    pub build: &'a str,
    /// Time-out of a build, seconds.
    pub timeout: Option<f64>,
    /// Current directory below the root.
    pub below: &'a Path,
}

/// The name of the unchanged program.
const BASELINE: &str = "baseline";

/// The text of the plan.
///
/// # Errors
/// Nothing to compare, sources and settings at once (a matrix, which a plan says better), changes that a
/// node cannot make, or options that a block cannot have.
pub fn plan_text(
    changes: &[VariantChange],
    tree: Option<&Tree<'_>>,
    command: &[String],
    check_output: bool,
    args: &ExperimentArgs,
) -> Result<String, Failure> {
    if changes.is_empty() {
        return Err(Failure::usage(
            "--on: name what to compare: --patch, --git-ref, --variant or --with",
        ));
    }
    for change in changes {
        check(change, tree.is_some())?;
    }
    let sources = changes.iter().filter(|one| one.needs_build()).count();
    if sources != 0 && sources != changes.len() {
        return Err(Failure::usage(
            "--on: sources (--patch, --git-ref) and settings (--variant, --with) make a matrix: \
             write a plan for genba campaign",
        ));
    }
    let axis = match sources {
        0 => CampaignAxis::Options,
        _ => CampaignAxis::Revisions,
    };
    let names = changes.iter().map(|one| one.name.as_str());
    let parts: Vec<&str> = ["try"].into_iter().chain(names).collect();
    let name = name(&parts, command);
    let line = format!("{} {{arguments}}", template(&line_as_given(command)));
    let mut text = head("try", &name, &line, is_line(command), axis, args)?;
    if check_output {
        text.push_str("check_output = true\n");
    }
    if let Some(tree) = tree {
        text.push_str(&format!("source = {}\n", quoted_path(tree.source)?));
        if args.directory.is_none() {
            let below = Path::new("{tree}").join(braces(text_of(tree.below)?));
            text.push_str(&format!("directory = {}\n", quoted_path(&below)?));
        }
    }
    if axis == CampaignAxis::Revisions {
        text.push_str(&format!("[[revision]]\nname = {}\n", quoted(BASELINE)));
        for change in changes {
            text.push_str(&revision(change)?);
        }
    }
    if let Some(tree) = tree {
        text.push_str(&format!(
            "[[build]]\nname = \"build\"\ncommand = {}\n",
            quoted(tree.build)
        ));
        if let Some(seconds) = tree.timeout {
            text.push_str(&format!("timeout = {}\n", quoted(&format!("{seconds}s"))));
        }
    }
    let given = environment(&args.measurement.env)?;
    text.push_str(&option(BASELINE, "", &given));
    if axis == CampaignAxis::Options {
        for change in changes {
            text.push_str(&setting(change, &given)?);
        }
    }
    text.push_str(&metrics(args)?);
    Ok(text)
}

/// Refuses what the nodes cannot do.
fn check(change: &VariantChange, is_built: bool) -> Result<(), Failure> {
    let name = &change.name;
    if let Some(reason) = &change.unavailable {
        return Err(Failure::usage(format!("{name}: {reason}")));
    }
    if change.recipe.is_some() {
        return Err(Failure::usage(format!(
            "--on: {name} is another build; write a plan for genba campaign with a [[build]] for each"
        )));
    }
    if change.run.cpus.is_some() {
        return Err(Failure::usage(format!(
            "--on: {name} places the program on CPUs of this machine; try it without --on"
        )));
    }
    if change.needs_build() && !is_built {
        return Err(Failure::usage(format!(
            "{name} needs a build; give --build COMMAND"
        )));
    }
    Ok(())
}

/// The table of a patch or commit.
fn revision(change: &VariantChange) -> Result<String, Failure> {
    let mut text = format!("[[revision]]\nname = {}\n", quoted(&change.name));
    if let Some(commit) = &change.reference {
        text.push_str(&format!("commit = {}\n", quoted(commit)));
    }
    let patches = change.patches.iter().map(|path| {
        let path: PathBuf = std::path::absolute(path).map_err(Failure::usage)?;
        quoted_path(&path)
    });
    let patches: Vec<String> = patches.collect::<Result<_, _>>()?;
    if !patches.is_empty() {
        text.push_str(&format!("patch = [{}]\n", patches.join(", ")));
    }
    Ok(text)
}

/// The table of a setting.
fn setting(change: &VariantChange, given: &BTreeMap<String, String>) -> Result<String, Failure> {
    let run = &change.run;
    let mut environment = given.clone();
    environment.extend((run.environment.iter()).map(|(name, value)| (name.clone(), value.clone())));
    let mut join = |variable: &str, values: Vec<String>| {
        if values.is_empty() {
            return;
        }
        let before = environment.get(variable).cloned();
        let all: Vec<String> = values.into_iter().chain(before).collect();
        environment.insert(variable.to_owned(), all.join(":"));
    };
    join("GLIBC_TUNABLES", run.tunables.clone());
    let libraries = run.preload.iter().rev().map(|path| text_of(path));
    let libraries: Vec<&str> = libraries.collect::<Result<_, _>>()?;
    join(
        "LD_PRELOAD",
        libraries.into_iter().map(str::to_owned).collect(),
    );
    Ok(option(
        &change.name,
        &genba_run::join_words(&run.arguments),
        &environment,
    ))
}

fn environment(variables: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    let pair = |variable: &String| match variable.split_once('=') {
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => Err(Failure::usage(format!(
            "--env {variable}: write NAME=VALUE"
        ))),
    };
    variables.iter().map(pair).collect()
}

/// A command in which only {tree} is a placeholder.
fn template(command: &str) -> String {
    braces(command).replace("{{tree}}", "{tree}")
}

fn text_of(path: &Path) -> Result<&str, Failure> {
    path.to_str()
        .ok_or_else(|| Failure::usage(format!("--on: {} is not UTF-8", path.display())))
}

fn quoted_path(path: &Path) -> Result<String, Failure> {
    Ok(quoted(text_of(path)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use genba_campaign::CampaignPlan;
    use genba_experiment::try_variants::{custom_flags, custom_run};

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: ExperimentArgs,
    }

    fn tree() -> Tree<'static> {
        Tree {
            source: Path::new("/src/p{1}"),
            build: "make clean; make",
            timeout: Some(60.0),
            below: Path::new("sub"),
        }
    }

    fn text(changes: &[VariantChange], tree: Option<&Tree<'_>>) -> Result<String, Failure> {
        let line = Line::try_parse_from(["try", "--env", "A=1", "--env", "LD_PRELOAD=/a.so"]);
        let command = ["./p", "{tree}/in", "{x}"].map(str::to_owned);
        plan_text(changes, tree, &command, true, &line.expect("options").args)
    }

    fn plan(changes: &[VariantChange], tree: Option<&Tree<'_>>) -> CampaignPlan {
        let text = text(changes, tree).expect("a plan");
        genba_campaign::parse_plan(&text, "--on", "try", Path::new("/work")).expect("valid")
    }

    fn refusal(changes: &[VariantChange], tree: Option<&Tree<'_>>) -> String {
        text(changes, tree).expect_err("refused").message
    }

    #[test]
    fn patches_and_commits_are_revisions_of_one_build() {
        let changes = [
            VariantChange::patch("/tmp/fix.diff".into()),
            VariantChange::reference("v1"),
        ];
        let plan = plan(&changes, Some(&tree()));
        assert_eq!(plan.compare, CampaignAxis::Revisions);
        assert_eq!(plan.name, "try-fixdiff-v1-p");
        let revisions: Vec<_> = (plan.revisions.iter())
            .map(|one| (one.name.as_str(), one.commit.as_deref(), one.patches.len()))
            .collect();
        let expected = [
            ("baseline", None, 0),
            ("fix.diff", None, 1),
            ("v1", Some("v1"), 0),
        ];
        assert_eq!(revisions, expected);
        assert_eq!(plan.source, Path::new("/src/p{1}"));
        assert_eq!(plan.directory, "{tree}/sub");
        assert_eq!(plan.command, "./p {tree}/in {{x}} {arguments}");
        assert_eq!(plan.builds[0].command.as_deref(), Some("make clean; make"));
        assert_eq!(plan.builds[0].timeout_seconds, 60.0);
        assert_eq!(plan.options.len(), 1);
        assert_eq!(plan.options[0].environment["A"], "1");
        assert!(plan.measure.check_output);
    }

    #[test]
    fn settings_are_options_beside_the_program_as_it_is() {
        let mut preloaded = custom_run("big=CACHE=64M --depth 'a b'").expect("valid");
        preloaded.run.preload = vec!["/b.so".into()];
        preloaded.run.tunables = vec!["glibc.malloc.arena_max=1".to_owned()];
        let plan = plan(&[preloaded], None);
        assert_eq!(plan.compare, CampaignAxis::Options);
        assert_eq!(plan.options[0].name, "baseline");
        let big = &plan.options[1];
        assert_eq!(big.arguments, "--depth 'a b'");
        assert_eq!(big.environment["CACHE"], "64M");
        assert_eq!(big.environment["LD_PRELOAD"], "/b.so:/a.so");
        assert_eq!(
            big.environment["GLIBC_TUNABLES"],
            "glibc.malloc.arena_max=1"
        );
        assert_eq!(plan.directory, "/work");
    }

    #[test]
    fn what_a_block_cannot_have_is_refused_with_what_to_do() {
        let patch = VariantChange::patch("fix.diff".into());
        let setting = custom_run("big=A=1").expect("valid");
        let flags = custom_flags("fast=-O3").expect("valid");
        for (changes, tree, part) in [
            (vec![], None, "name what to compare"),
            (vec![patch.clone()], None, "--build"),
            (vec![patch, setting], Some(&tree()), "matrix"),
            (vec![flags], Some(&tree()), "[[build]]"),
        ] {
            let said = refusal(&changes, tree);
            assert!(said.contains(part), "{said}");
        }
    }
}
