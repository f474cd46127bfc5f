//! Reasons for excluding a variant, as text. Pure.

use genba_model::ExitKind;
use genba_run::Finished;

/// Lines of error output in a message.
const QUOTED_LINES: usize = 3;
/// Characters of each quoted line.
const QUOTED_LINE_CHARACTERS: usize = 200;

/// The reason if the run failed; failures other than time-outs can be ignored.
pub(crate) fn of_run(finished: &Finished, ignore_failure: bool) -> Option<String> {
    let what = match finished.record.exit {
        ExitKind::Code(0) | ExitKind::Cancelled => return None,
        ExitKind::TimedOut => format!(
            "exceeded its time-out (ended after {:.3} s)",
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

/// The reason if a set-up, prepare, conclude or clean-up command failed.
pub(crate) fn of_step(step: &str, command: &str, finished: &Finished) -> Option<String> {
    let reason = of_run(finished, false)?;
    Some(format!("its {step} command ({command}) {reason}"))
}

/// The first lines of the error output after a colon, or nothing.
fn quote(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<String> = text
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .take(QUOTED_LINES)
        .map(|line| line.chars().take(QUOTED_LINE_CHARACTERS).collect())
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
    fn exit_codes_time_outs_and_signals_give_reasons() {
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
