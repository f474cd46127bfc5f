//! Fields of comma-separated tables (RFC 4180).

use crate::safe_text::is_harmless;

/// Returns one field, quoted where needed, and never a formula.
///
/// A field that starts with `= + - @`, a tab or a carriage return is a formula to spreadsheets
/// (OWASP, "CSV injection"); such text gets an apostrophe in front. Numbers keep their sign.
///
/// ```
/// use genba_report::csv::field;
/// assert_eq!(field("a,b"), "\"a,b\"");
/// assert_eq!(field("=cmd()"), "'=cmd()");
/// assert_eq!(field("-1.5"), "-1.5");
/// ```
#[must_use]
pub fn field(text: &str) -> String {
    // Some programs strip white space, and what they do not show, before they look for a formula.
    let skipped = |c: char| c.is_whitespace() || !is_harmless(c);
    let begins = text.trim_start_matches([' ', '\0']);
    let formula = (begins.starts_with(['\t', '\r', '\n'])
        || begins
            .trim_start_matches(skipped)
            .starts_with(['=', '+', '-', '@']))
        && text.parse::<f64>().is_err();
    let mut out = String::with_capacity(text.len() + 2);
    if formula {
        out.push('\'');
    }
    out.extend(text.chars().filter(|&c| c != '\0'));
    if out.contains([',', '"', '\n', '\r', ';', '\t']) {
        out = format!("\"{}\"", out.replace('"', "\"\""));
    }
    out
}

/// Returns a record: the fields joined by commas, with line end.
#[must_use]
pub fn record<S: AsRef<str>>(fields: &[S]) -> String {
    let mut line = fields
        .iter()
        .map(|f| field(f.as_ref()))
        .collect::<Vec<_>>()
        .join(",");
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_are_quoted_and_formulas_defused() {
        assert_eq!(field("say \"hi\""), "\"say \"\"hi\"\"\"");
        assert_eq!(field("+1+cmd|' /C calc'!A0"), "'+1+cmd|' /C calc'!A0");
        assert_eq!(field("  =1,2"), "\"'  =1,2\"");
        assert_eq!(field("\u{85}=cmd()"), "'\u{85}=cmd()");
        assert_eq!(field("plain"), "plain");
        assert_eq!(record(&["a", "b\nc"]), "a,\"b\nc\"\n");
    }

    proptest! {
        #[test]
        fn fields_are_never_formulas(text in any::<String>()) {
            let out = field(&text);
            let inner = out.strip_prefix('"').unwrap_or(&out);
            let danger = inner.trim_start_matches(' ').starts_with(['=', '@', '\t', '\r']);
            prop_assert!(!danger, "{out:?}");
        }

        #[test]
        fn quotes_are_balanced(text in any::<String>()) {
            prop_assert_eq!(field(&text).matches('"').count() % 2, 0);
        }
    }
}
