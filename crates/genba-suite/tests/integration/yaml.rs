//! benchmark_driver's YAML: its shapes, and what is refused.

use std::path::Path;

use genba_suite::snippet::Snippet;
use genba_suite::{
    Executable, MetricSource, Places, Suite, SuiteError, Work, parse_executables, parse_yaml,
};
use proptest::prelude::*;

fn parse_for(text: &str, executables: &[Executable]) -> Result<Suite, SuiteError> {
    let places = Places {
        file: "bench.yml",
        directory: Path::new("/suites"),
        temp: Path::new("/tmp/t"),
    };
    parse_yaml(text, &places, executables)
}

fn parse(text: &str) -> Suite {
    parse_for(text, &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn complaint(text: &str) -> String {
    match parse_for(text, &[]) {
        Err(error) => error.to_string(),
        Ok(suite) => panic!("not refused: {suite:?}"),
    }
}

fn snippet(suite: &Suite, benchmark: usize, variant: usize) -> &Snippet {
    match &suite.benchmarks[benchmark].variants[variant].work {
        Work::Snippet(snippet) => snippet,
        other => panic!("{other:?}"),
    }
}

fn names(suite: &Suite) -> Vec<Vec<&str>> {
    let names = suite.benchmarks.iter().map(|benchmark| {
        let variants = benchmark.variants.iter().map(|v| v.name.as_str());
        std::iter::once(benchmark.name.as_str())
            .chain(variants)
            .collect()
    });
    names.collect()
}

#[test]
fn one_script() {
    let suite = parse("prelude: |\n  a = 1\nbenchmark: a +\n  1\nloop_count: 7\n");
    assert_eq!(names(&suite), [["ruby", "a + 1"]]);
    let snippet = snippet(&suite, 0, 0);
    assert_eq!(snippet.preludes[0].text, "a = 1\n");
    assert_eq!(snippet.loop_count, Some(7));
    assert_eq!(snippet.interpreter, ["ruby"]);
}

#[test]
fn a_mapping_keeps_its_order() {
    let suite = parse("benchmark:\n  z: 1\n  join: '[a, b].join'\n  a: nil\n  1: true\n");
    assert_eq!(names(&suite), [["ruby", "z", "join", "a", "1"]]);
    assert_eq!(snippet(&suite, 0, 0).script.text, "1");
    assert_eq!(snippet(&suite, 0, 3).script.text, "true");
}

#[test]
fn a_list_of_scripts_and_jobs() {
    let text = "
prelude: common
teardown: done
loop_count: 5
required_ruby_version: 2.5
benchmark:
  - first
  - 2.0
  - name: second
    prelude: own
    script: |
      a
      b
    teardown: own done
    loop_count: 9
    required_ruby_version: '3.1'
";
    let suite = parse(text);
    assert_eq!(names(&suite), [["ruby", "first", "2.0", "second"]]);
    let second = snippet(&suite, 0, 2);
    let texts: Vec<_> = second
        .preludes
        .iter()
        .map(|part| part.text.as_str())
        .collect();
    assert_eq!(texts, ["common", "own"]);
    assert_eq!(second.script.text, "a\nb\n");
    assert_eq!(second.script.label, "script of \"second\"");
    let texts: Vec<_> = second
        .teardowns
        .iter()
        .map(|part| part.text.as_str())
        .collect();
    assert_eq!(texts, ["done", "own done"]);
    assert_eq!(second.loop_count, Some(9));
    assert_eq!(second.required_version.as_deref(), Some("3.1"));
    let first = snippet(&suite, 0, 0);
    assert_eq!(first.loop_count, Some(5));
    assert_eq!(first.required_version.as_deref(), Some("2.5"));
}

#[test]
fn several_executables_compare_within_each_benchmark() {
    let executables = parse_executables("ruby3.1;yjit::ruby3.1 --yjit").expect("two");
    let suite = parse_for("benchmark: {a: x, b: y}", &executables).expect("a suite");
    assert_eq!(
        names(&suite),
        [["a", "ruby3.1", "yjit"], ["b", "ruby3.1", "yjit"]]
    );
    assert_eq!(snippet(&suite, 1, 1).interpreter, ["ruby3.1", "--yjit"]);
    assert_eq!(suite.benchmarks[0].metric.as_deref(), Some("per_iteration"));
}

#[test]
fn contexts_are_columns_too() {
    let text = "
contexts:
  - name: old
    gems: {haml: 4.10}
    require: false
    prelude: a = 1
  - gems:
      haml: 5.0.4
      erubi: '1.0'
prelude: common
benchmark: x
";
    let suite = parse(text);
    assert_eq!(names(&suite), [["x", "old", "haml 5.0.4, erubi 1.0"]]);
    let old = snippet(&suite, 0, 0);
    assert_eq!(old.preludes[0].text, "gem 'haml', '4.10'\na = 1");
    assert_eq!(old.preludes[1].text, "common");
    let new = snippet(&suite, 0, 1);
    assert!(
        new.preludes[0]
            .text
            .starts_with("gem 'haml', '5.0.4'\nrequire 'haml'\n")
    );
    let error = complaint("contexts: [{gems: {\"x'; exit; '\": 1}}]\nbenchmark: x");
    assert!(error.contains("is not a gem"), "{error}");
}

#[test]
fn commands_with_a_number_in_their_output() {
    let text = "
type: command_stdout
name: optcarrot
command: -v -Ilib bin/optcarrot --benchmark 'a b'
working_directory: sub
metrics_type: {unit: fps, name: frames, larger_better: true, worse_word: slower}
metrics_regex: 'fps: (\\d+\\.\\d+)'
stdout_to_metrics: |
  match = stdout.match(/^fps: (?<fps>\\d+\\.\\d+)$/)
  Float(match[:fps])
";
    let executables = parse_executables("/opt/r/bin/ruby").expect("one");
    let suite = parse_for(text, &executables).expect("a suite");
    let variant = &suite.benchmarks[0].variants[0];
    let Work::Direct(words) = &variant.work else {
        panic!("a command");
    };
    assert_eq!(words[0], "/opt/r/bin/ruby");
    assert_eq!(words.last().map(String::as_str), Some("a b"));
    assert!(variant.environment["PATH"].starts_with("/opt/r/bin:"));
    assert_eq!(variant.directory.as_deref(), Some(Path::new("/suites/sub")));
    let metric = &variant.metrics[0];
    assert_eq!(metric.name, "frames");
    assert_eq!(metric.direction, genba_model::Direction::MoreIsBetter);
    assert_eq!(suite.notes, ["stdout_to_metrics is not evaluated"]);
    assert_eq!(suite.benchmarks[0].metric.as_deref(), Some("frames"));

    let without = text.replace("metrics_regex", "# ");
    let error = complaint(&without);
    assert!(error.contains("stdout_to_metrics is Ruby code"), "{error}");
    assert!(error.contains("metrics_regex: '^fps: (?<fps>"), "{error}");
}

#[test]
fn ruby_stdout_with_several_metrics() {
    let text = "
type: ruby_stdout
name: app
command: app.rb
metrics:
  Frames per second: {unit: fps, regex: 'fps: (\\S+)'}
  checksum: {unit: '', json: /checksum, larger_better: false}
";
    let suite = parse(text);
    let metrics = &suite.benchmarks[0].variants[0].metrics;
    assert_eq!(metrics[0].name, "Frames_per_second");
    assert_eq!(metrics[1].source, MetricSource::Json("/checksum".into()));
    let code = text.replace("regex: 'fps: (\\S+)'", "from_stdout: 'stdout.to_f'");
    let error = complaint(&code);
    assert!(
        error.contains("from_stdout of \"Frames per second\""),
        "{error}"
    );
    let neither = text.replace(", json: /checksum", "");
    assert!(complaint(&neither).contains("regex or json is missing"));
}

#[test]
fn unknown_keys_are_named() {
    let error = complaint("benchmark: x\nprelud: y\n");
    assert!(
        error.contains("prelud") && error.contains("line 2"),
        "{error}"
    );
    let error = complaint("benchmark:\n  - script: x\n    nane: y\n");
    assert!(error.contains("nane"), "{error}");
    let error = complaint("type: custom\n");
    assert!(error.contains("\"custom\""), "{error}");
    let error = complaint("prelude: x\n");
    assert!(error.contains("benchmark"), "{error}");
    for wrong in [
        "benchmark: x\nbenchmark: y\n",
        "benchmark: []\n",
        "benchmark: [a, a]\n",
        "benchmark: {a: }\n",
        "benchmark: [[a]]\n",
        "benchmark: x\nloop_count: 0\n",
        "benchmark: x\nloop_count: -1\n",
        "benchmark: x\n---\nbenchmark: y\n",
        "",
        "- x",
    ] {
        assert!(parse_for(wrong, &[]).is_err(), "{wrong:?}");
    }
}

#[test]
fn aliases_work_and_bombs_do_not() {
    let suite =
        parse("prelude: &p |\n  a = 1\nbenchmark:\n  - {name: x, script: y, prelude: *p}\n");
    assert_eq!(snippet(&suite, 0, 0).preludes[1].text, "a = 1\n");
    let mut bomb = String::from("a: &a [x,x,x,x,x,x,x,x,x]\n");
    for (one, next) in ["a", "b", "c", "d", "e", "f", "g", "h"]
        .windows(2)
        .map(|w| (w[0], w[1]))
    {
        let aliases = vec![format!("*{one}"); 9].join(",");
        bomb.push_str(&format!("{next}: &{next} [{aliases}]\n"));
    }
    bomb.push_str("benchmark: *h\n");
    assert!(parse_for(&bomb, &[]).is_err());
    // The same where it is not ignored: a list of scripts.
    let script = "x".repeat(50_000);
    let many = format!(
        "prelude: &p '{script}'\nbenchmark: [{}]\n",
        vec!["*p"; 900].join(",")
    );
    assert!(parse_for(&many, &[]).is_err());
    let deep = format!("benchmark: {}x{}", "[".repeat(10_000), "]".repeat(10_000));
    assert!(parse_for(&deep, &[]).is_err());
}

#[test]
fn text_is_bounded() {
    let jobs: String = (0..9000).map(|i| format!("  - a{i}\n")).collect();
    let text = format!("prelude: '{}'\nbenchmark:\n{jobs}", "x".repeat(100_000));
    let error = parse_for(&text, &[]).expect_err("too much");
    assert!(matches!(error, SuiteError::TooMuchText { .. }), "{error}");
}

#[test]
fn no_control_character_reaches_the_terminal() {
    for text in [
        "benchmark: [\x1b[31m",
        "\"a\\e[31m\": 1",
        "benchmark: {\"a\\e[31m\": 1}",
    ] {
        let error = complaint(text);
        assert!(!error.contains('\x1b'), "{error:?}");
    }
}

const GOOD: &str = "
type: ruby
prelude: &p |
  a = 1
contexts:
  - name: old
    gems: {haml: 4.0}
benchmark:
  - name: second
    prelude: *p
    script: \"a\\n\"
loop_count: 3
";

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "(\\PC|\n){0,300}") {
        let _ = parse_for(&text, &[]);
    }

    #[test]
    fn damaged_files_are_read_or_refused(at in 0..GOOD.len(), with in "[\"'{}\\[\\]:|>&*!\n#a-z0-9, -]{0,4}", cut in 0usize..12) {
        let end = (at + cut).min(GOOD.len());
        let text = format!("{}{with}{}", &GOOD[..at], &GOOD[end..]);
        if let Err(error) = parse_for(&text, &[]) {
            prop_assert!(error.to_string().contains("bench.yml"));
        }
    }
}
