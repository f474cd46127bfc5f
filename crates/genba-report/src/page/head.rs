//! How every page begins: what a browser may do with it, its title, what was measured where.

use std::fmt::Write as _;

use genba_model::HostFingerprint;

use super::STYLE;
use super::facts::when;
use crate::facts;
use crate::html::escape_fit;

/// Begins a page without any script.
pub(super) fn begin(out: &mut String, title: &str) {
    open(out, title, "");
}

/// Begins a page with the one script that has this SHA-256 (in Base64).
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

/// Title and case, time and host of an experiment, on a page that begins with them.
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
        escape_fit(&facts::host(host), 200),
    );
    heading(out, title, &below);
}

/// The title as people read it, and below it a line that is escaped already.
pub(super) fn heading(out: &mut String, title: &str, below: &str) {
    let _ = writeln!(
        out,
        "<header><h1>{}</h1><div class=\"host\">{below}</div></header>",
        escape_fit(title, 600)
    );
}
