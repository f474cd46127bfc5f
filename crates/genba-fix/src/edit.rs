//! Edits of a text, and a patch of them. Pure.

use std::ops::Range;

use similar::TextDiff;

/// A replacement of a range of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// What is replaced.
    pub range: Range<usize>,
    /// By what.
    pub text: String,
}

impl Edit {
    /// A replacement.
    #[must_use]
    pub fn replace(range: Range<usize>, text: impl Into<String>) -> Self {
        Self {
            range,
            text: text.into(),
        }
    }

    /// An insertion.
    #[must_use]
    pub fn insert(at: usize, text: impl Into<String>) -> Self {
        Self::replace(at..at, text)
    }
}

/// The text after all edits; `None` if they overlap or lie outside it.
#[must_use]
pub fn apply(text: &str, edits: &[Edit]) -> Option<String> {
    let mut sorted: Vec<&Edit> = edits.iter().collect();
    sorted.sort_by_key(|edit| (edit.range.start, edit.range.end));
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in sorted {
        if edit.range.start < at || edit.range.end < edit.range.start {
            return None;
        }
        out.push_str(text.get(at..edit.range.start)?);
        out.push_str(&edit.text);
        at = edit.range.end;
    }
    out.push_str(text.get(at..)?);
    Some(out)
}

/// The unified diff of a file, with `a/` and `b/` before its path; empty where both are the same.
#[must_use]
pub fn unified_diff(path: &str, before: &str, after: &str) -> String {
    // A name that does not fit on the header's line cannot be named in a patch.
    if before == after || path.contains(['\n', '\t', '"']) {
        return String::new();
    }
    let diff = TextDiff::from_lines(before, after);
    (diff.unified_diff())
        .header(&format!("a/{path}"), &format!("b/{path}"))
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_applied_in_the_order_of_the_text() {
        let edits = [Edit::replace(4..5, "B"), Edit::insert(0, ">")];
        assert_eq!(apply("abc d", &edits).as_deref(), Some(">abc B"));
    }

    #[test]
    fn overlapping_or_outside_edits_are_refused() {
        let overlapping = [Edit::replace(0..3, ""), Edit::replace(2..4, "")];
        assert_eq!(apply("abcdef", &overlapping), None);
        assert_eq!(apply("abc", &[Edit::insert(9, "")]), None);
    }

    #[test]
    fn diff_names_the_file_and_has_context() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let diff = unified_diff("src/a.c", before, &before.replace('5', "five"));
        assert!(diff.starts_with("--- a/src/a.c\n+++ b/src/a.c\n@@ -2,7 +2,7 @@\n"));
        assert!(diff.contains("\n-5\n+five\n"));
        assert_eq!(unified_diff("a.c", before, before), "");
    }
}
