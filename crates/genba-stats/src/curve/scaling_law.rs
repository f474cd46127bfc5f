//! Scaling law of a metric over a parameter.

use genba_model::Estimate;

use super::setting_levels::{Level, Levels};
use super::smooth_models::{Fit, Form, GrowthTerm, fit, power};
use super::{Axis, CurvePoint};
use crate::StatsError;

/// A scaling law; all but the pure power with an additive constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalingLaw {
    /// a.
    Constant,
    /// a + b log x.
    Log,
    /// a + b x.
    Linear,
    /// a + b x log x.
    LinearTimesLog,
    /// a + b x².
    Quadratic,
    /// a + b x^p with another exponent.
    Power,
    /// Several laws fit about as well, or none does.
    Unknown,
}

impl ScalingLaw {
    /// Its name in documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Log => "log",
            Self::Linear => "linear",
            Self::LinearTimesLog => "n log n",
            Self::Quadratic => "quadratic",
            Self::Power => "power",
            Self::Unknown => "unknown",
        }
    }
}

/// Result of fitting scaling laws.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalingFit {
    /// The only law that the data allow.
    pub law: ScalingLaw,
    /// Laws that fit about as well as the best, the best first.
    pub candidates: Vec<ScalingLaw>,
    /// Exponent p of a + b x^p, with its interval (95 %), where there is one.
    pub exponent: Option<Estimate>,
    /// Typical distance of the levels from the best law, as a share.
    pub residual: f64,
    /// The best law's values at the settings, in order.
    pub fitted: Vec<f64>,
}

/// A law stays if it costs no more than so much more than the best: e³ to 1 in likelihood.
const ABOUT_AS_WELL: f64 = 6.0;
/// A constant stays unless it costs so much more: once in a thousand flat curves.
const GROWTH: f64 = 12.0;
/// Levels further than this from every law, as a share, follow none.
const NONE_FITS: f64 = 0.1;
/// Fewer settings tell no law.
const LEAST: usize = 4;

/// Finds the law. `floor` is a scatter between settings that no repeating shows, as a share.
///
/// # Errors
/// As [`curve`](super::curve), or fewer than four settings.
pub fn fit_scaling_law(
    points: &[CurvePoint],
    axis: Axis,
    floor: f64,
) -> Result<ScalingFit, StatsError> {
    let levels = Levels::of(points, axis, floor)?;
    levels.enough()?;
    let levels = levels.all;
    if levels.len() < LEAST {
        return Err(StatsError::TooFew {
            needed: LEAST,
            got: levels.len(),
        });
    }
    let mut fits: Vec<(ScalingLaw, Fit)> = Vec::new();
    let forms = [
        (ScalingLaw::Constant, Form::Constant),
        (ScalingLaw::Log, Form::Law(GrowthTerm::Log)),
        (ScalingLaw::Linear, Form::Law(GrowthTerm::Linear)),
        (
            ScalingLaw::LinearTimesLog,
            Form::Law(GrowthTerm::LinearTimesLog),
        ),
        (ScalingLaw::Quadratic, Form::Law(GrowthTerm::Quadratic)),
        (ScalingLaw::Power, Form::PurePower),
    ];
    for (law, form) in forms {
        fits.extend(fit(&levels, form).map(|fit| (law, fit)));
    }
    fits.extend(power(&levels).map(|fit| (ScalingLaw::Power, fit)));
    // A law that starts below zero is not a cost of anything.
    fits.retain(|(_, fit)| !matches!(fit.form, Form::Law(_)) || starts_above_zero(fit));
    let least_misfit = (fits.iter())
        .map(|(_, fit)| fit.misfit / (levels.len() - fit.parameters).max(1) as f64)
        .fold(f64::INFINITY, f64::min);
    // What no law explains belongs to the errors of all of them.
    let inflation = least_misfit.max(1.0);
    let price = (levels.len() as f64).ln();
    let cost = |fit: &Fit| fit.misfit / inflation + price * fit.parameters as f64;
    fits.sort_by(|a, b| cost(&a.1).total_cmp(&cost(&b.1)));
    let Some((_, best)) = fits.first() else {
        return Err(StatsError::TooFew {
            needed: LEAST,
            got: levels.len(),
        });
    };
    let least = cost(best);
    let mut candidates: Vec<ScalingLaw> = Vec::new();
    for (law, fit) in &fits {
        if cost(fit) <= least + ABOUT_AS_WELL && !candidates.contains(law) {
            candidates.push(*law);
        }
    }
    // A power is not a rival of the law that it imitates.
    let named = (candidates.iter()).any(|law| *law != ScalingLaw::Power);
    if named && candidates[0] != ScalingLaw::Power {
        candidates.retain(|law| *law != ScalingLaw::Power);
    }
    let residual = residual(&levels, best);
    // Of six laws one always fits a flat curve a little better: growth needs more evidence than
    // the choice of a law, and a change that matters.
    let flat = fits.iter().find(|(law, _)| *law == ScalingLaw::Constant);
    let change = best.fitted[best.fitted.len() - 1] - best.fitted[0];
    let shown = flat.is_none_or(|(_, fit)| cost(fit) > least + GROWTH);
    if !shown || (change.abs() < floor && residual < floor) {
        candidates = vec![ScalingLaw::Constant];
    }
    let law = match candidates.as_slice() {
        _ if residual > NONE_FITS => ScalingLaw::Unknown,
        [only] => *only,
        _ => ScalingLaw::Unknown,
    };
    Ok(ScalingFit {
        law,
        exponent: exponent(&levels, inflation, law),
        residual,
        fitted: best.fitted.iter().map(|z| z.exp()).collect(),
        candidates,
    })
}

