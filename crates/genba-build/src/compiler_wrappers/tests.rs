use std::process::Command;

use super::*;
use crate::{BuildDirectory, build_presets, layout_presets, same_code};

/// Two translation units behind an archive, with a flag of the project's own that must survive.
const MAKEFILE: &str = "CFLAGS = -O2 -DANSWER=42
prog: main.o lib.a
\t$(CC) $(CFLAGS) -o $@ main.o lib.a
lib.a: other.o
\t$(AR) rcs $@ other.o
";
const MAIN: &str = "int other(int);
int main(int n, char **v) { int s = 0; for (int i = 0; i < 1000; i++) s += other(i + n);
  return s == 0 ? 1 : ANSWER - 42; }";
const OTHER: &str = "int other(int i) { return i * 3 + 1; }";

fn project(place: &Path) -> PathBuf {
    let tree = place.join("project");
    fs::create_dir(&tree).expect("made");
    for (name, text) in [("Makefile", MAKEFILE), ("main.c", MAIN), ("other.c", OTHER)] {
        fs::write(tree.join(name), text).expect("written");
    }
    tree
}

/// A place with the project in it; `None`, with a where a program for its build is missing.
fn project_to_build(test: &str, programs: &[&str]) -> Option<(tempfile::TempDir, PathBuf)> {
    if programs
        .iter()
        .any(|name| crate::toolchain::find_program(name).is_none())
    {
        genba_testing::skip(test, "gcc", "no gcc or make here");
        return None;
    }
    let place = tempfile::tempdir().expect("a directory");
    let source = project(place.path());
    Some((place, source))
}

