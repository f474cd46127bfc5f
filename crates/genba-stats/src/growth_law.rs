//! How an exact count grows with the size of the input.
//!
//! Counts have no noise, so what a law leaves over is structure: lower terms, data that differ from
//! size to size, buffers that double. A law is therefore a leading term above lower ones, all with
//! coefficients that are not negative, fitted to relative distances; the lowest law that fits about
//! as well as any holds (Goldsmith, Aiken and Wilkerson, "Measuring Empirical Computational
//! Complexity", FSE 2007, fit powers alone, which take n log n for n^1.1).

use genba_model::Estimate;

/// A law of growth, by its leading term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GrowthLaw {
    /// 1.
    Constant,
    /// log₂ n.
    Log,
    /// n.
    Linear,
    /// n log₂ n.
    LinearTimesLog,
    /// n².
    Quadratic,
    /// n³.
    Cubic,
    /// bⁿ.
    Exponential,
    /// None of these fits.
    Unknown,
}

impl GrowthLaw {
    /// Laws from the slowest growth to the fastest.
    const POWERS: [Self; 6] = [
        Self::Constant,
        Self::Log,
        Self::Linear,
        Self::LinearTimesLog,
        Self::Quadratic,
        Self::Cubic,
    ];

    /// Its name in documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Log => "log",
            Self::Linear => "linear",
            Self::LinearTimesLog => "n log n",
            Self::Quadratic => "quadratic",
            Self::Cubic => "cubic",
            Self::Exponential => "exponential",
            Self::Unknown => "unknown",
        }
    }

    fn term(self, size: f64) -> f64 {
        match self {
            Self::Log => size.log2(),
            Self::Linear => size,
            Self::LinearTimesLog => size * size.log2(),
            Self::Quadratic => size * size,
            Self::Cubic => size * size * size,
            Self::Constant | Self::Exponential | Self::Unknown => 1.0,
        }
    }

    /// The terms that may stand below the leading one.
    fn lower(self) -> &'static [Self] {
        match self {
            Self::Constant | Self::Exponential | Self::Unknown => &[],
            Self::Log | Self::Linear => &[Self::Constant],
            Self::LinearTimesLog | Self::Quadratic => &[Self::Constant, Self::Linear],
            Self::Cubic => &[Self::Constant, Self::Linear, Self::Quadratic],
        }
    }
}

/// Laws with their coefficients, to be added up.
type Terms = Vec<(GrowthLaw, f64)>;

/// How a count grows.
#[derive(Clone, Debug, PartialEq)]
pub struct Growth {
    /// The law.
    pub law: GrowthLaw,
    /// Coefficient of the leading term: counts for each unit of it. `None` for an exponential or
    /// unknown law. The interval is what leaving out any one size makes of it.
    pub coefficient: Option<Estimate>,
    /// Exponent of the growth at the large sizes: the slope of log count over log size of the upper
    /// half; the interval has the slopes between neighbours there.
    pub exponent: Estimate,
    /// Typical distance of the counts from the law, as a share.
    pub residual: f64,
    terms: Terms,
    /// Fits of all sizes but one, and laws that cannot be ruled out: the terms of each.
    alternatives: Vec<Terms>,
    exponential: Option<ExponentialFit>,
    /// The largest size with its count.
    last: (f64, f64),
}

/// A law holds if it leaves no more than this over, as a share, whatever others leave. Chosen: random
/// data of a few hundred elements vary by a percent.
const FITS: f64 = 0.01;
/// … or than this times what the best law leaves.
const ABOUT_AS_WELL: f64 = 1.5;
/// Counts further than this from every law, as a share, follow none: typically, or at the largest
/// size, from where it is extrapolated.
const NONE_FITS: f64 = 0.1;
/// A leading term must make up this share of the count at the largest size, and half of it at so many
/// sizes. Chosen.
const LEADS: f64 = 0.05;
const MIN_VISIBLE: usize = 4;
/// The same of an exponential, which has a parameter more to fit. Chosen.
const EXPONENTIAL_LEADS: f64 = 0.5;
/// The slope of a law over the upper half of the sizes may differ by so much from that of the counts.
/// Chosen: a quarter of the distance between neighbouring powers.
const SLOPE_DIFFERS: f64 = 0.25;
/// An exponent that varies by no more than this at the large sizes is steady. Chosen.
const STEADY: f64 = 0.3;
/// An exponential must double so often within the sizes; a power looks like one over few doublings.
const MIN_DOUBLINGS: f64 = 4.0;
/// Fewer sizes tell no law.
pub const MIN_SIZES: usize = 5;

