//! Arguments as text: command lines and paths are bytes, and most of genba works on text. Bytes that are
//! not UTF-8 are the characters U+10FF80 (for 0x80) to U+10FFFF (for 0xFF), which have no other meaning,
//! so nothing is lost. Pure.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// The character of byte 0.
const BASE: u32 = 0x10_FF00;

/// Returns the byte that a character is for, if it is for one.
#[must_use]
pub fn byte_of(character: char) -> Option<u8> {
    let byte = u32::from(character).checked_sub(BASE)?;
    u8::try_from(byte).ok().filter(|byte| *byte >= 0x80)
}

fn push_bytes(text: &mut String, bytes: &[u8]) {
    let characters = bytes.iter().map(|byte| BASE + u32::from(*byte));
    text.extend(characters.filter_map(char::from_u32));
}

/// Returns bytes as text. [`bytes_of`] returns the bytes again.
#[must_use]
pub fn text_of(bytes: &OsStr) -> String {
    let mut text = String::new();
    for chunk in bytes.as_bytes().utf8_chunks() {
        for character in chunk.valid().chars() {
            match byte_of(character) {
                // The character itself: its bytes.
                Some(_) => push_bytes(&mut text, character.encode_utf8(&mut [0; 4]).as_bytes()),
                None => text.push(character),
            }
        }
        push_bytes(&mut text, chunk.invalid());
    }
    text
}

/// Returns the bytes of a text that [`text_of`] made.
#[must_use]
pub fn bytes_of(text: &str) -> OsString {
    let mut bytes = Vec::with_capacity(text.len());
    for character in text.chars() {
        match byte_of(character) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_stays_and_other_bytes_are_characters() {
        assert_eq!(text_of(OsStr::new("grüß")), "grüß");
        let name = OsStr::from_bytes(b"a\xffb");
        assert_eq!(text_of(name), "a\u{10FFFF}b");
        assert_eq!(bytes_of("a\u{10FFFF}b"), name);
        assert_eq!(byte_of('\u{10FF7F}'), None);
    }

    proptest! {
        #[test]
        fn nothing_is_lost(bytes in prop::collection::vec(any::<u8>(), 0..40), more in "[\u{10FF00}-\u{10FFFF}a]{0,5}") {
            for bytes in [bytes, more.into_bytes()] {
                let bytes = OsString::from_vec(bytes);
                prop_assert_eq!(bytes_of(&text_of(&bytes)), bytes);
            }
        }
    }
}
