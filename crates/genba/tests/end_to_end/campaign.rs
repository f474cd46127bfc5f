//! `genba campaign` on real builds, here and by a Slurm cluster of two nodes on this machine.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{genba, interrupt, json, run_genba, scratch};
use serde_json::Value;

fn sh(directory: &Path, line: &str) -> String {
    let output = (Command::new("sh")
        .args(["-ec", line])
        .current_dir(directory)
        .output())
    .expect("sh");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A repository with the tags `one`, `three` (three times the work) and `broken`.
fn repository(directory: &Path) {
    sh(
        directory,
        "git init -q . && git config user.email a@b && git config user.name n\n\
         echo 'echo work 10 s >&$GENBA_METRICS_FD' > work.sh && printf '.genba\\n*.toml\\n' > .gitignore\n\
         git add . && git commit -qm one && git tag one\n\
         sed -i s/10/30/ work.sh && git commit -qam three && git tag three\n\
         echo false > build.sh && git add build.sh && git commit -qm broken && git tag broken",
    );
}

const PLAN: &str = r#"
[campaign]
command = "sh {tree}/work.sh"
metric = "work"
revisions = ["one", "broken", "three"]
repeats = 6
runs = 1
[[build]]
name = "plain"
command = "if test -e build.sh; then sh build.sh; fi"
[[metric]]
name = "work"
unit = "s"
"#;

fn blocks(directory: &Path) -> usize {
    let entries = std::fs::read_dir(directory.join(".genba/campaigns/plan/blocks"));
    entries.map_or(0, |entries| entries.count())
}

#[test]
fn failed_build_is_reported_and_the_other_revisions_are_judged() {
    let here = scratch();
    repository(here.path());
    std::fs::write(here.path().join("plan.toml"), PLAN).expect("written");
    let plan = json(
        here.path(),
        "campaign-plan",
        &["campaign", "plan.toml", "--dry-run", "--json"],
    );
    assert_eq!(plan["blocks"].as_array().map(Vec::len), Some(6));
    assert!(
        !here.path().join(".genba").exists(),
        "a dry run leaves nothing"
    );
    let output = genba(here.path(), &["campaign", "plan.toml", "--json"]);
    assert_eq!(output.status.code(), Some(3));
    let all: Value = serde_json::from_slice(&output.stdout).expect("a document");
    assert_eq!(all["blocks"]["measured"], 6);
    let report = &all["results"][0]["report"];
    let comparisons = report["comparisons"].as_array().expect("a list");
    let work = comparisons
        .iter()
        .find(|one| one["metric"] == "work")
        .expect("compared");
    assert_eq!(
        (&work["variant"], &work["verdict"]),
        (&"three".into(), &"slower".into())
    );
    let ratio = work["ratio"]["value"].as_f64().expect("a number");
    assert!((ratio - 3.0).abs() < 1e-9, "{ratio}");
    let failed = all["builds"].as_array().expect("a list").iter();
    let failed: Vec<_> = failed.filter(|build| !build["failure"].is_null()).collect();
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0]["revision"], "broken");
    let (code, text, _) = run_genba(here.path(), &["campaign", "plan.toml"]);
    assert_eq!(code, 3);
    assert!(
        text.contains("3.00× ") && text.contains("build of broken"),
        "{text}"
    );
}

#[test]
fn variant_that_fails_or_prints_something_else_is_a_failure_of_the_campaign() {
    let here = scratch();
    for (name, second, check) in [("fails", "exit 3", false), ("differs", "echo 2", true)] {
        let plan = format!(
            "[campaign]\ncommand = \"{{arguments}}\"\nrepeats = 2\nruns = 1\ncheck_output = {check}\n\
             [[option]]\nname = \"a\"\narguments = \"echo 1\"\n\
             [[option]]\nname = \"b\"\narguments = \"{second}\"\n"
        );
        let file = format!("{name}.toml");
        std::fs::write(here.path().join(&file), plan).expect("written");
        let output = genba(here.path(), &["campaign", &file, "--json"]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(3), "{name}: {text}");
    }
}

