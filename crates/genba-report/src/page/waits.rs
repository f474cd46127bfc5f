//! The page of what the wall clock waits for: causes, the timeline of threads, the critical path, waits.

use std::fmt::Write as _;

use genba_model::{ThreadTime, WaitFinding, Waits};
use genba_units::format;

use super::document;
use super::findings::speedup_figure;
use super::flame_graph;
use super::profile_tables::{escape_lt, heat};
use super::timeline;
use crate::escape_html::escape_fit;
use crate::safe_text;
use crate::wall_flame_graph;
use crate::wording::{wait_findings, waits as wording};

/// Maximum number of rows of a table.
const MAX_ROWS: usize = 200;
/// Maximum number of rows that are not folded.
const OPEN_ROWS: usize = 12;
/// Maximum number of findings.
const MAX_FINDINGS: usize = 30;
/// Maximum length of a sentence, characters.
pub(super) const MAX_SENTENCE_CHARS: usize = 800;
/// Maximum number of frames of a stack.
const MAX_FRAMES: usize = 24;

/// Renders what the wall clock waits for as one self-contained HTML file.
#[must_use]
pub fn waits_html(all: &Waits) -> String {
    let command = safe_text::command(&wording::target(all));
    let mut out = String::with_capacity(128 << 10);
    document::begin_with_script(&mut out, &command, super::SCRIPT_HASH);
    document::heading(&mut out, &command, &escape_fit(&wording::basis(all), 300));
    section(&mut out, all);
    let _ = write!(
        out,
        "</main>\n<script>{}</script>\n</body></html>\n",
        super::SCRIPT
    );
    out
}

/// Adds all that is known about waiting to a page with [`super::SCRIPT`].
pub(super) fn section(out: &mut String, all: &Waits) {
    division(out, all);
    if let Some(requests) = &all.requests {
        super::requests::section(out, requests);
    }
    causes(out, all);
    timeline::picture(out, all);
    flame(out, all);
    critical_path(out, all);
    wait_table(out, all);
    threads(out, all);
    if !all.sources.is_empty() {
        out.push_str("<h2>Where the figures come from</h2>\n<ul class=\"small\">");
        for source in all.sources.iter().take(MAX_FINDINGS) {
            let _ = write!(out, "<li>{}</li>", escape_fit(source, 300));
        }
        out.push_str("</ul>\n");
    }
    document::note_list(out, all.notes.clone());
}

fn flame(out: &mut String, all: &Waits) {
    let rows = wall_flame_graph::rows(all);
    if rows.is_empty() {
        return;
    }
    out.push_str("<h2>Where threads spent their wall time</h2>\n");
    let waits = wall_flame_graph::wait_frames(all);
    let waits = waits.iter().map(String::as_str).collect();
    flame_graph::of_wall_time(out, &rows, &waits);
}

fn division(out: &mut String, all: &Waits) {
    out.push_str("<h2>How the wall time divides</h2>\n");
    let _ = writeln!(
        out,
        "<p class=\"lead\"><b>{}</b>.</p>",
        escape_lt(&wording::division(all))
    );
    if all.snapshots == 0 {
        return;
    }
    let cpu = all.on_cpu.value.clamp(0.0, 1.0);
    let ready = wording::without_cpu(all).clamp(0.0, 1.0 - cpu);
    let _ = writeln!(
        out,
        "<div class=\"divide whole\">{}{}{}</div>",
        part("run", cpu),
        part("runnable", ready),
        part("blocked", 1.0 - cpu - ready)
    );
}

fn part(class: &str, share: f64) -> String {
    let percent = if share.is_finite() {
        share.clamp(0.0, 1.0) * 100.0
    } else {
        0.0
    };
    format!("<i class=\"{class}\" style=\"width:{percent:.1}%\"></i>")
}

fn causes(out: &mut String, all: &Waits) {
    if all.snapshots == 0 {
        return;
    }
    out.push_str("<h2>Why it waits</h2>\n");
    if all.findings.is_empty() {
        let text = wording::no_cause(all);
        let _ = writeln!(out, "<p>{}.</p>", escape_fit(&text, MAX_SENTENCE_CHARS));
    }
    for (index, one) in all.findings.iter().take(MAX_FINDINGS).enumerate() {
        finding(out, index + 1, one);
    }
}

