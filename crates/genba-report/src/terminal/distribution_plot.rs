//! Plots of a distribution in one line of a terminal: sparkline, strip, density.

/// Block characters by height.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Returns `n` of at most `most` as a block; `none` for 0.
fn block(n: usize, most: usize, none: char) -> char {
    match n {
        0 => none,
        n => BLOCKS[(n * 7).div_ceil(most).min(7)],
    }
}

/// Returns the cell of a value on a line of `width` cells from `low` to `high`; the middle one where
/// these are equal.
fn cell(value: f64, low: f64, high: f64, width: usize) -> f64 {
    if high > low {
        ((value - low) / (high - low) * (width - 1) as f64).round()
    } else {
        (width / 2) as f64
    }
}

/// Returns the finite values, sorted.
fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Returns how many values are in each of `number` bins of equal width.
fn bins(values: &[f64], number: usize) -> Vec<usize> {
    let sorted = sorted(values);
    let mut bins = vec![0; number];
    let (Some(&low), Some(&high)) = (sorted.first(), sorted.last()) else {
        return bins;
    };
    for value in sorted {
        let place = if high > low {
            ((value - low) / (high - low) * number as f64) as usize
        } else {
            number / 2
        };
        if let Some(bin) = bins.get_mut(place.min(number.saturating_sub(1))) {
            *bin += 1;
        }
    }
    bins
}

/// Returns a histogram in one line of block characters, `▁▂▇█▅▂▁`, from the smallest value to the
/// largest; empty for fewer than three values.
#[must_use]
pub fn sparkline(values: &[f64], width: usize) -> String {
    if sorted(values).len() < 3 {
        return String::new();
    }
    let bins = bins(values, width.clamp(1, 200));
    let most = bins.iter().copied().max().unwrap_or(0).max(1);
    bins.iter().map(|&n| block(n, most, '▁')).collect()
}

/// Returns the values on a line from `low` to `high`, `·····•●●●•···`: strips with the same ends can
/// be compared one above the other.
#[must_use]
pub fn strip(values: &[f64], low: f64, high: f64, width: usize) -> String {
    let width = width.clamp(1, 500);
    let mut cells = vec![0_usize; width];
    for &value in values.iter().filter(|v| v.is_finite()) {
        let place = cell(value, low, high, width);
        if place >= 0.0 && place < width as f64 {
            cells[place as usize] += 1;
        }
    }
    cells
        .iter()
        .map(|n| match n {
            0 => '·',
            1 => '•',
            _ => '●',
        })
        .collect()
}

/// Returns a histogram on a line from `low` to `high`, `···▁▃▇█▅▂▁···`, for more values than
/// [`strip`] can show. Values outside are counted at the ends.
#[must_use]
pub fn density(values: &[f64], low: f64, high: f64, width: usize) -> String {
    let width = width.clamp(1, 500);
    let mut cells = vec![0_usize; width];
    for &value in values.iter().filter(|v| v.is_finite()) {
        let place = cell(value, low, high, width);
        cells[place.clamp(0.0, (width - 1) as f64) as usize] += 1;
    }
    let most = cells.iter().copied().max().unwrap_or(0).max(1);
    cells.iter().map(|&n| block(n, most, '·')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn distributions_are_drawn_with_blocks_and_dots() {
        let values = [1.0, 1.1, 1.1, 1.2, 1.2, 1.2, 1.3, 2.0];
        assert_eq!(sparkline(&values, 5), "█▃▁▁▃");
        assert_eq!(sparkline(&[1.0, 1.0, 1.0], 5), "▁▁█▁▁");
        assert_eq!(sparkline(&[1.0, 2.0], 5), "");
        assert_eq!(strip(&values, 1.0, 2.0, 11), "•●●•······•");
    }

    proptest! {
        #[test]
        fn plots_of_any_values_have_the_requested_width(
            values in prop::collection::vec(any::<f64>(), 0..50), width in 0_usize..100
        ) {
            let line = sparkline(&values, width);
            prop_assert!(line.is_empty() || line.chars().count() == width.max(1));
            prop_assert_eq!(strip(&values, 0.0, 1.0, width).chars().count(), width.max(1));
        }
    }
}
