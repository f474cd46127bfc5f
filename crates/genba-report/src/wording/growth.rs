//! Laws of growth in words and formulas.

use genba_model::{Estimate, FittedLaw, FunctionGrowth, Growth};
use genba_units::format;

use super::profile::file_line;

/// The leading term of a law with its coefficient: `0.50 N²`.
pub(crate) fn formula(law: &FittedLaw, parameter: &str) -> String {
    let coefficient = law.coefficient.map_or_else(String::new, |one| amount(&one));
    let n = parameter;
    match law.law.as_str() {
        "constant" => coefficient,
        "log" => format!("{coefficient} log₂ {n}"),
        "linear" => format!("{coefficient} {n}"),
        "n log n" => format!("{coefficient} {n} log₂ {n}"),
        "quadratic" => format!("{coefficient} {n}²"),
        "cubic" => format!("{coefficient} {n}³"),
        "exponential" => "exponentially many".to_owned(),
        _ => format!("about {n}^{:.1}", law.exponent.value),
    }
}

/// Share of the leading term at a size of which all is so much; `None` for laws without one.
pub(crate) fn share_of_leading_term(law: &FittedLaw, size: f64, all: f64) -> Option<f64> {
    let term = match law.law.as_str() {
        "constant" => 1.0,
        "log" => size.log2(),
        "linear" => size,
        "n log n" => size * size.log2(),
        "quadratic" => size.powi(2),
        "cubic" => size.powi(3),
        _ => return None,
    };
    Some(law.coefficient?.value * term / all)
}

/// Three significant digits, or all of a large or whole number's.
fn amount(e: &Estimate) -> String {
    let whole = e.value.round();
    if e.low == e.high && whole >= 1.0 && (e.value / whole - 1.0).abs() < 1e-6 {
        return format::grouped(whole);
    }
    if e.value.abs() < 1e-4 {
        return format!("{:.1e}", e.value);
    }
    let digits = 2 - (e.value.abs().log10().floor() as i32);
    format::grouped_decimals(e.value, digits.clamp(0, 6) as usize)
}

/// Whether work grows faster than the input times its logarithm.
pub(crate) fn is_steep(law: &FittedLaw) -> bool {
    match law.law.as_str() {
        "quadratic" | "cubic" | "exponential" => true,
        "unknown" => law.exponent.low > 1.3 && law.exponent.high - law.exponent.low < 0.3,
        _ => false,
    }
}

/// What a function does that grows too fast, with who pays: calls or rounds.
pub(crate) fn steep(one: &FunctionGrowth, all: &Growth) -> String {
    let n = &all.parameter;
    let place = file_line(one.file.as_deref(), one.line);
    let place = match place.is_empty() {
        true => String::new(),
        false => format!(" ({place})"),
    };
    let how = match (&one.calls_growth, &one.per_call_growth) {
        (Some(calls), Some(each)) if calls.law != "unknown" && each.law != "unknown" => format!(
            ", in {} of {} each",
            calls_in_words(calls, n),
            formula(each, n)
        ),
        _ => String::new(),
    };
    let share = one.extrapolated_share.unwrap_or(one.share);
    format!(
        "{}: {}{place} executes {} instructions{how}; at {n} = {} that is {} of {} instructions",
        match one.growth.law.as_str() {
            "unknown" => "no law fits",
            law => law,
        },
        one.function,
        formula(&one.growth, n),
        format::grouped(all.at),
        format::short_percent(share),
        format::count(all.extrapolated.value),
    )
}

fn calls_in_words(calls: &FittedLaw, parameter: &str) -> String {
    match (calls.law.as_str(), calls.coefficient) {
        ("constant", Some(number)) => format::plural(number.value.round() as u64, "call"),
        _ => format!("{} calls", formula(calls, parameter)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn law(name: &str, coefficient: f64) -> FittedLaw {
        FittedLaw {
            law: name.to_owned(),
            exponent: Estimate::exact(1.6),
            coefficient: Some(Estimate::exact(coefficient)),
            residual: 0.0,
        }
    }

    #[test]
    fn formulas_have_three_digits_and_the_parameters_name() {
        assert_eq!(formula(&law("quadratic", 0.5), "N"), "0.500 N²");
        assert_eq!(
            formula(&law("n log n", 31.44), "SIZE"),
            "31.4 SIZE log₂ SIZE"
        );
        assert_eq!(formula(&law("constant", 123_456.7), "N"), "123,457");
        assert_eq!(formula(&law("linear", 1.0), "N"), "1 N");
        assert_eq!(formula(&law("unknown", 1.0), "N"), "about N^1.6");
    }

    #[test]
    fn leading_term_is_compared_with_all() {
        let share = |name, size, all| share_of_leading_term(&law(name, 2.0), size, all);
        assert_eq!(share("linear", 100.0, 800.0), Some(0.25));
        assert_eq!(share("log", 1024.0, 20.0), Some(1.0));
        assert_eq!(share("unknown", 1024.0, 20.0), None);
    }

    #[test]
    fn steep_growth_without_a_law_says_that_none_fits() {
        let all = crate::test_fixtures::growth();
        let mut one = all.functions[0].clone();
        assert!(steep(&one, &all).starts_with("quadratic: jv_array_set"));
        one.growth.law = "unknown".to_owned();
        one.growth.coefficient = None;
        assert!(steep(&one, &all).starts_with("no law fits: jv_array_set"));
    }

    #[test]
    fn unknown_growth_is_steep_only_if_certainly_above_n_log_n() {
        assert!(is_steep(&law("unknown", 1.0)));
        let mut uncertain = law("unknown", 1.0);
        uncertain.exponent.low = 0.9;
        assert!(!is_steep(&uncertain));
        assert!(!is_steep(&law("n log n", 1.0)));
    }
}