#[test]
fn killed_campaign_is_resumed_and_more_repeats_keep_what_is_stored() {
    let here = scratch();
    repository(here.path());
    let plan = PLAN
        .replace("sh {tree}/work.sh", "sh {tree}/work.sh; sleep 0.1")
        .replace("\"broken\", ", "");
    std::fs::write(here.path().join("plan.toml"), &plan).expect("written");
    let start = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_genba"));
        command
            .args(["campaign", "plan.toml"])
            .current_dir(here.path())
            .env_remove("GENBA_HOME");
        command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("genba starts")
    };
    let wait_for = |count: usize| {
        let deadline = Instant::now() + Duration::from_secs(120);
        while blocks(here.path()) < count {
            assert!(Instant::now() < deadline, "no block {count}");
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    let mut child = start();
    wait_for(1);
    child.kill().expect("killed");
    child.wait().expect("ended");
    let mut child = start();
    wait_for(2);
    interrupt(&child);
    assert_eq!(child.wait().expect("ended").code(), Some(130));
    let before = blocks(here.path());
    assert!(before < 6, "it was interrupted");
    std::fs::write(
        here.path().join("plan.toml"),
        plan.replace("repeats = 6", "repeats = 8"),
    )
    .expect("written");
    let all = json(
        here.path(),
        "campaign",
        &["campaign", "plan.toml", "--json"],
    );
    assert_eq!(all["blocks"]["measured"], 8);
    assert_eq!(blocks(here.path()), 8);
    let left = std::fs::read_dir(here.path().join(".genba/campaigns/plan/new")).expect("there");
    assert_eq!(left.count(), 0, "nothing half-written is left behind");
}

#[test]
fn blocks_are_kept_in_the_history_once() {
    let here = scratch();
    repository(here.path());
    let plan = PLAN.replace("\"broken\", ", "");
    std::fs::write(here.path().join("plan.toml"), plan).expect("written");
    for new in ["6 blocks recorded", "0 blocks recorded"] {
        let (code, _, error) = run_genba(here.path(), &["campaign", "plan.toml", "--history"]);
        assert_eq!(code, 0, "{error}");
        assert!(error.contains(new), "{error}");
    }
    let words = ["history", "show", "--metric", "work", "--json"];
    let all = json(here.path(), "history", &words);
    let series = all["series"].as_array().expect("a list");
    assert_eq!(series.len(), 1);
    assert_eq!(
        (&series[0]["benchmark"], &series[0]["variant"]),
        (&"plan".into(), &"plain".into())
    );
    // Six blocks of two commits each.
    let measurements = series[0]["measurements"].as_array().expect("a list");
    assert_eq!(measurements.len(), 12);
    let three = sh(here.path(), "git rev-parse three");
    assert_eq!(all["points"][0]["commit"], three.trim());
}

#[test]
fn mistakes_of_a_plan_are_named_before_anything_runs() {
    let here = scratch();
    for (text, said) in [
        (
            "[campaign]\ncommand = \"true\"\nrepeat = 3\n",
            "plan.toml:3: unknown field `repeat`",
        ),
        ("[campaign]\ncommand = \"true\"\nmetric = \"wal\"\n", "wal"),
        (
            "[campaign]\ncommand = \"true\"\nrevisions = [\"x\"]\n",
            "not a git repository",
        ),
    ] {
        std::fs::write(here.path().join("plan.toml"), text).expect("written");
        let (code, _, error) = run_genba(here.path(), &["campaign", "plan.toml"]);
        assert_eq!(code, 2, "{error}");
        assert!(error.contains(said), "{error}");
    }
    assert!(!here.path().join(".genba").exists());
}

/// A cluster of `scripts/slurm-test-cluster`, ended when dropped.
struct Cluster {
    directory: tempfile::TempDir,
}

impl Cluster {
    fn script(&self, words: &[&str]) -> std::process::Output {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
        (Command::new(root.join("scripts/slurm-test-cluster")).arg(words[0]))
            .arg(self.directory.path())
            .args(&words[1..])
            .stdin(Stdio::null())
            .output()
            .expect("bash")
    }

    fn start(test: &str) -> Option<Self> {
        let cluster = Self {
            directory: scratch(),
        };
        let started = cluster.script(&["start"]);
        if started.status.success() {
            return Some(cluster);
        }
        genba_testing::skip(test, "slurm", &String::from_utf8_lossy(&started.stderr));
        None
    }

    fn conf(&self) -> PathBuf {
        self.directory.path().join("slurm.conf")
    }

    fn slurm(&self, program: &str, words: &[&str]) -> String {
        let output = (Command::new(program).args(words))
            .env("SLURM_CONF", self.conf())
            .output()
            .expect("Slurm's client");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.script(&["stop"]);
    }
}

#[test]
fn slurm_campaign_with_killed_jobs_has_every_block_once() {
    let test = "slurm_campaign_with_killed_jobs_has_every_block_once";
    let Some(cluster) = Cluster::start(test) else {
        return;
    };
    let here = scratch();
    repository(here.path());
    let hosts = "[[host]]\nname = \"server\"\nconstraint = \"server\"\n\
                 [[host]]\nname = \"laptop\"\nconstraint = \"laptop\"\n";
    let plan = PLAN.replace("\"broken\", ", "") + hosts;
    std::fs::write(here.path().join("plan.toml"), plan).expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_genba"));
    command.args(["campaign", "plan.toml", "--on", "slurm", "--json"]);
    command
        .current_dir(here.path())
        .env("SLURM_CONF", cluster.conf())
        .env_remove("GENBA_HOME");
    let start = |command: &mut Command| {
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("genba starts")
    };
    let mut child = start(&mut command);
    let deadline = Instant::now() + Duration::from_secs(240);
    let mut killed = 0;
    while blocks(here.path()) < 4 {
        assert!(Instant::now() < deadline, "no blocks");
        // Some elements are cancelled as they wait or run.
        let waiting = cluster.slurm("squeue", &["--noheader", "--array", "--format=%i"]);
        if let Some(id) = waiting
            .lines()
            .last()
            .filter(|_| killed < 3 && blocks(here.path()) > 0)
        {
            cluster.slurm("scancel", &[id]);
            killed += 1;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    child.kill().expect("killed");
    child.wait().expect("ended");
    let output = start(&mut command).wait_with_output().expect("ended");
    let all: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(all["blocks"]["measured"], 12);
    assert_eq!(blocks(here.path()), 12);
    let results = all["results"].as_array().expect("a list");
    let nodes: Vec<_> = results
        .iter()
        .map(|one| (&one["host"], &one["nodes"][0]))
        .collect();
    assert_eq!(
        nodes,
        [
            (&"server".into(), &"n1".into()),
            (&"laptop".into(), &"n2".into())
        ]
    );
    for result in results {
        let comparisons = result["report"]["comparisons"].as_array().expect("a list");
        let work = comparisons
            .iter()
            .find(|one| one["metric"] == "work")
            .expect("compared");
        assert_eq!(
            (&work["verdict"], &work["pairs"]),
            (&"slower".into(), &6.into())
        );
    }
    let left = cluster.slurm("squeue", &["--noheader", "--array"]);
    assert_eq!(left.trim(), "", "no job is left");
}

#[test]
fn sweep_over_nodes_has_a_verdict_for_each_setting_and_is_resumed() {
    let test = "sweep_over_nodes_has_a_verdict_for_each_setting_and_is_resumed";
    let Some(cluster) = Cluster::start(test) else {
        return;
    };
    let here = scratch();
    let run = || {
        let output = Command::new(env!("CARGO_BIN_EXE_genba"))
            .args(["sweep", "--param", "N=1,2,3", "--on", "slurm", "--json"])
            .args(["--metric", "work", "--metric-regex", "work=([0-9]+)"])
            .args(["--", "echo", "work={N}"])
            .current_dir(here.path())
            .env("SLURM_CONF", cluster.conf())
            .env_remove("GENBA_HOME")
            .output()
            .expect("genba starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let all: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {said}"));
        all
    };
    let all = run();
    assert_eq!(all["blocks"]["measured"], 10);
    // The nodes have different fingerprints: each has a result, if it had blocks.
    let results = all["results"].as_array().expect("a list");
    let comparisons = results
        .iter()
        .flat_map(|one| one["report"]["comparisons"].as_array().expect("a list"));
    let of_work: Vec<_> = comparisons.filter(|one| one["metric"] == "work").collect();
    assert!(
        of_work.iter().all(|one| one["verdict"] == "slower"),
        "{of_work:?}"
    );
    let pairs = |variant: &str| -> u64 {
        let of_variant = of_work.iter().filter(|one| one["variant"] == variant);
        of_variant.filter_map(|one| one["pairs"].as_u64()).sum()
    };
    assert_eq!((pairs("N=2"), pairs("N=3")), (20, 20), "{of_work:?}");
    let directory = here.path().join(".genba/campaigns/sweep-N-echo/blocks");
    let stored = || {
        let entries = std::fs::read_dir(&directory).expect("blocks").flatten();
        let modified =
            |entry: std::fs::DirEntry| entry.metadata().and_then(|it| it.modified()).ok();
        let mut times: Vec<_> = entries.map(modified).collect();
        times.sort();
        times
    };
    let before = stored();
    run();
    assert_eq!(stored(), before, "measured again");
}

#[test]
fn trial_of_a_patch_in_blocks_has_a_verdict() {
    let here = scratch();
    let write = |name: &str, text: &str| {
        std::fs::write(here.path().join(name), text).expect("a file");
    };
    write("work.sh", "echo work=10\n");
    write(
        "fix.diff",
        "--- a/work.sh\n+++ b/work.sh\n@@ -1 +1 @@\n-echo work=10\n+echo work=5\n",
    );
    let output = Command::new(env!("CARGO_BIN_EXE_genba"))
        .args(["try", "--patch", "fix.diff", "--build", "true"])
        .args(["--on", "local", "--no-check-output", "--json"])
        .args(["--metric", "work", "--metric-regex", "work=([0-9]+)"])
        .args(["--", "sh", "./work.sh"])
        .current_dir(here.path())
        .env_remove("GENBA_HOME")
        .output()
        .expect("genba starts");
    let said = String::from_utf8_lossy(&output.stderr);
    let all: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    assert_eq!(all["blocks"]["measured"], 10, "{said}");
    let comparisons = all["results"][0]["report"]["comparisons"].as_array();
    let of_work = (comparisons.expect("a list").iter())
        .find(|one| one["metric"] == "work")
        .expect("compared");
    assert_eq!(
        (&of_work["variant"], &of_work["verdict"], &of_work["pairs"]),
        (&"fix.diff".into(), &"faster".into(), &20.into())
    );
}
