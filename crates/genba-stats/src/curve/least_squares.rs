//! Weighted least squares with few columns, by the modified Gram–Schmidt method (Björck,
//! *Numerical Methods for Least Squares Problems*, 2.4): stable enough for columns as alike as
//! x and x log x.

/// Maximum number of columns of a model.
pub(super) const MOST: usize = 4;

/// A row of the design: the values of the columns, of which the first `columns` count.
pub(super) type Row = [f64; MOST];

/// A fit: coefficients and their covariance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Solution {
    pub coefficients: Row,
    /// Covariance of the coefficients if the weights are 1 ÷ variance.
    pub covariance: [Row; MOST],
}

impl Solution {
    /// Value of the fit for a row.
    pub fn at(&self, row: &Row) -> f64 {
        row.iter().zip(&self.coefficients).map(|(a, b)| a * b).sum()
    }

    /// Standard error of a linear combination of the coefficients.
    pub fn error_of(&self, row: &Row) -> f64 {
        let mut variance = 0.0;
        for (i, a) in row.iter().enumerate() {
            for (j, b) in row.iter().enumerate() {
                variance += a * b * self.covariance[i][j];
            }
        }
        variance.max(0.0).sqrt()
    }
}

/// Minimises Σ ((target − row · coefficients) ÷ error)². `None` where the columns are
/// linearly dependent.
pub(super) fn solve(
    rows: &[Row],
    columns: usize,
    targets: &[f64],
    errors: &[f64],
) -> Option<Solution> {
    let count = rows.len();
    if columns == 0 || columns > MOST || count < columns {
        return None;
    }
    // Columns of the scaled design, orthogonalised one after another.
    let mut q = [const { Vec::new() }; MOST];
    for (column, vector) in q.iter_mut().enumerate().take(columns) {
        *vector = (rows.iter().zip(errors))
            .map(|(row, error)| row[column] / error)
            .collect::<Vec<f64>>();
    }
    let mut r = [[0.0; MOST]; MOST];
    let mut rest: Vec<f64> = (targets.iter().zip(errors)).map(|(z, e)| z / e).collect();
    let mut projected = [0.0; MOST];
    for column in 0..columns {
        let before = norm(&q[column]);
        for earlier in 0..column {
            let (left, right) = q.split_at_mut(column);
            let product = dot(&left[earlier], &right[0]);
            r[earlier][column] = product;
            subtract(&mut right[0], &left[earlier], product);
        }
        let length = norm(&q[column]);
        if !(length > before * 1e-9 && length.is_finite() && length > 0.0) {
            return None;
        }
        r[column][column] = length;
        for value in &mut q[column] {
            *value /= length;
        }
        projected[column] = dot(&q[column], &rest);
        subtract(&mut rest, &q[column], projected[column]);
    }
    let inverse = invert(&r, columns);
    let mut coefficients = [0.0; MOST];
    let mut covariance = [[0.0; MOST]; MOST];
    for i in 0..columns {
        coefficients[i] = (0..columns).map(|k| inverse[i][k] * projected[k]).sum();
        for j in 0..columns {
            covariance[i][j] = (0..columns).map(|k| inverse[i][k] * inverse[j][k]).sum();
        }
    }
    let finite = coefficients.iter().all(|value| value.is_finite());
    finite.then_some(Solution {
        coefficients,
        covariance,
    })
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

fn subtract(from: &mut [f64], what: &[f64], times: f64) {
    for (value, other) in from.iter_mut().zip(what) {
        *value -= times * other;
    }
}

/// Inverse of an upper triangle.
fn invert(r: &[Row; MOST], columns: usize) -> [Row; MOST] {
    let mut inverse = [[0.0; MOST]; MOST];
    for column in 0..columns {
        inverse[column][column] = 1.0 / r[column][column];
        for row in (0..column).rev() {
            let sum: f64 = (row + 1..=column)
                .map(|k| r[row][k] * inverse[k][column])
                .sum();
            inverse[row][column] = -sum / r[row][row];
        }
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn line_and_its_standard_errors_agree_with_r() {
        // R: lm(c(1.1, 1.9, 3.2, 3.8) ~ c(0, 1, 2, 3)): 1.09, 0.94; with unit errors the
        // standard error of the slope is 1 / sqrt(5).
        let rows: Vec<Row> = (0..4).map(|x| [1.0, f64::from(x), 0.0, 0.0]).collect();
        let found = solve(&rows, 2, &[1.1, 1.9, 3.2, 3.8], &[1.0; 4]).unwrap();
        assert!((found.coefficients[0] - 1.09).abs() < 1e-12);
        assert!((found.coefficients[1] - 0.94).abs() < 1e-12);
        assert!((found.error_of(&[0.0, 1.0, 0.0, 0.0]) - 0.2f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn dependent_columns_are_refused() {
        let rows: Vec<Row> = (0..4)
            .map(|x| [f64::from(x), 2.0 * f64::from(x), 0.0, 0.0])
            .collect();
        assert!(solve(&rows, 2, &[1.0; 4], &[1.0; 4]).is_none());
        assert!(solve(&rows, 0, &[1.0; 4], &[1.0; 4]).is_none());
        assert!(solve(&rows[..1], 2, &[1.0], &[1.0]).is_none());
    }

    proptest! {
        #[test]
        fn what_was_put_in_comes_out(c in prop::array::uniform4(-10.0..10.0f64), n in 5usize..20) {
            let rows: Vec<Row> = (0..n)
                .map(|x| { let x = x as f64; [1.0, x, x * x, (x - 2.0).max(0.0)] })
                .collect();
            let targets: Vec<f64> = rows.iter().map(|row| row.iter().zip(&c).map(|(a, b)| a * b).sum()).collect();
            let errors: Vec<f64> = (0..n).map(|i| 0.5 + i as f64 / 10.0).collect();
            let found = solve(&rows, 4, &targets, &errors).unwrap();
            for (row, target) in rows.iter().zip(&targets) {
                prop_assert!((found.at(row) - target).abs() < 1e-7, "{:?} {c:?}", found.coefficients);
            }
        }
    }
}
