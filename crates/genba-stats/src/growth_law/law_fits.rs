//! Fits of laws to counts: coefficients that are not negative, by least squares of relative distances,
//! and exponentials.

use super::{ABOUT_AS_WELL, FITS, GrowthLaw, Terms};

/// A leading term must make up this share of the count at the largest size, and half of it at so many
/// sizes. Chosen.
const LEADS: f64 = 0.05;
const MIN_VISIBLE: usize = 4;
/// The same of an exponential, which has a parameter more to fit. Chosen.
const EXPONENTIAL_LEADS: f64 = 0.5;
/// An exponential must double so often within the sizes; a power looks like one over few doublings.
const MIN_DOUBLINGS: f64 = 4.0;

pub(super) fn of(law: GrowthLaw, terms: &[(GrowthLaw, f64)]) -> Option<f64> {
    terms.iter().find(|term| term.0 == law).map(|term| term.1)
}

pub(super) fn evaluate(terms: &[(GrowthLaw, f64)], size: f64) -> f64 {
    terms
        .iter()
        .map(|(law, factor)| factor * law.term(size))
        .sum()
}

/// Whether a law's leading term can be told: it makes a good part of the largest count, and a visible
/// one of several, so that a step at the end is not taken for growth.
pub(super) fn leads(law: GrowthLaw, terms: &[(GrowthLaw, f64)], points: &[(f64, f64)]) -> bool {
    let Some(factor) = of(law, terms) else {
        return false;
    };
    is_visible(points, LEADS, |size| factor * law.term(size))
}

fn is_visible(points: &[(f64, f64)], least: f64, term: impl Fn(f64) -> f64) -> bool {
    let share = |&(size, count): &(f64, f64)| term(size) / scale(count);
    let at_the_end = points.last().is_some_and(|last| share(last) >= least);
    let visible = points.iter().filter(|point| share(point) >= least / 2.0);
    at_the_end && visible.count() >= MIN_VISIBLE
}

/// Root mean square of the relative distances.
pub(super) fn residual(terms: &[(GrowthLaw, f64)], points: &[(f64, f64)]) -> f64 {
    let sum: f64 = points
        .iter()
        .map(|&(size, count)| ((evaluate(terms, size) - count) / scale(count)).powi(2))
        .sum();
    (sum / points.len() as f64).sqrt()
}

/// A count of a few is not exact relative to itself.
pub(super) fn scale(count: f64) -> f64 {
    count.max(1.0)
}

/// The coefficients of a law that are not negative, by least squares of relative distances. `None`
/// where the leading term does not lead.
pub(super) fn fit(law: GrowthLaw, points: &[(f64, f64)]) -> Option<Terms> {
    let mut laws = law.lower().to_vec();
    laws.push(law);
    // Non-negative least squares over at most four columns: the plain solutions of all subsets
    // that are positive.
    let mut fits: Vec<(f64, Terms)> = Vec::new();
    for subset in 0..1u32 << (laws.len() - 1) {
        let chosen: Vec<GrowthLaw> = laws
            .iter()
            .enumerate()
            .filter(|&(index, _)| index + 1 == laws.len() || subset >> index & 1 == 1)
            .map(|(_, &law)| law)
            .collect();
        let Some(terms) = least_squares(&chosen, points) else {
            continue;
        };
        if terms.iter().any(|term| term.1 < 0.0) {
            continue;
        }
        fits.push((residual(&terms, points), terms));
    }
    // The fewest terms that fit about as well: x and x log x share what belongs to one of them.
    let best = fits.iter().map(|fit| fit.0).fold(f64::INFINITY, f64::min);
    let bound = (best * ABOUT_AS_WELL).max(FITS);
    fits.retain(|fit| fit.0 <= bound && leads(law, &fit.1, points));
    fits.sort_by(|a, b| a.1.len().cmp(&b.1.len()).then(a.0.total_cmp(&b.0)));
    fits.into_iter().next().map(|fit| fit.1)
}

