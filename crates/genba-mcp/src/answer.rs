//! Answers within a number of tokens. Pure.

/// Tokens of an answer unless the agent asks for another number.
pub const DEFAULT_TOKENS: usize = 2_000;
/// Fewest tokens that can be asked for.
pub const MIN_TOKENS: usize = 200;
/// Most tokens that can be asked for.
pub const MAX_TOKENS: usize = 50_000;

/// Letters or digits of a row that are counted as one token. Tokenizers of language models take about four of
/// English text, fewer of identifiers and hexadecimal digits.
const LETTERS_PER_TOKEN: usize = 3;
/// Blanks of a row that are counted as one token.
const BLANKS_PER_TOKEN: usize = 8;

/// An upper estimate of the tokens of a text: tokenizers differ, and none is asked.
pub fn tokens(text: &str) -> usize {
    let mut tokens = 0;
    let mut row: Option<(Kind, usize)> = None;
    for character in text.chars() {
        let kind = Kind::of(character);
        match &mut row {
            Some((last, length)) if *last == kind => *length += 1,
            _ => {
                tokens += row.map_or(0, |(kind, length)| kind.tokens(length));
                row = Some((kind, 1));
            }
        }
    }
    tokens + row.map_or(0, |(kind, length)| kind.tokens(length))
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Word,
    Blank,
    Other,
}

impl Kind {
    fn of(character: char) -> Self {
        match character {
            ' ' => Self::Blank,
            _ if character.is_ascii_alphanumeric() => Self::Word,
            _ => Self::Other,
        }
    }

    fn tokens(self, length: usize) -> usize {
        match self {
            Self::Word => length.div_ceil(LETTERS_PER_TOKEN),
            // One blank belongs to the word behind it.
            Self::Blank => (length - 1).div_ceil(BLANKS_PER_TOKEN),
            Self::Other => length,
        }
    }
}

/// Share of the tokens that notes at the end may have of a shortened text.
const MAX_SHARE_OF_NOTES: usize = 3;

/// The first lines of a text and the notes at its end, of at most so many tokens, with a line between that says how
/// many lines are missing and `how` to get them. Notes say what a figure rests on, so they outlive the figures.
pub fn shortened(text: &str, limit: usize, how: &str) -> String {
    if tokens(text) <= limit {
        return text.to_owned();
    }
    let (body, notes) = text.split_at(start_of_notes(text));
    let (body, notes) = match tokens(notes) <= limit / MAX_SHARE_OF_NOTES {
        true => (body, notes),
        false => (text, ""),
    };
    let total = body.lines().count();
    let ending = |missing: usize| format!("… {missing} more lines: {how}\n");
    let room = limit.saturating_sub(tokens(&ending(total)) + tokens(notes));
    let mut kept = String::new();
    let mut used = 0;
    let mut lines = 0;
    for line in body.split_inclusive('\n') {
        used += tokens(line);
        if used > room {
            break;
        }
        kept.push_str(line);
        lines += 1;
    }
    if lines < total {
        kept.push_str(&ending(total - lines));
    }
    kept.push_str(notes);
    kept
}

/// Where the notes at the end of a text begin: lines with an exclamation mark, and indented ones that continue them.
fn start_of_notes(text: &str) -> usize {
    let mut start = text.len();
    let mut at = text.len();
    for line in text.split_inclusive('\n').rev() {
        at -= line.len();
        match line {
            _ if line.starts_with("! ") => start = at,
            _ if line.starts_with("  ") || line == "\n" => {}
            _ => break,
        }
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_blanks_and_signs_are_counted() {
        assert_eq!(tokens(""), 0);
        assert_eq!(tokens("the loop"), 3);
        assert_eq!(tokens("0x7f3a"), 2);
        assert_eq!(tokens("a     b"), 3);
        assert_eq!(tokens("│─►"), 3);
    }

    #[test]
    fn short_text_is_not_changed_and_long_text_names_what_is_missing() {
        assert_eq!(shortened("a\nb\n", 100, "ask"), "a\nb\n");
        let long = "one line of text\n".repeat(1_000);
        let short = shortened(&long, 200, "ask for max_tokens");
        assert!(tokens(&short) <= 200);
        let missing = 1_000 - (short.lines().count() - 1);
        assert!(short.ends_with(&format!("… {missing} more lines: ask for max_tokens\n")));
    }

    #[test]
    fn notes_at_the_end_outlive_the_lines_before_them() {
        let long = format!(
            "{}  indented\n! sampled with\n  cpu-clock\n! 3 outliers\n",
            "figures\n".repeat(1_000)
        );
        let short = shortened(&long, 200, "ask");
        assert!(
            short.ends_with("more lines: ask\n! sampled with\n  cpu-clock\n! 3 outliers\n"),
            "{short}"
        );
        assert!(tokens(&short) <= 200);
        // Where the notes alone are too long, the beginning counts.
        let notes = shortened(&"! a note\n".repeat(1_000), 200, "ask");
        assert!(notes.starts_with("! a note") && notes.ends_with("ask\n"));
    }

    proptest! {
        #[test]
        fn answer_has_never_more_tokens_than_the_limit(text in "[a-z0-9 │\n.]{0,4000}", limit in 200_usize..400) {
            prop_assert!(tokens(&shortened(&text, limit, "ask")) <= limit);
        }
    }
}
