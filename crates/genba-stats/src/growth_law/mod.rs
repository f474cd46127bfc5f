//! How an exact count grows with the size of the input.
//!
//! Counts have no noise, so what a law leaves over is structure: lower terms, data that differ from
//! size to size, buffers that double. A law is therefore a leading term above lower ones, all with
//! coefficients that are not negative, fitted to relative distances; the lowest law that fits about
//! as well as any holds (Goldsmith, Aiken and Wilkerson, "Measuring Empirical Computational
//! Complexity", FSE 2007, fit powers alone, which take n log n for n^1.1).

use genba_model::Estimate;

mod law_fits;

use law_fits::{ExponentialFit, evaluate, exponential, fit, leads, of, residual, scale};

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
/// The slope of a law over the upper half of the sizes may differ by so much from that of the counts.
/// Chosen: a quarter of the distance between neighbouring powers.
const SLOPE_DIFFERS: f64 = 0.25;
/// An exponent that varies by no more than this at the large sizes is steady. Chosen.
const STEADY: f64 = 0.3;
/// Counts that vary below this are steps of one, which tell no law. Chosen.
const MIN_COUNT: f64 = 100.0;
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
    let counts = points.iter().map(|point| point.1);
    let (least, most) = counts.fold((f64::INFINITY, 0.0f64), |(low, high), count| {
        (low.min(count), high.max(count))
    });
    if most < MIN_COUNT && most > least {
        return Some(Growth::without_law(exponent, &points));
    }
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
