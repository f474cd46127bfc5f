//! Frequencies: `-F 4999`, `5kHz`, `3.69 GHz`.

use crate::digits::{decimals_for, fixed, number_and_unit};

/// Parses `4999`, `4999Hz`, `5kHz`, and the same with MHz and GHz, to hertz.
///
/// # Errors
/// Anything else, and zero, as a sentence.
pub fn parse_frequency(text: &str) -> Result<u64, String> {
    number_and_unit(text)
        .and_then(|(number, unit)| {
            let scale = match unit.to_ascii_lowercase().as_str() {
                "" | "hz" => 1.0,
                "k" | "khz" => 1e3,
                "mhz" => 1e6,
                "ghz" => 1e9,
                _ => return None,
            };
            Some((number * scale).round())
        })
        .filter(|hz| (1.0..1e12).contains(hz))
        .map(|hz| hz as u64)
        .ok_or_else(|| format!("invalid frequency {text:?}: write 4999, 4999Hz or 5kHz"))
}

/// A frequency, three significant digits: `4.99 kHz`, `3.69 GHz`.
#[must_use]
pub fn frequency(hz: f64) -> String {
    if !hz.is_finite() {
        return "?".to_owned();
    }
    let (scaled, unit) = match hz.abs() {
        v if v < 999.5 => (hz, "Hz"),
        v if v < 999.5e3 => (hz / 1e3, "kHz"),
        v if v < 999.5e6 => (hz / 1e6, "MHz"),
        _ => (hz / 1e9, "GHz"),
    };
    format!("{} {unit}", fixed(scaled, decimals_for(scaled, 3)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn frequencies_are_parsed_and_formatted() {
        assert_eq!(parse_frequency("4999"), Ok(4999));
        assert_eq!(parse_frequency("5 kHz"), Ok(5000));
        assert_eq!(parse_frequency("3.7GHz"), Ok(3_700_000_000));
        assert_eq!(frequency(3.693e9), "3.69 GHz");
        for text in ["", "0", "-5", "max", "5 years", "1e3"] {
            assert!(parse_frequency(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn formatted_frequencies_are_parsed_again(hz in 1_u64..100_000_000_000) {
            let parsed = parse_frequency(&frequency(hz as f64)).unwrap();
            prop_assert!(parsed.abs_diff(hz) as f64 <= hz as f64 * 0.005 + 1.0);
        }
    }
}
