//! Suites of benchmarks from files: genba's TOML and benchmark_driver's YAML.
