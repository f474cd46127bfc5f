//! Case ids: four or more hexadecimal digits.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Maximum length of an id, which also bounds ids of imported files.
const MAX_LEN: usize = 32;

/// Whether this is a valid id, and so a safe directory name.
pub(crate) fn is_valid(id: &str) -> bool {
    (4..=MAX_LEN).contains(&id.len()) && is_prefix(id)
}

/// Whether this can be the prefix of an id.
pub(crate) fn is_prefix(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= MAX_LEN
        && text
            .bytes()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

/// A random id for the n-th attempt: short first, longer after collisions.
pub(crate) fn candidate(attempt: u32) -> String {
    // The standard library seeds RandomState from the system; no secrecy is needed here.
    let random = RandomState::new().build_hasher().finish();
    let digits = match attempt {
        0..=7 => 4,
        8..=15 => 6,
        _ => 12,
    };
    format!("{random:016x}")[..digits].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_are_valid_and_grow() {
        for attempt in 0..40 {
            assert!(is_valid(&candidate(attempt)));
        }
        assert!(candidate(20).len() > candidate(0).len());
    }

    #[test]
    fn nothing_that_leaves_the_directory_is_an_identifier() {
        for bad in ["", "..", "../..", "a/b", "abc", "ABCD", "12g4", "\0\0\0\0"] {
            assert!(!is_valid(bad), "{bad:?}");
        }
        assert!(!is_valid(&"a".repeat(1000)));
    }
}