impl Growth {
    /// Counts that follow no law: they are extrapolated by their exponent.
    fn without_law(exponent: Estimate, points: &[(f64, f64)]) -> Self {
        Self {
            law: GrowthLaw::Unknown,
            coefficient: None,
            exponent,
            residual: NONE_FITS,
            terms: Vec::new(),
            alternatives: Vec::new(),
            exponential: None,
            last: points.last().copied().unwrap_or((1.0, 0.0)),
        }
    }

    /// The count at a size, by the law; the interval covers fits without one of the sizes, and other
    /// laws that fit about as well. Without a law by the exponent, if that is steady; else `None`.
    #[must_use]
    pub fn at(&self, size: f64) -> Option<Estimate> {
        if let Some(fit) = self.exponential {
            return Some(Estimate::exact(fit.at(size))).filter(|count| count.value.is_finite());
        }
        if self.law == GrowthLaw::Unknown {
            if self.exponent.high - self.exponent.low > STEADY {
                return None;
            }
            let by = |exponent: f64| self.last.1 * (size / self.last.0).powf(exponent);
            return Some(Estimate {
                value: by(self.exponent.value),
                low: by(self.exponent.low),
                high: by(self.exponent.high),
            });
        }
        let value = evaluate(&self.terms, size);
        let others = self.alternatives.iter().map(|terms| evaluate(terms, size));
        let (low, high) = others.fold((value, value), |(low, high), one| {
            (low.min(one), high.max(one))
        });
        Some(Estimate { value, low, high })
    }
}

/// Finds the law of counts at sizes, from the first size that has a count: what begins with a certain
/// size, as spilling to a file, grows from there. `None` for fewer than [`MIN_SIZES`] different sizes
/// with counts, or sizes below 2.
#[must_use]
pub fn growth(points: &[(f64, u64)]) -> Option<Growth> {
    let mut points: Vec<(f64, f64)> = points
        .iter()
        .map(|&(size, count)| (size, count as f64))
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points.dedup_by(|a, b| a.0 == b.0);
    let begins = points.iter().position(|point| point.1 > 0.0)?;
    points.drain(..begins);
    let usable = points
        .iter()
        .all(|point| point.0 >= 2.0 && point.0.is_finite());
    if points.len() < MIN_SIZES || !usable {
        return None;
    }
    let exponent = exponent(&points);
    let fits: Vec<(GrowthLaw, Terms, f64)> = GrowthLaw::POWERS
        .into_iter()
        .filter_map(|law| {
            let terms = fit(law, &points)?;
            let residual = residual(&terms, &points);
            holds_at_the_end(&terms, &points).then_some((law, terms, residual))
        })
        .collect();
    let best = fits.iter().map(|fit| fit.2).fold(f64::INFINITY, f64::min);
    if let Some((fit, left)) = exponential(&points)
        && left < NONE_FITS.min(best / 2.0)
    {
        return Some(Growth {
            law: GrowthLaw::Exponential,
            residual: left,
            exponential: Some(fit),
            ..Growth::without_law(exponent, &points)
        });
    }
    let bound = (best * ABOUT_AS_WELL).max(FITS);
    let Some((law, terms, residual)) = fits.iter().find(|fit| fit.2 <= bound).cloned() else {
        return Some(Growth::without_law(exponent, &points));
    };
    if residual > NONE_FITS {
        return Some(Growth::without_law(exponent, &points));
    }
    let mut alternatives: Vec<Terms> = fits
        .iter()
        .filter(|fit| fit.2 <= bound && leads(fit.0, &fit.1, &points))
        .map(|fit| fit.1.clone())
        .collect();
    let mut coefficient = of(law, &terms).map(Estimate::exact);
    for left_out in 0..points.len() {
        let mut rest = points.clone();
        rest.remove(left_out);
        if let Some(terms) = fit(law, &rest) {
            if let (Some(all), Some(one)) = (&mut coefficient, of(law, &terms)) {
                all.low = all.low.min(one);
                all.high = all.high.max(one);
            }
            alternatives.push(terms);
        }
    }
    Some(Growth {
        law,
        coefficient,
        exponent,
        residual,
        terms,
        alternatives,
        exponential: None,
        last: points.last().copied()?,
    })
}

fn of(law: GrowthLaw, terms: &[(GrowthLaw, f64)]) -> Option<f64> {
    terms.iter().find(|term| term.0 == law).map(|term| term.1)
}

fn evaluate(terms: &[(GrowthLaw, f64)], size: f64) -> f64 {
    terms
        .iter()
        .map(|(law, factor)| factor * law.term(size))
        .sum()
}

