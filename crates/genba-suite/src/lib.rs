//! Suites of benchmarks from files: genba's TOML and benchmark_driver's YAML.
//!
//! **Scope.** [`Session`] reads a file, runs its build commands, makes its snippets ready, and
//! hands out one [`genba_experiment::Plan`] a comparison. [`parse_toml`] and [`parse_yaml`] do
//! the reading alone, without touching anything: files from elsewhere are hostile, and both
//! answer anything at all with a suite or an error, in bounded memory. [`snippet`] makes the
//! scripts that time a piece of Ruby or Python inside one interpreter process.
//!
//! **Not here.** Running and judging a plan (genba-experiment), command line arguments.
//!
//! # genba's TOML
//! Systems × operations × parameters. Each operation is one comparison of all systems, for each
//! combination of parameters. The first system is the baseline. Unknown keys are errors.
//!
//! ```toml
//! [suite]
//! name = "stores"              # required
//! directory = "work"           # for all commands; relative to the file; its own by default
//! compare = "systems"          # or "operations": these against one another, once per system
//! shell = "none"               # or "bash --norc"; sh by default
//! budget = "60s"               # for one comparison
//! runs = 20                    # a fixed number of runs instead
//! warmup = 1                   # runs of each that do not count
//! timeout = "30s"              # for one run
//! metric = "wall"              # primary metric
//! delta = "1%"                 # equivalence margin: smaller differences are treated as equal
//! alpha = "5%"                 # significance level
//! check_output = false         # exclude variants whose output differs from the baseline
//! notes = ["All of it is in the page cache."]
//!
//! [parameters]                 # all combinations, 10 000 variants at the most
//! records = [1_000, 1_000_000]
//!
//! [[build]]                    # in order, once, before anything is measured
//! command = "make"
//! directory = "src"
//!
//! [[system]]
//! name = "hash"                # required, {system} in commands
//! variables = { program = "kv-hash" }
//! environment = { KIND = "{system}" }
//! interpreter = "ruby3.1 --yjit"   # for snippets
//!
//! [[system]]
//! name = "nothing"
//! variables = { program = "kv-nothing" }
//!
//! [[operation]]
//! name = "write"               # required, {operation} in commands
//! command = "./{program} {temp}/{system}.db {records}"   # this or a snippet
//! directory = "elsewhere"
//! environment = { MODE = "fast" }
//! stdin = "input.txt"
//! setup = "…"                  # before the first run
//! prepare = "rm -f {temp}/{system}.db"     # before every run, not measured
//! conclude = "…"               # after every run
//! cleanup = "…"                # after the last run
//! per_iteration = "{records}"  # iterations in a run: costs of one are shown too
//! subtract = "nothing"         # variant whose cost is subtracted (the empty loop)
//! metric = "rate"              # primary metric of this operation
//! metrics = [
//!   { name = "rate", regex = '(\d+) op/s', unit = "op/s", better = "more" },
//!   { name = "p99", json = "/latency/p99", unit = "seconds" },
//!   { name = "hits" },         # written to $GENBA_METRICS_FD as `hits 12 1`
//! ]
//! skip_for = []                # or only_for = ["hash"]
//!
//! [[operation]]
//! name = "literal"
//! snippet = { language = "ruby", script = 'x = "a"', prelude = "…", teardown = "…", loop_count = 1000, required_version = "3.0" }
//! ```
//!
//! In commands `{name}` is a parameter, a variable of the system, or one of `{system}`,
//! `{operation}`, `{directory}` (of the suite), `{temp}` (a directory that is deleted at the
//! end, below `$TMPDIR`). `{{` and `}}` are braces, `${NAME}` is the shell's. Snippets are
//! taken as they are.
//!
//! # benchmark_driver's YAML
//! `type: ruby` (the default) with `prelude`, `benchmark` (a script, a list, names with
//! scripts), `teardown`, `loop_count`, `required_ruby_version`, `contexts`; `command_stdout`;
//! `ruby_stdout`. Several executables come from the command line ([`parse_executables`]). Ruby
//! that benchmark_driver evaluates in its own process (`stdout_to_metrics`, `from_stdout`) is
//! not evaluated; [`SuiteError::RubyCode`] says what to write instead. Paths are relative to
//! the file.
mod command_template;
mod common_loop_count;
mod error;
mod executable;
mod field_checks;
mod interpreter_version;
mod load_suite;
mod metric_table;
pub mod snippet;
mod snippet_trial;
mod suite_model;
mod suite_plan;
mod suite_session;
mod toml_suite;
mod yaml;

pub use command_template::expand;
pub use error::SuiteError;
pub use executable::{Executable, parse_executables};
pub use load_suite::{FileKind, MAX_FILE_BYTES, load};
pub use metric_table::MetricTable;
pub use suite_model::{Benchmark, MetricSource, MetricSpec, Settings, Step, Suite, Variant, Work};
pub use suite_session::{DEFAULT_LOOP_SECONDS, Exclusion, Session};
pub use toml_suite::{Places, parse_toml};
pub use yaml::parse_yaml;

/// Most variants that a suite may come to, over all its comparisons.
pub const MAX_VARIANTS: usize = 10_000;
