//! The command line of `genba` that a call of each tool becomes. Starts nothing.

use std::path::Path;

use crate::arguments::{Arguments, Search};
use crate::patch_paths;
use crate::{Refusal, Workspace};

/// A command line of `genba` without the program's name.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Line {
    pub words: Vec<String>,
    /// The word behind the verb.
    pub(crate) subverb: Option<&'static str>,
    /// The patch whose file is appended to the word `--patch=`.
    pub patch: Option<String>,
    /// Whether the command of the case is run.
    pub runs_case: bool,
}

/// Where `--patch=` gets its file from.
pub const PATCH: &str = "--patch=";
/// Where `-i` gets the full id of the case from.
pub const CASE: &str = "{case}";

impl Line {
    fn word(&mut self, word: impl Into<String>) {
        self.words.push(word.into());
    }

    /// The options that are the same for several tools.
    fn options(&mut self, arguments: &Arguments, budget: Option<f64>) -> Result<(), Refusal> {
        if let Some(seconds) = arguments.budget_seconds.or(budget) {
            if !(0.1..=3600.0).contains(&seconds) {
                return Err(Refusal(
                    "budget_seconds must be from 0.1 to 3600".to_owned(),
                ));
            }
            self.word(format!("--budget={seconds}s"));
        }
        if let Some(metric) = &arguments.metric {
            let known = |byte: u8| byte.is_ascii_alphanumeric() || b"-_:".contains(&byte);
            if metric.is_empty() || !metric.bytes().all(known) {
                return Err(Refusal(format!("{metric:?} is not the name of a metric")));
            }
            self.word(format!("--metric={metric}"));
        }
        if arguments.ignore_failure == Some(true) {
            self.word("--ignore-failure");
        }
        Ok(())
    }

    fn command(&mut self, words: &[String]) {
        self.word("--");
        self.words.extend_from_slice(words);
    }
}

/// The checked command of a call.
fn command<'a>(
    arguments: &'a Arguments,
    workspace: &Workspace,
    directory: &Path,
) -> Result<&'a [String], Refusal> {
    let words = arguments.command.as_deref().unwrap_or_default();
    workspace.check_command(words, directory)?;
    Ok(words)
}

/// A checked command as a line for the shell, which starts nothing but this command.
fn shell_line(
    words: &[String],
    workspace: &Workspace,
    directory: &Path,
) -> Result<String, Refusal> {
    workspace.check_command(words, directory)?;
    shlex::try_join(words.iter().map(String::as_str))
        .map_err(|_| Refusal("an argument has a NUL character".to_owned()))
}

pub(crate) fn investigate(
    arguments: &Arguments,
    workspace: &Workspace,
    directory: &Path,
) -> Result<Line, Refusal> {
    let words = command(arguments, workspace, directory)?;
    let mut line = Line::default();
    line.options(arguments, Some(10.0))?;
    // `prove` is a tool of its own.
    line.word("--no-proof");
    line.word("--output=null");
    line.command(words);
    Ok(line)
}

pub(crate) fn explain(_: &Arguments, _: &Workspace, _: &Path) -> Result<Line, Refusal> {
    let mut line = Line::default();
    line.word("-i");
    line.word(CASE);
    Ok(line)
}

/// The finding that is meant, as a word.
fn finding(arguments: &Arguments) -> Result<String, Refusal> {
    match arguments.finding {
        Some(0) => Err(Refusal("findings are numbered from 1".to_owned())),
        number => Ok(number.unwrap_or(1).to_string()),
    }
}

pub(crate) fn prove(arguments: &Arguments, _: &Workspace, _: &Path) -> Result<Line, Refusal> {
    let mut line = Line {
        runs_case: true,
        ..Line::default()
    };
    line.options(arguments, None)?;
    if arguments.upper_bound == Some(true) {
        line.word("--upper-bound");
    }
    line.word("-i");
    line.word(CASE);
    line.word(finding(arguments)?);
    Ok(line)
}

pub(crate) fn fix(
    arguments: &Arguments,
    workspace: &Workspace,
    directory: &Path,
) -> Result<Line, Refusal> {
    let mut line = Line {
        runs_case: true,
        ..Line::default()
    };
    line.options(arguments, None)?;
    for (option, words) in [
        ("build", &arguments.build),
        ("clean", &arguments.clean),
        ("check", &arguments.check),
    ] {
        if let Some(words) = words {
            let text = shell_line(words, workspace, directory)?;
            line.word(format!("--{option}={text}"));
        }
    }
    line.word("-i");
    line.word(CASE);
    line.word(finding(arguments)?);
    Ok(line)
}

pub(crate) fn annotate(arguments: &Arguments, _: &Workspace, _: &Path) -> Result<Line, Refusal> {
    let mut line = Line::default();
    line.word("-i");
    line.word(CASE);
    line.word("--");
    line.word(arguments.function.clone().unwrap_or_default());
    Ok(line)
}

