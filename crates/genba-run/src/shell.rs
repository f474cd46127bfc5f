//! Which shell interprets a command line, and splitting a line where none does.

use crate::RunError;

/// The shell for command lines, as `--shell` names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shell {
    /// None (`-N`, `--shell=none`): the line is split into words and started directly.
    None,
    /// This program and its options; `-c LINE` follows.
    Command(Vec<String>),
}

impl Default for Shell {
    fn default() -> Self {
        Self::Command(vec!["sh".to_owned()])
    }
}

impl Shell {
    /// `none`, or a shell with options (`bash --norc`); an empty string means the default.
    ///
    /// # Errors
    /// A quote that is not closed.
    pub fn parse(text: &str) -> Result<Self, RunError> {
        match text.trim() {
            "none" => Ok(Self::None),
            "" | "default" => Ok(Self::default()),
            text => split_words(text).map(Self::Command),
        }
    }
}

/// Splits a line into words by the shell's rules of quoting, without any expansion.
///
/// # Errors
/// A quote that is not closed, a backslash at the end, a line without words.
pub fn split_words(line: &str) -> Result<Vec<String>, RunError> {
    let words = shlex::split(line).ok_or_else(|| RunError::Quoting {
        line: line.to_owned(),
    })?;
    if words.is_empty() {
        return Err(RunError::EmptyCommand);
    }
    Ok(words)
}

/// A word quoted for the shell, which reads it as this one word whatever it contains.
#[must_use]
pub fn quote_word(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The same of bytes, which need not be UTF-8.
#[must_use]
pub fn quote_bytes(word: &[u8]) -> Vec<u8> {
    let parts: Vec<&[u8]> = word.split(|&byte| byte == b'\'').collect();
    [b"'", &parts.join(&br"'\''"[..])[..], b"'"].concat()
}

/// Words as a line for the shell, those quoted that need it. Placeholders (`{N}`) do not; braces with a
/// list or range inside, which some shells expand, do.
#[must_use]
pub fn join_words(words: &[String]) -> String {
    let plain = |word: &String| {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:,+@%{}".contains(&byte);
        let expands = word.contains('{') && (word.contains(',') || word.contains(".."));
        !word.is_empty() && word.bytes().all(known) && !expands
    };
    let quoted = words.iter().map(|word| match plain(word) {
        true => word.clone(),
        false => quote_word(word),
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// Whether a command as it was given is a line for the shell: one string with blanks in it. All else are a program
/// and its arguments.
#[must_use]
pub fn is_shell_line(command: &[String]) -> bool {
    matches!(command, [line] if line.contains(char::is_whitespace))
}

/// A command as it was given, as one line: a single string as it is, words quoted for a shell.
#[must_use]
pub fn line_as_given(command: &[String]) -> String {
    match command {
        [line] => line.clone(),
        words => join_words(words),
    }
}

/// Characters that mean something to a shell, but for quotes and blanks.
const SHELL_SYNTAX: &[char] = &[
    '|', '&', ';', '<', '>', '(', ')', '$', '`', '*', '?', '[', '#', '~', '!', '{', '\n',
];

/// Words that do what a line for the shell does: those of the line where the shell would do no more than
/// start them, else `sh -c LINE`.
#[must_use]
pub fn words_of_line(line: &str) -> Vec<String> {
    let for_shell = || ["sh", "-c", line].map(str::to_owned).to_vec();
    let Ok(words) = split_words(line) else {
        return for_shell();
    };
    let is_plain = join_words(&words) == line || !line.contains(SHELL_SYNTAX);
    let sets_variable = words[0].contains('=');
    match is_plain && !sets_variable {
        true => words,
        false => for_shell(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn splits_as_a_shell_does() {
        let words = split_words(r#"grep -e 'a b' "c\"d" e\ f"#).expect("words");
        assert_eq!(words, ["grep", "-e", "a b", "c\"d", "e f"]);
        assert!(matches!(
            split_words("echo 'x"),
            Err(RunError::Quoting { .. })
        ));
        assert!(matches!(split_words("  "), Err(RunError::EmptyCommand)));
    }

    #[test]
    fn names_of_shells() {
        assert_eq!(Shell::parse("none").expect("none"), Shell::None);
        assert_eq!(Shell::parse("").expect("default"), Shell::default());
        let bash = Shell::Command(vec!["bash".into(), "--norc".into()]);
        assert_eq!(Shell::parse("bash --norc").expect("bash"), bash);
    }

    #[test]
    fn words_are_quoted_where_they_need_it() {
        let words = ["./x", "a b", "", "it's", "{N}", "{1..3}", "$HOME"].map(str::to_owned);
        let line = r"./x 'a b' '' 'it'\''s' {N} '{1..3}' '$HOME'";
        assert_eq!(join_words(&words), line);
    }

    #[test]
    fn shell_reads_quoted_words_as_they_are() {
        for word in ["plain", "with space", "it's", "$HOME `x` \\", "-D'\"'", "'"] {
            assert_eq!(quote_bytes(word.as_bytes()), quote_word(word).as_bytes());
            let line = format!("printf %s {}", quote_word(word));
            let mut shell = std::process::Command::new("sh");
            let output = shell.args(["-c", &line]).output().expect("sh");
            assert_eq!(String::from_utf8_lossy(&output.stdout), word);
        }
    }

    proptest! {
        #[test]
        fn joined_words_are_split_into_the_same(words in proptest::collection::vec(".{0,20}", 1..6)) {
            prop_assert_eq!(split_words(&join_words(&words)).expect("words"), words);
        }

        #[test]
        fn any_line_gives_words_or_an_error(line in ".{0,200}") {
            if let Ok(words) = split_words(&line) {
                prop_assert!(!words.is_empty());
            }
        }
    }

    #[test]
    fn lines_with_shell_syntax_stay_lines() {
        for line in [
            "a | wc -c",
            "A=1 ./p",
            "./p *.c",
            "./p >out",
            "./p 'a",
            "echo \"$A\"",
        ] {
            assert_eq!(words_of_line(line), ["sh", "-c", line], "{line}");
        }
        assert_eq!(words_of_line("./p --x=1 \"a b\""), ["./p", "--x=1", "a b"]);
    }

    proptest! {
        #[test]
        fn words_are_those_of_their_line(words in proptest::collection::vec("[a-z ./|$'\\\\{},-]{1,8}", 1..5)) {
            prop_assert_eq!(words_of_line(&join_words(&words)), words);
        }
    }
}
