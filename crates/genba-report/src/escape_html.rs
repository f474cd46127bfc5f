//! Text for HTML and SVG.

use crate::safe_text;

/// Text made harmless as the content of an element or as an attribute in double quotes:
/// `& < > " '` as entities, control characters and direction marks spelt out, bounded to
/// [`safe_text::MAX_CHARS`].
///
/// ```
/// assert_eq!(genba_report::html::escape("<script>"), "&lt;script&gt;");
/// ```
#[must_use]
pub fn escape(text: &str) -> String {
    escape_clean(&safe_text::sanitise(text))
}

/// As [`escape`], cut to so many columns.
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
    fn the_usual_suspects() {
        assert_eq!(
            escape(r#"<img src=x onerror="alert('1')">&"#),
            "&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;&amp;"
        );
        assert_eq!(escape("\0"), "\\x00");
    }

    proptest! {
        #[test]
        fn no_mark_up_survives(text in any::<String>()) {
            prop_assert!(!escape(&text).contains(['<', '>', '"', '\'', '\0']));
        }
    }
}