fn finding(out: &mut String, number: usize, one: &WaitFinding) {
    let _ = write!(
        out,
        "<div class=\"finding\"><div class=\"gain\">{}</div>\
         <b class=\"cause\">{number} {}</b> <span class=\"dim\">{}</span>\n<table class=\"facts2\">",
        match wait_findings::is_gain_unknown(one) {
            true => escape_fit(&wait_findings::gain(one), MAX_SENTENCE_CHARS),
            false => format!(
                "{}<br><small>wall time, if fixed</small>",
                speedup_figure(&one.predicted_speedup)
            ),
        },
        one.cause.id(),
        wait_findings::title(one.cause),
    );
    let mut row = |kind: &str, words: &str| {
        if !words.is_empty() {
            let _ = write!(
                out,
                "<tr><td>{kind}</td><td>{}</td></tr>",
                escape_fit(words, MAX_SENTENCE_CHARS)
            );
        }
    };
    row("share", &wording::wall_share(&one.wall_share));
    if wording::is_known(&one.waiter) {
        row("waiter", &wording::place(&one.waiter));
    }
    if let Some(holder) = &one.holder {
        row(
            wait_findings::holder_role(one.cause),
            &wording::place(holder),
        );
    }
    row("object", one.object.as_deref().unwrap_or_default());
    row("seen", &wait_findings::evidence(one));
    row("fix", &wait_findings::fix(one));
    out.push_str("</table></div>\n");
}

/// Adds a table, its rows after the first ones folded.
pub(super) fn table<T>(
    out: &mut String,
    heads: &str,
    all: &[T],
    noun: &str,
    mut row: impl FnMut(&mut String, &T),
) {
    let shown = &all[..all.len().min(MAX_ROWS)];
    let (open, folded) = shown.split_at(shown.len().min(OPEN_ROWS));
    let mut rows = |out: &mut String, list: &[T]| {
        let _ = write!(
            out,
            "<div class=\"scroll\"><table class=\"wide\"><tr>{heads}</tr>"
        );
        for one in list {
            out.push_str("<tr>");
            row(out, one);
            out.push_str("</tr>\n");
        }
        out.push_str("</table></div>\n");
    };
    rows(out, open);
    if !folded.is_empty() {
        let _ = writeln!(
            out,
            "<details><summary class=\"small dim\">{}</summary>",
            format::plural(folded.len() as u64, &format!("more {noun}"))
        );
        rows(out, folded);
        out.push_str("</details>\n");
    }
    let rest = all.len() - shown.len();
    if rest > 0 {
        let _ = writeln!(
            out,
            "<p class=\"small dim\">… {} not shown</p>",
            format::plural(rest as u64, noun)
        );
    }
}

fn critical_path(out: &mut String, all: &Waits) {
    if all.critical_path.is_empty() {
        return;
    }
    out.push_str(
        "<h2>Critical path</h2>\n<p class=\"small dim\">Where the wall time went in the end: what the leading \
         thread did, or what the thread at the end of its chain of waits did.</p>\n",
    );
    let heads = "<th>share</th><th>±</th><th>time</th><th class=\"l\">state</th><th class=\"l\">place</th>\
                 <th class=\"l\">object</th><th class=\"l\">thread</th><th class=\"l\">waited for through</th>";
    table(out, heads, &all.critical_path, "step", |out, step| {
        let _ = write!(
            out,
            "<td{}>{}</td><td class=\"dim small\">{}</td><td>{}</td><td class=\"l\">{}</td>\
             <td class=\"l name\"><code>{}</code></td><td class=\"l where\">{}</td>\
             <td class=\"l where\">{}</td><td class=\"l where\">{}</td>",
            heat(step.share.value),
            escape_lt(&format::percent(&step.share)),
            escape_lt(&format::plus_minus_points(&step.share)),
            escape_lt(&format::seconds(step.seconds)),
            wording::short_reason(step.state),
            escape_fit(&wording::place(&step.place), 110),
            escape_fit(step.object.as_deref().unwrap_or_default(), 60),
            escape_fit(&step.thread, 30),
            escape_fit(&wording::through(step), 90),
        );
    });
}

fn wait_table(out: &mut String, all: &Waits) {
    if all.waits.is_empty() {
        return;
    }
    out.push_str(
        "<h2>Waits</h2>\n<p class=\"small dim\">Times are added up over threads; share: of the wall time that \
         passed because of it. The holder is what the thread that was waited for did meanwhile, most \
         often.</p>\n",
    );
    let heads = "<th>time</th><th>share</th><th>count</th><th>threads</th><th class=\"l\">for</th>\
                 <th class=\"l\">object</th><th class=\"l\">waiter</th><th class=\"l\">holder</th>\
                 <th class=\"l\">which is</th>";
    table(out, heads, &all.waits, "wait", |out, one| {
        let holder = one.holder.as_ref().map(wording::place).unwrap_or_default();
        let stack: Vec<&str> = one
            .stack
            .iter()
            .take(MAX_FRAMES)
            .map(String::as_str)
            .collect();
        let _ = write!(
            out,
            "<td>{}</td><td{}>{}</td><td>{}</td><td>{}</td><td class=\"l\">{}</td>\
             <td class=\"l where\">{}</td><td class=\"l name\" title=\"{}\"><code>{}</code></td>\
             <td class=\"l name\"><code>{}</code></td><td class=\"l\">{}</td>",
            escape_lt(&format::seconds(one.seconds)),
            heat(one.critical_share),
            escape_lt(&format::share(one.critical_share)),
            format::count(wait_findings::rounded(one.count) as f64),
            one.threads,
            wording::short_reason(one.reason),
            escape_fit(one.object.as_deref().unwrap_or_default(), 60),
            escape_fit(&stack.join(" ← "), 600),
            escape_fit(&wording::place(&one.waiter), 110),
            escape_fit(&holder, 110),
            escape_lt(&wording::holder_does(one)),
        );
    });
}

