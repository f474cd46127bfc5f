//! The findings, with the source and a link to the annotated code.

use std::fmt::Write as _;

use genba_model::{Annotation, Estimate, Finding, Investigation, SourceLine};

use super::{annotation, places};
use crate::escape_html::escape_fit;
use crate::safe_text;
use crate::wording::{causes, findings, proofs};

/// Maximum number of findings.
const MAX_FINDINGS: usize = 30;
/// Number of findings shown unfolded.
const OPEN_FINDINGS: usize = 5;
/// Maximum number of lines of source or of a snippet.
const MAX_LINES: usize = 12;
/// Maximum number of pieces of evidence.
const MAX_EVIDENCE: usize = 16;
/// Maximum length of a sentence, characters.
const MAX_SENTENCE_CHARS: usize = 800;
/// Maximum length of a line of code, characters.
const MAX_LINE_CHARS: usize = 160;

/// Adds the findings and returns the indices of the annotations they link to.
pub(super) fn list(out: &mut String, all: &Investigation) -> Vec<usize> {
    let counted = all
        .profile
        .as_ref()
        .is_some_and(|profile| profile.counted.is_some());
    let mut linked = Vec::new();
    if all.findings.is_empty() && !counted {
        return linked;
    }
    out.push_str("<h2>Why it is slow</h2>\n");
    for (index, finding) in all.findings.iter().take(MAX_FINDINGS).enumerate() {
        if index == OPEN_FINDINGS {
            let _ = writeln!(
                out,
                "<details><summary class=\"small dim\">{} more</summary>",
                all.findings.len().min(MAX_FINDINGS) - OPEN_FINDINGS
            );
        }
        let anchor = annotation_of(finding, &all.annotations);
        linked.extend(anchor);
        one(out, index + 1, finding, anchor);
    }
    if all.findings.len() > OPEN_FINDINGS {
        out.push_str("</details>\n");
    }
    let rest = findings::no_more_findings(&all.findings, genba_model::MIN_GAIN, &all.noise_floor);
    let _ = writeln!(
        out,
        "<p class=\"small dim\">{}</p>",
        escape_fit(&rest, MAX_SENTENCE_CHARS)
    );
    places::section(out, &all.places, &all.findings, all.input_bytes);
    linked
}

/// Returns the annotation that contains the instructions of a finding.
fn annotation_of(finding: &Finding, annotations: &[Annotation]) -> Option<usize> {
    let site = finding.site.code();
    let address = *site.addresses.first()?;
    annotations
        .iter()
        .take(annotation::MAX_FUNCTIONS)
        .position(|one| {
            let first = one.instructions.first().map(|i| i.address);
            let last = one.instructions.last().map(|i| i.address);
            let range = first.zip(last);
            one.module == site.module
                && range.is_some_and(|(first, last)| (first..=last).contains(&address))
        })
}

fn one(out: &mut String, number: usize, finding: &Finding, anchor: Option<usize>) {
    let gains = findings::gains(finding);
    let _ = write!(
        out,
        "<div class=\"finding{}\">",
        if gains { "" } else { " quiet" }
    );
    if gains {
        let gain = &finding.predicted_speedup;
        let _ = write!(
            out,
            "<div class=\"gain\">{}<br><small>whole program, if fixed<br>{}</small></div>",
            speedup_figure(gain),
            escape_fit(&findings::saved(gain), 80),
        );
    }
    let title = causes::title_of(&finding.cause).map_or(String::new(), |title| {
        format!(" <span class=\"dim\">{}</span>", escape_fit(title, 100))
    });
    let _ = write!(
        out,
        "<b class=\"cause\">{number} {}</b>{title}<br><span class=\"where\">{}",
        escape_fit(&finding.cause, 60),
        escape_fit(&findings::place(&finding.site), 300)
    );
    if let Some(caller) = findings::caller(&finding.site) {
        let _ = write!(out, ", {}", escape_fit(&caller, 300));
    }
    if let Some(index) = anchor {
        let _ = write!(
            out,
            " · <a href=\"#{}{index}\">annotated code</a>",
            annotation::ANCHOR
        );
    }
    out.push_str(
        "</span>\n<details open><summary class=\"small dim\">evidence and fix</summary>\n",
    );
    source(out, finding);
    facts(out, finding, gains);
    if let Some(example) = &finding.example {
        out.push_str("<div class=\"pair\">");
        for (label, code) in [("example", &example.before), ("becomes", &example.after)] {
            let _ = write!(out, "<div><small>{label}</small><div class=\"quote\">");
            for line in code.lines().take(MAX_LINES) {
                let _ = writeln!(out, "{}", escape_fit(line, MAX_LINE_CHARS));
            }
            out.push_str("</div></div>");
        }
        out.push_str("</div>\n");
    }
    out.push_str("</details></div>\n");
}

/// Returns a predicted speedup with its interval.
pub(super) fn speedup_figure(gain: &Estimate) -> String {
    match findings::more_than(gain) {
        Some(least) => format!(
            "<small>more than</small> <b>{}×</b>",
            findings::ratio(least)
        ),
        None => format!(
            "<b>{}×</b> <span class=\"dim\">{}–{}</span>",
            findings::ratio(gain.value),
            findings::ratio(gain.low),
            findings::ratio(gain.high)
        ),
    }
}

/// Adds a line of source with its number.
pub(super) fn source_line(out: &mut String, line: &SourceLine) {
    let _ = writeln!(
        out,
        "<span class=\"n\">{:>6} │</span> {}",
        line.line,
        escape_fit(line.text.trim_end(), MAX_LINE_CHARS)
    );
}

fn source(out: &mut String, finding: &Finding) {
    if finding.source.is_empty() {
        return;
    }
    out.push_str("<div class=\"quote\">");
    let mut file: Option<&str> = finding.site.file.as_deref();
    for line in finding.source.iter().take(MAX_LINES) {
        // Lines of the caller follow, which may be in another file.
        if file.is_some_and(|file| file != line.file) {
            let _ = writeln!(
                out,
                "<span class=\"n\">{}</span>",
                escape_fit(safe_text::file_name(&line.file), 60)
            );
            file = Some(&line.file);
        }
        source_line(out, line);
    }
    out.push_str("</div>\n");
}

fn facts(out: &mut String, finding: &Finding, gains: bool) {
    out.push_str("<table class=\"facts2\">");
    let mut row = |kind: &str, words: &str| {
        if !words.is_empty() {
            let _ = write!(
                out,
                "<tr><td>{kind}</td><td>{}</td></tr>",
                escape_fit(words, MAX_SENTENCE_CHARS)
            );
        }
    };
    for evidence in finding.evidence.iter().take(MAX_EVIDENCE) {
        row(findings::kind(evidence.source), &evidence.text);
    }
    if let Some(proven) = &finding.proven {
        row(proofs::label(proven), &proofs::sentence(proven));
        for line in proofs::method(proven) {
            let (kind, text) = line.split_once(": ").unwrap_or(("", &line));
            row(kind, text);
        }
    }
    row(if gains { "fix" } else { "advice" }, &finding.fix);
    row("confirm", &finding.confirm);
    out.push_str("</table>\n");
}
