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

    proptest! {
        #[test]
        fn any_line_gives_words_or_an_error(line in ".{0,200}") {
            if let Ok(words) = split_words(&line) {
                prop_assert!(!words.is_empty());
            }
        }
    }
}
