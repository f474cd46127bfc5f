//! Escaping for HTML and SVG.

use crate::safe_text;

/// Returns text escaped for the content of an element or an attribute in double quotes:
/// `& < > " '` as entities, control characters and direction marks spelt out, cut to
/// [`safe_text::MAX_CHARS`].
///
/// ```
/// assert_eq!(genba_report::escape_html::escape("<script>"), "&lt;script&gt;");
/// ```
#[must_use]
pub fn escape(text: &str) -> String {
    escape_clean(&safe_text::sanitise(text))
}

/// Returns escaped text of at most `width` columns.
#[must_use]
pub fn escape_fit(text: &str, width: usize) -> String {
    escape_clean(&safe_text::fit(text, width))
}

fn escape_clean(clean: &str) -> String {
    let mut out = String::with_capacity(clean.len() + clean.len() / 8);
    for c in clean.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tags_quotes_and_control_characters_are_escaped() {
        assert_eq!(
            escape(r#"<img src=x onerror="alert('1')">&"#),
            "&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;&amp;"
        );
        assert_eq!(escape("\0"), "\\x00");
    }

    proptest! {
        #[test]
        fn escaped_text_has_no_markup(text in any::<String>()) {
            prop_assert!(!escape(&text).contains(['<', '>', '"', '\'', '\0']));
        }
    }
}
