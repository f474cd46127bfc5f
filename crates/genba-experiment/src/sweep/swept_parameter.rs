//! `--param NAME=VALUES`: the parameter of a sweep, its grid, and settings between. Pure.

use genba_model::{ParameterScale, ParameterValue};
use genba_stats::Axis;

use crate::ExperimentError;
use crate::parameters::Parameter;

/// A parameter with its grid.
#[derive(Clone, Debug, PartialEq)]
pub struct SweptParameter {
    /// Name, written `{name}` in commands.
    pub name: String,
    /// The definition as given, without the name.
    pub definition: String,
    /// Linear, logarithmic, or not numeric.
    pub scale: ParameterScale,
    /// The settings of the plain grid, in order.
    pub grid: Vec<String>,
    /// Whether integers between those of the grid may be measured as well.
    pub between: bool,
}

/// Size of the initial grid if the parameter has more settings than [`MAX_FULL_GRID`].
const INITIAL_GRID: usize = 13;
/// Number of settings up to which the initial grid is the full grid.
const MAX_FULL_GRID: usize = 17;
/// Resolution of a logarithmic parameter: settings closer than this factor are not distinguished.
const LOG_RESOLUTION: f64 = 1.09;

impl SweptParameter {
    /// Parses `N=1..1024:log2` (powers of two), `N=0..64:8` (steps of 8), `N=1..20`, `N=a,b,c`; numbers
    /// may end in K, M or G (1024 each).
    ///
    /// # Errors
    /// An invalid definition; the message shows the valid forms.
    pub fn parse(text: &str) -> Result<Self, ExperimentError> {
        let wrong = |what: &str| ExperimentError::Plan {
            what: format!(
                "--param {text}: {what}; write NAME=1..1024:log2, NAME=0..64:8 or NAME=a,b,c"
            ),
        };
        let Some((name, definition)) = text.split_once('=') else {
            return Err(wrong("missing `=`"));
        };
        let of = |scale, grid: Vec<String>, between| Self {
            name: name.to_owned(),
            definition: definition.to_owned(),
            scale,
            grid,
            between,
        };
        let Some((low, rest)) = definition.split_once("..") else {
            let list = Parameter::list(name, definition)?;
            let mut grid: Vec<String> = Vec::new();
            for value in list.values {
                if !grid.contains(&value) {
                    grid.push(value);
                }
            }
            if grid.len() < 2 {
                return Err(wrong("a sweep needs at least two values"));
            }
            return Ok(listed(of(ParameterScale::Words, grid, false)));
        };
        let (high, step) = match rest.split_once(':') {
            Some((high, step)) => (high, Some(step)),
            None => (rest, None),
        };
        let (low, high) = (plain(low), plain(high));
        if step == Some("log2") {
            // Checks the name as for every parameter.
            Parameter::list(name, "")?;
            let number = |text: &str| text.parse::<u64>().ok().filter(|value| *value > 0);
            let (Some(first), Some(last)) = (number(&low), number(&high)) else {
                return Err(wrong("the ends of a log2 range must be positive integers"));
            };
            if last <= first {
                return Err(wrong("the range is empty"));
            }
            let mut grid = vec![first];
            let mut value = first;
            while let Some(next) = value.checked_mul(2).filter(|next| *next <= last) {
                grid.push(next);
                value = next;
            }
            if value != last {
                grid.push(last);
            }
            let grid = grid.into_iter().map(|value| value.to_string()).collect();
            return Ok(of(ParameterScale::Log2, grid, true));
        }
        let step = step.map(plain);
        let range = Parameter::range(name, &low, &high, step.as_deref())?;
        if range.values.len() < 2 {
            return Err(wrong("a sweep needs at least two values"));
        }
        Ok(of(ParameterScale::Linear, range.values, false))
    }

    /// The axis of the curve; `None` if the values are not numeric.
    #[must_use]
    pub fn axis(&self) -> Option<Axis> {
        match self.scale {
            ParameterScale::Log2 => Some(Axis::Log2),
            ParameterScale::Linear => Some(Axis::Linear),
            ParameterScale::Words => None,
        }
    }

    /// A value as in the document.
    #[must_use]
    pub fn value(&self, text: &str) -> ParameterValue {
        match text.parse::<f64>() {
            Ok(number) if self.scale != ParameterScale::Words && number.is_finite() => {
                ParameterValue::Number(number)
            }
            _ => ParameterValue::Word(text.to_owned()),
        }
    }

    /// The settings of the initial grid: the full grid, or evenly spaced settings of it.
    #[must_use]
    pub fn initial_grid(&self) -> Vec<String> {
        let count = self.grid.len();
        if count <= MAX_FULL_GRID || self.scale == ParameterScale::Words {
            return self.grid.clone();
        }
        let mut places: Vec<usize> = (0..INITIAL_GRID)
            .map(|index| {
                (index as f64 * (count - 1) as f64 / (INITIAL_GRID - 1) as f64).round() as usize
            })
            .collect();
        places.dedup();
        (places.into_iter())
            .map(|place| self.grid[place].clone())
            .collect()
    }

