//! Checks of values and parameters from outside.

use crate::StatsError;

/// Refuses NaN and infinities, and series shorter than `needed`.
pub(crate) fn finite(values: &[f64], needed: usize) -> Result<(), StatsError> {
    if values.len() < needed {
        return Err(StatsError::TooFew {
            needed,
            got: values.len(),
        });
    }
    match values.iter().position(|value| !value.is_finite()) {
        Some(index) => Err(StatsError::NotFinite {
            index,
            value: values[index],
        }),
        None => Ok(()),
    }
}

/// Refuses values that are not above zero as well.
pub(crate) fn positive(values: &[f64], needed: usize) -> Result<(), StatsError> {
    finite(values, needed)?;
    match values.iter().position(|value| *value <= 0.0) {
        Some(index) => Err(StatsError::NotPositive {
            index,
            value: values[index],
        }),
        None => Ok(()),
    }
}

/// Refuses a parameter that is not strictly between 0 and 1.
pub(crate) fn open_unit(name: &'static str, value: f64) -> Result<(), StatsError> {
    if value > 0.0 && value < 1.0 {
        Ok(())
    } else {
        Err(StatsError::Parameter {
            name,
            value,
            range: "strictly between 0 and 1",
        })
    }
}

/// The values in ascending order.
pub(crate) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}
