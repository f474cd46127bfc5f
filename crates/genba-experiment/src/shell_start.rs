//! What the start of the shell is of the times of short commands, measured with an empty line.

use genba_model::{ComparisonReport, Metric};
use genba_run::{Cancel, CommandSpec, Launcher, Output};
use genba_units::format;

use crate::Plan;

/// Starts of the shell that are measured.
const STARTS: usize = 21;
/// The hazard that reports short commands run by a shell.
const HAZARD: &str = "shell";

/// Adds to the hazard of short commands how long the shell takes to start, and what the times are without it.
/// Starts that shell some times. Changes nothing where no command is short, or where the commands have
/// different shells.
pub fn add_shell_start(plan: &Plan, report: &mut ComparisonReport, cancel: &Cancel) {
    let is_wall = report.metric == Metric::Wall.name();
    let Some(hazard) = (report.hazards.iter_mut()).find(|hazard| is_wall && hazard.id == HAZARD)
    else {
        return;
    };
    let by_shell = |name: &str| {
        let mut variants = plan.variants.iter();
        variants.any(|one| one.name == name && one.spec.shell_line.is_some())
    };
    // Of variants that all start the same shell.
    let shells = plan.variants.iter().map(|one| shell_of(&one.spec));
    let mut shells: Vec<Option<CommandSpec>> = shells.collect();
    shells.dedup_by(|one, two| same_command(one.as_ref(), two.as_ref()));
    let [Some(shell)] = &shells[..] else {
        return;
    };
    let times: Vec<(&str, f64)> = (report.variants.iter())
        .filter(|variant| by_shell(&variant.name))
        .filter_map(|variant| {
            let metric = variant.metrics.get(Metric::Wall.name())?;
            Some((variant.name.as_str(), metric.median.value))
        })
        .collect();
    if let Some(start) = median_start(shell, cancel) {
        hazard.text.push_str(&sentence(start, &times));
    }
}

/// The shell of a command with an empty line to execute.
fn shell_of(spec: &CommandSpec) -> Option<CommandSpec> {
    spec.shell_line.as_ref()?;
    let mut shell = spec.clone();
    *shell.argv.last_mut()? = ":".into();
    (shell.stdout, shell.stderr) = (Output::Null, Output::Null);
    Some(shell)
}

fn same_command(one: Option<&CommandSpec>, two: Option<&CommandSpec>) -> bool {
    one.map(|spec| &spec.argv) == two.map(|spec| &spec.argv)
}

/// Median of the wall times of the starts of a shell, seconds.
fn median_start(shell: &CommandSpec, cancel: &Cancel) -> Option<f64> {
    let mut launcher = Launcher::new().ok()?;
    let mut times = Vec::with_capacity(STARTS);
    for _ in 0..STARTS {
        let done = launcher.run(shell, cancel).ok()?;
        if !done.record.exit.success() {
            return None;
        }
        times.push(done.record.wall_seconds);
    }
    times.sort_by(f64::total_cmp);
    times.get(STARTS / 2).copied()
}

/// What the medians are without the start of the shell; with two of them also their ratio.
fn sentence(start: f64, times: &[(&str, f64)]) -> String {
    let net = |time: f64| time - start;
    if times.iter().any(|(_, time)| net(*time) <= 0.05 * time) {
        return format!(
            "; the shell alone takes {}, as long as these commands",
            format::seconds(start)
        );
    }
    let each: Vec<String> = (times.iter())
        .map(|(name, time)| format!("{name} {}", format::seconds(net(*time))))
        .collect();
    let ratio = match times {
        [(_, one), (_, two)] => format!(", {:.2}×", net(*two) / net(*one)),
        _ => String::new(),
    };
    format!(
        "; the shell alone takes {}, without it: {}{ratio}",
        format::seconds(start),
        each.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_without_the_start_of_the_shell() {
        assert_eq!(
            sentence(0.001, &[("a", 0.002), ("b", 0.003)]),
            "; the shell alone takes 1.00 ms, without it: a 1.00 ms, b 2.00 ms, 2.00×"
        );
        assert_eq!(
            sentence(0.001, &[("a", 0.002)]),
            "; the shell alone takes 1.00 ms, without it: a 1.00 ms"
        );
        assert_eq!(
            sentence(0.001, &[("a", 0.00101)]),
            "; the shell alone takes 1.00 ms, as long as these commands"
        );
    }

    #[test]
    fn empty_line_is_run_by_the_shell_of_the_command() {
        let shell = shell_of(&CommandSpec::shell("wc -c")).expect("a shell");
        assert_eq!(
            shell.argv.last().map(|word| word.as_os_str()),
            Some(":".as_ref())
        );
        assert!(shell_of(&CommandSpec::direct(["wc", "-c"])).is_none());
        let cancel = Cancel::new().expect("a token");
        assert!(median_start(&shell, &cancel).is_some_and(|seconds| seconds > 0.0));
    }
}