/// A constant part below zero by no more than its error is zero.
fn starts_above_zero(fit: &Fit) -> bool {
    if matches!(fit.form, Form::Law(GrowthTerm::Log)) {
        return true;
    }
    let constant = [1.0, 0.0, 0.0, 0.0];
    fit.solution.at(&constant) > -3.0 * fit.solution.error_of(&constant)
}

fn residual(levels: &[Level], fit: &Fit) -> f64 {
    let squares: f64 = (levels.iter().zip(&fit.fitted))
        .map(|(level, fit)| (level.z - fit).powi(2))
        .sum();
    (squares / levels.len() as f64).sqrt().exp_m1()
}

/// The exponent with the interval of all exponents that fit nearly as well as the best: the
/// profile of the likelihood (Venzon and Moolgavkar, Applied Statistics 37 (1988)).
fn exponent(levels: &[Level], inflation: f64, law: ScalingLaw) -> Option<Estimate> {
    if law == ScalingLaw::Constant || levels.len() < 5 {
        return None;
    }
    let best = power(levels)?;
    let Form::Power(value) = best.form else {
        return None;
    };
    let limit = best.misfit + 3.84 * inflation;
    let fits = |p: f64| fit(levels, Form::Power(p)).is_some_and(|fit| fit.misfit <= limit);
    let edge = |direction: f64| {
        let mut step = 0.01;
        let mut inside = value;
        // Outwards with growing steps, then back by halves.
        while fits(value + direction * step) && step < 8.0 {
            inside = value + direction * step;
            step *= 1.6;
        }
        let mut outside = value + direction * step;
        for _ in 0..20 {
            let middle = inside.midpoint(outside);
            if fits(middle) {
                inside = middle;
            } else {
                outside = middle;
            }
        }
        inside
    };
    Some(Estimate {
        value,
        low: edge(-1.0),
        high: edge(1.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn points(xs: &[f64], f: impl Fn(f64) -> f64) -> Vec<CurvePoint> {
        let wiggle = |i: usize, run: u32| 1.0 + 0.002 * f64::from((i as u32 * 5 + run * 3) % 7);
        (xs.iter().enumerate())
            .map(|(i, x)| CurvePoint {
                x: *x,
                runs: (0..6).map(|run| (run, f(*x) * wiggle(i, run))).collect(),
            })
            .collect()
    }

    fn doublings() -> Vec<f64> {
        (0..11).map(|u| f64::from(1 << u)).collect()
    }

    #[test]
    fn each_scaling_law_is_identified() {
        type Law = (ScalingLaw, fn(f64) -> f64);
        let laws: [Law; 6] = [
            (ScalingLaw::Constant, |_| 3.0),
            (ScalingLaw::Log, |x| 3.0 + x.ln()),
            (ScalingLaw::Linear, |x| 3.0 + 0.1 * x),
            (ScalingLaw::LinearTimesLog, |x| 3.0 + 0.1 * x * x.ln()),
            (ScalingLaw::Quadratic, |x| 3.0 + 1e-3 * x * x),
            (ScalingLaw::Power, |x| 1.0 + 0.01 * x.powf(1.5)),
        ];
        for (law, f) in laws {
            let found = fit_scaling_law(&points(&doublings(), f), Axis::Log2, 0.003).unwrap();
            assert_eq!(found.law, law, "{found:?}");
            assert!(found.residual < 0.02);
        }
    }

    #[test]
    fn indistinguishable_laws_are_unknown() {
        // Between 100 and 125 a line, x log x and a power look the same.
        let xs: Vec<f64> = (0..6).map(|i| 100.0 + 5.0 * f64::from(i)).collect();
        let found = fit_scaling_law(&points(&xs, |x| 5.0 + x), Axis::Linear, 0.003).unwrap();
        assert_eq!(found.law, ScalingLaw::Unknown);
        assert!(found.candidates.contains(&ScalingLaw::Linear), "{found:?}");
        // A zigzag follows nothing.
        let zigzag = |x: f64| {
            if (x.log2() as u32).is_multiple_of(2) {
                1.0
            } else {
                2.0
            }
        };
        let found = fit_scaling_law(&points(&doublings(), zigzag), Axis::Log2, 0.003).unwrap();
        assert!(
            matches!(found.law, ScalingLaw::Unknown | ScalingLaw::Constant),
            "{found:?}"
        );
        assert!(fit_scaling_law(&points(&[1.0, 2.0, 4.0], |x| x), Axis::Log2, 0.003).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20))]
        #[test]
        fn the_exponent_is_within_its_interval(p in 0.4..2.5f64, start in 0.0..3.0f64) {
            let found = fit_scaling_law(
                &points(&doublings(), |x| start + 0.5 * x.powf(p)), Axis::Log2, 0.003,
            ).unwrap();
            let exponent = found.exponent.unwrap();
            prop_assert!(exponent.low <= p && p <= exponent.high, "{exponent:?}");
            prop_assert!(exponent.high - exponent.low < 0.5, "{exponent:?}");
        }
    }
}
