//! `-L` and `-P`: parameters, their combinations, and substitution in commands. Pure.

use std::collections::BTreeMap;

use crate::ExperimentError;

/// A parameter with its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name, written `{name}` in commands.
    pub name: String,
    /// Values in their order.
    pub values: Vec<String>,
}

/// Largest number of values or combinations.
const MAX_VALUES: usize = 10_000;
/// Decimals of the ends and the step of a range at most.
const MAX_DECIMALS: usize = 12;

impl Parameter {
    /// Parses `-L name a,b,c`; a comma within a value is written `\,`.
    ///
    /// # Errors
    /// An invalid name.
    pub fn list(name: &str, values: &str) -> Result<Self, ExperimentError> {
        let mut found = vec![String::new()];
        let mut chars = values.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\\' if chars.peek() == Some(&',') => {
                    chars.next();
                    if let Some(last) = found.last_mut() {
                        last.push(',');
                    }
                }
                ',' => found.push(String::new()),
                c => {
                    if let Some(last) = found.last_mut() {
                        last.push(c);
                    }
                }
            }
        }
        Ok(Self {
            name: checked(name)?,
            values: found,
        })
    }

    /// Parses `-P name min max` with the step of `-D` (default 1): all values from `min` that do
    /// not exceed `max`, in decimal arithmetic, so that steps of 0.1 are exact.
    ///
    /// # Errors
    /// Ends or a step that are not decimal numbers, a step of 0 or away from `max`, too many
    /// values.
    pub fn range(
        name: &str,
        min: &str,
        max: &str,
        step: Option<&str>,
    ) -> Result<Self, ExperimentError> {
        let wrong = |what: String| plan_error(format!("parameter {name}: {what}"));
        let texts = [min, max, step.unwrap_or("1")];
        let decimals = texts.map(|text| text.split_once('.').map_or(0, |(_, tail)| tail.len()));
        let decimals = decimals.into_iter().max().unwrap_or(0);
        let mut scaled = [0i128; 3];
        for (text, scaled) in texts.iter().zip(&mut scaled) {
            *scaled = scale(text, decimals)
                .ok_or_else(|| wrong(format!("{text:?} is not a decimal number")))?;
        }
        let [first, last, step] = scaled;
        if step == 0 || (last - first).signum() * step.signum() < 0 {
            return Err(wrong(
                "the step does not lead from the first value to the last".into(),
            ));
        }
        let count = (last - first) / step + 1;
        if count > MAX_VALUES as i128 {
            return Err(wrong(format!(
                "{count} values exceed the limit of {MAX_VALUES}"
            )));
        }
        Ok(Self {
            name: checked(name)?,
            values: (0..count)
                .map(|index| unscale(first + index * step, decimals))
                .collect(),
        })
    }
}

fn plan_error(what: String) -> ExperimentError {
    ExperimentError::Plan { what }
}

fn checked(name: &str) -> Result<String, ExperimentError> {
    if name.is_empty() || name.contains(['{', '}', '=', ',']) {
        return Err(plan_error(format!("invalid name of a parameter {name:?}")));
    }
    Ok(name.to_owned())
}

fn scale(text: &str, decimals: usize) -> Option<i128> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let (whole, tail) = digits.split_once('.').unwrap_or((digits, ""));
    let plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() && tail.is_empty() || !plain(whole) || !plain(tail) {
        return None;
    }
    if whole.len() > 18 || decimals > MAX_DECIMALS {
        return None;
    }
    let zeros = "0".repeat(decimals - tail.len());
    let number: i128 = format!("0{whole}{tail}{zeros}").parse().ok()?;
    Some(sign * number)
}

fn unscale(value: i128, decimals: usize) -> String {
    let sign = if value < 0 { "-" } else { "" };
    let digits = format!("{:0>width$}", value.unsigned_abs(), width = decimals + 1);
    let (whole, tail) = digits.split_at(digits.len() - decimals);
    if decimals == 0 {
        format!("{sign}{whole}")
    } else {
        format!("{sign}{whole}.{tail}")
    }
}

