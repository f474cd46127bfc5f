//! Sizes in bytes: `64K`, `1 GiB`, `12.4 MB`.

use crate::count::grouped;
use crate::digits::{fixed, number_and_unit};

/// Parses `4096`, `64K` or `64KiB` (1,024 each, as in sysfs and in perf), `64kB` (1,000 each), and
/// the same with M, G and T.
///
/// # Errors
/// Anything else, as a sentence.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let scale = |unit: &str| {
        Some(match unit {
            "" | "B" | "bytes" => 1.0,
            "k" | "K" | "KiB" => 1024.0,
            "M" | "MiB" => 1024.0 * 1024.0,
            "G" | "GiB" => 1024.0 * 1024.0 * 1024.0,
            "T" | "TiB" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
            "kB" | "KB" => 1e3,
            "MB" => 1e6,
            "GB" => 1e9,
            "TB" => 1e12,
            _ => return None,
        })
    };
    number_and_unit(text)
        .and_then(|(number, unit)| Some(number * scale(unit)?))
        // Whole but for rounding; above 9e15 a float does not hold every whole number.
        .filter(|bytes| (bytes - bytes.round()).abs() <= bytes * 1e-9 && *bytes < 9e15)
        .map(|bytes| bytes.round() as u64)
        .ok_or_else(|| format!("invalid size {text:?}: write 4096, 64K, 64KiB or 64kB"))
}

/// Divisor and name of the unit that suits a size in bytes: `(1e6, "MB")`.
#[must_use]
pub fn bytes_unit(value: f64) -> (f64, &'static str) {
    match value.abs() {
        v if v < 999.5 => (1.0, "B"),
        v if v < 999_950.0 => (1e3, "kB"),
        v if v < 999.95e6 => (1e6, "MB"),
        v if v < 999.95e9 => (1e9, "GB"),
        _ => (1e12, "TB"),
    }
}

/// Bytes in powers of ten, as disks and networks count: `12.4 MB`.
#[must_use]
pub fn bytes(value: f64) -> String {
    if !value.is_finite() {
        return "?".to_owned();
    }
    match bytes_unit(value) {
        (_, "B") => format!("{} B", grouped(value)),
        (divisor, unit) => format!("{} {unit}", fixed(value / divisor, 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_are_parsed_with_binary_and_decimal_units() {
        assert_eq!(parse_bytes("32K"), Ok(32 << 10));
        assert_eq!(parse_bytes("1M"), Ok(1 << 20));
        assert_eq!(parse_bytes("2 GiB"), Ok(2 << 30));
        assert_eq!(parse_bytes("12.4 MB"), Ok(12_400_000));
        assert_eq!(parse_bytes("4096"), Ok(4096));
    }

    #[test]
    fn invalid_sizes_are_refused_with_an_example() {
        for text in ["", "K", "-1", "1.5", "1Q", "99999999999T", "1e3"] {
            let error = parse_bytes(text).unwrap_err();
            assert!(error.ends_with("write 4096, 64K, 64KiB or 64kB"), "{error}");
        }
    }

    #[test]
    fn sizes_are_formatted_in_powers_of_ten() {
        assert_eq!(bytes(12.4e6), "12.4 MB");
        assert_eq!(bytes(999.0), "999 B");
    }

    proptest! {
        #[test]
        fn formatted_sizes_are_parsed_again(value in 0_u64..1_000_000_000_000) {
            let parsed = parse_bytes(&bytes(value as f64)).unwrap();
            prop_assert!(parsed.abs_diff(value) as f64 <= value as f64 * 0.05 + 0.5);
        }

        #[test]
        fn any_text_gives_a_size_or_an_error(text in ".{0,20}") {
            let _ = parse_bytes(&text);
        }
    }
}
