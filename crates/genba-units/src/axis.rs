//! Numbers beside an axis.

use crate::count::grouped_decimals;

/// Share of the distance between marks by which a rounded mark may be off.
const MAX_ROUNDING: f64 = 0.1;
/// Most decimals.
const MAX_DECIMALS: usize = 9;

/// The marks of an axis as numbers of its one unit, which is `divisor` of theirs: all with the same decimals, as few as
/// neighbours allow.
#[must_use]
pub fn axis_numbers(values: &[f64], divisor: f64) -> Vec<String> {
    let values: Vec<f64> = values.iter().map(|value| value / divisor).collect();
    let gaps = values.windows(2).map(|pair| (pair[1] - pair[0]).abs());
    let least = gaps.filter(|gap| *gap > 0.0).fold(f64::MAX, f64::min);
    let is_enough = |places: &usize| {
        let power = 10_f64.powi(*places as i32);
        let is_near =
            |value: &f64| ((value * power).round() / power - value).abs() <= least * MAX_ROUNDING;
        values.iter().all(is_near)
    };
    let places = (0..MAX_DECIMALS).find(is_enough).unwrap_or(MAX_DECIMALS);
    (values.iter())
        .map(|value| grouped_decimals(*value, places))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn neighbours_differ_and_have_the_same_decimals() {
        let axis = |values: &[f64]| axis_numbers(values, 1.0);
        assert_eq!(
            axis(&[1.0031, 1.0028, 0.9998]),
            ["1.0031", "1.0028", "0.9998"]
        );
        assert_eq!(axis(&[0.1, 0.2, 0.3]), ["0.1", "0.2", "0.3"]);
        assert_eq!(axis(&[500.0, 501.11, 502.22]), ["500.0", "501.1", "502.2"]);
        assert_eq!(axis(&[1000.0, 1500.0]), ["1,000", "1,500"]);
        assert_eq!(axis_numbers(&[2e-3, 4e-3], 1e-3), ["2", "4"]);
        assert_eq!(axis(&[]), [""; 0]);
        assert_eq!(axis(&[2.0, 2.0]), ["2", "2"]);
    }

    proptest! {
        #[test]
        fn equally_distant_marks_are_distinct(low in -1e3..1e3f64, step in 1e-6..1e3f64) {
            let values: Vec<f64> = (0..10).map(|at| low + step * f64::from(at)).collect();
            let mut shown = axis_numbers(&values, 1.0);
            shown.dedup();
            prop_assert_eq!(shown.len(), values.len());
        }
    }
}