pub(crate) fn observe(
    arguments: &Arguments,
    workspace: &Workspace,
    directory: &Path,
) -> Result<Line, Refusal> {
    let mut line = Line::default();
    let place = arguments.place.clone().unwrap_or_default();
    match (&arguments.command, &arguments.case) {
        (Some(_), Some(_)) => {
            return Err(Refusal(
                "`case` and `command` exclude each other: give one of them".to_owned(),
            ));
        }
        (Some(_), None) => {
            let words = command(arguments, workspace, directory)?;
            line.options(arguments, None)?;
            line.word("--output=null");
            line.word("--");
            line.word(place);
            line.words.extend_from_slice(words);
        }
        (None, _) => {
            line.word("-i");
            line.word(CASE);
            line.word("--");
            line.word(place);
        }
    }
    Ok(line)
}

pub(crate) fn wait(
    arguments: &Arguments,
    workspace: &Workspace,
    directory: &Path,
) -> Result<Line, Refusal> {
    let words = command(arguments, workspace, directory)?;
    let mut line = Line::default();
    line.options(arguments, None)?;
    line.word("--output=null");
    line.command(words);
    Ok(line)
}

pub(crate) fn bench(
    arguments: &Arguments,
    workspace: &Workspace,
    directory: &Path,
) -> Result<Line, Refusal> {
    let commands = arguments.commands.as_deref().unwrap_or_default();
    let mut line = Line::default();
    line.options(arguments, Some(20.0))?;
    if arguments.compare_output != Some(false) {
        line.word("--check-output");
    }
    // Lines are split into words again, and started without a shell.
    line.word("-N");
    let mut lines = Vec::new();
    for one in commands {
        line.word(format!("--command-name={}", one.name));
        lines.push(shell_line(&one.command, workspace, directory)?);
    }
    if lines.is_empty() {
        return Err(Refusal("`commands` is empty".to_owned()));
    }
    line.command(&lines);
    Ok(line)
}

pub(crate) fn try_variants(
    arguments: &Arguments,
    workspace: &Workspace,
    directory: &Path,
) -> Result<Line, Refusal> {
    let words = command(arguments, workspace, directory)?;
    let mut line = Line::default();
    line.options(arguments, None)?;
    line.word("--no-diff");
    let build = arguments.build.as_deref().unwrap_or_default();
    line.word(format!(
        "--build={}",
        shell_line(build, workspace, directory)?
    ));
    if let Some(clean) = &arguments.clean {
        line.word(format!(
            "--clean={}",
            shell_line(clean, workspace, directory)?
        ));
    }
    for preset in arguments.presets.iter().flatten() {
        line.word(format!("--with={preset}"));
    }
    if let Some(patch) = &arguments.patch {
        for path in patch_paths::paths(patch)? {
            workspace.path(&path, directory)?;
        }
        line.word(PATCH);
        line.patch = Some(patch.clone());
    }
    line.command(words);
    Ok(line)
}

/// A revision that Git cannot take for an option.
fn revision(name: &str) -> Result<&str, Refusal> {
    let known = |sign: char| sign.is_alphanumeric() || "._/~^@{}+-".contains(sign);
    match name.is_empty() || name.starts_with('-') || !name.chars().all(known) {
        true => Err(Refusal(format!("{name:?} is not the name of a revision"))),
        false => Ok(name),
    }
}

