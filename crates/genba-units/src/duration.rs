//! Durations: `--budget 2min`, `1.812 s`, `3 min 12 s`.

use std::time::Duration;

use genba_model::Estimate;

use crate::count::group;
use crate::digits::{decimals, decimals_for, fixed, half_width};

/// Longest duration that is accepted: a year.
const MAX_SECONDS: f64 = 366.0 * 86_400.0;

/// Parses `20s`, `1.5 s`, `500ms`, `50us`, `2min` or `2m`, `1h`, sums of these (`1h 30min`), or a
/// bare number of seconds.
///
/// # Errors
/// Anything else, zero, and more than a year, as a sentence.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let seconds = sum_of_seconds(text)
        .ok_or_else(|| format!("invalid duration {text:?}: write 20s, 500ms, 2min or 1h"))?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if !duration.is_zero() && seconds <= MAX_SECONDS => Ok(duration),
        _ => Err(format!(
            "invalid duration {text:?}: it must be above zero and at most a year"
        )),
    }
}

/// Parses a time between outputs: a bare number is milliseconds, as in perf; else as [`parse_duration`].
///
/// # Errors
/// As [`parse_duration`]; also below 10 ms.
pub fn parse_interval(text: &str) -> Result<Duration, String> {
    let bare = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let interval = match bare {
        true => parse_duration(&format!("{text}ms"))?,
        false => parse_duration(text)?,
    };
    match interval >= MIN_INTERVAL {
        true => Ok(interval),
        false => Err(format!(
            "invalid interval {text:?}: at least 10 (ms), as in 100 or 1s"
        )),
    }
}

/// Shortest interval between outputs, as in perf.
const MIN_INTERVAL: Duration = Duration::from_millis(10);

/// Seconds of numbers with units that follow one another; a bare number stands alone.
fn sum_of_seconds(text: &str) -> Option<f64> {
    let mut rest = text.trim();
    let bare = rest.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    if bare {
        return rest.parse::<f64>().ok();
    }
    let mut sum = 0.0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        let number = rest[..end].parse::<f64>().ok()?;
        rest = rest[end..].trim_start();
        let end = (rest.find(|c: char| c.is_ascii_digit() || c == '.' || c.is_whitespace()))
            .unwrap_or(rest.len());
        sum += number
            * match &rest[..end] {
                "ns" => 1e-9,
                "us" | "µs" => 1e-6,
                "ms" => 1e-3,
                "s" | "sec" => 1.0,
                "m" | "min" => 60.0,
                "h" => 3600.0,
                "d" => 86_400.0,
                _ => return None,
            };
        rest = rest[end..].trim_start();
    }
    Some(sum)
}

/// Scale and name of the unit that suits a time in seconds: `(1e3, "ms")`.
#[must_use]
pub fn time_unit(seconds: f64) -> (f64, &'static str) {
    match seconds.abs() {
        0.0 => (1.0, "s"),
        v if v >= 0.999_5 => (1.0, "s"),
        v if v >= 0.999_5e-3 => (1e3, "ms"),
        v if v >= 0.999_5e-6 => (1e6, "µs"),
        _ => (1e9, "ns"),
    }
}

/// A time with its unit and as many digits as its interval supports, four at most:
/// `1.812 s`, `35.4 ns`.
#[must_use]
pub fn time(e: &Estimate) -> String {
    if !e.value.is_finite() {
        return "?".to_owned();
    }
    let (scale, unit) = time_unit(e.value);
    let most = decimals_for(e.value * scale, 4);
    let places = decimals(half_width(e) * scale, most).min(most);
    format!("{} {unit}", group(&fixed(e.value * scale, places)))
}

/// A time without an interval: three significant digits, `35.1 ms`.
#[must_use]
pub fn seconds(value: f64) -> String {
    if !value.is_finite() {
        return "?".to_owned();
    }
    let (scale, unit) = time_unit(value);
    let places = decimals_for(value * scale, 3);
    format!("{} {unit}", group(&fixed(value * scale, places)))
}

/// An elapsed time in whole seconds from ten on: `42 s`, `3 min 12 s`, `2 h 5 min`.
#[must_use]
pub fn duration(value: f64) -> String {
    if !value.is_finite() || value < 0.0 {
        return "?".to_owned();
    }
    let whole = value.round() as u64;
    match whole {
        0..=119 if value < 9.95 => seconds(value),
        0..=119 => format!("{whole} s"),
        120..=7199 => format!("{} min {} s", whole / 60, whole % 60),
        _ => {
            let minutes = (value / 60.0).round() as u64;
            format!("{} h {} min", minutes / 60, minutes % 60)
        }
    }
}

