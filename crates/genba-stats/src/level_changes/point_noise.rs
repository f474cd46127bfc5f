//! How large the noise of a series is, and of the points near a place, by the steps between neighbours.

use crate::quantile::quantile;
use crate::{StatsError, normal_quantile};

/// Probability that chance alone makes points scatter as much as it takes for their own scatter to count.
const SCATTER_BY_CHANCE: f64 = 0.05;
/// Steps between neighbours on either side of a place that say how large the noise is there.
const LOCAL_STEPS: usize = 12;
/// Errors of that estimate by which it must exceed the noise of the series; of 1.7 and 2.5 the one with fewer false
/// changes where the noise changes unseen, and as many steps found (`docs/history.md`).
const ERRORS_OF_LOCAL_NOISE: f64 = 1.7;
/// Steps between neighbours that must exceed a quantile for it to say something of the noise: fewer
/// may be changes of level.
const STEPS_ABOVE_QUANTILE: f64 = 4.0;
/// Fewest steps between neighbours that are winsorised: among fewer a change of level weighs too much.
const MIN_WINSORISED_STEPS: usize = 20;
/// Standard deviations beyond which steps count as so many.
const WINSORISED_AT: f64 = 2.0;
/// E[min(Z², 4)] of a standard normal Z.
const WINSORISED_VARIANCE: f64 = 0.9205;

/// Standard error of a point near a place by the steps between neighbours there, where these are larger than those of the
/// series by more than chance makes them; else that of the series.
pub(super) fn local_noise(steps: &[f64], at: usize, sigma: f64) -> Result<f64, StatsError> {
    const STEPS: usize = 2 * LOCAL_STEPS;
    // At an end of the series as many, of one side.
    let from = at
        .saturating_sub(LOCAL_STEPS)
        .min(steps.len().saturating_sub(STEPS));
    // The step to a point is at the index before it; that to this place may be the change.
    let is_near = |index: &usize| *index + 1 != at;
    let indices = (from..steps.len().min(from + STEPS)).filter(is_near);
    let near: Vec<f64> = indices.map(|index| steps[index]).collect();
    if near.len() + 1 < STEPS {
        return Ok(sigma);
    }
    let local = spread(&near)? / 2_f64.sqrt();
    // Neighbouring steps share a point: they tell as much as two thirds as many independent ones.
    let error = 1.0 / (4.0 / 3.0 * near.len() as f64).sqrt();
    Ok(
        match local > sigma * (1.0 + ERRORS_OF_LOCAL_NOISE * error) {
            true => local,
            false => sigma,
        },
    )
}

/// Quantile of χ² with so many degrees of freedom (Wilson and Hilferty 1931).
pub(super) fn chi_squared_limit(freedom: usize) -> f64 {
    let freedom = freedom.max(1) as f64;
    let part = 2.0 / (9.0 * freedom);
    freedom * (1.0 - part + normal_quantile(1.0 - SCATTER_BY_CHANCE) * part.sqrt()).powi(3)
}

/// Standard deviation of normal values by their absolute values, robust against some that are changes of level.
///
/// A winsorised variance (Huber, "Robust Statistics", 1981, 5.2) has half the error of the median. Upper quantiles
/// count where they exceed it by more than their own error, so that noise with calm and busy stretches is not taken for
/// calm: those of few values would be the changes of level that are looked for.
pub(super) fn spread(distances: &[f64]) -> Result<f64, StatsError> {
    let by_quantile = |share: f64| {
        let normal = normal_quantile((1.0 + share) / 2.0);
        Ok::<_, StatsError>((quantile(distances, share)? / normal, normal))
    };
    let count = distances.len() as f64;
    let (middle, _) = by_quantile(0.5)?;
    let mut largest = middle;
    if distances.len() >= MIN_WINSORISED_STEPS {
        let limit = WINSORISED_AT * middle;
        let squares = distances.iter().map(|one| one.min(limit).powi(2));
        largest = (squares.sum::<f64>() / count / WINSORISED_VARIANCE).sqrt();
    }
    for share in [0.8, 0.9] {
        if (1.0 - share) * count < STEPS_ABOVE_QUANTILE {
            continue;
        }
        let (sigma, normal) = by_quantile(share)?;
        // Of the quantile of n absolute values of a normal one, relative to it.
        let density = 2.0 * (-normal.powi(2) / 2.0).exp() / std::f64::consts::TAU.sqrt();
        let error = (share * (1.0 - share) / count).sqrt() / (density * normal);
        largest = largest.max(sigma * (1.0 - error));
    }
    Ok(largest)
}
