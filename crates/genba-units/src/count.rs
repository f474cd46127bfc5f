//! Counts and plain numbers: `1,288`, `410.2 M`, `14 source lines`.

use genba_model::Estimate;

use crate::digits::{decimals, decimals_for, fixed, half_width};

/// Parses a number as programs print it: with thousands separated by commas or underscores as
/// well.
///
/// # Errors
/// Anything else, as a sentence.
pub fn parse_number(text: &str) -> Result<f64, String> {
    let trimmed = text.trim();
    let value = match trimmed.parse::<f64>() {
        Err(_) if trimmed.bytes().any(|byte| byte.is_ascii_digit()) => {
            trimmed.replace([',', '_'], "").parse::<f64>()
        }
        other => other,
    };
    match value {
        Ok(value) if value.is_finite() => Ok(value),
        _ => {
            let mut shown: String = trimmed.chars().take(40).collect();
            if shown.len() < trimmed.len() {
                shown.push('…');
            }
            Err(format!("invalid number {shown:?}"))
        }
    }
}

/// Parses a number above zero, as a factor or a number of units.
///
/// # Errors
/// Anything else, as a sentence.
pub fn parse_positive_number(text: &str) -> Result<f64, String> {
    parse_number(text)
        .ok()
        .filter(|number| *number > 0.0)
        .ok_or_else(|| format!("invalid number {text:?}: write a number above zero"))
}

/// Digits in groups of three: `1,288`. Fractions are rounded.
#[must_use]
pub fn grouped(value: f64) -> String {
    group(&fixed(value, 0))
}

/// Puts commas between groups of three digits.
pub(crate) fn group(text: &str) -> String {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text),
    };
    let (whole, fraction) = rest.split_once('.').unwrap_or((rest, ""));
    if !whole.bytes().all(|b| b.is_ascii_digit()) {
        return text.to_owned();
    }
    let mut out = String::from(sign);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// A number in groups with this many decimals: `1,812.34`.
#[must_use]
pub fn grouped_decimals(value: f64, decimals: usize) -> String {
    group(&fixed(value, decimals))
}

/// Divisor and name of the unit that suits a count: `(1e6, " M")`.
#[must_use]
pub fn count_unit(value: f64) -> (f64, &'static str) {
    match value.abs() {
        v if v < 99_999.5 => (1.0, ""),
        v if v < 999_950.0 => (1e3, " k"),
        v if v < 999.95e6 => (1e6, " M"),
        v if v < 999.95e9 => (1e9, " G"),
        _ => (1e12, " T"),
    }
}

/// A count for reading: `1,288`, `410.2 M`.
#[must_use]
pub fn count(value: f64) -> String {
    if !value.is_finite() {
        return "?".to_owned();
    }
    let (divisor, unit) = count_unit(value);
    let places = usize::from(!unit.is_empty());
    format!("{}{unit}", group(&fixed(value / divisor, places)))
}

/// A count with its interval: all digits of an exact one, else as many as are supported:
/// `6.204 G`.
#[must_use]
pub fn counted(e: &Estimate) -> String {
    let half = half_width(e);
    if half == 0.0 || !e.value.is_finite() {
        return if e.value.is_finite() {
            grouped(e.value)
        } else {
            "?".to_owned()
        };
    }
    let (divisor, unit) = count_unit(e.value);
    let most = if unit.is_empty() { 1 } else { 6 };
    let places = decimals(half / divisor, most).min(most);
    format!("{}{unit}", group(&fixed(e.value / divisor, places)))
}

/// A plain number with as many digits as its interval supports, `most` significant ones at
/// most.
#[must_use]
pub fn plain(e: &Estimate, most: i32) -> String {
    if !e.value.is_finite() {
        return "?".to_owned();
    }
    let limit = decimals_for(e.value, most);
    let places = decimals(half_width(e), limit).min(limit);
    group(&fixed(e.value, places))
}

/// A noun with its number: `1 function`, `14 source lines`.
#[must_use]
pub fn plural(number: u64, noun: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {noun}{s}", grouped(number as f64))
}

/// The same with the number shortened: `410.2 M iterations`.
#[must_use]
pub fn plural_short(number: u64, noun: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {noun}{s}", count(number as f64))
}

/// How many times: `once`, `12 times`, `33.0 M times`.
#[must_use]
pub fn times(number: u64) -> String {
    match number {
        1 => "once".to_owned(),
        n => format!("{} times", count(n as f64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{bytes, duration, seconds, time};
    use proptest::prelude::*;

    fn e(value: f64, half: f64) -> Estimate {
        Estimate {
            value,
            low: value - half,
            high: value + half,
        }
    }

    #[test]
    fn counts_are_grouped_or_shortened() {
        assert_eq!(count(1288.0), "1,288");
        assert_eq!(count(410_200_000.0), "410.2 M");
        assert_eq!(count(33_000_000.0), "33.0 M");
        assert_eq!(counted(&Estimate::exact(6_204_112_334.0)), "6,204,112,334");
        assert_eq!(counted(&e(6_204_112_334.0, 25e6)), "6.204 G");
        assert_eq!(counted(&e(15.2, 1.0)), "15.2");
        assert_eq!(plural(1, "function"), "1 function");
        assert_eq!(plural(2000, "line"), "2,000 lines");
        assert_eq!(grouped(-1234567.0), "-1,234,567");
    }

    #[test]
    fn numbers_are_parsed_with_separators() {
        assert_eq!(parse_number("1,234.5"), Ok(1234.5));
        assert_eq!(parse_number(" 1_000 "), Ok(1000.0));
        for text in ["", "nan", "inf", "x", "1 2"] {
            assert!(parse_number(text).is_err(), "{text}");
        }
        assert_eq!(parse_positive_number("1000"), Ok(1000.0));
        assert!(parse_positive_number("0").is_err());
        assert!(parse_positive_number("-2").is_err());
    }

    proptest! {
        #[test]
        fn grouped_numbers_are_parsed_again(value in -9_000_000_000_000_i64..9_000_000_000_000) {
            prop_assert_eq!(parse_number(&grouped(value as f64)), Ok(value as f64));
        }

        #[test]
        fn no_formatted_number_is_long(value in any::<f64>(), half in any::<f64>()) {
            let e = e(value, half);
            for text in [time(&e), plain(&e, 4), count(value), counted(&e), bytes(value),
                         seconds(value), duration(value)] {
                prop_assert!(text.len() < 32, "{text}");
            }
        }
    }
}
