//! What all pages have: the head with its content-security policy, the title, notes, the host.

use std::fmt::Write as _;

use genba_model::HostFingerprint;
use genba_units::format;

use super::STYLE;
use crate::escape_html::escape_fit;
use crate::wording::runs;

/// Begins a page without a script.
pub(super) fn begin(out: &mut String, title: &str) {
    open(out, title, "");
}

/// Begins a page that may run the script with this SHA-256 (in Base64).
pub(super) fn begin_with_script(out: &mut String, title: &str, hash: &str) {
    open(out, title, &format!("script-src 'sha256-{hash}'; "));
}

fn open(out: &mut String, title: &str, policy: &str) {
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         {policy}style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>genba · {}</title>\n<style>\n{STYLE}</style></head>\n<body><main>\n",
        escape_fit(title, 120)
    );
}

/// Begins the page of an experiment: title, case, time and host.
pub(super) fn experiment(
    out: &mut String,
    title: &str,
    case: Option<&str>,
    started: &str,
    host: &HostFingerprint,
) {
    begin(out, title);
    let case = case.map(|id| format!("case {id} · "));
    let below = format!(
        "{}{} · {}",
        escape_fit(&case.unwrap_or_default(), 60),
        escape_fit(&when(started), 40),
        escape_fit(&runs::host(host), 200),
    );
    heading(out, title, &below);
}

/// Adds the title and a line below it, which must be escaped already.
pub(super) fn heading(out: &mut String, title: &str, below: &str) {
    let _ = writeln!(
        out,
        "<header><h1>{}</h1><div class=\"host\">{below}</div></header>",
        escape_fit(title, 600)
    );
}

/// Returns `2026-11-21 20:15 UTC` of an RFC 3339 time in UTC; other texts unchanged.
pub(crate) fn when(started: &str) -> String {
    match (started.get(..16), started.ends_with('Z')) {
        (Some(minute), true) => format!("{} UTC", minute.replacen('T', " ", 1)),
        _ => started.to_owned(),
    }
}

/// Maximum number of notes.
const MAX_NOTES: usize = 60;

/// Adds notes, each once.
pub(super) fn note_list(out: &mut String, mut list: Vec<String>) {
    let mut seen = std::collections::HashSet::new();
    list.retain(|note| seen.insert(note.clone()));
    if list.is_empty() {
        return;
    }
    out.push_str("<ul class=\"notes note\">");
    for note in list.iter().take(MAX_NOTES) {
        // A note may have a second line with a remedy.
        let lines: Vec<String> = note
            .lines()
            .take(4)
            .map(|line| escape_fit(line.trim(), 600))
            .collect();
        let _ = write!(out, "<li>{}</li>", lines.join("<br>"));
    }
    out.push_str("</ul>\n");
}

/// Adds the host, and further rows about the workload.
pub(super) fn host_table(out: &mut String, host: &HostFingerprint, more: &[(&str, &str)]) {
    out.push_str("<h2>Host</h2>\n<table>");
    let mut row = |label: &str, value: &str| {
        if !value.is_empty() {
            let _ = write!(
                out,
                "<tr><td class=\"l dim\">{label}</td><td class=\"l name\">{}</td></tr>",
                escape_fit(value, 300)
            );
        }
    };
    row("CPU", &host.cpu);
    row("microarchitecture", &host.microarchitecture);
    row("CPUs available", &host.cpus.to_string());
    row("memory", &format::bytes(host.memory_bytes as f64));
    row("kernel", &host.kernel);
    row("system", &host.os);
    row(
        "virtual machine",
        host.virtualisation.as_deref().unwrap_or("no"),
    );
    row(
        "hardware counters",
        if host.hardware_counters { "yes" } else { "no" },
    );
    row("host fingerprint", &host.id);
    for (label, value) in more {
        row(label, value);
    }
    out.push_str("</table>\n");
}
