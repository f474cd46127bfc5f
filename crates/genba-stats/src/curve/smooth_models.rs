//! Models without a change point: scaling laws with an additive constant, and smooth bends.

use super::least_squares::{Row, Solution, solve};
use super::setting_levels::Level;

/// A form of curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Form {
    /// y = a.
    Constant,
    /// y = c · x^p: a straight line if both axes are logarithmic.
    PurePower,
    /// y = c · exp(b x).
    Exponential,
    /// y = a + b · g(x).
    Law(GrowthTerm),
    /// y = a + b · x^p.
    Power(f64),
    /// A parabola of the logarithm over the axis.
    Parabola,
}

/// The growing term of a form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum GrowthTerm {
    Log,
    Linear,
    LinearTimesLog,
    Quadratic,
}

impl GrowthTerm {
    pub const ALL: [Self; 4] = [
        Self::Log,
        Self::Linear,
        Self::LinearTimesLog,
        Self::Quadratic,
    ];

    fn of(self, x: f64) -> f64 {
        match self {
            Self::Log => x.ln(),
            Self::Linear => x,
            Self::LinearTimesLog if x == 0.0 => 0.0,
            Self::LinearTimesLog => x * x.ln(),
            Self::Quadratic => x * x,
        }
    }
}

/// Powers of the coarse search.
const POWERS: [f64; 17] = [
    -3.0, -2.0, -1.5, -1.0, -0.7, -0.5, -0.3, -0.15, 0.15, 0.3, 0.5, 0.7, 1.2, 1.6, 2.3, 3.0, 4.0,
];

/// Steps of the fine search between two of these powers: to a hundredth of their distance.
const GOLDEN: u32 = 10;

/// A curve fitted to levels.
#[derive(Clone, Debug)]
pub(super) struct Fit {
    pub form: Form,
    /// Σ ((level − fit) ÷ error)².
    pub misfit: f64,
    pub parameters: usize,
    /// Logarithm of the fit at each level.
    pub fitted: Vec<f64>,
    pub solution: Solution,
}

impl Fit {
    /// Misfit with Akaike's penalty for each parameter.
    pub fn cost(&self) -> f64 {
        self.misfit + 2.0 * self.parameters as f64
    }
}

/// The best curve without a knee.
pub(super) fn best(levels: &[Level]) -> Option<Fit> {
    let mut best: Option<Fit> = None;
    let mut take = |fit: Option<Fit>| {
        if let Some(fit) = fit
            && best.as_ref().is_none_or(|best| fit.cost() < best.cost())
        {
            best = Some(fit);
        }
    };
    take(fit(levels, Form::Constant));
    if levels.len() >= 3 {
        take(fit(levels, Form::PurePower));
        take(fit(levels, Form::Exponential));
        for law in GrowthTerm::ALL {
            take(fit(levels, Form::Law(law)));
        }
    }
    if levels.len() >= 4 {
        take(power(levels));
        take(fit(levels, Form::Parabola));
    }
    best
}

/// The best y = a + b · x^p over all p.
pub(super) fn power(levels: &[Level]) -> Option<Fit> {
    let misfit = |p: f64| fit(levels, Form::Power(p)).map_or(f64::INFINITY, |fit| fit.misfit);
    let tried = POWERS.map(misfit);
    let (at, least) = (tried.iter().enumerate()).min_by(|a, b| a.1.total_cmp(b.1))?;
    if !least.is_finite() {
        return None;
    }
    let (mut low, mut high) = (
        POWERS[at.saturating_sub(1)],
        POWERS[(at + 1).min(POWERS.len() - 1)],
    );
    // x⁰ is a constant: stay on one side of it.
    if POWERS[at] > 0.0 {
        low = low.max(0.05);
    } else {
        high = high.min(-0.05);
    }
    for _ in 0..GOLDEN {
        let (a, b) = (low + (high - low) * 0.382, low + (high - low) * 0.618);
        if misfit(a) < misfit(b) {
            high = b;
        } else {
            low = a;
        }
    }
    fit(levels, Form::Power(low.midpoint(high)))
}

/// Fits one form.
pub(super) fn fit(levels: &[Level], form: Form) -> Option<Fit> {
    let positive = levels.iter().all(|level| level.x > 0.0);
    let plain = |columns: usize, parameters: usize, row: &dyn Fn(&Level) -> Row| {
        logarithmic(levels, columns, row).map(|(solution, misfit, fitted)| Fit {
            form,
            misfit,
            parameters,
            fitted,
            solution,
        })
    };
    let raised = |parameters: usize, g: &dyn Fn(f64) -> f64| {
        let largest = (levels.iter().map(|level| g(level.x).abs())).fold(0.0, f64::max);
        if !(largest > 0.0 && largest.is_finite()) {
            return None;
        }
        let row = |level: &Level| [1.0, g(level.x) / largest, 0.0, 0.0];
        plain_scale(levels, 2, &row).map(|(solution, misfit, fitted)| Fit {
            form,
            misfit,
            parameters,
            fitted,
            solution,
        })
    };
    match form {
        Form::Constant => plain(1, 1, &|_| [1.0, 0.0, 0.0, 0.0]),
        Form::PurePower if positive => plain(2, 2, &|level| [1.0, level.x.ln(), 0.0, 0.0]),
        Form::Exponential => plain(2, 2, &|level| [1.0, level.x, 0.0, 0.0]),
        Form::Parabola => {
            let (first, last) = (levels.first()?.u, levels.last()?.u);
            let (middle, half) = (first.midpoint(last), (last - first) / 2.0);
            plain(3, 3, &|level| {
                let u = (level.u - middle) / half;
                [1.0, u, u * u, 0.0]
            })
        }
        Form::Law(GrowthTerm::Log) if !positive => None,
        Form::Law(GrowthTerm::LinearTimesLog) if levels.iter().any(|level| level.x < 0.0) => None,
        Form::Law(law) => raised(2, &|x| law.of(x)),
        Form::Power(p) if positive || (p > 0.0 && levels.iter().all(|level| level.x >= 0.0)) => {
            raised(3, &|x| x.powf(p))
        }
        Form::PurePower | Form::Power(_) => None,
    }
}

