//! Numbers with their units, and no more digits than the interval supports.
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

fn half_width(e: &Estimate) -> f64 {
    ((e.high - e.low) / 2.0).abs()
}

/// Decimals that leave so many significant digits.
fn decimals_for(value: f64, significant: i32) -> usize {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    let exponent = value.abs().log10().floor() as i32;
    (significant - 1 - exponent).clamp(0, 9) as usize
}

fn fixed(value: f64, decimals: usize) -> String {
    // Beyond what anything measured can be: short, whatever a file from elsewhere says.
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

/// Digits in groups of three: `1,288`. Numbers that are no whole numbers lose their fraction.
#[must_use]
pub fn grouped(value: f64) -> String {
    group(&fixed(value, 0))
}

fn group(text: &str) -> String {
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

/// A number in groups with so many decimals: `1,812.34`.
#[must_use]
pub fn grouped_decimals(value: f64, decimals: usize) -> String {
    group(&fixed(value, decimals))
}

/// A count for reading: `1,288`, `410.2 M`.
#[must_use]
pub fn count(value: f64) -> String {
    if !value.is_finite() {
        return "?".to_owned();
    }
    let (scaled, unit) = match value.abs() {
        v if v < 99_999.5 => return grouped(value),
        v if v < 999_950.0 => (value / 1e3, " k"),
        v if v < 999.95e6 => (value / 1e6, " M"),
        v if v < 999.95e9 => (value / 1e9, " G"),
        _ => (value / 1e12, " T"),
    };
    format!("{}{unit}", group(&fixed(scaled, 1)))
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
    let (scale, unit) = match e.value.abs() {
        v if v < 99_999.5 => (1.0, ""),
        v if v < 999_950.0 => (1e3, " k"),
        v if v < 999.95e6 => (1e6, " M"),
        v if v < 999.95e9 => (1e9, " G"),
        _ => (1e12, " T"),
    };
    let most = if unit.is_empty() { 1 } else { 6 };
    let places = decimals(half / scale, most).min(most);
    format!("{}{unit}", group(&fixed(e.value / scale, places)))
}

/// Bytes: `12.4 MB` (powers of ten, as disks and networks count).
#[must_use]
pub fn bytes(value: f64) -> String {
    if !value.is_finite() {
        return "?".to_owned();
    }
    let (scaled, unit) = match value.abs() {
        v if v < 999.5 => return format!("{} B", grouped(value)),
        v if v < 999_950.0 => (value / 1e3, "kB"),
        v if v < 999.95e6 => (value / 1e6, "MB"),
        v if v < 999.95e9 => (value / 1e9, "GB"),
        _ => (value / 1e12, "TB"),
    };
    format!("{} {unit}", fixed(scaled, 1))
}

/// Scale and unit for a time.
fn time_unit(seconds: f64) -> (f64, &'static str) {
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

/// A time without an interval: three significant digits.
#[must_use]
pub fn seconds(value: f64) -> String {
    if !value.is_finite() {
        return "?".to_owned();
    }
    let (scale, unit) = time_unit(value);
    let places = decimals_for(value * scale, 3);
    format!("{} {unit}", group(&fixed(value * scale, places)))
}

/// A time in whole seconds for people: `42 s`, `3 min 12 s`, `2 h 5 min`.
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
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
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

/// A share of 0…1 in percent, two significant digits below one percent: `0.02 %`, `12.5 %`.
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
    let text = fixed(value, places);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

/// Half the interval of a share, in percent points, for a `±` column: `0.6`.
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

/// The same with the number shortened: `410.2 M rounds`.
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
    use proptest::prelude::*;

    fn e(value: f64, half: f64) -> Estimate {
        Estimate {
            value,
            low: value - half,
            high: value + half,
        }
    }

    #[test]
    fn digits_follow_the_interval() {
        assert_eq!(time(&e(1.8123, 0.0109)), "1.812 s");
        assert_eq!(time(&e(1.8123, 0.05)), "1.81 s");
        assert_eq!(time(&e(1.8123, 0.6)), "1.8 s");
        assert_eq!(time(&e(35.41e-9, 0.4e-9)), "35.4 ns");
        assert_eq!(time(&e(0.0, 0.0)), "0 s");
        assert_eq!(time(&Estimate::exact(0.25)), "250.0 ms");
        assert_eq!(percent(&e(0.6453, 0.006)), "64.5 %");
        assert_eq!(percent(&e(0.6453, 0.06)), "65 %");
        assert_eq!(percent(&e(0.0002, 0.0001)), "<0.1 %");
        assert_eq!(percent(&e(0.0, 0.0)), "0.0 %");
    }

    #[test]
    fn units() {
        assert_eq!(count(1288.0), "1,288");
        assert_eq!(count(410_200_000.0), "410.2 M");
        assert_eq!(count(33_000_000.0), "33.0 M");
        assert_eq!(counted(&Estimate::exact(6_204_112_334.0)), "6,204,112,334");
        assert_eq!(counted(&e(6_204_112_334.0, 25e6)), "6.204 G");
        assert_eq!(counted(&e(15.2, 1.0)), "15.2");
        assert_eq!(bytes(12.4e6), "12.4 MB");
        assert_eq!(bytes(999.0), "999 B");
        assert_eq!(seconds(0.0351), "35.1 ms");
        assert_eq!(duration(192.0), "3 min 12 s");
        assert_eq!(duration(61.0), "61 s");
        assert_eq!(share(0.0002), "0.02 %");
        assert_eq!(share(0.8), "80 %");
        assert_eq!(share(0.125), "12.5 %");
        assert_eq!(plus_minus(&e(1.812, 0.0109)), "±0.6 %");
        assert_eq!(plus_minus(&Estimate::exact(2.0)), "");
        assert_eq!(plural(1, "function"), "1 function");
        assert_eq!(plural(2000, "line"), "2,000 lines");
        assert_eq!(grouped(-1234567.0), "-1,234,567");
    }

    proptest! {
        #[test]
        fn nothing_panics_and_every_text_is_short(value in any::<f64>(), half in any::<f64>()) {
            let e = Estimate { value, low: value - half, high: value + half };
            for text in [time(&e), percent(&e), plus_minus(&e), plus_minus_points(&e),
                         plain(&e, 4), count(value), counted(&e), bytes(value), seconds(value),
                         duration(value), share(value)] {
                prop_assert!(text.len() < 32, "{text}");
            }
        }

        /// The digits shown never claim more than a fifth of the interval's half width, and
        /// rounding never moves the value by more than the half width.
        #[test]
        fn the_last_digit_is_within_the_interval(half in 1e-6_f64..35.0) {
            let unit = 10_f64.powi(-(decimals(half, 9) as i32));
            prop_assert!(unit / 2.0 <= half.max(1.0));
            prop_assert!(unit >= half / 36.0);
        }
    }
}
