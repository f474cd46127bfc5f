//! Named variants of a program as a campaign: sources are revisions, settings are options. Pure.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use genba_experiment::try_variants::VariantChange;
use genba_model::CampaignAxis;
use genba_run::line_as_given;

use crate::experiment_plan::{
    ExperimentOptions, campaign_name, campaign_table, metric_tables, option_table, parsed, quoted,
    refused, utf8,
};
use crate::plan_file::braces;
use crate::{CampaignError, CampaignPlan};

/// What is built, where, and from where the command is started.
#[derive(Clone, Debug)]
pub struct BuiltTree<'a> {
    /// Root of the sources, absolute.
    pub source: &'a Path,
    /// Command of the build, after that which removes an earlier one.
    pub build: &'a str,
    /// Time-out of a build, seconds.
    pub timeout: Option<f64>,
    /// Directory below the root in which the command runs unless the options name one.
    pub below: &'a Path,
}

/// The name of the unchanged program.
const BASELINE: &str = "baseline";

/// The plan that compares these variants with the unchanged program; with `check_output` they must print
/// what it prints. `here` is what relative paths are relative to.
///
/// # Errors
/// Nothing to compare, sources and settings at once (a matrix, which a plan says better), or changes that a
/// node cannot make.
pub fn try_plan(
    changes: &[VariantChange],
    tree: Option<&BuiltTree<'_>>,
    check_output: bool,
    options: &ExperimentOptions<'_>,
    here: &Path,
) -> Result<CampaignPlan, CampaignError> {
    if changes.is_empty() {
        return Err(refused(
            "name what to compare: --patch, --git-ref, --variant or --with",
        ));
    }
    for change in changes {
        check(change, tree.is_some())?;
    }
    let sources = changes.iter().filter(|one| one.needs_build()).count();
    if sources != 0 && sources != changes.len() {
        return Err(refused(
            "sources (--patch, --git-ref) and settings (--variant, --with) make a matrix: \
             write a plan for genba campaign",
        ));
    }
    let axis = match sources {
        0 => CampaignAxis::Options,
        _ => CampaignAxis::Revisions,
    };
    let names = changes.iter().map(|one| one.name.as_str());
    let parts: Vec<&str> = ["try"].into_iter().chain(names).collect();
    let name = campaign_name(&parts, options.command);
    let line = line_as_given(options.command);
    let line = format!("{} {{arguments}}", template(&line));
    let mut text = campaign_table(&name, &line, axis, options)?;
    if check_output {
        text.push_str("check_output = true\n");
    }
    if let Some(tree) = tree {
        text.push_str(&format!("source = {}\n", quoted(utf8(tree.source)?)));
        if options.directory.is_none() {
            let below = Path::new("{tree}").join(braces(utf8(tree.below)?));
            text.push_str(&format!("directory = {}\n", quoted(utf8(&below)?)));
        }
    }
    if axis == CampaignAxis::Revisions {
        text.push_str(&format!("[[revision]]\nname = {}\n", quoted(BASELINE)));
        for change in changes {
            text.push_str(&revision_table(change, here)?);
        }
    }
    if let Some(tree) = tree {
        text.push_str(&build_table(tree));
    }
    text.push_str(&option_table(BASELINE, "", &options.environment));
    if axis == CampaignAxis::Options {
        for change in changes {
            text.push_str(&setting_table(change, &options.environment)?);
        }
    }
    text.push_str(&metric_tables(&options.metrics));
    parsed(&text, here)
}

/// Refuses what the nodes cannot do.
fn check(change: &VariantChange, is_built: bool) -> Result<(), CampaignError> {
    let name = &change.name;
    if let Some(reason) = &change.unavailable {
        return Err(refused(format!("{name}: {reason}")));
    }
    if change.recipe.is_some() {
        return Err(refused(format!(
            "{name} is another build; write a plan for genba campaign with a [[build]] for each"
        )));
    }
    if change.run.cpus.is_some() {
        return Err(refused(format!(
            "{name} places the program on CPUs of this machine; try it without --on"
        )));
    }
    if change.needs_build() && !is_built {
        return Err(refused(format!(
            "{name} needs a build; give --build COMMAND"
        )));
    }
    Ok(())
}

