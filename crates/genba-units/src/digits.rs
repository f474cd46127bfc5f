//! How many digits of a number are printed.
//!
//! The last digit shown is that of the interval's half width: one significant digit of it, two
//! where it starts with 1, 2 or 3 (the rule of the Particle Data Group, *Review of Particle
//! Physics*, introduction 5.3), so that 1.8123 ± 0.0109 is 1.812 and 0.6453 ± 0.006 is 64.5 %.

use genba_model::Estimate;

/// Decimals of a value whose interval has this half width; `exact` where it has none.
#[must_use]
pub fn decimals(half_width: f64, exact: usize) -> usize {
    if !half_width.is_finite() || half_width <= 0.0 {
        return exact;
    }
    let exponent = half_width.log10().floor();
    let lead = half_width / 10_f64.powf(exponent);
    let digits = if lead < 3.55 { 2.0 } else { 1.0 };
    (digits - 1.0 - exponent).clamp(0.0, 9.0) as usize
}

/// Half the width of the interval.
pub(crate) fn half_width(e: &Estimate) -> f64 {
    ((e.high - e.low) / 2.0).abs()
}

/// Decimals that leave this many significant digits.
pub(crate) fn decimals_for(value: f64, significant: i32) -> usize {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    let exponent = value.abs().log10().floor() as i32;
    (significant - 1 - exponent).clamp(0, 9) as usize
}

/// The value with this many decimals; never `-0.00`, never longer than a measured value can be.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    // Larger than anything measured: short, whatever a file from elsewhere says.
    if value.abs() >= 1e16 {
        return format!("{value:.2e}");
    }
    let text = format!("{value:.decimals$}");
    // "-0.00" is a zero.
    if text.starts_with('-') && text.bytes().all(|b| matches!(b, b'-' | b'0' | b'.')) {
        return text[1..].to_owned();
    }
    text
}

/// The text without a trailing `.0`.
pub(crate) fn without_zero_decimal(text: String) -> String {
    match text.strip_suffix(".0") {
        Some(whole) => whole.to_owned(),
        None => text,
    }
}

/// Splits a number with its unit: `1.5 s` gives `(1.5, "s")`. Signs, exponents and names of
/// numbers (`nan`) are not accepted.
pub(crate) fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(text.len());
    let number = text[..end].parse::<f64>().ok()?;
    number.is_finite().then(|| (number, text[end..].trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The digits shown never claim more than a fifth of the interval's half width, and
        /// rounding never moves the value by more than the half width.
        #[test]
        fn the_last_digit_is_within_the_interval(half in 1e-6_f64..35.0) {
            let unit = 10_f64.powi(-(decimals(half, 9) as i32));
            prop_assert!(unit / 2.0 <= half.max(1.0));
            prop_assert!(unit >= half / 36.0);
        }

        #[test]
        fn any_text_is_split_without_a_panic(text in ".{0,20}") {
            let _ = number_and_unit(&text);
        }
    }
}
