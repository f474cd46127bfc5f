//! Robust linear regression with Huber weights.

use crate::input_checks;
use crate::quantile::{MAD_TO_SIGMA, median_of_sorted};

/// Residuals beyond this multiple of the scale weigh less: 95 % efficiency on normal noise.
const HUBER_TUNING: f64 = 1.345;
/// Iterations at most; the weights converge in far fewer.
const MAX_ITERATIONS: usize = 30;

/// A fit: coefficients with their standard errors.
#[derive(Clone, Debug)]
pub(crate) struct Fit {
    pub coefficients: Vec<f64>,
    pub errors: Vec<f64>,
    /// Values less coefficients.
    pub freedom: usize,
}

/// Huber's M-estimate by iteratively reweighted least squares, the scale from the residuals'
/// MAD, standard errors from the asymptotic covariance s² · mean ψ² ÷ (mean ψ′)² · (XᵀX)⁻¹ with
/// n ÷ (n − p) for the coefficients spent (Huber, *Robust Statistics* (1981), 7.6). `None` where
/// the columns are not independent or no residuals are left.
pub(crate) fn huber(rows: &[Vec<f64>], values: &[f64]) -> Option<Fit> {
    let count = values.len();
    let width = rows.first()?.len();
    if count <= width {
        return None;
    }
    let mut weights = vec![1.0; count];
    let mut coefficients = vec![0.0; width];
    let mut scale = 0.0;
    let mut residuals = vec![0.0; count];
    for _ in 0..MAX_ITERATIONS {
        let fitted = solve(&normal(rows, &weights), &right_side(rows, values, &weights))?;
        let moved = (fitted.iter().zip(&coefficients))
            .map(|(new, old)| (new - old).abs())
            .fold(0.0, f64::max);
        coefficients = fitted;
        for ((residual, row), value) in residuals.iter_mut().zip(rows).zip(values) {
            *residual = value - dot(row, &coefficients);
        }
        let sizes: Vec<f64> = residuals.iter().map(|residual| residual.abs()).collect();
        // A fit with many coefficients makes residuals too small.
        let spent = (count as f64 / (count - width) as f64).sqrt();
        scale = MAD_TO_SIGMA * median_of_sorted(&input_checks::sorted(&sizes)) * spent;
        if scale <= 0.0 || moved <= 1e-9 * scale {
            break;
        }
        for (weight, size) in weights.iter_mut().zip(&sizes) {
            *weight = (HUBER_TUNING * scale / size.max(f64::MIN_POSITIVE)).min(1.0);
        }
    }
    let mut inverse_diagonal = Vec::with_capacity(width);
    let plain = normal(rows, &vec![1.0; count]);
    for column in 0..width {
        let mut unit = vec![0.0; width];
        unit[column] = 1.0;
        inverse_diagonal.push(solve(&plain, &unit)?[column].max(0.0));
    }
    let variance = if scale > 0.0 {
        let squared: f64 = (residuals.iter())
            .map(|residual| {
                (residual / scale)
                    .clamp(-HUBER_TUNING, HUBER_TUNING)
                    .powi(2)
            })
            .sum();
        let inside = (residuals.iter())
            .filter(|residual| residual.abs() <= HUBER_TUNING * scale)
            .count();
        let slope = inside as f64 / count as f64;
        scale * scale * squared / (count - width) as f64 / (slope * slope)
    } else {
        0.0
    };
    let errors = (inverse_diagonal.iter())
        .map(|diagonal| (variance * diagonal).sqrt())
        .collect();
    Some(Fit {
        coefficients,
        errors,
        freedom: count - width,
    })
}

fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(a, b)| a * b).sum()
}

/// XᵀWX.
fn normal(rows: &[Vec<f64>], weights: &[f64]) -> Vec<Vec<f64>> {
    let width = rows.first().map_or(0, Vec::len);
    let mut matrix = vec![vec![0.0; width]; width];
    for (row, weight) in rows.iter().zip(weights) {
        for (line, left) in matrix.iter_mut().zip(row) {
            for (cell, right) in line.iter_mut().zip(row) {
                *cell += weight * left * right;
            }
        }
    }
    matrix
}

fn right_side(rows: &[Vec<f64>], values: &[f64], weights: &[f64]) -> Vec<f64> {
    let mut side = vec![0.0; rows.first().map_or(0, Vec::len)];
    for ((row, value), weight) in rows.iter().zip(values).zip(weights) {
        for (cell, left) in side.iter_mut().zip(row) {
            *cell += weight * left * value;
        }
    }
    side
}

/// Cholesky; `None` for a matrix that is not positive definite.
fn solve(matrix: &[Vec<f64>], side: &[f64]) -> Option<Vec<f64>> {
    let width = side.len();
    let mut lower = vec![vec![0.0; width]; width];
    for row in 0..width {
        for column in 0..=row {
            let sum = dot(&lower[row][..column], &lower[column][..column]);
            let rest = matrix[row][column] - sum;
            lower[row][column] = if row == column {
                if rest <= 1e-10 * matrix[row][row].abs() {
                    return None;
                }
                rest.sqrt()
            } else {
                rest / lower[column][column]
            };
        }
    }
    let mut middle = vec![0.0; width];
    for row in 0..width {
        middle[row] = (side[row] - dot(&lower[row][..row], &middle[..row])) / lower[row][row];
    }
    let mut solution = vec![0.0; width];
    for row in (0..width).rev() {
        let above: f64 = (row + 1..width)
            .map(|later| lower[later][row] * solution[later])
            .sum();
        solution[row] = (middle[row] - above) / lower[row][row];
    }
    solution
        .iter()
        .all(|value| value.is_finite())
        .then_some(solution)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outlier_hardly_moves_the_fitted_line() {
        let rows: Vec<Vec<f64>> = (0..20).map(|x| vec![1.0, f64::from(x)]).collect();
        let mut values: Vec<f64> = (0..20)
            .map(|x| 3.0 + 2.0 * f64::from(x) + if x % 2 == 0 { 0.01 } else { -0.01 })
            .collect();
        values[7] += 1_000.0;
        let fit = huber(&rows, &values).unwrap();
        assert!((fit.coefficients[0] - 3.0).abs() < 0.03, "{fit:?}");
        assert!((fit.coefficients[1] - 2.0).abs() < 0.003, "{fit:?}");
        assert!(fit.errors[1] < 0.003);
        assert_eq!(fit.freedom, 18);
    }

    #[test]
    fn dependent_columns_and_too_few_values_have_no_fit() {
        let rows = vec![vec![1.0, 2.0]; 5];
        assert!(huber(&rows, &[1.0, 2.0, 3.0, 4.0, 5.0]).is_none());
        let rows = vec![vec![1.0, 2.0], vec![1.0, 3.0]];
        assert!(huber(&rows, &[1.0, 2.0]).is_none());
        assert!(huber(&[], &[]).is_none());
    }

    #[test]
    fn exact_fit_has_zero_standard_error() {
        let rows: Vec<Vec<f64>> = (0..5).map(|x| vec![1.0, f64::from(x)]).collect();
        let values: Vec<f64> = (0..5).map(|x| 1.0 - f64::from(x)).collect();
        let fit = huber(&rows, &values).unwrap();
        assert!((fit.coefficients[1] + 1.0).abs() < 1e-12 && fit.errors[1] < 1e-12);
    }
}
