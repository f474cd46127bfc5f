//! Durations and shares as people write them.

use std::time::Duration;

/// Longest duration that is taken: a month.
const LONGEST_SECONDS: f64 = 31.0 * 86_400.0;

/// `20s`, `1.5 s`, `500ms`, `2min`, `1h`, or a bare number of seconds.
///
/// # Errors
/// Anything else, as a sentence.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let trimmed = text.trim();
    let end = trimmed
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(end);
    let scale = match unit.trim() {
        "" | "s" => 1.0,
        "ms" => 1e-3,
        "min" | "m" => 60.0,
        "h" => 3600.0,
        _ => f64::NAN,
    };
    match number.parse::<f64>().map(|number| number * scale) {
        Ok(seconds) if seconds > 0.0 && seconds <= LONGEST_SECONDS => {
            Ok(Duration::from_secs_f64(seconds))
        }
        _ => Err(format!(
            "{text:?} is not a length of time; write 20s, 500ms, 2min or 1h"
        )),
    }
}

/// `1%`, `0.5 %` or `0.01`: between 0 and 1, both excluded.
///
/// # Errors
/// Anything else, as a sentence.
pub fn parse_share(text: &str) -> Result<f64, String> {
    let trimmed = text.trim();
    let (number, scale) = match trimmed.strip_suffix('%') {
        Some(number) => (number.trim_end(), 0.01),
        None => (trimmed, 1.0),
    };
    match number.parse::<f64>().map(|number| number * scale) {
        Ok(share) if share > 0.0 && share < 1.0 => Ok(share),
        _ => Err(format!("{text:?} is not a share; write 1% or 0.01")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_and_shares() {
        assert_eq!(parse_duration("1.5 s"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_duration("20"), Ok(Duration::from_secs(20)));
        assert_eq!(parse_duration("2min"), Ok(Duration::from_secs(120)));
        assert_eq!(parse_share("1%"), Ok(0.01));
        assert_eq!(parse_share("0.25"), Ok(0.25));
        for wrong in ["", "s", "-1s", "1 week", "1e9s", "nan", "9999999h", "0s"] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "0", "100%", "-1%", "NaN", "inf", "%"] {
            assert!(parse_share(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_text_gives_a_value_or_a_sentence(text in ".{0,20}") {
            if let Ok(share) = parse_share(&text) {
                prop_assert!(share > 0.0 && share < 1.0);
            }
            let _ = parse_duration(&text);
        }
    }
}