/// The table of a patch or commit.
fn revision_table(change: &VariantChange, here: &Path) -> Result<String, CampaignError> {
    let mut text = format!("[[revision]]\nname = {}\n", quoted(&change.name));
    if let Some(commit) = &change.reference {
        text.push_str(&format!("commit = {}\n", quoted(commit)));
    }
    let patches: Vec<PathBuf> = change.patches.iter().map(|path| here.join(path)).collect();
    let patches: Vec<String> = (patches.iter())
        .map(|path| utf8(path).map(quoted))
        .collect::<Result<_, _>>()?;
    if !patches.is_empty() {
        text.push_str(&format!("patch = [{}]\n", patches.join(", ")));
    }
    Ok(text)
}

/// The table of the one build.
fn build_table(tree: &BuiltTree<'_>) -> String {
    let build = quoted(tree.build);
    let mut text = format!("[[build]]\nname = \"build\"\ncommand = {build}\n");
    if let Some(seconds) = tree.timeout {
        text.push_str(&format!("timeout = {}\n", quoted(&format!("{seconds}s"))));
    }
    text
}

/// The table of a setting of the run. Where it and the user set the same, the setting is what is tried:
/// its variables replace the user's, its libraries come first, its tunables last.
fn setting_table(
    change: &VariantChange,
    given: &BTreeMap<String, String>,
) -> Result<String, CampaignError> {
    let run = &change.run;
    let mut environment = given.clone();
    environment.extend((run.environment.iter()).map(|(name, value)| (name.clone(), value.clone())));
    if !run.tunables.is_empty() {
        let before = environment.remove("GLIBC_TUNABLES");
        let all: Vec<String> = before.into_iter().chain(run.tunables.clone()).collect();
        environment.insert("GLIBC_TUNABLES".to_owned(), all.join(":"));
    }
    if !run.preload.is_empty() {
        let before = environment.remove("LD_PRELOAD");
        let libraries = run.preload.iter().rev().map(|path| utf8(path));
        let mut all: Vec<&str> = libraries.collect::<Result<_, _>>()?;
        all.extend(before.as_deref());
        environment.insert("LD_PRELOAD".to_owned(), all.join(":"));
    }
    Ok(option_table(
        &change.name,
        &genba_run::join_words(&run.arguments),
        &environment,
    ))
}

/// A command in which only {tree} is a placeholder.
fn template(command: &str) -> String {
    braces(command).replace("{{tree}}", "{tree}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use genba_experiment::try_variants::{custom_flags, custom_run};

    fn tree() -> BuiltTree<'static> {
        BuiltTree {
            source: Path::new("/src/p{1}"),
            build: "make clean; make",
            timeout: Some(60.0),
            below: Path::new("sub"),
        }
    }

    fn planned(
        changes: &[VariantChange],
        tree: Option<&BuiltTree<'_>>,
    ) -> Result<CampaignPlan, CampaignError> {
        let command = ["./p", "{tree}/in", "{x}"].map(str::to_owned);
        let given = [
            ("A", "1"),
            ("LD_PRELOAD", "/a.so"),
            ("GLIBC_TUNABLES", "glibc.malloc.arena_max=2"),
        ];
        let options = ExperimentOptions {
            command: &command,
            environment: given
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            ..ExperimentOptions::default()
        };
        try_plan(changes, tree, true, &options, Path::new("/work"))
    }

    fn plan(changes: &[VariantChange], tree: Option<&BuiltTree<'_>>) -> CampaignPlan {
        planned(changes, tree).expect("a plan")
    }

    #[test]
    fn patches_and_commits_are_revisions_of_one_build() {
        let changes = [
            VariantChange::patch("tmp/fix.diff".into()),
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
        assert_eq!(
            plan.revisions[1].patches[0],
            Path::new("/work").join("tmp/fix.diff")
        );
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
        assert_eq!(plan.directory, "/work");
    }

    #[test]
    fn tunables_of_a_setting_follow_those_of_the_user_and_so_win() {
        let mut setting = custom_run("one=A=2").expect("valid");
        setting.run.tunables = vec!["glibc.malloc.arena_max=1".to_owned()];
        let plan = plan(&[setting], None);
        assert_eq!(
            plan.options[1].environment["GLIBC_TUNABLES"],
            "glibc.malloc.arena_max=2:glibc.malloc.arena_max=1"
        );
        assert_eq!(plan.options[1].environment["A"], "2");
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
            let refusal = planned(&changes, tree).expect_err("refused").to_string();
            assert!(
                refusal.starts_with("--on: ") && refusal.contains(part),
                "{refusal}"
            );
        }
    }
}
