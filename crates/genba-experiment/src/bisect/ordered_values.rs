//! The values of a parameter in their order: a range of whole numbers, or a list.

use crate::ExperimentError;
use crate::parameters::Parameter;

/// A parameter with its ordered values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderedValues {
    /// Name, written `{name}` in commands.
    pub name: String,
    values: Values,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Values {
    Numbers { first: i64, count: u64, up: bool },
    Words(Vec<String>),
}

impl OrderedValues {
    /// Parses `NAME=LOW..HIGH` (whole numbers, both included; also downwards) or `NAME=A,B,C` (a
    /// comma within a value is written `\,`).
    ///
    /// # Errors
    /// Neither of the two, an invalid name, or fewer than two values.
    pub fn parse(text: &str) -> Result<Self, ExperimentError> {
        let wrong = |what: String| ExperimentError::Plan {
            what: format!("--param {text}: {what}"),
        };
        let Some((name, values)) = text.split_once('=') else {
            return Err(wrong("write NAME=LOW..HIGH or NAME=A,B,C".to_owned()));
        };
        let list = Parameter::list(name, values)?;
        let values = match values.split_once("..") {
            Some((low, high)) => {
                let number = |text: &str| -> Result<i64, ExperimentError> {
                    text.trim()
                        .parse()
                        .map_err(|_| wrong(format!("{text:?} is not a whole number")))
                };
                let (first, last) = (number(low)?, number(high)?);
                Values::Numbers {
                    first,
                    count: last.abs_diff(first).saturating_add(1),
                    up: last >= first,
                }
            }
            None => Values::Words(list.values),
        };
        let parsed = Self {
            name: list.name,
            values,
        };
        if parsed.count() < 2 {
            return Err(wrong("give at least two values".to_owned()));
        }
        Ok(parsed)
    }

    /// Number of values; at most `u64::MAX`.
    #[must_use]
    pub fn count(&self) -> u64 {
        match &self.values {
            Values::Numbers { count, .. } => *count,
            Values::Words(words) => words.len() as u64,
        }
    }

    /// The value at a position below [`OrderedValues::count`].
    #[must_use]
    pub fn value(&self, point: u64) -> String {
        match &self.values {
            Values::Numbers { first, up, .. } => {
                let (first, point) = (i128::from(*first), i128::from(point));
                (if *up { first + point } else { first - point }).to_string()
            }
            Values::Words(words) => words[point as usize].clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_lists_are_parsed_in_order() {
        let of = |text: &str| {
            let list = OrderedValues::parse(text).unwrap_or_else(|error| panic!("{error}"));
            (0..list.count())
                .map(|point| list.value(point))
                .collect::<Vec<_>>()
        };
        assert_eq!(of("N=3..5"), ["3", "4", "5"]);
        assert_eq!(of("N=1..-1"), ["1", "0", "-1"]);
        assert_eq!(of("N=a,b\\,c"), ["a", "b,c"]);
        let full = OrderedValues::parse("N=-9223372036854775808..9223372036854775807").ok();
        assert_eq!(
            full.map(|list| list.value(1)).as_deref(),
            Some("-9223372036854775807")
        );
        for wrong in ["N", "=1..2", "N=1", "N=1..1", "N=a..b", "N=", "{=1,2"] {
            assert!(OrderedValues::parse(wrong).is_err(), "{wrong}");
        }
    }
}
