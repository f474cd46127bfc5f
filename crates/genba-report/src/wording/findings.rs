//! Sentences of a finding: its gain, its place, and what follows the last one.

use genba_model::{
    Annotation, Estimate, EvidenceSource, Finding, FindingSite, Investigation, NoiseFloor,
};
use genba_units::format;

use crate::safe_text;
use crate::wording::{metrics, profile};

/// Speedups up to this are not a gain: the finding is a note.
const MAX_SPEEDUP_OF_NOTE: f64 = 1.0005;

/// Returns the source of a piece of evidence as a word.
pub(crate) fn kind(source: EvidenceSource) -> &'static str {
    match source {
        EvidenceSource::Measured => "measured",
        EvidenceSource::Counted => "counted",
        EvidenceSource::Observed => "observed",
        EvidenceSource::Simulated => "simulated",
        EvidenceSource::Model => "model",
    }
}

/// Returns whether a finding predicts a gain; otherwise it is a note.
pub(crate) fn gains(finding: &Finding) -> bool {
    finding.predicted_speedup.high > MAX_SPEEDUP_OF_NOTE
}

/// From this speedup on only its lower bound is shown: the residual time is too small to be known.
const MIN_SPEEDUP_SHOWN_AS_BOUND: f64 = 20.0;

/// Returns a predicted speedup: `1.34× faster (1.28–1.41)`, `more than 30× faster`.
pub(crate) fn speedup(gain: &Estimate) -> String {
    if let Some(least) = more_than(gain) {
        return format!("more than {}× faster", ratio(least));
    }
    format!(
        "{}× faster ({}–{})",
        ratio(gain.value),
        ratio(gain.low),
        ratio(gain.high)
    )
}

/// Returns the lower bound of a very large speedup, to one digit.
pub(crate) fn more_than(gain: &Estimate) -> Option<f64> {
    let least = gain.low.max(1.0);
    let digit = 10f64.powf(least.log10().floor());
    (gain.value >= MIN_SPEEDUP_SHOWN_AS_BOUND && least.is_finite())
        .then(|| (least / digit).floor() * digit)
}

/// Returns a speedup without its unit: `1.34`.
pub(crate) fn ratio(value: f64) -> String {
    match value {
        v if !v.is_finite() => "?".to_owned(),
        v if v >= 9.95 => format!("{v:.0}"),
        v => format!("{v:.2}"),
    }
}

/// Returns the time saved: `estimated at 25 % of the time, probably 22 % to 29 %`.
pub(crate) fn saved(gain: &Estimate) -> String {
    let share = |speedup: f64| {
        let share = (1.0 - 1.0 / speedup.max(1.0)).clamp(0.0, 1.0);
        // No more digits than a prediction supports.
        match share {
            // Some time always remains.
            share if share >= 0.0995 => format!("{:.0} %", (share * 100.0).min(99.0)),
            share => format::share(share),
        }
    };
    format!(
        "estimated at {} of the time, probably {} to {}",
        share(gain.value),
        share(gain.low),
        share(gain.high)
    )
}

/// Returns the place of a finding: `bignum.c:4569 in big2str`, or `big2str in libruby.so` without
/// source lines.
pub(crate) fn place(site: &FindingSite) -> String {
    let place = profile::file_line(site.file.as_deref(), site.line);
    match place.is_empty() {
        true if site.module.is_empty() => site.function.clone(),
        true => format!(
            "{} in {}",
            site.function,
            safe_text::file_name(&site.module)
        ),
        false => format!("{place} in {}", site.function),
    }
}

/// Returns what leads to the site: where the user's own code calls it; or what the site leads to.
pub(crate) fn caller(site: &FindingSite) -> Option<String> {
    if let Some(inside) = site.inside.as_deref() {
        return Some(format!("which leads to {}", place(inside)));
    }
    Some(format!(
        "called from {}",
        place(site.called_from.as_deref()?)
    ))
}

/// Returns the sentence after the findings: the minimum gain for a finding, and beside it the noise
/// floor of the runs.
pub(crate) fn no_more_findings(
    findings: &[Finding],
    min_gain: f64,
    noise_floor: &[NoiseFloor],
) -> String {
    let limit = format::share(min_gain);
    let mut text = match findings.iter().any(gains) {
        true => format!("The catalogue has no further cause that is worth more than {limit} here."),
        false => format!(
            "No cause of the catalogue fits here with a gain above {limit}. That says what the \
             catalogue knows, not that nothing can be gained."
        ),
    };
    let floors: Vec<String> = noise_floor
        .iter()
        .filter(|floor| floor.share.is_finite() && floor.share > 0.0)
        .map(|floor| {
            format!(
                "{} in {}",
                format::share(floor.share),
                metrics::phrase(floor.metric.name())
            )
        })
        .collect();
    if !floors.is_empty() {
        text.push_str(&format!(" (Noise of this run: {}.)", floors.join(", ")));
    }
    text
}

