//! Why a variant is taken out, in words. Pure.

use genba_model::ExitKind;
use genba_run::Finished;

/// Lines and characters of the error output that a message quotes.
const LINES: usize = 3;
const LONGEST_LINE: usize = 200;

/// The reason if the run failed and that matters; a time-out always does.
pub(crate) fn of_run(finished: &Finished, ignore_failure: bool) -> Option<String> {
    let what = match finished.record.exit {
        ExitKind::Code(0) | ExitKind::Cancelled => return None,
        ExitKind::TimedOut => format!(
            "ran longer than its time-out ({:.3} s when it was ended)",
            finished.record.wall_seconds
        ),
        _ if ignore_failure => return None,
        ExitKind::Code(code) => format!("exited with code {code}"),
        ExitKind::Signal { signal, core } => format!(
            "was ended by signal {signal}{}",
            if core { " (core dumped)" } else { "" }
        ),
    };
    Some(format!("{what}{}", quote(&finished.stderr.captured)))
}

/// The reason if a command round the runs failed.
pub(crate) fn of_step(step: &str, command: &str, finished: &Finished) -> Option<String> {
    let reason = of_run(finished, false)?;
    Some(format!("its {step} command ({command}) {reason}"))
}

/// The beginning of what it said, after a colon.
fn quote(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<String> = text
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .take(LINES)
        .map(|line| line.chars().take(LONGEST_LINE).collect())
        .collect();
    if lines.is_empty() {
        String::new()
    } else {
        format!(": {}", lines.join(" | "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons() {
        let mut finished = Finished::mock(1.0);
        assert_eq!(of_run(&finished, false), None);
        finished.record.exit = ExitKind::Code(3);
        finished.stderr.captured = b"\nfirst\nsecond\nthird\nfourth\n".to_vec();
        assert_eq!(
            of_run(&finished, false).unwrap(),
            "exited with code 3: first | second | third"
        );
        assert_eq!(of_run(&finished, true), None);
        finished.record.exit = ExitKind::TimedOut;
        assert!(of_run(&finished, true).unwrap().contains("time-out"));
        finished.record.exit = ExitKind::Signal {
            signal: 11,
            core: true,
        };
        assert!(
            of_run(&finished, false)
                .unwrap()
                .starts_with("was ended by signal 11 (core")
        );
    }
}
