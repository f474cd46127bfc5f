//! The runtime's own numbers: `genba bench --runtime` and `--per-request`.

use std::path::Path;
use std::process::Command;

use crate::support::run_genba;

fn runs(program: &str, arguments: &[&str]) -> bool {
    let out = Command::new(program).args(arguments).output();
    out.is_ok_and(|out| out.status.success())
}

fn document(directory: &Path, arguments: &[&str]) -> serde_json::Value {
    let (code, out, err) = run_genba(directory, arguments);
    assert_eq!(code, 0, "{err}");
    serde_json::from_str(&out).expect("JSON")
}

fn median(document: &serde_json::Value, metric: &str) -> f64 {
    let of = &document["variants"][0]["metrics"][metric];
    let value = of["median"]["value"].as_f64();
    value.unwrap_or_else(|| panic!("no {metric} in {document}"))
}

#[test]
fn ruby_reports_its_allocations() {
    if !runs("ruby", &["-e", "exit RUBY_VERSION >= '3.0'"]) {
        genba_testing::skip("ruby_reports_its_allocations", "ruby", "no ruby");
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let program = "abort unless ENV['RUBYOPT'] == '-W0'; 100_000.times { Object.new }";
    std::fs::write(directory.path().join("a.rb"), program).expect("the program");
    let line = [
        "bench",
        "--runtime",
        "ruby",
        "-N",
        "-r",
        "2",
        "--no-case",
        "--json",
    ];
    let more = [
        "--env",
        "RUBYOPT=-W0",
        "--per-iteration",
        "100000",
        "ruby a.rb",
    ];
    let found = document(directory.path(), &[&line[..], &more[..]].concat());
    let allocated = median(&found, "allocated_objects");
    // What loading the program takes, beside the objects themselves.
    assert!((100_000.0..105_000.0).contains(&allocated), "{allocated}");
    let each = median(&found, "allocated_objects_per_iteration");
    assert!((each - allocated / 1e5).abs() < 1e-6, "{each}");
    let (minor, major) = (median(&found, "gc_minor"), median(&found, "gc_major"));
    assert_eq!(median(&found, "gc_runs"), minor + major);
    assert!(median(&found, "gc_time") >= 0.0 && median(&found, "heap_pages") > 0.0);
}

#[test]
fn python_reports_its_collections_and_runs_the_users_sitecustomize() {
    if !runs(
        "python3",
        &["-c", "import sys; assert sys.version_info >= (3, 8)"],
    ) {
        genba_testing::skip(
            "python_reports_its_collections_and_runs_the_users_sitecustomize",
            "python3",
            "no python3",
        );
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let own = directory.path().join("own");
    std::fs::create_dir(&own).expect("a directory");
    let user = "import builtins\nbuiltins.of_the_user = 7\n";
    std::fs::write(own.join("sitecustomize.py"), user).expect("the user's");
    let program = "
import gc, os, sys
assert of_the_user == 7
assert os.environ['PYTHONPATH'] == sys.argv[1]
assert not any('genba' in p for p in sys.path)
gc.disable()
for _ in range(5): gc.collect()
for _ in range(3): gc.collect(0)
";
    std::fs::write(directory.path().join("a.py"), program).expect("the program");
    let own = own.to_str().expect("a plain path");
    let environment = format!("PYTHONPATH={own}");
    let command = format!("python3 a.py {own}");
    let line = [
        "bench",
        "--runtime",
        "auto",
        "-N",
        "-r",
        "2",
        "--no-case",
        "--json",
    ];
    let more = ["--env", &environment, &command];
    let found = document(directory.path(), &[&line[..], &more[..]].concat());
    // The interpreter itself may collect before it is told not to, and at its end.
    assert!((5.0..9.0).contains(&median(&found, "gc_major")), "{found}");
    assert!((3.0..9.0).contains(&median(&found, "gc_minor")), "{found}");
}

#[test]
fn rack_requests_are_measured() {
    if !runs("ruby", &["-e", "require 'rack'"]) {
        genba_testing::skip(
            "rack_requests_are_measured",
            "ruby-rack",
            "no ruby with rack",
        );
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let app =
        "run ->(env) { [env['PATH_INFO'] == '/no' ? 500 : 200, {}, Array.new(100) { 'x' * 50 }] }";
    std::fs::write(directory.path().join("config.ru"), app).expect("the application");
    let line = [
        "bench",
        "--per-request",
        "config.ru",
        "--requests",
        "50",
        "-N",
        "-r",
        "2",
    ];
    let more = ["--no-case", "--json", "ruby"];
    let found = document(directory.path(), &[&line[..], &more[..]].concat());
    let allocated = median(&found, "allocated_objects_per_request");
    assert!((100.0..400.0).contains(&allocated), "{allocated}");
    assert!(median(&found, "per_request") > 0.0);
    let wrong = ["--request-paths", "/,/no", "--no-case", "ruby"];
    let (code, _, err) = run_genba(directory.path(), &[&line[..], &wrong[..]].concat());
    assert_eq!(code, 3, "{err}");
}

#[test]
fn runtime_metric_can_be_the_primary_metric() {
    if !runs("ruby", &["-e", "exit RUBY_VERSION >= '3.0'"]) {
        genba_testing::skip(
            "runtime_metric_can_be_the_primary_metric",
            "ruby",
            "no ruby",
        );
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let line = [
        "bench",
        "--runtime",
        "ruby",
        "--metric",
        "allocated_objects",
        "-N",
        "-r",
        "6",
        "--no-case",
        "--json",
        "ruby -e '50_000.times { Object.new }'",
        "ruby -e '80_000.times { Object.new }'",
    ];
    let found = document(directory.path(), &line);
    let comparisons = found["comparisons"].as_array().expect("comparisons");
    let decided = comparisons
        .iter()
        .find(|one| one["metric"] == "allocated_objects")
        .expect("a comparison");
    let ratio = decided["ratio"]["value"].as_f64().expect("a ratio");
    assert!((1.4..1.7).contains(&ratio), "{decided}");
    assert_eq!(decided["verdict"], "slower", "{decided}");
}

#[test]
fn runtime_metric_without_its_option_is_refused_and_the_option_named() {
    let directory = tempfile::tempdir().expect("a directory");
    for (metric, more, wanted) in [
        ("gc_time", &[][..], "--runtime ruby|python|auto"),
        (
            "per_request_cpu",
            &["--runtime", "ruby"],
            "--per-request APP",
        ),
        (
            "gc_time_per_iteration",
            &["--runtime", "ruby"],
            "--per-iteration N",
        ),
    ] {
        let line = [&["bench", "--no-case", "--metric", metric], more, &["true"]].concat();
        let (code, _, err) = run_genba(directory.path(), &line);
        assert_eq!(code, 2, "{err}");
        assert!(err.contains(wanted), "{err}");
    }
}