/// Returns the command to look closer with: at the function of the first finding, else with names for the code that takes
/// most time, else at the function with most time whose source is known. Functions of scripts have no instructions.
#[must_use]
pub fn next_command(all: &Investigation) -> Option<String> {
    let case = &all.case;
    if let Some(command) = command_that_names(all) {
        return Some(command);
    }
    let scripts = all.script.iter().flat_map(|script| &script.functions);
    let first = all.findings.first().map(|finding| &finding.site);
    let of_script = first
        .filter(|site| site.addresses.is_empty())
        .is_some_and(|site| {
            scripts
                .map(|one| (&one.function, Some(&one.file)))
                .any(|one| one == (&site.function, site.file.as_ref()))
        });
    match of_script {
        true => Some(format!("genba report -i {case} --by script")),
        // By its number: the name of an instance of a template is long, and not the one that was read.
        false if first.is_some_and(|site| site.inside.is_some()) => {
            Some(format!("genba annotate -i {case} 1"))
        }
        false => place_to_annotate(all).map(|name| format!("genba annotate -i {case} '{name}'")),
    }
}

/// Returns the investigation with which the code that a runtime generates has names; `None` where there are findings, or most
/// time is elsewhere.
fn command_that_names(all: &Investigation) -> Option<String> {
    let profile = all.profile.as_ref().filter(|_| all.findings.is_empty())?;
    let unnamed = profile::unnamed_generated_share(profile);
    let named = all.annotations.iter().map(|one| one.share.value);
    if unnamed <= named.fold(0.0, f64::max) {
        return None;
    }
    let words = profile::naming_command(&all.workload.command)?;
    let command = safe_text::command(&words);
    match all.attached.as_ref().map(|attached| attached.pids.len()) {
        None => Some(format!("genba investigate -- {command}")),
        // A process that runs cannot be given flags any more.
        Some(1) => Some(format!("{command} & genba investigate -p $!")),
        Some(_) => None,
    }
}

fn place_to_annotate(all: &Investigation) -> Option<&str> {
    let has_source = |a: &&Annotation| a.instructions.iter().any(|one| one.line.is_some());
    let first = all.findings.first().map(|finding| finding.site.code());
    let known = first.filter(|site| site.file.is_some());
    let of_finding = known.map(|site| site.function.as_str());
    of_finding.or_else(|| {
        let with_source = all.annotations.iter().find(has_source);
        let shown = with_source.or(all.annotations.first());
        shown.map(|a| a.function.as_str())
    })
}

#[cfg(test)]
mod tests {
    use genba_model::ModuleRow;

    use super::*;

    fn gain(low: f64, value: f64, high: f64) -> String {
        speedup(&Estimate { value, low, high })
    }

    #[test]
    fn runtime_whose_code_has_no_names_is_run_with_the_flags_that_name_it() {
        let mut all = crate::test_fixtures::investigation();
        all.findings.clear();
        all.workload.command = vec!["node".to_owned(), "fib it.js".to_owned()];
        let profile = all.profile.as_mut().expect("a profile");
        let named = all.annotations[0].share.value;
        let row = |module: &str, symbols: &str, share: f64| ModuleRow {
            module: module.to_owned(),
            build_id: None,
            self_share: Estimate::exact(share),
            symbols: symbols.to_owned(),
        };
        let none = "none: memory without a file";
        profile.modules = vec![
            row("/usr/bin/node", "debug", 0.0),
            row("[anonymous]", none, 1.0),
        ];
        assert_eq!(
            next_command(&all).as_deref(),
            Some("genba investigate -- node --perf-basic-prof 'fib it.js'")
        );
        all.attached = Some(genba_model::AttachedProcesses {
            pids: vec![4711],
            seconds: 3.0,
        });
        assert_eq!(
            next_command(&all).as_deref(),
            Some("node --perf-basic-prof 'fib it.js' & genba investigate -p $!")
        );
        all.attached = None;
        // The function that takes more is looked at first.
        let profile = all.profile.as_mut().expect("a profile");
        profile.modules[1].self_share = Estimate::exact(named / 2.0);
        assert!(next_command(&all).is_some_and(|command| command.contains("annotate")));
    }

    #[test]
    fn very_large_speedups_are_shown_as_a_lower_bound() {
        assert_eq!(gain(1.28, 1.34, 1.41), "1.34× faster (1.28–1.41)");
        assert_eq!(gain(11.0, 19.0, 40.0), "19× faster (11–40)");
        assert_eq!(gain(37.2, 100.0, 623.0), "more than 30× faster");
        assert_eq!(gain(2.7, 25.0, 60.0), "more than 2.00× faster");
    }
}
