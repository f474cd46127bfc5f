//! What bursts showed of the lines with most time: values, levels that serve loads, branch outcomes, data.

use std::fmt::Write as _;

use genba_model::{ObservedInstruction, ObservedPlace};
use genba_units::format;

use crate::escape_html::escape_fit;
use crate::safe_text;
use crate::wording::observed_instruction::{executions, facts};
use crate::wording::profile;

/// Maximum number of instructions.
const MAX_ROWS: usize = 120;
/// Number of source lines shown unfolded.
const OPEN_LINES: usize = 3;

/// Adds the instructions under their source lines.
pub(super) fn hot_lines(out: &mut String, all: &ObservedPlace) {
    if all.instructions.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "<h2>Observed at the hottest lines</h2>\n<p class=\"lead\"><span class=\"dim\">{} recorded in {} of \
         {}, spread over the run; shares with 95 % intervals over bursts.</span></p>",
        format::plural_short(all.observed_instructions, "instruction"),
        format::plural(u64::from(all.bursts), "burst"),
        format::plural(u64::from(all.threads), "thread"),
    );
    let rows = &all.instructions[..all.instructions.len().min(MAX_ROWS)];
    for (index, line) in rows.chunk_by(|a, b| place(a) == place(b)).enumerate() {
        of_line(out, line, index < OPEN_LINES);
    }
    for note in all.notes.iter().take(10) {
        let _ = writeln!(out, "<p class=\"note dim\">{}</p>", escape_fit(note, 600));
    }
}

fn place(one: &ObservedInstruction) -> (&Option<String>, Option<u32>, &Option<String>) {
    (&one.file, one.line, &one.function)
}

fn of_line(out: &mut String, line: &[ObservedInstruction], open: bool) {
    let Some(first) = line.first() else {
        return;
    };
    let place = match (&first.file, first.line) {
        (Some(file), Some(line)) => profile::file_line(Some(file), Some(line)),
        _ => safe_text::file_name(&first.module).to_owned(),
    };
    let _ = writeln!(
        out,
        "<details class=\"fn\"{}><summary><code>{}</code> <span class=\"where\">{}</span></summary>\n\
         <div class=\"scroll\"><table class=\"wide facts2\">",
        if open { " open" } else { "" },
        escape_fit(first.function.as_deref().unwrap_or("[unknown]"), 200),
        escape_fit(&place, 110),
    );
    for one in line {
        let _ = writeln!(
            out,
            "<tr><td>{:x}</td><td><code>{}</code></td><td class=\"dim small\">{}</td><td class=\"small\">{}</td></tr>",
            one.address,
            escape_fit(&one.text, 130),
            escape_fit(&executions(one), 60),
            facts(one)
                .iter()
                .map(|fact| escape_fit(fact, 300))
                .collect::<Vec<_>>()
                .join("<br>"),
        );
    }
    out.push_str("</table></div></details>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_stand_under_their_line_with_what_they_did() {
        let mut all = crate::test_fixtures::observed_place();
        let again = all.instructions[0].clone();
        all.instructions.push(again);
        let mut out = String::new();
        hot_lines(&mut out, &all);
        assert_eq!(out.matches("<details").count(), 1, "{out}");
        for wanted in [
            "a.c:7",
            "mov eax, [rdi]",
            "L2 30",
            "stride 64",
            "loads 0 in 90",
            "heap",
        ] {
            assert!(out.contains(wanted), "{wanted} in {out}");
        }
        assert!(!out.contains('\x1b'), "{out}");
    }

    #[test]
    fn page_has_no_section_without_observed_instructions() {
        let mut all = crate::test_fixtures::observed_place();
        all.instructions.clear();
        let mut out = String::new();
        hot_lines(&mut out, &all);
        assert!(out.is_empty());
    }
}