/// Solves the normal equations by elimination. Columns are scaled to 1 at the largest size.
fn least_squares(laws: &[GrowthLaw], points: &[(f64, f64)]) -> Option<Terms> {
    let columns = laws.len();
    let &(largest, most) = points.last()?;
    // Weights about 1, so that a pivot's size says whether columns depend on each other.
    let most = scale(most);
    let unit: Vec<f64> = laws.iter().map(|law| law.term(largest)).collect();
    let mut matrix = vec![vec![0.0; columns + 1]; columns];
    for &(size, count) in points {
        let weight = most / scale(count);
        let row: Vec<f64> = laws
            .iter()
            .zip(&unit)
            .map(|(law, unit)| weight * law.term(size) / unit)
            .collect();
        for (i, a) in row.iter().enumerate() {
            for (j, b) in row.iter().enumerate() {
                matrix[i][j] += a * b;
            }
            matrix[i][columns] += a * weight * count;
        }
    }
    for pivot in 0..columns {
        let row = (pivot..columns)
            .max_by(|&a, &b| matrix[a][pivot].abs().total_cmp(&matrix[b][pivot].abs()))?;
        matrix.swap(pivot, row);
        if matrix[pivot][pivot].abs() < 1e-14 {
            return None;
        }
        let (pivot_row, others) = {
            let row = matrix[pivot].clone();
            (row, &mut matrix)
        };
        for (index, row) in others.iter_mut().enumerate() {
            if index != pivot {
                let factor = row[pivot] / pivot_row[pivot];
                for (value, from) in row.iter_mut().zip(&pivot_row) {
                    *value -= factor * from;
                }
            }
        }
    }
    let solution = laws.iter().enumerate().map(|(index, &law)| {
        let value = matrix[index][columns] / matrix[index][index];
        (law, value / unit[index])
    });
    Some(solution.collect())
}

/// constant + factor · baseⁿ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ExponentialFit {
    constant: f64,
    factor: f64,
    base: f64,
}

impl ExponentialFit {
    pub(super) fn at(&self, size: f64) -> f64 {
        self.constant + self.factor * self.base.powf(size)
    }
}

/// The best exponential above a constant, with its residual; `None` where none doubles often enough
/// and leads.
pub(super) fn exponential(points: &[(f64, f64)]) -> Option<(ExponentialFit, f64)> {
    let (first, last) = (points.first()?.0, points.last()?.0);
    let least = MIN_DOUBLINGS / (last - first);
    let fits = (0..=BASES).filter_map(|step| {
        // Doublings for each unit, from the fewest to four.
        let doublings = least
            * (4.0 / least)
                .max(1.0)
                .powf(f64::from(step) / f64::from(BASES));
        let fit = fit_exponential(doublings.exp2(), points)?;
        let sum: f64 = points
            .iter()
            .map(|&(size, count)| ((fit.at(size) - count) / scale(count)).powi(2))
            .sum();
        Some((fit, (sum / points.len() as f64).sqrt()))
    });
    fits.min_by(|a, b| a.1.total_cmp(&b.1))
}

/// Number of bases that are tried.
const BASES: u32 = 600;

fn fit_exponential(base: f64, points: &[(f64, f64)]) -> Option<ExponentialFit> {
    let last = points.last()?;
    // Scaled to 1 at the largest size. Weighted sums of 1, x, x², y and x·y.
    let [mut w, mut wx, mut wxx, mut wy, mut wxy] = [0.0; 5];
    for &(size, count) in points {
        let (x, y) = (base.powf(size - last.0), count / scale(last.1));
        let weight = (scale(last.1) / scale(count)).powi(2);
        w += weight;
        wx += weight * x;
        wxx += weight * x * x;
        wy += weight * y;
        wxy += weight * x * y;
    }
    let slope = (w * wxy - wx * wy) / (w * wxx - wx * wx);
    let constant = (wy - slope * wx) / w;
    let most = scale(last.1);
    let fit = ExponentialFit {
        constant: constant * most,
        factor: slope * most / base.powf(last.0),
        base,
    };
    let leads = is_visible(points, EXPONENTIAL_LEADS, |size| {
        fit.at(size) - fit.constant
    });
    (leads && constant >= -FITS && fit.factor.is_normal()).then_some(fit)
}
