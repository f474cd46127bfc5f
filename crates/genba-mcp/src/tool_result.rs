//! The result of a call: what genba printed, with verdicts first, within the tokens that the client wants.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;

use crate::answer::{self, MIN_TOKENS};
use crate::child::Finished;
use crate::rendered::{self, Rendered};

/// Maximum number of lines of notes beside an answer: the last ones.
const MAX_NOTE_LINES: usize = 12;

/// The result of a run that ended by itself.
pub(crate) fn result(finished: &Finished, tokens: usize) -> CallToolResult {
    let Ok(rendered) = rendered::rendered(&finished.document, tokens) else {
        let text = match finished.notes.is_empty() {
            true => "genba ended without a result".to_owned(),
            false => finished.notes.clone(),
        };
        let text = answer::shortened(&text, tokens, "ask with max_tokens");
        return CallToolResult::error(vec![ContentBlock::text(text)]);
    };
    let Rendered {
        text,
        verdicts,
        case,
    } = rendered;
    let mut ending = String::new();
    let notes: Vec<&str> = finished.notes.lines().collect();
    for note in &notes[notes.len().saturating_sub(MAX_NOTE_LINES)..] {
        ending.push_str(&format!("{note}\n"));
    }
    if let Some(case) = case {
        ending.push_str(&format!(
            "case {case}: resources genba://case/{case}/page and genba://case/{case}/document\n"
        ));
    }
    let mut head = String::new();
    let structured = verdicts
        .as_ref()
        .and_then(|verdicts| serde_json::to_value(verdicts).ok());
    let mut refused = false;
    for one in verdicts.iter().flat_map(|verdicts| verdicts.refused()) {
        refused = true;
        let reason = one.reason.as_deref().unwrap_or_default();
        head.push_str(&format!("NO VERDICT for {}: {reason}\n", one.variant));
    }
    if let Some(verdicts) = &verdicts {
        for one in verdicts.verdicts.iter().filter(|one| one.reason.is_none()) {
            head.push_str(&format!("VERDICT {}: {}\n", one.variant, one.verdict));
        }
    }
    let head = genba_report::sanitise_lines(&head);
    let beside = answer::tokens(&head)
        + answer::tokens(&ending)
        + structured
            .as_ref()
            .map_or(0, |value: &Value| answer::tokens(&value.to_string()));
    let how = "ask again with max_tokens, or read the case's document";
    let text = answer::shortened(
        &text,
        tokens.saturating_sub(beside).max(MIN_TOKENS / 2),
        how,
    );
    let content = vec![ContentBlock::text(format!("{head}{text}{ending}"))];
    let mut result = match refused {
        true => CallToolResult::error(content),
        false => CallToolResult::success(content),
    };
    result.structured_content = structured;
    result
}
