//! Text from elsewhere made safe to print and short enough for a terminal.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthChar as _;

/// Maximum number of characters that [`sanitise`] returns uncut.
pub const MAX_CHARS: usize = 4096;

/// Returns the text with escape sequences, control characters and direction marks spelt out, cut to
/// [`MAX_CHARS`] characters with `…` in the middle.
///
/// ```
/// assert_eq!(genba_report::safe_text::sanitise("a\x1b[31mb"), "a\\x1b[31mb");
/// ```
#[must_use]
pub fn sanitise(text: &str) -> String {
    bounded(text, MAX_CHARS)
}

/// Returns the text sanitised line by line, for messages that contain names from elsewhere.
#[must_use]
pub fn sanitise_lines(text: &str) -> String {
    const MAX_LINES: usize = 1000;
    let mut out = String::new();
    for (index, line) in text.split('\n').take(MAX_LINES).enumerate() {
        if index > 0 {
            out.push('\n');
        }
        out.push_str(&sanitise(line));
    }
    out
}

/// Returns the text sanitised and at most `width` columns wide, with `…` in the middle.
#[must_use]
pub fn fit(text: &str, width: usize) -> String {
    // Combining marks have no width, so characters are limited as well.
    let clean = bounded(text, width.saturating_mul(2).clamp(16, MAX_CHARS));
    if display_width(&clean) <= width {
        return clean;
    }
    let Some(room) = width.checked_sub(1) else {
        return String::new();
    };
    // The start of a name is more informative; the end distinguishes overloads.
    let tail = take_width(clean.chars().rev(), room * 2 / 5);
    let head = take_width(clean.chars(), room - tail.1);
    let mut out = head.0;
    out.push('…');
    out.extend(tail.0.chars().rev());
    out
}

/// Returns the columns that the text takes in a terminal.
#[must_use]
pub fn display_width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

/// Returns a command as typed in a shell: sanitised, arguments quoted where they need it.
#[must_use]
pub fn command(words: &[String]) -> String {
    let mut out = String::new();
    for (index, word) in words.iter().enumerate() {
        if out.len() > 4 * MAX_CHARS {
            out.push('…');
            break;
        }
        if index > 0 {
            out.push(' ');
        }
        let plain = |c: char| c.is_alphanumeric() || "_-+=./:,@%^~".contains(c);
        if !word.is_empty() && word.chars().all(plain) {
            out.push_str(&sanitise(word));
        } else if word.contains('\'') {
            let escaped = sanitise(word).replace('\'', "'\\''");
            let _ = write!(out, "'{escaped}'");
        } else {
            let _ = write!(out, "'{}'", sanitise(word));
        }
    }
    out
}

/// Returns the last component of a path.
#[must_use]
pub fn file_name(path: &str) -> &str {
    let trimmed = path.trim_end_matches('/');
    match trimmed.rsplit_once('/') {
        Some((_, name)) if !name.is_empty() => name,
        _ => path,
    }
}

/// Returns the text with unsafe characters spelt out, at most `limit` characters of it.
fn bounded(text: &str, limit: usize) -> String {
    let mut out = String::with_capacity(text.len().min(limit));
    // `nth` stops at the limit: a text of a megabyte is not read to its end.
    if text.len() <= limit || text.chars().nth(limit).is_none() {
        text.chars().for_each(|c| push_visible(&mut out, c));
        return out;
    }
    let half = limit / 2;
    text.chars()
        .take(half)
        .for_each(|c| push_visible(&mut out, c));
    out.push('…');
    let tail: Vec<char> = text.chars().rev().take(half).collect();
    tail.iter().rev().for_each(|&c| push_visible(&mut out, c));
    out
}

fn push_visible(out: &mut String, c: char) {
    // A byte that is not UTF-8, in an argument (genba-run's `byte_text`).
    if let '\u{10FF80}'..='\u{10FFFF}' = c {
        let _ = write!(out, "\\x{:02x}", c as u32 & 0xFF);
        return;
    }
    if is_harmless(c) {
        out.push(c);
        return;
    }
    let code = c as u32;
    let _ = match c {
        '\n' => write!(out, "\\n"),
        '\r' => write!(out, "\\r"),
        '\t' => write!(out, " "),
        _ if code < 0x100 => write!(out, "\\x{code:02x}"),
        _ => write!(out, "\\u{{{code:x}}}"),
    };
}

/// Returns whether a terminal or a page merely shows this character.
#[must_use]
pub fn is_harmless(c: char) -> bool {
    !c.is_control()
        && !matches!(c,
            // Direction marks, embeddings, overrides and isolates; separators that break lines.
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{180e}' | '\u{ad}'
            // Tags and private use: invisible, or whatever the font makes of them.
            | '\u{e0000}'..='\u{e0fff}')
}

fn char_width(c: char) -> usize {
    c.width().unwrap_or(0)
}

fn take_width(chars: impl Iterator<Item = char>, room: usize) -> (String, usize) {
    let mut out = String::new();
    let mut used = 0;
    for c in chars {
        let width = char_width(c);
        if used + width > room {
            break;
        }
        used += width;
        out.push(c);
    }
    (out, used)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escape_sequences_and_direction_marks_are_spelt_out() {
        assert_eq!(sanitise("\x1b]0;evil\x07"), "\\x1b]0;evil\\x07");
        assert_eq!(sanitise("\u{9b}31m"), "\\x9b31m");
        assert_eq!(sanitise("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(sanitise("line\nbreak\tx"), "line\\nbreak x");
        assert_eq!(sanitise_lines("a\x1b\n  b\r\n"), "a\\x1b\n  b\\r\n");
        assert_eq!(sanitise("größer 現場"), "größer 現場");
    }

    #[test]
    fn long_text_is_cut_in_the_middle() {
        assert_eq!(fit("abcdefghijklmnop", 9), "abcde…nop");
        assert_eq!(fit("short", 9), "short");
        assert_eq!(fit("anything", 0), "");
        assert_eq!(fit("anything", 1), "…");
        assert_eq!(fit("現場現場", 5).chars().count(), 3);
    }

    #[test]
    fn megabytes_and_combining_marks_are_cut() {
        let long = "x".repeat(1 << 20);
        assert!(sanitise(&long).chars().count() <= MAX_CHARS + 1);
        assert_eq!(display_width(&fit(&long, 40)), 40);
        let marks = "a\u{301}".repeat(1 << 20);
        assert!(fit(&marks, 40).len() < 400);
    }

    #[test]
    fn arguments_are_quoted_where_needed() {
        let words = ["./x", "a b", "", "it's", "\x1b["].map(str::to_owned);
        assert_eq!(command(&words), r"./x 'a b' '' 'it'\''s' '\x1b['");
    }

    proptest! {
        #[test]
        fn sanitised_text_has_no_control_characters(text in any::<String>()) {
            prop_assert!(sanitise(&text).chars().all(|c| !c.is_control() && is_harmless(c)));
            prop_assert!(command(&[text]).chars().all(is_harmless));
        }

        #[test]
        fn fitted_text_is_within_the_width(text in any::<String>(), width in 0_usize..200) {
            prop_assert!(display_width(&fit(&text, width)) <= width);
        }
    }
}
