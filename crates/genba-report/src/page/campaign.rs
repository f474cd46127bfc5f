//! The page of a campaign: a verdict for each kind of host, disagreements, every comparison in full.

use std::fmt::Write as _;

use genba_model::{Campaign, CampaignResult, VerdictName};
use genba_units::format;

use super::comparison::{class, tally};
use super::{document, effect_table, run_distribution};
use crate::escape_html::escape_fit;
use crate::wording::{campaign as wording, metrics, runs, verdicts};

/// Maximum number of rows of a table.
const MAX_ROWS: usize = 1_000;
/// Maximum number of comparisons that are shown in full.
const MAX_RESULTS: usize = 60;
/// Maximum number of disagreements.
const MAX_DISAGREEMENTS: usize = 60;

/// Renders a campaign as one self-contained HTML file without a script.
#[must_use]
pub fn campaign_html(all: &Campaign) -> String {
    let title = format!("campaign {}", all.name);
    let mut out = String::with_capacity(128 << 10);
    document::begin(&mut out, &title);
    let below = format!(
        "{} · {} · {}",
        escape_fit(&document::when(&all.started), 40),
        escape_fit(&all.scheduler, 20),
        escape_fit(&all.directory, 200)
    );
    document::heading(&mut out, &title, &below);
    cards(&mut out, all);
    disagreements(&mut out, all);
    let mut notes: Vec<String> = all
        .builds
        .iter()
        .filter_map(wording::failed_build)
        .collect();
    notes.extend(wording::of_results(all));
    notes.extend(all.notes.iter().cloned());
    notes.extend(wording::resume(all));
    document::note_list(&mut out, notes);
    verdict_table(&mut out, all);
    for result in all.results.iter().take(MAX_RESULTS) {
        details(&mut out, result);
    }
    if all.results.len() > MAX_RESULTS {
        let _ = writeln!(
            out,
            "<p>{} more comparisons are only in the table above.</p>",
            all.results.len() - MAX_RESULTS
        );
    }
    builds(&mut out, all);
    let _ = writeln!(
        out,
        "<p class=\"foot\">Seed {}. Variants of a block ran on one node, interleaved in random order; \
         results of different kinds of hosts are not pooled. genba {}</p>",
        all.seed,
        escape_fit(&all.genba, 20)
    );
    out.push_str("</main></body></html>\n");
    out
}

fn cards(out: &mut String, all: &Campaign) {
    out.push_str("<section class=\"facts\"><div class=\"fact\"><small>verdicts, ");
    let _ = write!(
        out,
        "{}</small>",
        escape_fit(&metrics::phrase(&all.metric), 60)
    );
    let deciding = all.results.iter().flat_map(wording::deciding);
    let verdicts: Vec<VerdictName> = deciding.map(|one| one.verdict).collect();
    tally(out, &verdicts);
    out.push_str("</div>");
    let mut card = |label: &str, value: &str, more: &str| {
        let _ = write!(
            out,
            "<div class=\"fact\"><small>{label}</small><span class=\"big\">{}</span><br>\
             <small>{}</small></div>",
            escape_fit(value, 40),
            escape_fit(more, 200)
        );
    };
    card(
        "blocks",
        &format!("{}/{}", all.blocks.measured, all.blocks.planned),
        &wording::blocks(all),
    );
    let mut hosts: Vec<&str> = all
        .results
        .iter()
        .map(|result| result.host.as_str())
        .collect();
    hosts.sort_unstable();
    hosts.dedup();
    card(
        "kinds of hosts",
        &hosts.len().to_string(),
        &hosts.join(", "),
    );
    card(
        "time of all blocks",
        &format::duration(all.block_seconds),
        "summed over nodes",
    );
    out.push_str("</section>\n");
}

fn disagreements(out: &mut String, all: &Campaign) {
    if all.disagreements.is_empty() {
        return;
    }
    out.push_str("<h2>Hosts disagree</h2>\n<ul class=\"notes\">");
    for one in all.disagreements.iter().take(MAX_DISAGREEMENTS) {
        let _ = write!(
            out,
            "<li>{}</li>",
            escape_fit(&wording::disagreement(all, one), 600)
        );
    }
    out.push_str("</ul>\n<p class=\"dim\">Their intervals do not overlap.</p>\n");
}