/// Runs a spec as the launcher would, near enough.
fn run(spec: &CommandSpec, log: &Path) -> bool {
    let mut command = Command::new(&spec.argv[0]);
    command.args(&spec.argv[1..]);
    command.current_dir(spec.directory.as_ref().expect("a directory"));
    for (name, value) in &spec.environment.changes {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.stdout(fs::File::create(log).expect("a log"));
    command.status().expect("sh").success()
}

fn recipe(name: &str) -> Recipe {
    let all = [build_presets(false), layout_presets(false)].concat();
    all.into_iter().find(|one| one.name == name).expect("known")
}

struct Built {
    tree: SourceCopy,
    tools: CompilerWrappers,
}

fn build(build_directory: &BuildDirectory, source: &Path, recipe: &Recipe) -> Option<Built> {
    let tree = build_directory.copy(source).expect("a copy");
    let chain = Toolchain::look();
    let mut stages = vec![BuildStage::Final];
    if recipe.profiled {
        stages.insert(0, BuildStage::Instrumented);
    }
    let mut tools = None;
    for stage in stages {
        let tree = build_directory.copy_again(&tree).expect("a copy");
        let made = match CompilerWrappers::make(&tree, recipe, stage, &chain) {
            Ok(made) => made,
            Err(BuildError::Missing { .. }) => return None,
            Err(error) => panic!("{error}"),
        };
        if !run(&made.command("make"), &tree.log()) {
            panic!("{}: {}", recipe.name, made.log_end(20));
        }
        if stage == BuildStage::Instrumented {
            let done = Command::new(tree.path().join("prog"))
                .status()
                .expect("run");
            assert!(done.success());
            assert!(fs::read_dir(tree.profile()).expect("there").count() > 0);
        }
        tools = Some(made);
    }
    Some(Built {
        tree,
        tools: tools?,
    })
}

fn symbols(tree: &Path) -> String {
    let out = Command::new("nm")
        .arg(tree.join("prog"))
        .output()
        .expect("nm");
    String::from_utf8_lossy(&out.stdout).into_owned()
}

#[test]
fn every_preset_builds_a_working_program() {
    let test = "every_preset_builds_a_working_program";
    let Some((place, source)) = project_to_build(test, &["gcc", "make", "nm"]) else {
        return;
    };
    let before = crate::TreeState::of(&source);
    let build_directory = BuildDirectory::open_in(place.path()).expect("a build directory");
    let plain = build(&build_directory, &source, &Recipe::plain("as it is")).expect("gcc is here");
    assert_eq!(plain.tools.calls(), 3);
    assert!(symbols(plain.tree.path()).contains(" other\n"));
    for one in [build_presets(false), layout_presets(false)].concat() {
        let Some(built) = build(&build_directory, &source, &one) else {
            genba_testing::skip(
                test,
                genba_testing::MACHINE,
                &format!("{} needs what is not installed", one.name),
            );
            continue;
        };
        let done = Command::new(built.tree.path().join("prog"))
            .status()
            .expect("run");
        assert!(
            done.success(),
            "{}: the project's own -DANSWER is lost",
            one.name
        );
    }
    let lto = build(&build_directory, &source, &recipe("LTO")).expect("gcc is here");
    assert!(
        !symbols(lto.tree.path()).contains(" other\n"),
        "it has gone into its caller"
    );
    let again = build(&build_directory, &source, &Recipe::plain("again")).expect("gcc is here");
    assert!(same_code(plain.tree.path(), again.tree.path()));
    assert!(!same_code(plain.tree.path(), lto.tree.path()));
    let padded = build(&build_directory, &source, &layout_presets(false)[0]).expect("gcc is here");
    assert!(!same_code(plain.tree.path(), padded.tree.path()));
    assert_eq!(before.changed(&source), None);
}

#[test]
fn failing_build_leaves_the_end_of_its_log() {
    let place = tempfile::tempdir().expect("a directory");
    let source = project(place.path());
    let build_directory = BuildDirectory::open_in(place.path()).expect("a build directory");
    let tree = build_directory.copy(&source).expect("a copy");
    let recipe = Recipe::plain("as it is");
    let tools = CompilerWrappers::make(&tree, &recipe, BuildStage::Final, &Toolchain::look())
        .expect("tools");
    assert!(!run(
        &tools.command("echo one; echo two >&2; false"),
        &tree.log()
    ));
    assert_eq!(tools.log_end(1), "two");
    assert_eq!(tools.log_end(5), "one\ntwo");
    assert_eq!(tools.calls(), 0);
}

#[test]
fn recursive_wrapper_fails_at_once() {
    let place = tempfile::tempdir().expect("a directory");
    let script = place.path().join("gcc");
    // As if the real program were the script itself.
    write_script(&script, &plain_script("gcc", &script)).expect("written");
    let out = Command::new(&script).output().expect("run");
    assert!(!out.status.success());
    assert!(String::from_utf8_lossy(&out.stderr).contains("calls itself"));
}

#[test]
fn programs_started_by_a_wrapper_do_not_find_the_wrappers() {
    let place = tempfile::tempdir().expect("a directory");
    let script = place.path().join("ar");
    write_script(&script, &plain_script("ar", Path::new("/bin/sh"))).expect("written");
    let path = format!("{}:/usr/bin:/bin", place.path().display());
    let mut command = Command::new(&script);
    command.env("PATH", path).args(["-c", "command -v ar"]);
    let out = command.output().expect("run");
    let found = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(!found.contains(&*place.path().to_string_lossy()), "{found}");
}

#[test]
fn exported_wrappers_build_in_the_original_tree() {
    let test = "exported_wrappers_build_in_the_original_tree";
    let Some((place, source)) = project_to_build(test, &["gcc", "make", "gcc-ar"]) else {
        return;
    };
    let tools = place.path().join("tools");
    assert!(CompilerWrappers::export(&tools, &recipe("LTO"), &Toolchain::look()).expect("written"));
    assert!(
        !CompilerWrappers::export(&tools, &recipe("PGO"), &Toolchain::look())
            .expect("nothing to do")
    );
    let path = format!(
        "{}:{}",
        tools.display(),
        std::env::var("PATH").expect("a PATH")
    );
    let done = Command::new("make")
        .current_dir(&source)
        .env("PATH", path)
        .output()
        .expect("make");
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    assert!(!symbols(&source).contains(" other\n"));
}
