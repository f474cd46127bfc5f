//! What Markdown needs of escaping.

use crate::safe_text;

/// Maximum width of a name in a table, columns.
const MAX_NAME_COLUMNS: usize = 300;

/// Text as a code span within a table's cell: pipes escaped, backticks inside a longer fence
/// (CommonMark, "Code spans"), control characters spelt out. Mark-up inside is not obeyed.
pub(super) fn code(name: &str) -> String {
    let clean = safe_text::fit(name, MAX_NAME_COLUMNS).replace('|', "\\|");
    if !clean.contains('`') {
        return format!("`{clean}`");
    }
    let longest = clean
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    format!("{fence} {clean} {fence}")
}

/// Text of a cell or a list outside a code span, so that nothing in it is mark-up.
pub(super) fn plain(sentence: &str) -> String {
    let mut out = String::with_capacity(sentence.len());
    for c in safe_text::sanitise(sentence).chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '|' | '~' => {
                out.push('\\');
                out.push(c);
            }
            // A mention needs more than a backslash.
            '@' => out.push_str("&#64;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            _ => out.push(c),
        }
    }
    out
}
