//! genba's TOML: what it comes to, and what it says about mistakes.

use std::path::Path;

use genba_suite::{MetricSource, Places, Suite, SuiteError, Work, parse_toml};
use proptest::prelude::*;

fn parse(text: &str) -> Result<Suite, SuiteError> {
    let places = Places {
        file: "suite.toml",
        directory: Path::new("/suites/kv"),
        temp: Path::new("/tmp/t"),
    };
    parse_toml(text, &places)
}

fn complaint(text: &str) -> String {
    match parse(text) {
        Err(error) => error.to_string(),
        Ok(suite) => panic!("not refused: {suite:?}"),
    }
}

const SUITE: &str = r#"
[suite]
name = "stores"
directory = "bin/."
budget = "30s"
delta = "2%"

[parameters]
records = [10, 1_000]
fill = ["a"]

[[build]]
command = "make -C {directory}"

[[system]]
name = "hash"
variables = { program = "kv-hash", flags = 1 }
environment = { KIND = "{system}" }

[[system]]
name = "tree"
variables = { program = "kv-tree", flags = true }

[[operation]]
name = "write"
command = "./{program} {flags} {temp}/{system}.db {records}"
prepare = "rm -f {temp}/{system}.db"
per_iteration = "{records}"
metrics = [
  { name = "rate", regex = '(\d+) op/s', unit = "op/s", better = "more" },
  { name = "hits", unit = "1" },
]

[[operation]]
name = "iterate"
command = "./{program} iterate"
skip_for = ["hash"]
"#;

#[test]
fn systems_by_operations_by_parameters() {
    let suite = parse(SUITE).expect("a suite");
    let names: Vec<_> = suite.benchmarks.iter().map(|b| b.name.as_str()).collect();
    let expected = [
        "write records=10",
        "iterate records=10",
        "write records=1000",
        "iterate records=1000",
    ];
    assert_eq!(names, expected);
    let write = &suite.benchmarks[2];
    assert_eq!(write.parameters["records"], "1000");
    let hash = &write.variants[0];
    assert_eq!(hash.name, "hash");
    let line = "./kv-hash 1 /tmp/t/hash.db 1000".to_owned();
    assert_eq!(hash.work, Work::Line(line));
    assert_eq!(hash.prepare.as_deref(), Some("rm -f /tmp/t/hash.db"));
    assert_eq!(hash.directory.as_deref(), Some(Path::new("/suites/kv/bin")));
    assert_eq!(hash.environment["KIND"], "hash");
    assert_eq!(hash.iterations, Some(1000));
    assert_eq!(
        hash.metrics[0].source,
        MetricSource::Regex(r"(\d+) op/s".into())
    );
    assert_eq!(hash.metrics[1].source, MetricSource::Reported);
    let iterate = &suite.benchmarks[1];
    assert_eq!(iterate.variants.len(), 1, "skipped for hash");
    assert_eq!(suite.builds[0].command, "make -C /suites/kv/bin");
    assert_eq!(suite.settings.delta, Some(0.02));
}

#[test]
fn mistakes_are_named_with_their_line() {
    let unknown = complaint(&SUITE.replace("budget =", "budgit ="));
    assert!(
        unknown.contains("budgit") && unknown.contains("line 5"),
        "{unknown}"
    );
    let unknown = complaint(&SUITE.replace("skip_for", "skip"));
    assert!(
        unknown.contains("skip") && unknown.contains("line 37"),
        "{unknown}"
    );
    let variable = complaint(&SUITE.replace("./{program} iterate", "./{programme} iterate"));
    assert!(
        variable.starts_with("suite.toml:36: {programme} is not a variable"),
        "{variable}"
    );
    let system = complaint(&SUITE.replace("[\"hash\"]", "[\"hush\"]"));
    assert!(
        system.starts_with("suite.toml:37: there is no system \"hush\""),
        "{system}"
    );
    let share = complaint(&SUITE.replace("2%", "2"));
    assert!(share.starts_with("suite.toml:6: "), "{share}");
    let regex = complaint(&SUITE.replace("(\\d+)", "(\\d+"));
    assert!(
        regex.starts_with("suite.toml:30: the regular expression"),
        "{regex}"
    );
    let twice = complaint(&SUITE.replace("\"tree\"", "\"hash\""));
    assert!(twice.contains("twice"), "{twice}");
    let count = complaint(&SUITE.replace("\"{records}\"", "\"{system}\""));
    assert!(count.contains("per_iteration"), "{count}");
    let shadow = complaint(&SUITE.replace("flags = 1", "records = 1"));
    assert!(shadow.contains("has the name of a parameter"), "{shadow}");
}

#[test]
fn products_are_bounded() {
    let values = (0..200)
        .map(|i| i.to_string())
        .collect::<Vec<_>>()
        .join(",");
    let parameters = ["a", "b", "c", "d", "e", "f", "g", "h"]
        .map(|name| format!("{name} = [{values}]\n"))
        .concat();
    let text = SUITE.replace("fill = [\"a\"]", &parameters);
    let error = parse(&text).expect_err("too many");
    assert!(matches!(error, SuiteError::TooMany { .. }), "{error}");
}

