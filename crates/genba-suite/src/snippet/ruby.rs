//! Runner of Ruby snippets.
//!
//! The code runs at the top level, in the scope of the prelude, as benchmark_driver has it:
//! local variables of the prelude are visible, and a magic comment that begins the prelude
//! (`# frozen_string_literal: true`) holds for everything. The script is there once and only
//! once: inline caches belong to a place in the code, so that a second copy would run cold.

use super::generated_script::{Builder, Generated};
use super::{Mode, Snippet, SnippetRunner, rounds};

/// Makes Ruby scripts.
#[derive(Clone, Copy, Debug)]
pub struct Ruby;

/// Defines what the loops need. Names of ours begin with `__genba_`.
const TOOLS: &str = r#"
__genba_clock = -> { ::Process.clock_gettime(::Process::CLOCK_MONOTONIC, :nanosecond) }
__genba_report = lambda do |lines|
  if (fd = ::ENV["GENBA_METRICS_FD"])
    io = ::IO.for_fd(::Kernel.Integer(fd), "w")
    io.autoclose = false
    io.write(lines)
    io.flush
  else
    ::STDERR.write(lines)
  end
end
"#;

/// One round: the empty loop, then the script's. Timestamps lie closest to the loops; the CPU
/// times are taken outside of them.
const ROUND_BEGIN: &str = "
  __genba_i = 0
  __genba_cpu0 = ::Process.times
  __genba_t0 = __genba_clock.call
  while __genba_i < __genba_n
    __genba_i += 1
  end
  __genba_t1 = __genba_clock.call
  __genba_cpu1 = ::Process.times
  __genba_i = 0
  __genba_t2 = __genba_clock.call
  while __genba_i < __genba_n
    __genba_i += 1
";
const ROUND_END: &str = "
  end
  __genba_t3 = __genba_clock.call
  __genba_cpu2 = ::Process.times
  if __genba_i != __genba_n
    ::Kernel.abort(\"genba: the script left the loop (a break?) after #{__genba_i} iterations\")
  end
";

const CALIBRATE_END: &str = "
  __genba_s = (__genba_t3 - __genba_t2) / 1e9
  break if __genba_s >= __genba_goal / 4 || __genba_n >= 1_000_000_000_000
  __genba_n = (__genba_n * (__genba_goal / 2 / [__genba_s, 1e-9].max).clamp(2, 100)).ceil
end
";

const CALIBRATE_REPORT: &str = r#"
__genba_empty = (__genba_t1 - __genba_t0) / 1e9 / __genba_n
__genba_net = (__genba_t3 - __genba_t2) / 1e9 / __genba_n - __genba_empty
__genba_n = [(__genba_n * __genba_goal / [__genba_s, 1e-9].max).round, 1].max
__genba_report.call("iterations #{[__genba_n, 1_000_000_000_000].min} count\n" \
  "per_iteration #{__genba_net} seconds\nempty_loop #{__genba_empty} seconds\n")
"#;

const MEASURE_END: &str = "
  if __genba_round >= __genba_first
    __genba_empty += __genba_t1 - __genba_t0
    __genba_net += (__genba_t3 - __genba_t2) - (__genba_t1 - __genba_t0)
    __genba_user += __genba_cpu2.utime - 2 * __genba_cpu1.utime + __genba_cpu0.utime
    __genba_system += __genba_cpu2.stime - 2 * __genba_cpu1.stime + __genba_cpu0.stime
  end
  __genba_round += 1
end
";

const MEASURE_REPORT: &str = r#"
__genba_lines = "per_iteration #{__genba_net / 1e9 / __genba_total} seconds\n" \
  "per_iteration_user #{__genba_user / __genba_total} seconds\n" \
  "per_iteration_system #{__genba_system / __genba_total} seconds\n" \
  "with_loop #{(__genba_net + __genba_empty) / 1e9 / __genba_total} seconds\n" \
  "empty_loop #{__genba_empty / 1e9 / __genba_total} seconds\n"
if __genba_net > 0
  __genba_lines += "iterations_per_second #{__genba_total * 1e9 / __genba_net} iterations/s\n"
end
__genba_report.call(__genba_lines)
"#;

impl SnippetRunner for Ruby {
    fn language(&self) -> &'static str {
        "Ruby"
    }

    fn default_interpreter(&self) -> &'static str {
        "ruby"
    }

    fn extension(&self) -> &'static str {
        "rb"
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &["-e", "print RUBY_VERSION"]
    }

    fn generate(&self, snippet: &Snippet, mode: Mode) -> Result<Generated, String> {
        let parts = snippet.preludes.iter().chain([&snippet.script]);
        for part in parts.chain(&snippet.teardowns) {
            if part.text.lines().any(|line| line == "__END__") {
                return Err(format!(
                    "{}: a line __END__ would cut the measurement off; leave it out",
                    part.label
                ));
            }
        }
        let mut script = Builder::default();
        for part in &snippet.preludes {
            script.part(part);
        }
        script.own(TOOLS);
        match mode {
            Mode::Calibrate { seconds } => {
                script.own(&format!(
                    "__genba_goal = {seconds:?}\n__genba_n = 1\nwhile true\n"
                ));
            }
            Mode::Measure {
                loop_count,
                warm_up,
            } => {
                let (first, counts) = rounds(loop_count, warm_up);
                let counts: Vec<_> = counts.iter().map(u64::to_string).collect();
                script.own(&format!(
                    "__genba_total = {loop_count}\n\
                     __genba_empty = __genba_net = 0\n\
                     __genba_user = __genba_system = 0.0\n\
                     __genba_round = 0\n\
                     __genba_first = {first}\n\
                     __genba_counts = [{}]\n\
                     while __genba_round < __genba_counts.size\n  \
                     __genba_n = __genba_counts[__genba_round]\n",
                    counts.join(", ")
                ));
            }
        }
        script.own(ROUND_BEGIN);
        script.part(&snippet.script);
        script.own(ROUND_END);
        script.own(match mode {
            Mode::Calibrate { .. } => CALIBRATE_END,
            Mode::Measure { .. } => MEASURE_END,
        });
        for part in &snippet.teardowns {
            script.part(part);
        }
        script.own(match mode {
            Mode::Calibrate { .. } => CALIBRATE_REPORT,
            Mode::Measure { .. } => MEASURE_REPORT,
        });
        Ok(script.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Language, Part};
    use super::*;

    fn snippet(script: &str) -> Snippet {
        Snippet {
            language: Language::Ruby,
            interpreter: vec!["ruby".into()],
            preludes: vec![Part::new("prelude", "# frozen_string_literal: true\nx = 1")],
            script: Part::new("script", script),
            teardowns: Vec::new(),
            loop_count: None,
            required_version: None,
        }
    }

    #[test]
    fn magic_comment_comes_first_and_script_occurs_once() {
        let mode = Mode::Measure {
            loop_count: 1000,
            warm_up: true,
        };
        let script = Ruby.generate(&snippet("x.frob"), mode).expect("a script");
        assert!(script.text.starts_with("# frozen_string_literal: true\n"));
        assert_eq!(script.text.matches("x.frob").count(), 1);
        assert!(script.text.contains("[250, 250, 250, 250, 250]"));
    }

    #[test]
    fn script_with_an_end_marker_is_refused() {
        let mode = Mode::Calibrate { seconds: 0.1 };
        let error = Ruby.generate(&snippet("x\n__END__\ny"), mode);
        assert!(error.expect_err("refused").contains("__END__"));
        assert!(Ruby.generate(&snippet("x = '__END__'"), mode).is_ok());
    }
}
