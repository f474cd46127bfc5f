//! Numbers of processor cycles: `3.5`, `18`, `7 to 18 cycles`.

use genba_model::Estimate;

use crate::count::count;
use crate::digits::{fixed, without_zero_decimal};

/// Cycles without a unit: one decimal below ten, none above.
#[must_use]
pub fn cycles(value: f64) -> String {
    match value.abs() {
        v if v < 9.95 => without_zero_decimal(fixed(value, 1)),
        _ => count(value),
    }
}

/// Cycles of an estimate: its value, or both ends where the upper is over 1.25 times the lower.
#[must_use]
pub fn cycle_range(e: &Estimate) -> String {
    let (low, high) = (cycles(e.low), cycles(e.high));
    if e.high > 1.25 * e.low && low != high {
        format!("{low} to {high}")
    } else {
        cycles(e.value)
    }
}

/// The same with the unit: `1 cycle`, `7 to 18 cycles`.
#[must_use]
pub fn cycles_with_unit(e: &Estimate) -> String {
    match cycle_range(e).as_str() {
        "1" => "1 cycle".to_owned(),
        range => format!("{range} cycles"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_printed_only_where_the_ends_differ() {
        let range = Estimate {
            value: 12.0,
            low: 7.0,
            high: 18.0,
        };
        assert_eq!(cycle_range(&range), "7 to 18");
        assert_eq!(cycles_with_unit(&Estimate::exact(1.0)), "1 cycle");
        assert_eq!(cycles_with_unit(&Estimate::exact(4.04)), "4 cycles");
        assert_eq!(cycles(3.52), "3.5");
    }
}