#[test]
fn text_is_bounded() {
    let long = "y".repeat(100_000);
    let values = (0..9999)
        .map(|i| i.to_string())
        .collect::<Vec<_>>()
        .join(",");
    let head = "[suite]\nname = \"x\"\n[[operation]]\nname = \"o\"\n";
    let texts = [
        // A command that grows, a long value of a parameter, a long prelude.
        format!(
            "{head}command = \"{{v}}{{v}}{{v}}\"\n[[system]]\nname = \"a\"\nvariables = {{ v = \"{long}\" }}\n[parameters]\np = [{values}]\n"
        ),
        format!(
            "{head}command = \"x\"\n[[system]]\nname = \"a\"\n[parameters]\np = [{values}]\nq = [\"{long}\"]\n"
        ),
        format!(
            "{head}snippet = {{ language = \"ruby\", script = \"x\", prelude = \"{long}\" }}\n[[system]]\nname = \"a\"\n[parameters]\np = [{values}]\n"
        ),
    ];
    for text in texts {
        let error = parse(&text).expect_err("too much");
        assert!(matches!(error, SuiteError::TooMuchText { .. }), "{error}");
    }
}

#[test]
fn an_operation_does_one_thing() {
    let both = SUITE.replace(
        "command = \"./{program} iterate\"",
        "command = \"x\"\nsnippet = { language = \"ruby\", script = \"x\" }",
    );
    assert!(complaint(&both).contains("either a command or a snippet"));
    let none = SUITE.replace("command = \"./{program} iterate\"", "");
    assert!(complaint(&none).contains("either a command or a snippet"));
}

#[test]
fn snippets_keep_their_braces() {
    let text = r##"
[suite]
name = "ruby"
compare = "operations"
[[system]]
name = "ruby"
interpreter = "ruby3.1 --yjit"
[[operation]]
name = "interpolate"
snippet = { language = "ruby", script = '"#{a}"', prelude = "a = 1" }
subtract = "nothing"
[[operation]]
name = "nothing"
snippet = { language = "ruby", script = "" }
"##;
    let suite = parse(text).expect("a suite");
    let benchmark = &suite.benchmarks[0];
    assert_eq!(benchmark.name, "ruby");
    assert_eq!(benchmark.metric.as_deref(), Some("per_iteration"));
    assert_eq!(benchmark.subtract.as_deref(), Some("nothing"));
    let Work::Snippet(snippet) = &benchmark.variants[0].work else {
        panic!("a snippet");
    };
    assert_eq!(snippet.script.text, "\"#{a}\"");
    assert_eq!(snippet.interpreter, ["ruby3.1", "--yjit"]);
    let error = complaint(&text.replace("subtract = \"nothing\"", "subtract = \"none\""));
    assert!(error.starts_with("suite.toml:11: "), "{error}");
}

#[test]
fn no_control_character_reaches_the_terminal() {
    let error = complaint("[suite]\nname = \x1b[31m");
    assert!(!error.contains('\x1b'), "{error:?}");
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "(\\PC|\n){0,300}") {
        let _ = parse(&text);
    }

    // Damage to a good file reaches further than noise does.
    #[test]
    fn damaged_files_are_read_or_refused(at in 0..SUITE.len(), with in "[\"'{}\\[\\]=\n#a-z0-9,.]{0,3}", cut in 0usize..12) {
        let end = (at + cut).min(SUITE.len());
        let text = format!("{}{with}{}", &SUITE[..at], &SUITE[end..]);
        if let Err(error) = parse(&text) {
            prop_assert!(error.to_string().contains("suite.toml"));
        }
    }
}

/// The example in the crate's documentation is one that is read.
#[test]
fn the_documented_example_is_a_suite() {
    let source = include_str!("../../src/lib.rs");
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    let inside = |line: &str| !line.trim_start().starts_with("```");
    let example: Vec<_> = lines
        .skip_while(|line| line.trim() != "```toml")
        .skip(1)
        .take_while(|line| inside(line))
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
        .collect();
    let suite = parse(&example.join("\n")).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(suite.benchmarks.len(), 4);
    assert_eq!(suite.benchmarks[0].subtract.as_deref(), Some("nothing"));
}

/// The suite of key-value stores that comes with genba.
#[test]
fn the_key_value_stores_are_a_suite() {
    let suite = parse(include_str!(
        "../../../../examples/key-value-stores/suite.toml"
    ));
    let suite = suite.unwrap_or_else(|error| panic!("{error}"));
    let counts: Vec<_> = suite.benchmarks.iter().map(|b| b.variants.len()).collect();
    assert_eq!(counts, [9, 9]);
    assert_eq!(suite.benchmarks[0].variants[0].iterations, Some(1_000_000));
}
