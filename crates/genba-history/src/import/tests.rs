//! What each program writes, shortened.

use super::*;

fn values(file: &str) -> Vec<(String, String, Vec<f64>)> {
    let imported = parse(file.as_bytes(), "named").unwrap();
    let benchmarks = imported.benchmarks.into_iter();
    benchmarks
        .map(|one| (one.name, one.metric, one.values))
        .collect()
}

#[test]
fn hyperfine_is_read() {
    let file = r#"{"results":[{"command":"sleep 0","mean":0.2,"stddev":0.1,"median":0.2,"user":0.1,
        "system":0.0,"min":0.1,"max":0.3,"times":[0.1,0.3],"exit_codes":[0,0],"parameters":{"n":"1"}}]}"#;
    let read = values(file);
    assert_eq!(read.len(), 2, "a system time of 0 is not a value");
    assert_eq!(read[0], ("sleep 0".into(), "wall".into(), vec![0.1, 0.3]));
    assert_eq!(
        parse(file.as_bytes(), "").unwrap().benchmarks[0].variant,
        "n=1"
    );
}

#[test]
fn google_benchmark_is_read_with_repetitions_and_without_aggregates() {
    let file = r#"{"context":{"date":"2026-01-01T00:00:00+00:00","host_name":"h","library_build_type":"release"},
        "benchmarks":[
        {"name":"BM_x/8","run_name":"BM_x/8","run_type":"iteration","repetitions":2,"real_time":2.0,"cpu_time":1.0,"time_unit":"us"},
        {"name":"BM_x/8","run_name":"BM_x/8","run_type":"iteration","repetitions":2,"real_time":4.0,"cpu_time":1.0,"time_unit":"us"},
        {"name":"BM_x/8_mean","run_name":"BM_x/8","run_type":"aggregate","aggregate_name":"mean","real_time":3.0,"cpu_time":1.0,"time_unit":"us"}]}"#;
    let read = values(file);
    assert_eq!(read.len(), 2);
    assert_eq!(read[0].1, "wall");
    assert!((read[0].2[1] - 4e-6).abs() < 1e-12 && read[0].2.len() == 2);
}

#[test]
fn google_benchmark_with_aggregates_only_is_its_median() {
    // As --benchmark_report_aggregates_only writes it.
    let file = r#"{"context":{"date":"2026-01-01T00:00:00+00:00","host_name":"h"},"benchmarks":[
        {"name":"BM_x_mean","run_name":"BM_x","run_type":"aggregate","aggregate_name":"mean","real_time":9.0,"time_unit":"ms"},
        {"name":"BM_x_median","run_name":"BM_x","run_type":"aggregate","aggregate_name":"median","real_time":3.0,"time_unit":"ms"},
        {"name":"BM_x_cv","run_name":"BM_x","run_type":"aggregate","aggregate_name":"cv","real_time":0.1,"time_unit":"ms"}]}"#;
    let read = values(file);
    assert_eq!((read.len(), read[0].0.as_str()), (1, "BM_x"));
    assert_eq!(read[0].2, [3e-3]);
}

#[test]
fn pytest_benchmark_is_read_with_its_commit() {
    let file = r#"{"machine_info":{"node":"h"},"commit_info":{"id":"abc","dirty":true,"branch":"main"},
        "benchmarks":[{"name":"t","fullname":"a.py::t","stats":{"median":0.5,"data":[0.4,0.6]}},
        {"name":"u","stats":{"median":0.25}}],"datetime":"2026-01-01T00:00:00+00:00"}"#;
    let imported = parse(file.as_bytes(), "").unwrap();
    assert_eq!(
        (imported.commit.as_deref(), imported.dirty),
        (Some("abc"), true)
    );
    assert_eq!(imported.benchmarks[0].name, "a.py::t");
    assert_eq!(imported.benchmarks[0].values, [0.4, 0.6]);
    assert_eq!(imported.benchmarks[1].values, [0.25]);
}

#[test]
fn criterion_is_read() {
    let file = r#"{"sampling_mode":"Linear","iters":[10.0,20.0],"times":[1000.0,4000.0]}"#;
    let read = values(file);
    assert_eq!(read[0].0, "named");
    assert!((read[0].2[1] - 200e-9).abs() < 1e-15);
    assert_eq!(
        criterion_benchmark_name(br#"{"group_id":"g","full_id":"g/f"}"#).unwrap(),
        "g/f"
    );
}

#[test]
fn benchmark_driver_is_read() {
    let file = "Warming up ----\n x 1.0k i/s\nCalculating -------------------------------------\n\
        \x20                    ruby-2.6.0  ruby-2.5.1 \n\
        \x20         array nil?      45.5M     39.0k i/s -     30.0M times in 0.66s 0.76s\n\
        Comparison:\n  ruby: 1 i/s\n";
    let imported = parse(file.as_bytes(), "").unwrap();
    let read: Vec<_> = (imported.benchmarks.iter())
        .map(|one| (one.name.as_str(), one.variant.as_str(), one.values[0]))
        .collect();
    assert_eq!(
        read,
        [
            ("array nil?", "ruby-2.6.0", 45.5e6),
            ("array nil?", "ruby-2.5.1", 39e3)
        ]
    );
    assert_eq!(imported.benchmarks[0].direction, Direction::MoreIsBetter);
}

#[test]
fn other_files_are_refused() {
    for file in [
        "",
        "{}",
        "[]",
        "text",
        "{\"results\":3}",
        "{\"results\":[]}",
        "{\"iters\":[1]}",
    ] {
        assert!(parse(file.as_bytes(), "").is_err(), "{file}");
    }
}