/// All combinations, the first parameter changing slowest; one empty combination without
/// parameters.
///
/// # Errors
/// Two parameters of one name, or too many combinations.
pub fn product(parameters: &[Parameter]) -> Result<Vec<BTreeMap<String, String>>, ExperimentError> {
    let mut all = vec![BTreeMap::new()];
    for parameter in parameters {
        if all.len().saturating_mul(parameter.values.len()) > MAX_VALUES {
            return Err(plan_error(format!(
                "the parameters have more than {MAX_VALUES} combinations"
            )));
        }
        let mut next = Vec::new();
        for one in &all {
            for value in &parameter.values {
                let mut one = one.clone();
                if one.insert(parameter.name.clone(), value.clone()).is_some() {
                    return Err(plan_error(format!(
                        "the parameter {} is given twice",
                        parameter.name
                    )));
                }
                next.push(one);
            }
        }
        all = next;
    }
    Ok(all)
}

/// The text with every `{name}` replaced once.
#[must_use]
pub fn replace(text: &str, values: &BTreeMap<String, String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let (before, tail) = rest.split_at(at);
        out.push_str(before);
        let found = tail
            .split_once('}')
            .and_then(|(name, after)| Some((values.get(&name[1..])?, after)));
        rest = match found {
            Some((value, after)) => {
                out.push_str(value);
                after
            }
            None => {
                out.push('{');
                &tail[1..]
            }
        };
    }
    out.push_str(rest);
    out
}

/// Whether the text contains `{name}`.
#[must_use]
pub fn mentions(text: &str, name: &str) -> bool {
    text.contains(&format!("{{{name}}}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn range(min: &str, max: &str, step: Option<&str>) -> Vec<String> {
        Parameter::range("n", min, max, step).unwrap().values
    }

    #[test]
    fn ranges_use_decimal_arithmetic() {
        assert_eq!(range("1", "3", None), ["1", "2", "3"]);
        assert_eq!(range("0", "0.3", Some("0.1")), ["0.0", "0.1", "0.2", "0.3"]);
        assert_eq!(range("-1", "1", Some("0.75")), ["-1.00", "-0.25", "0.50"]);
        assert_eq!(range("3", "1", Some("-1")), ["3", "2", "1"]);
        assert_eq!(range("5", "5", None), ["5"]);
        for (min, max, step) in [
            ("1", "3", "0"),
            ("1", "3", "-1"),
            ("1", "1e9", "1"),
            ("a", "b", "1"),
            ("", "1", "1"),
            ("0", "1000000", "1"),
            ("99999999999999999999", "1", "1"),
        ] {
            assert!(
                Parameter::range("n", min, max, Some(step)).is_err(),
                "{min} {max} {step}"
            );
        }
    }

    #[test]
    fn lists_are_parsed_and_combined() {
        let list = Parameter::list("c", r"a,b\,c,").unwrap();
        assert_eq!(list.values, ["a", "b,c", ""]);
        let other = Parameter::list("d", "1,2").unwrap();
        let all = product(&[list.clone(), other]).unwrap();
        assert_eq!(all.len(), 6);
        assert_eq!((all[1]["c"].as_str(), all[1]["d"].as_str()), ("a", "2"));
        assert!(product(&[list.clone(), list]).is_err());
        assert_eq!(product(&[]).unwrap().len(), 1);
        assert!(Parameter::list("", "a").is_err());
    }

    #[test]
    fn placeholders_are_replaced_once() {
        let values = BTreeMap::from([
            ("n".to_owned(), "{m}".to_owned()),
            ("m".to_owned(), "5".to_owned()),
        ]);
        assert_eq!(replace("x {n} {m} {other} {", &values), "x {m} 5 {other} {");
        assert_eq!(replace("{{n}}", &values), "{{m}}");
        assert!(mentions("x {n}", "n") && !mentions("x n", "n"));
    }

    proptest! {
        #[test]
        fn text_is_unchanged_without_parameters(text in ".{0,60}") {
            prop_assert_eq!(replace(&text, &BTreeMap::new()), text);
        }

        #[test]
        fn any_range_is_bounded_or_refused(min in ".{0,12}", max in ".{0,12}", step in ".{0,12}") {
            if let Ok(parameter) = Parameter::range("n", &min, &max, Some(&step)) {
                prop_assert!((1..=MAX_VALUES).contains(&parameter.values.len()));
            }
        }
    }
}
