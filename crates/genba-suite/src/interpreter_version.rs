//! Comparing versions of interpreters.

/// Whether a version is at least the one required; by their numbers, as far as both have them
/// (`3.1.2` is at least `3.1`). A missing number is 0.
pub fn at_least(version: &str, required: &str) -> bool {
    let numbers = |text: &str| -> Vec<u64> {
        text.split(|c: char| !c.is_ascii_digit())
            .filter(|part| !part.is_empty())
            .map(|part| part.parse().unwrap_or(u64::MAX))
            .collect()
    };
    let (mut version, mut required) = (numbers(version), numbers(required));
    let length = version.len().max(required.len());
    version.resize(length, 0);
    required.resize(length, 0);
    version >= required
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_numerically() {
        assert!(at_least("3.1.2", "3.1"));
        assert!(at_least("3.10.0", "3.9"));
        assert!(at_least("3.1", "3.1.0"));
        assert!(!at_least("2.7.6", "3"));
        assert!(!at_least("", "1"));
    }
}