/// Whether a law's leading term can be told: it makes a good part of the largest count, and a visible
/// one of several, so that a step at the end is not taken for growth.
fn leads(law: GrowthLaw, terms: &[(GrowthLaw, f64)], points: &[(f64, f64)]) -> bool {
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
fn residual(terms: &[(GrowthLaw, f64)], points: &[(f64, f64)]) -> f64 {
    let sum: f64 = points
        .iter()
        .map(|&(size, count)| ((evaluate(terms, size) - count) / scale(count)).powi(2))
        .sum();
    (sum / points.len() as f64).sqrt()
}

/// A count of a few is not exact relative to itself.
fn scale(count: f64) -> f64 {
    count.max(1.0)
}

/// The coefficients of a law that are not negative, by least squares of relative distances. `None`
/// where the leading term does not lead.
fn fit(law: GrowthLaw, points: &[(f64, f64)]) -> Option<Terms> {
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

/// Whether a fit agrees with the count at the largest size, and with the slope towards it.
fn holds_at_the_end(terms: &[(GrowthLaw, f64)], points: &[(f64, f64)]) -> bool {
    let (Some(&last), Some(&middle)) = (points.last(), points.get(points.len() / 2 - 1)) else {
        return false;
    };
    let fitted = |point: (f64, f64)| scale(evaluate(terms, point.0));
    let slope = |a: f64, b: f64| (b / a).ln() / (last.0 / middle.0).ln();
    let differs = slope(fitted(middle), fitted(last)) - slope(scale(middle.1), scale(last.1));
    (fitted(last) / scale(last.1) - 1.0).abs() <= NONE_FITS && differs.abs() <= SLOPE_DIFFERS
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
struct ExponentialFit {
    constant: f64,
    factor: f64,
    base: f64,
}

impl ExponentialFit {
    fn at(&self, size: f64) -> f64 {
        self.constant + self.factor * self.base.powf(size)
    }
}

/// The best exponential above a constant, with its residual; `None` where none doubles often enough
/// and leads.
fn exponential(points: &[(f64, f64)]) -> Option<(ExponentialFit, f64)> {
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

/// Slope of log count over log size in the upper half of the sizes.
fn exponent(points: &[(f64, f64)]) -> Estimate {
    let upper = &points[points.len() / 2 - usize::from(points.len() > 2)..];
    let slope = |a: &(f64, f64), b: &(f64, f64)| (scale(b.1) / scale(a.1)).ln() / (b.0 / a.0).ln();
    let slopes = upper.windows(2).map(|pair| slope(&pair[0], &pair[1]));
    let (low, high) = slopes.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), one| {
        (low.min(one), high.max(one))
    });
    let value = slope(&upper[0], &upper[upper.len() - 1]);
    Estimate { value, low, high }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SIZES: [f64; 8] = [64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0];

    fn of_sizes(mut count: impl FnMut(f64) -> f64) -> Growth {
        let points: Vec<(f64, u64)> = SIZES
            .iter()
            .map(|&n| (n, count(n).round() as u64))
            .collect();
        growth(&points).expect("a law")
    }

    #[test]
    fn laws_above_a_constant_are_told_apart() {
        type Count<'a> = &'a dyn Fn(f64) -> f64;
        let cases: [(GrowthLaw, f64, Count<'_>); 6] = [
            (GrowthLaw::Constant, 12345.0, &|_| 12345.0),
            (GrowthLaw::Log, 40.0, &|n| 100.0 + 40.0 * n.log2()),
            (GrowthLaw::Linear, 7.0, &|n| 5000.0 + 7.0 * n),
            (GrowthLaw::LinearTimesLog, 3.0, &|n| {
                900.0 + 3.0 * n * n.log2()
            }),
            (GrowthLaw::Quadratic, 0.5, &|n| {
                4000.0 + 30.0 * n + 0.5 * n * n
            }),
            (GrowthLaw::Cubic, 0.25, &|n| 9.0 * n + 0.25 * n * n * n),
        ];
        for (law, coefficient, count) in cases {
            let found = of_sizes(count);
            assert_eq!(found.law, law, "{found:?}");
            let fitted = found.coefficient.expect("a coefficient");
            assert!(
                (fitted.value / coefficient - 1.0).abs() < 0.1,
                "{law:?}: {fitted:?}"
            );
            assert!(fitted.low <= fitted.value && fitted.value <= fitted.high);
            let truth = count(1e6);
            let far = found.at(1e6).expect("a count");
            assert!(
                (far.value / truth - 1.0).abs() < 0.1,
                "{law:?}: {far:?} {truth}"
            );
        }
    }

    #[test]
    fn a_doubling_for_each_unit_is_exponential() {
        let points: Vec<(f64, u64)> = (4..14).map(|n| (f64::from(n), 3 << n)).collect();
        let found = growth(&points).expect("a law");
        assert_eq!(found.law, GrowthLaw::Exponential);
        let far = found.at(15.0).expect("a count").value;
        assert!((far / f64::from(3 << 15) - 1.0).abs() < 0.05, "{far}");
    }

    #[test]
    fn fibonacci_numbers_above_a_start_are_exponential() {
        let golden = f64::midpoint(1.0, 5f64.sqrt());
        let points: Vec<(f64, u64)> = [5, 8, 11, 14, 17, 20, 23]
            .map(|n| (f64::from(n), (1e6 + 2000.0 * golden.powi(n)) as u64))
            .to_vec();
        let found = growth(&points).expect("a law");
        assert_eq!(found.law, GrowthLaw::Exponential, "{found:?}");
    }

    #[test]
    fn n_log_n_with_scatter_is_not_quadratic() {
        for (index, scatter) in [0.01, 0.03, 0.05].into_iter().enumerate() {
            let found = of_sizes(|n| {
                let sign = if (n.log2() as usize + index).is_multiple_of(2) {
                    1.0
                } else {
                    -1.0
                };
                20.0 * n * n.log2() * (1.0 + sign * scatter)
            });
            assert!(found.law < GrowthLaw::Quadratic, "{found:?}");
            assert!(found.law >= GrowthLaw::Linear, "{found:?}");
        }
    }

    #[test]
    fn counts_without_a_law_have_none() {
        let mut random = 88_172_645_463_325_252u64;
        let found = of_sizes(|_| {
            random_step(&mut random);
            (random % 1000) as f64
        });
        assert_eq!(found.law, GrowthLaw::Unknown, "{found:?}");
        assert_eq!(found.coefficient, None);
    }

    fn random_step(random: &mut u64) {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
    }

    #[test]
    fn what_begins_with_a_certain_size_grows_from_there() {
        let found = of_sizes(|n| if n < 500.0 { 0.0 } else { 70.0 * n });
        assert_eq!(found.law, GrowthLaw::Linear, "{found:?}");
    }

    #[test]
    fn a_step_in_the_middle_is_not_a_law() {
        let found = of_sizes(|n| if n < 1000.0 { 10.0 } else { 400.0 * n });
        assert!(
            found.law < GrowthLaw::Quadratic || found.law == GrowthLaw::Unknown,
            "{found:?}"
        );
    }

    #[test]
    fn a_step_at_the_end_is_not_exponential() {
        let found = of_sizes(|n| if n < 8000.0 { 23.0 } else { 46.0 });
        assert_eq!(found.law, GrowthLaw::Unknown, "{found:?}");
    }

    #[test]
    fn n_log_n_beside_linear_work_is_not_quadratic() {
        let found = of_sizes(|n| 3000.0 + 200.0 * n + 15.0 * n * n.log2());
        assert_eq!(found.law, GrowthLaw::LinearTimesLog, "{found:?}");
    }

    #[test]
    fn few_sizes_or_no_counts_tell_nothing() {
        assert_eq!(growth(&[(2.0, 1), (4.0, 2), (8.0, 4), (16.0, 8)]), None);
        assert_eq!(growth(&SIZES.map(|n| (n, 0))), None);
        assert_eq!(growth(&SIZES.map(|n| (n / 64.0, 1))), None, "log of 1");
    }

    proptest! {
        #[test]
        fn any_counts_give_finite_answers(counts in prop::collection::vec(any::<u32>(), 5..12)) {
            let points: Vec<(f64, u64)> = (counts.iter().enumerate())
                .map(|(index, &count)| (2f64.powi(index as i32 + 1), u64::from(count)))
                .collect();
            if let Some(found) = growth(&points) {
                if let Some(at) = found.at(1e4) {
                    prop_assert!(at.low <= at.value && at.value <= at.high);
                }
                prop_assert!(found.residual.is_finite() && found.exponent.value.is_finite());
            }
        }

        #[test]
        fn a_pure_power_keeps_its_law_and_coefficient(
            which in 0usize..3, coefficient in 1u32..1000,
        ) {
            let law = [GrowthLaw::Linear, GrowthLaw::LinearTimesLog, GrowthLaw::Quadratic][which];
            let found = of_sizes(|n| f64::from(coefficient) * law.term(n));
            prop_assert_eq!(found.law, law);
            let fitted = found.coefficient.expect("a coefficient").value;
            prop_assert!((fitted / f64::from(coefficient) - 1.0).abs() < 0.05);
        }
    }
}