fn threads(out: &mut String, all: &Waits) {
    if all.threads.is_empty() {
        return;
    }
    out.push_str("<h2>Threads</h2>\n");
    let heads = "<th class=\"l\">name</th><th>pid</th><th>tid</th><th>wall</th><th class=\"l\"></th>\
                 <th><i class=\"key run\"></i> running</th><th><i class=\"key ready\"></i> runnable</th>\
                 <th><i class=\"key blocked\"></i> blocked</th><th><i class=\"key none\"></i> unknown</th>\
                 <th>switches</th>";
    table(out, heads, &all.threads, "thread", |out, one| {
        let share = |seconds: f64| match one.wall > 0.0 {
            true => escape_lt(&format::share(seconds / one.wall)),
            false => String::new(),
        };
        let _ = write!(
            out,
            "<td class=\"l\"><code>{}</code></td><td class=\"dim\">{}</td><td class=\"dim\">{}</td><td>{}</td>\
             <td class=\"l\">{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"dim\">{}</td>",
            escape_fit(&one.name, 40),
            one.pid,
            one.tid,
            escape_lt(&format::seconds(one.wall)),
            bar(one),
            share(one.running),
            share(one.runnable),
            share(one.blocked),
            share(one.unknown),
            format::count(one.switches as f64),
        );
    });
    if let Some(totals) = wording::thread_totals(&all.all_threads) {
        let _ = writeln!(out, "<p class=\"small dim\">{}</p>", escape_lt(&totals));
    }
    if all.more_threads > 0 {
        let _ = writeln!(
            out,
            "<p class=\"small dim\">… {} not listed</p>",
            format::plural(all.more_threads, "further thread")
        );
    }
}

fn bar(one: &ThreadTime) -> String {
    let mut text = String::from("<span class=\"divide\">");
    for (class, seconds) in [
        ("run", one.running),
        ("runnable", one.runnable),
        ("blocked", one.blocked),
        ("none", one.unknown),
    ] {
        text.push_str(&part(class, seconds / one.wall));
    }
    text.push_str("</span>");
    text
}

#[cfg(test)]
mod tests {
    use genba_model::{ThreadSpan, WaitReason};

    use super::*;
    use crate::test_fixtures as fixture;

    #[test]
    fn page_has_all_sections_and_the_timeline() {
        let page = waits_html(&fixture::waits());
        for head in [
            "How the wall time divides",
            "Why it waits",
            "Timeline",
            "Where threads spent their wall time",
            "Critical path",
            "Waits",
            "Threads",
            "Where the figures come from",
        ] {
            assert!(page.contains(&format!("<h2>{head}</h2>")), "{head}");
        }
        assert!(page.contains("lock-held-over-io") && page.contains("2.41×"));
        assert!(page.contains("<path stroke=\"url(#t-lock)\""));
    }

    #[test]
    fn page_loads_nothing_from_elsewhere() {
        let page = waits_html(&fixture::waits());
        for external in ["http://", "https://", "src=", "@import", "//cdn"] {
            assert!(!page.contains(external), "{external}");
        }
        assert_eq!(
            page.matches("url(").count(),
            page.matches("url(#").count(),
            "patterns are of this page"
        );
        assert_eq!(
            page.matches("href").count(),
            page.matches("href=\"#").count()
        );
        assert_eq!(page.matches("<script").count(), 1);
        assert!(page.contains(&format!(
            "script-src 'sha256-{}'",
            super::super::SCRIPT_HASH
        )));
    }

    #[test]
    fn hostile_names_and_times_are_harmless() {
        let page = waits_html(&fixture::hostile_waits());
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
        for bad in ["<script>alert", "<img", "\x1b", "\x07", "\u{202e}", "<b>A"] {
            assert!(!page.contains(bad), "{bad:?}");
        }
        assert!(page.chars().all(|c| c == '\n' || safe_text::is_harmless(c)));
        assert!(page.len() < 1 << 20, "{} bytes", page.len());
    }

    #[test]
    fn page_of_a_thousand_threads_with_a_million_pieces_is_bounded() {
        let mut all = fixture::waits();
        let mut one = all.threads[1].clone();
        one.timeline = (0..1000)
            .map(|i| ThreadSpan {
                from: f64::from(i) * 0.00321,
                to: f64::from(i + 1) * 0.00321,
                state: [WaitReason::Running, WaitReason::Sleep][i as usize % 2],
            })
            .collect();
        all.threads = vec![one; 1000];
        all.waits = vec![all.waits[0].clone(); 5000];
        let page = waits_html(&all);
        assert!(page.len() < 2 << 20, "{} bytes", page.len());
    }
}