fn verdict_table(out: &mut String, all: &Campaign) {
    out.push_str(
        "<h2>Verdict for each kind of host</h2>\n<div class=\"scroll\"><table><tr>\
         <th class=\"l\">group</th><th class=\"l\">host</th><th class=\"l\">variant</th>\
         <th>median</th><th>±</th><th class=\"l\">compared with the baseline</th>\
         <th class=\"l\">interval</th><th>pairs</th><th>blocks</th></tr>\n",
    );
    let mut rows = 0;
    for result in &all.results {
        let deciding = wording::deciding(result);
        for variant in &result.report.variants {
            rows += 1;
            if rows > MAX_ROWS {
                continue;
            }
            let metric = variant.metrics.get(&all.metric);
            let found = deciding.iter().find(|one| one.variant == variant.name);
            let (effect, colour) = match (found, &variant.excluded) {
                (_, Some(_)) => ("failed".to_owned(), "hot"),
                (Some(one), None) => (wording::effect(result, one), class(one.verdict)),
                (None, None) => ("baseline".to_owned(), "dim"),
            };
            let _ = writeln!(
                out,
                "<tr><td class=\"l\">{}</td><td class=\"l\">{}</td><td class=\"l\"><code>{}</code></td>\
                 <td>{}</td><td class=\"dim small\">{}</td><td class=\"l {colour}\">{}</td>\
                 <td class=\"l small\">{}</td><td class=\"dim\">{}</td><td class=\"dim\">{}</td></tr>",
                escape_fit(&result.group, 80),
                escape_fit(&result.host, 60),
                escape_fit(&variant.name, 80),
                metric
                    .map(|one| escape_fit(&metrics::amount(&one.median, &one.unit), 60))
                    .unwrap_or_default(),
                metric
                    .map(|one| escape_fit(&format::plus_minus(&one.median), 40))
                    .unwrap_or_default(),
                escape_fit(&effect, 60),
                found
                    .map(|one| escape_fit(&verdicts::interval(one), 60))
                    .unwrap_or_default(),
                found.map(|one| one.pairs.to_string()).unwrap_or_default(),
                result.blocks,
            );
        }
    }
    out.push_str("</table></div>\n");
    if rows > MAX_ROWS {
        let _ = writeln!(
            out,
            "<p>{} more rows are in the JSON document.</p>",
            rows - MAX_ROWS
        );
    }
}

/// One comparison in full, folded.
fn details(out: &mut String, result: &CampaignResult) {
    let title = match result.group.as_str() {
        "" => result.host.clone(),
        group => format!("{group} on {}", result.host),
    };
    let _ = write!(
        out,
        "<details><summary>{}</summary><p class=\"dim\">{} · {}: {}</p>",
        escape_fit(&title, 200),
        escape_fit(&runs::host(&result.report.host), 200),
        format::plural(result.nodes.len() as u64, "node"),
        escape_fit(&result.nodes.join(", "), 400),
    );
    run_distribution::section(out, &result.report);
    effect_table::section(out, &result.report);
    out.push_str("</details>\n");
}

fn builds(out: &mut String, all: &Campaign) {
    if all.builds.is_empty() {
        return;
    }
    out.push_str(
        "<h2>Builds</h2>\n<div class=\"scroll\"><table><tr><th class=\"l\">revision</th>\
         <th class=\"l\">commit</th><th class=\"l\">build</th><th class=\"l\">host</th><th>time</th>\
         <th class=\"l\">failure</th></tr>\n",
    );
    for build in all.builds.iter().take(MAX_ROWS) {
        let revision = all.revisions.iter().find(|one| one.name == build.revision);
        let commit = revision.and_then(|one| one.commit.as_deref()).unwrap_or("");
        let _ = writeln!(
            out,
            "<tr><td class=\"l\">{}</td><td class=\"l\"><code>{}</code></td><td class=\"l\">{}</td>\
             <td class=\"l\">{}</td><td>{}</td><td class=\"l hot\">{}</td></tr>",
            escape_fit(&build.revision, 80),
            escape_fit(commit.get(..12).unwrap_or(commit), 12),
            escape_fit(&build.build, 80),
            escape_fit(build.host.as_deref().unwrap_or("all"), 60),
            build.seconds.map(format::duration).unwrap_or_default(),
            escape_fit(build.failure.as_deref().unwrap_or(""), 300),
        );
    }
    out.push_str("</table></div>\n");
}
