//! Build ids: whether a file is the one that was recorded.

use std::fmt::Write as _;

/// Longest build id that is believed, bytes; linkers write 8 to 20.
pub(crate) const MAX_BUILD_ID: usize = 64;

/// Whether `recorded`, as a recording has it, is the build id `in_file`. The kernel pads shorter
/// ids to 20 bytes with zeros.
#[must_use]
pub fn same_build_id(recorded: &[u8], in_file: &[u8]) -> bool {
    let padding = recorded.strip_prefix(in_file);
    !in_file.is_empty() && padding.is_some_and(|rest| rest.iter().all(|&byte| byte == 0))
}

/// Lower-case hexadecimal digits of bytes, as tools print build ids.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The bytes of a build id in hexadecimal; `None` if the text is not one.
#[must_use]
pub fn build_id_from_hex(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || text.len() > 2 * MAX_BUILD_ID {
        return None;
    }
    text.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_id_padded_with_zeros_is_the_same() {
        assert!(same_build_id(&[1, 2, 3], &[1, 2, 3]));
        assert!(same_build_id(&[1, 2, 0, 0], &[1, 2]));
        assert!(!same_build_id(&[1, 2, 3, 0], &[1, 2]));
        assert!(!same_build_id(&[1, 2], &[1, 2, 3]));
        assert!(!same_build_id(&[0, 0], &[]));
    }

    #[test]
    fn hexadecimal_digits_are_read_back() {
        assert_eq!(hex(&[0xab, 0x01]), "ab01");
        assert_eq!(build_id_from_hex("ab01"), Some(vec![0xab, 0x01]));
        for invalid in ["abc", "zz", "é"] {
            assert_eq!(build_id_from_hex(invalid), None, "{invalid}");
        }
        assert_eq!(build_id_from_hex(&"00".repeat(MAX_BUILD_ID + 1)), None);
    }
}
