//! Shares of 0…1, written and read as percentages: `--delta 1%`, `64.5 %`, `±0.6 %`.

use genba_model::Estimate;

use crate::digits::{
    decimals, decimals_for, fixed, half_width, number_and_unit, without_zero_decimal,
};

/// Parses `1%`, `0.5 %` or `0.01`: a share from 0 to under 1.
///
/// # Errors
/// Anything else, as a sentence.
pub fn parse_share(text: &str) -> Result<f64, String> {
    let share = match number_and_unit(text) {
        Some((number, "%")) => number * 0.01,
        Some((number, "")) if number >= 1.0 => {
            return Err(format!(
                "invalid percentage {text:?}: it means {} %; write {}% or 0.01",
                number * 100.0,
                text.trim()
            ));
        }
        Some((number, "")) => number,
        _ => f64::NAN,
    };
    if (0.0..1.0).contains(&share) {
        Ok(share)
    } else {
        Err(format!("invalid percentage {text:?}: write 1% or 0.01"))
    }
}

/// A share of 0…1 in percent with as many digits as its interval supports, one decimal at
/// most: `64.5 %`, `64 %`, `<0.1 %`.
#[must_use]
pub fn percent(e: &Estimate) -> String {
    let value = e.value * 100.0;
    if !value.is_finite() {
        return "?".to_owned();
    }
    let places = decimals(half_width(e) * 100.0, 1).min(1);
    // A rare thing that was seen is not "0 %".
    if value > 0.0 && value < 0.05 {
        return "<0.1 %".to_owned();
    }
    let places = if value < 1.0 { 1 } else { places };
    format!("{} %", fixed(value, places))
}

/// A share of 0…1 in percent, one decimal, one significant digit below one percent: `0.02 %`,
/// `12.5 %`.
#[must_use]
pub fn share(value: f64) -> String {
    if !value.is_finite() {
        return "?".to_owned();
    }
    let value = value * 100.0;
    let places = match value.abs() {
        0.0 => 0,
        v if v >= 0.995 => 1,
        v => decimals_for(v, 1).min(4),
    };
    format!("{} %", without_zero_decimal(fixed(value, places)))
}

/// A share of 0…1 in percent for the middle of a sentence: `34 %`, `3.4 %`.
#[must_use]
pub fn short_percent(share: f64) -> String {
    if !share.is_finite() {
        return "?".to_owned();
    }
    let value = share * 100.0;
    format!("{} %", fixed(value, usize::from(value.abs() < 9.95)))
}

/// A probability in percent, never rounded up and at most 99.9 %: no search under noise is more
/// certain than that.
#[must_use]
pub fn percent_at_most(probability: f64) -> String {
    let value = (probability.clamp(0.0, 0.999) * 1_000.0 + 1e-9).floor() / 10.0;
    format!("{} %", without_zero_decimal(fixed(value, 1)))
}

/// Half the interval of a share, in percentage points, for a `±` column: `0.6`.
#[must_use]
pub fn plus_minus_points(e: &Estimate) -> String {
    let half = half_width(e) * 100.0;
    if half == 0.0 || !half.is_finite() {
        return String::new();
    }
    if half < 0.05 {
        return "<0.1".to_owned();
    }
    fixed(half, if half < 9.5 { 1 } else { 0 })
}

/// Half the interval as a share of the value: `±0.6 %`; empty for an exact value.
#[must_use]
pub fn plus_minus(e: &Estimate) -> String {
    match e.relative_half_width() {
        Some(half) if half.is_finite() && half.abs() > 0.0 => {
            let half = half.abs() * 100.0;
            let places = if half < 0.095 {
                2
            } else {
                usize::from(half < 9.5)
            };
            if half < 0.005 {
                "±<0.01 %".to_owned()
            } else {
                format!("±{} %", fixed(half, places))
            }
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn e(value: f64, half: f64) -> Estimate {
        Estimate {
            value,
            low: value - half,
            high: value + half,
        }
    }

    #[test]
    fn shares_are_parsed_as_percent_or_fraction() {
        assert_eq!(parse_share("1%"), Ok(0.01));
        assert_eq!(parse_share("0.5 %"), Ok(0.005));
        assert_eq!(parse_share("0.25"), Ok(0.25));
        assert_eq!(parse_share("0"), Ok(0.0));
    }

    #[test]
    fn invalid_shares_are_refused_with_an_example() {
        for text in ["", "%", "-1%", "100%", "nan", "inf", "x", "1e-2"] {
            let error = parse_share(text).unwrap_err();
            assert!(error.ends_with("write 1% or 0.01"), "{error}");
        }
        let error = parse_share("5").unwrap_err();
        assert!(error.contains("500 %; write 5%"), "{error}");
    }

    #[test]
    fn percentages_have_the_digits_that_the_interval_supports() {
        assert_eq!(percent(&e(0.6453, 0.006)), "64.5 %");
        assert_eq!(percent(&e(0.6453, 0.06)), "65 %");
        assert_eq!(percent(&e(0.0002, 0.0001)), "<0.1 %");
        assert_eq!(percent(&e(0.0, 0.0)), "0.0 %");
        assert_eq!(plus_minus(&e(1.812, 0.0109)), "±0.6 %");
        assert_eq!(plus_minus(&Estimate::exact(2.0)), "");
    }

    #[test]
    fn percentages_without_interval_are_short() {
        assert_eq!(share(0.0002), "0.02 %");
        assert_eq!(share(0.8), "80 %");
        assert_eq!(share(0.125), "12.5 %");
        assert_eq!(short_percent(0.034), "3.4 %");
        assert_eq!(short_percent(0.342), "34 %");
        assert_eq!(percent_at_most(0.9996), "99.9 %");
        assert_eq!(percent_at_most(0.5), "50 %");
    }

    proptest! {
        #[test]
        fn formatted_shares_are_parsed_again(value in 1e-6_f64..0.999) {
            let parsed = parse_share(&share(value)).unwrap();
            prop_assert!((parsed - value).abs() <= value * 0.5 + 1e-9, "{value} {parsed}");
            prop_assert!((parsed - value).abs() <= 0.0005 + 1e-12);
        }

        #[test]
        fn any_text_gives_a_share_or_an_error(text in ".{0,20}") {
            if let Ok(share) = parse_share(&text) {
                prop_assert!((0.0..1.0).contains(&share));
            }
        }

        #[test]
        fn no_formatted_percentage_is_long(value in any::<f64>(), half in any::<f64>()) {
            let e = e(value, half);
            for text in [percent(&e), plus_minus(&e), plus_minus_points(&e), share(value),
                         short_percent(value), percent_at_most(value)] {
                prop_assert!(text.len() < 32, "{text}");
            }
        }
    }
}