pub(crate) fn bisect(
    arguments: &Arguments,
    workspace: &Workspace,
    directory: &Path,
) -> Result<Line, Refusal> {
    let words = command(arguments, workspace, directory)?;
    let needed = |value: &Option<String>, name: &str| {
        value
            .clone()
            .ok_or_else(|| Refusal(format!("the argument `{name}` is missing")))
    };
    let mut line = Line::default();
    let search = arguments.search.unwrap_or(Search::Range);
    let kind = match search {
        Search::Range => "range",
        Search::Git => "git",
        Search::Set => "set",
        Search::Source => "source",
    };
    line.subverb = Some(kind);
    match search {
        Search::Range => {
            let name = needed(&arguments.parameter, "parameter")?;
            let values = arguments.values.as_deref().unwrap_or_default();
            for value in values {
                let put = |word: &String| word.replace(&format!("{{{name}}}"), value);
                let with: Vec<String> = words.iter().map(put).collect();
                workspace.check_command(&with, directory)?;
            }
            line.word(format!("--param={name}={}", values.join(",")));
        }
        Search::Git => {
            workspace.check_repository(directory)?;
            let good = needed(&arguments.good, "good")?;
            line.word(format!("--good={}", revision(&good)?));
            if let Some(bad) = &arguments.bad {
                line.word(format!("--bad={}", revision(bad)?));
            }
            if let Some(build) = &arguments.build {
                line.word(format!(
                    "--build={}",
                    shell_line(build, workspace, directory)?
                ));
            }
        }
        Search::Set => {
            let items = arguments.items.as_deref().unwrap_or_default();
            // They are put together: none may be a path that is harmless alone.
            if let Some(path) = items
                .iter()
                .find(|item| item.contains('/') || item.contains(".."))
            {
                return Err(Refusal(format!(
                    "an element of a set cannot be a path: {path}"
                )));
            }
            line.word(format!("--items={}", items.join(",")));
        }
        Search::Source => {}
    }
    line.options(arguments, Some(60.0))?;
    line.word("--");
    if search == Search::Source {
        let file = needed(&arguments.file, "file")?;
        let file = workspace.path(&file, directory)?;
        line.word(file.to_string_lossy());
    }
    line.words.extend_from_slice(words);
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::parse;
    use crate::tools::Tool;
    use serde_json::{Value, json};

    fn call(name: &str, given: Value) -> Result<Vec<String>, Refusal> {
        let directory = tempfile::tempdir().expect("a directory");
        let workspace = Workspace::open(directory.path(), &["make".to_owned()])?;
        let tool = Tool::find(name).expect("a tool");
        let Value::Object(given) = given else {
            return Err(Refusal("not an object".to_owned()));
        };
        let arguments = parse(given, tool.required, tool.optional)?;
        Ok(tool.call(&arguments, &workspace)?.line.words)
    }

    #[test]
    fn calls_become_command_lines() {
        let line = |name, given| call(name, given).map(|words| words.join(" "));
        assert_eq!(
            line("investigate", json!({"command": ["./x", "-n", "3"]})),
            Ok("investigate --json --budget=10s --no-proof --output=null -- ./x -n 3".to_owned())
        );
        assert_eq!(
            line("prove", json!({"finding": 2, "budget_seconds": 40})),
            Ok("prove --json --budget=40s -i {case} 2".to_owned())
        );
        assert_eq!(
            line("fix", json!({"build": ["make"], "check": ["make", "test"]})),
            Ok("fix --json --build=make --check=make test -i {case} 1".to_owned())
        );
        assert_eq!(
            line("annotate", json!({"function": "--raw"})),
            Ok("annotate --json -i {case} -- --raw".to_owned())
        );
        assert_eq!(
            line("bench", json!({"commands": [
                {"name": "a", "command": ["./x", "a b; c"]}, {"name": "b", "command": ["./y"]}]})),
            Ok("bench --json --budget=20s --check-output -N --command-name=a --command-name=b -- ./x 'a b; c' ./y"
                .to_owned())
        );
        assert_eq!(
            line(
                "try",
                json!({"command": ["./x"], "build": ["make"],
                "patch": "--- a/x.c\n+++ b/x.c\n@@ -1 +1 @@\n-a\n+b\n"})
            ),
            Ok("try --json --no-diff --build=make --patch= -- ./x".to_owned())
        );
        assert_eq!(
            line(
                "bisect",
                json!({"search": "range", "parameter": "N", "values": ["1..64"], "command": ["./x", "{N}"]})
            ),
            Ok("bisect range --json --param=N=1..64 --budget=60s -- ./x {N}".to_owned())
        );
    }

    #[test]
    fn revision_is_not_an_option_of_git() {
        assert_eq!(revision("v1.2~3"), Ok("v1.2~3"));
        for bad in ["--upload-pack=id", "-n", "", "a b", "a;b"] {
            assert!(revision(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn nothing_that_a_shell_or_an_option_would_make_of_it_is_started() {
        for (name, given) in [
            ("investigate", json!({"command": ["./x;id"]})),
            ("investigate", json!({"command": ["$(id)"]})),
            ("investigate", json!({"command": []})),
            ("bench", json!({"commands": []})),
            (
                "bench",
                json!({"commands": [{"name": "a", "command": ["./suite.toml"]}]}),
            ),
            ("wait", json!({"command": ["--pid=1"]})),
            (
                "try",
                json!({"command": ["./x"], "build": ["sh", "-c", "id"]}),
            ),
            (
                "try",
                json!({"command": ["./x"], "build": ["make"], "clean": ["rm", "-rf", "/"]}),
            ),
            (
                "try",
                json!({"command": ["./x"], "build": ["make"], "patch": "--- a/../x\n+++ b/../x\n"}),
            ),
            (
                "bisect",
                json!({"search": "range", "parameter": "N", "values": ["../../bin/id"], "command": ["./{N}"]}),
            ),
            (
                "bisect",
                json!({"search": "set", "items": ["..", "a"], "command": ["./x", "{ITEMS}"]}),
            ),
            (
                "bisect",
                json!({"search": "source", "file": "/etc/passwd", "command": ["./x", "{FILE}"]}),
            ),
            (
                "bisect",
                json!({"search": "git", "good": "HEAD~1", "command": ["./x"]}),
            ),
            ("explain", json!({"case": "../x"})),
            ("prove", json!({"case": "../x"})),
            ("prove", json!({"finding": 0})),
            ("fix", json!({"build": ["sh", "-c", "id"]})),
            (
                "fix",
                json!({"build": ["make"], "check": ["cat", "/etc/passwd"]}),
            ),
            ("annotate", json!({"case": "/etc/passwd", "function": "f"})),
            (
                "investigate",
                json!({"command": ["./x"], "directory": ".."}),
            ),
            (
                "investigate",
                json!({"command": ["./x"], "budget_seconds": 1e9}),
            ),
            (
                "bench",
                json!({"commands": [{"name": "a", "command": ["./x"]}], "metric": "wall --prepare=id"}),
            ),
        ] {
            assert!(call(name, given.clone()).is_err(), "{name} {given}");
        }
    }
}