    /// A setting about halfway between two; `None` if there is none between them.
    #[must_use]
    pub fn halfway(&self, low: f64, high: f64) -> Option<String> {
        if self.between {
            if high - low < 2.0 || high / low <= LOG_RESOLUTION {
                return None;
            }
            let middle = (low * high).sqrt().round();
            // A rounder number if there is room for it.
            let grain = ((high - low).log2().floor() - 3.0).max(0.0).exp2();
            let round = (middle / grain).round() * grain;
            let middle = if round > low && round < high {
                round
            } else {
                middle
            };
            let middle = middle.clamp(low + 1.0, high - 1.0);
            return Some(format!("{middle}"));
        }
        let within: Vec<(f64, &String)> = (self.grid.iter())
            .filter_map(|text| Some((text.parse::<f64>().ok()?, text)))
            .filter(|(value, _)| *value > low && *value < high)
            .collect();
        let target = match self.scale {
            ParameterScale::Log2 => (low * high).sqrt(),
            _ => low.midpoint(high),
        };
        (within.into_iter())
            .min_by(|a, b| (a.0 - target).abs().total_cmp(&(b.0 - target).abs()))
            .map(|(_, text)| text.clone())
    }

    /// Number of settings of a full grid with the resolution of the result: the grid and every
    /// setting within these intervals.
    #[must_use]
    pub fn full_grid(&self, intervals: &[(f64, f64)]) -> u64 {
        let mut count = self.grid.len() as u64;
        if self.between {
            for (low, high) in intervals {
                let on_grid = (self.grid.iter())
                    .filter_map(|text| text.parse::<f64>().ok())
                    .filter(|value| value > low && value < high)
                    .count() as u64;
                let whole = (high - low - 1.0).max(0.0) as u64;
                // Not finer than the resolution.
                let near = ((high / low).ln() / LOG_RESOLUTION.ln()).ceil() as u64;
                count += whole.min(near).saturating_sub(on_grid);
            }
        }
        count
    }
}

/// Sorts a list of numbers and makes it an axis, logarithmic if it spans more than a decade.
fn listed(mut parameter: SweptParameter) -> SweptParameter {
    let numbers: Option<Vec<(f64, String)>> = (parameter.grid.iter())
        .map(|text| {
            let text = plain(text);
            let number = text.parse::<f64>().ok().filter(|n| n.is_finite())?;
            Some((number, text))
        })
        .collect();
    let Some(mut numbers) = numbers else {
        return parameter;
    };
    numbers.sort_by(|a, b| a.0.total_cmp(&b.0));
    numbers.dedup_by(|a, b| a.0 == b.0);
    let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else {
        return parameter;
    };
    parameter.scale = if first.0 > 0.0 && last.0 / first.0 > 10.0 {
        ParameterScale::Log2
    } else {
        ParameterScale::Linear
    };
    parameter.grid = numbers.into_iter().map(|(_, text)| text).collect();
    parameter
}

/// A number with its K, M or G multiplied out; anything else as it is.
fn plain(text: &str) -> String {
    let text = text.trim();
    match text.ends_with(['k', 'K', 'M', 'G']) {
        true => genba_units::parse_bytes(text).map_or(text.to_owned(), |number| number.to_string()),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn grid(text: &str) -> Vec<String> {
        SweptParameter::parse(text).unwrap().grid
    }

    #[test]
    fn definitions_give_the_grid() {
        assert_eq!(grid("N=1..20:log2"), ["1", "2", "4", "8", "16", "20"]);
        assert_eq!(grid("N=4K..16K:log2"), ["4096", "8192", "16384"]);
        assert_eq!(grid("N=0..24:8"), ["0", "8", "16", "24"]);
        assert_eq!(grid("N=1..4"), ["1", "2", "3", "4"]);
        assert_eq!(grid("N=8,2,4,2"), ["2", "4", "8"]);
        let words = SweptParameter::parse("m=fast,slow").unwrap();
        assert_eq!((words.scale, words.axis()), (ParameterScale::Words, None));
        assert_eq!(
            SweptParameter::parse("N=1,64").unwrap().scale,
            ParameterScale::Log2
        );
        for bad in [
            "N",
            "N=",
            "N=1",
            "N=1..1",
            "N=0..8:log2",
            "N=8..1:log2",
            "=1..2",
            "N=1..x",
        ] {
            assert!(SweptParameter::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn halfway_is_a_setting_between_two() {
        let doublings = SweptParameter::parse("N=1..1024:log2").unwrap();
        assert_eq!(doublings.halfway(8.0, 16.0).unwrap(), "11");
        assert_eq!(doublings.halfway(1.0, 2.0), None);
        assert_eq!(doublings.halfway(1.0, 3.0).unwrap(), "2");
        assert_eq!(doublings.halfway(1000.0, 1024.0), None);
        let steps = SweptParameter::parse("N=0..64:8").unwrap();
        assert_eq!(steps.halfway(8.0, 32.0).unwrap(), "16");
        assert_eq!(steps.halfway(8.0, 16.0), None);
        assert_eq!(doublings.full_grid(&[(8.0, 32.0)]), 11 + 17 - 1);
    }

    #[test]
    fn initial_grid_of_a_large_range_is_small() {
        let all = SweptParameter::parse("N=1..1000").unwrap().initial_grid();
        assert_eq!(all.len(), 13);
        assert_eq!((all[0].as_str(), all[12].as_str()), ("1", "1000"));
    }

    proptest! {
        #[test]
        fn any_text_is_a_parameter_or_refused(text in ".{0,30}") {
            if let Ok(parameter) = SweptParameter::parse(&text) {
                prop_assert!(parameter.grid.len() >= 2);
                let _ = parameter.initial_grid();
            }
        }

        #[test]
        fn repeated_halving_ends(low in 1u32..1000, more in 1u32..100_000) {
            let parameter = SweptParameter::parse("N=1..1000000:log2").unwrap();
            let (mut low, high) = (f64::from(low), f64::from(low + more));
            let mut count = 0;
            while let Some(middle) = parameter.halfway(low, high) {
                let middle: f64 = middle.parse().unwrap();
                prop_assert!(low < middle && middle < high);
                low = middle;
                count += 1;
                prop_assert!(count < 40);
            }
        }
    }
}