type Fitted = (Solution, f64, Vec<f64>);

/// Least squares of the logarithm.
pub(super) fn logarithmic(
    levels: &[Level],
    columns: usize,
    row: &dyn Fn(&Level) -> Row,
) -> Option<Fitted> {
    let rows: Vec<Row> = levels.iter().map(row).collect();
    let targets: Vec<f64> = levels.iter().map(|level| level.z).collect();
    let errors: Vec<f64> = levels.iter().map(|level| level.se).collect();
    let solution = solve(&rows, columns, &targets, &errors)?;
    let fitted: Vec<f64> = rows.iter().map(|row| solution.at(row)).collect();
    let misfit = misfit(levels, &fitted);
    misfit.is_finite().then_some((solution, misfit, fitted))
}

/// Least squares of the metric itself, with errors in proportion to the fit, so that it is the
/// relative distance that counts. The coefficients are in units of the levels' geometric mean.
pub(super) fn plain_scale(
    levels: &[Level],
    columns: usize,
    row: &dyn Fn(&Level) -> Row,
) -> Option<Fitted> {
    let rows: Vec<Row> = levels.iter().map(row).collect();
    let mean = levels.iter().map(|level| level.z).sum::<f64>() / levels.len() as f64;
    let targets: Vec<f64> = levels.iter().map(|level| (level.z - mean).exp()).collect();
    let mut around = targets.clone();
    let mut solution = None;
    for _ in 0..2 {
        let errors: Vec<f64> = (levels.iter().zip(&around))
            .map(|(level, value)| level.se * value)
            .collect();
        let found = solve(&rows, columns, &targets, &errors)?;
        around = rows.iter().map(|row| found.at(row)).collect();
        if !around.iter().all(|value| *value > 0.0) {
            return None;
        }
        solution = Some(found);
    }
    let fitted: Vec<f64> = around.iter().map(|value| value.ln() + mean).collect();
    let misfit = misfit(levels, &fitted);
    misfit.is_finite().then_some((solution?, misfit, fitted))
}

fn misfit(levels: &[Level], fitted: &[f64]) -> f64 {
    (levels.iter().zip(fitted))
        .map(|(level, fit)| ((level.z - fit) / level.se).powi(2))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn levels(f: impl Fn(f64) -> f64) -> Vec<Level> {
        (0..11)
            .map(|u| {
                let x = f64::from(1 << u);
                Level {
                    x,
                    u: f64::from(u),
                    z: f(x).ln(),
                    se: 0.005,
                }
            })
            .collect()
    }

    #[test]
    fn each_model_fits_its_own_curve() {
        for law in GrowthTerm::ALL {
            let all = levels(|x| 3.0 + 0.2 * law.of(x));
            let found = fit(&all, Form::Law(law)).unwrap();
            assert!(found.misfit < 1e-6, "{law:?} {}", found.misfit);
            assert!(best(&all).unwrap().misfit < 1.0);
        }
        let all = levels(|x| 1.0 + 0.01 * x.powf(1.37));
        let found = power(&all).unwrap();
        let Form::Power(p) = found.form else { panic!() };
        assert!((p - 1.37).abs() < 0.01, "{p}");
        let all = levels(|x| 1.0 + 5.0 / x);
        assert!(power(&all).unwrap().misfit < 0.5);
    }

    #[test]
    fn models_accept_zero_and_negative_settings() {
        let all: Vec<Level> = (0..6)
            .map(|i| Level {
                x: f64::from(i) - 2.0,
                u: f64::from(i) - 2.0,
                z: 0.0,
                se: 0.01,
            })
            .collect();
        assert!(best(&all).unwrap().misfit < 1e-9);
        assert!(fit(&all, Form::PurePower).is_none());
        assert!(fit(&all, Form::Law(GrowthTerm::LinearTimesLog)).is_none());
    }

    proptest! {
        #[test]
        fn any_levels_have_a_best_curve(zs in prop::collection::vec(-8.0..8.0f64, 1..20)) {
            let all: Vec<Level> = (zs.iter().enumerate())
                .map(|(i, z)| Level { x: (i as f64).exp2(), u: i as f64, z: *z, se: 0.01 })
                .collect();
            let found = best(&all).unwrap();
            prop_assert!(found.misfit.is_finite() && found.fitted.len() == all.len());
            let constant = fit(&all, Form::Constant).unwrap();
            prop_assert!(found.cost() <= constant.cost());
        }
    }
}