/// A forecast of time, in one unit: `40 s`, `4 min`, `2 h`.
#[must_use]
pub fn rough_duration(seconds: f64) -> String {
    match seconds {
        s if s.is_nan() || s < 0.0 => "?".to_owned(),
        s if s < 100.0 => format!("{} s", s.ceil()),
        s if s < 5_400.0 => format!("{} min", (s / 60.0).round()),
        s => format!("{} h", group(&fixed((s / 3600.0).round(), 0))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bare_intervals_are_milliseconds() {
        assert_eq!(parse_interval("1000"), Ok(Duration::from_secs(1)));
        assert_eq!(parse_interval("2s"), Ok(Duration::from_secs(2)));
        for bad in ["", "5", "5ms", "0", "x"] {
            assert!(parse_interval(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn durations_are_parsed_with_and_without_units() {
        for (text, milliseconds) in [
            ("1.5 s", 1500),
            ("20", 20_000),
            ("2min", 120_000),
            ("2m", 120_000),
            ("500ms", 500),
            ("1h30min", 5_400_000),
            (" 3 min 12 s ", 192_000),
        ] {
            assert_eq!(
                parse_duration(text),
                Ok(Duration::from_millis(milliseconds)),
                "{text}"
            );
        }
        assert_eq!(parse_duration("50us"), Ok(Duration::from_micros(50)));
    }

    #[test]
    fn invalid_durations_are_refused_with_an_example() {
        for text in [
            "", "s", "-1s", "1 week", "1e9s", "nan", "inf", "5 2s", "1..2s",
        ] {
            let error = parse_duration(text).unwrap_err();
            assert!(error.ends_with("write 20s, 500ms, 2min or 1h"), "{error}");
        }
        for text in ["0", "0s", "9999999h", "0.0000000001ns"] {
            let error = parse_duration(text).unwrap_err();
            assert!(error.contains("above zero"), "{error}");
        }
    }

    #[test]
    fn digits_follow_the_interval() {
        let e = |value: f64, half: f64| Estimate {
            value,
            low: value - half,
            high: value + half,
        };
        assert_eq!(time(&e(1.8123, 0.0109)), "1.812 s");
        assert_eq!(time(&e(1.8123, 0.05)), "1.81 s");
        assert_eq!(time(&e(1.8123, 0.6)), "1.8 s");
        assert_eq!(time(&e(35.41e-9, 0.4e-9)), "35.4 ns");
        assert_eq!(time(&e(0.0, 0.0)), "0 s");
        assert_eq!(time(&Estimate::exact(0.25)), "250.0 ms");
    }

    #[test]
    fn durations_are_formatted_in_the_unit_that_suits_them() {
        assert_eq!(seconds(0.0351), "35.1 ms");
        assert_eq!(seconds(-0.000_000_000_123_312), "-0.123 ns");
        assert_eq!(duration(192.0), "3 min 12 s");
        assert_eq!(duration(61.0), "61 s");
        assert_eq!(rough_duration(39.2), "40 s");
        assert_eq!(rough_duration(250.0), "4 min");
        assert_eq!(rough_duration(7200.0), "2 h");
    }

    #[test]
    fn hours_are_rounded_to_the_minute() {
        assert_eq!(duration(7438.3), "2 h 4 min");
        assert_eq!(duration(10_790.0), "3 h 0 min");
    }

    proptest! {
        #[test]
        fn formatted_durations_are_parsed_again(value in 1e-9_f64..1e7) {
            let close = |text: String, tolerance: f64| {
                let parsed = parse_duration(&text).map(|d| d.as_secs_f64());
                parsed.is_ok_and(|parsed| (parsed - value).abs() <= tolerance)
            };
            prop_assert!(close(duration(value), (value * 0.006).max(0.5).min(value.max(60.0))));
            if value < 1e3 {
                prop_assert!(close(seconds(value), value * 0.005 + 1e-9));
            }
        }

        #[test]
        fn any_text_gives_a_duration_above_zero_or_an_error(text in ".{0,20}") {
            if let Ok(duration) = parse_duration(&text) {
                prop_assert!(!duration.is_zero());
            }
        }
    }
}
