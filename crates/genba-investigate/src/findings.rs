//! Findings of the document, worded, and the places with most time; both with lines of source.

use genba_code::SourceCache;
use genba_explain::{AnalysisInput, Limits, explain, script_lines, script_lists, time_places};
use genba_model::{Finding, FindingSite, Profile, ScriptProfile, SourceLine, TimePlace};

use genba_runtime::script::may_be_interpreter;

/// Returns the findings for a program, largest gain first, and the places with most time.
#[must_use]
pub fn findings(
    input: &AnalysisInput,
    limits: Limits,
    sources: &mut SourceCache,
) -> (Vec<Finding>, Vec<TimePlace>) {
    let diagnoses = explain(input, limits);
    let mut places = time_places(input, limits.samples, &diagnoses);
    for place in &mut places {
        add(&mut place.source, &place.site, sources);
    }
    let mut findings = genba_report::findings(&diagnoses);
    add_source_lines(&mut findings, sources);
    (findings, places)
}

/// Share of the time in scripts from which findings and places are theirs, not the interpreter's.
const MIN_SHARE_OF_SCRIPTS: f64 = 0.5;

/// Adds the findings about lines of a script, largest gain first. Where most of the time is in scripts, what is said of the
/// interpreter's own code is replaced by their lines; returns the number of findings that are omitted.
pub(crate) fn explain_script(
    findings: &mut Vec<Finding>,
    places: &mut Vec<TimePlace>,
    script: &ScriptProfile,
    profile: &Profile,
    sources: &mut SourceCache,
) -> usize {
    let limits = Limits {
        min_gain: genba_model::MIN_GAIN,
        samples: profile.samples,
    };
    let mut omitted = 0;
    if 1.0 - script.outside.value >= MIN_SHARE_OF_SCRIPTS {
        let before = findings.len();
        findings.retain(|one| !may_be_interpreter(&one.site.code().module));
        omitted = before - findings.len();
        *places = script_lines(script);
        for place in places {
            add(&mut place.source, &place.site, sources);
        }
    }
    let mut text = |file: &str, line: u32| sources.line(file, line);
    let diagnoses = script_lists(script, profile, &mut text, limits);
    let mut found = genba_report::findings(&diagnoses);
    add_source_lines(&mut found, sources);
    findings.extend(found);
    findings.sort_by(|a, b| (b.predicted_speedup.value).total_cmp(&a.predicted_speedup.value));
    omitted
}

/// Maximum number of lines of a site; of a longer range the first lines are shown.
const MAX_LINES: u32 = 6;

/// Adds lines of source to findings, where the files exist.
fn add_source_lines(findings: &mut [Finding], sources: &mut SourceCache) {
    for finding in findings {
        let mut lines = Vec::new();
        add(&mut lines, &finding.site, sources);
        if let Some(caller) = &finding.site.called_from {
            add(&mut lines, caller, sources);
        }
        finding.source = lines;
    }
}

fn add(lines: &mut Vec<SourceLine>, site: &FindingSite, sources: &mut SourceCache) {
    let (Some(file), Some(first)) = (&site.file, site.line) else {
        return;
    };
    let last = site
        .end_line
        .unwrap_or(first)
        .clamp(first, first.saturating_add(MAX_LINES - 1));
    for line in first..=last {
        if let Some(text) = sources.line(file, line) {
            lines.push(SourceLine {
                file: file.clone(),
                line,
                text,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use genba_model::Estimate;

    #[test]
    fn source_lines_of_a_site_are_added() {
        let directory =
            std::env::temp_dir().join(format!("genba-source-lines-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory");
        let path = directory.join("a.c");
        std::fs::write(&path, "one\ntwo\nthree\n").expect("a file");
        let site = FindingSite {
            function: "f".to_owned(),
            module: "/bin/a".to_owned(),
            file: Some(path.display().to_string()),
            line: Some(2),
            end_line: Some(900),
            addresses: Vec::new(),
            called_from: None,
            inside: None,
        };
        let mut caller = site.clone();
        caller.file = Some("/nowhere/b.c".to_owned());
        let mut finding = Finding {
            cause: "tiny-callee-not-inlined".to_owned(),
            site,
            share: Estimate::exact(0.5),
            executions: None,
            cost_seconds: None,
            cost_cycles: None,
            predicted_speedup: Estimate::exact(1.1),
            modelled_speedup: None,
            evidence: Vec::new(),
            fix: String::new(),
            change: None,
            example: None,
            confirm: String::new(),
            proven: None,
            source: Vec::new(),
        };
        finding.site.called_from = Some(Box::new(caller));
        let mut findings = [finding];
        add_source_lines(&mut findings, &mut SourceCache::new());
        let texts: Vec<&str> = findings[0]
            .source
            .iter()
            .map(|line| line.text.as_str())
            .collect();
        assert_eq!(texts, ["two", "three"]);
        let _ = std::fs::remove_dir_all(&directory);
    }
}
