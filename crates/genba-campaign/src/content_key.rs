//! Keys of builds and blocks: hashes of everything that they depend on. Pure.

use serde::Serialize;
use twox_hash::XxHash3_128;

/// Part of every key; a change of what stored results mean gets another number.
const FORMAT: u32 = 1;

/// The key of a content: 24 hexadecimal digits, the same in every version and on every machine.
#[must_use]
pub fn content_key(content: &impl Serialize) -> String {
    // Maps are sorted, so that equal contents have one text.
    let text = serde_json::to_string(&(FORMAT, content)).unwrap_or_default();
    let hash = XxHash3_128::oneshot(text.as_bytes());
    format!("{hash:032x}")[..24].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stay_the_same_for_ever() {
        assert_eq!(content_key(&("a", 1)), content_key(&("a", 1)));
        assert_ne!(content_key(&("a", 1)), content_key(&("a", 2)));
        // Stored results are found by it.
        assert_eq!(content_key(&"campaign"), "182fdceada4600963c82ccd6");
    }
}
