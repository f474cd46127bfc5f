//! Statistics for measurements on noisy machines: summaries, intervals, sequential verdicts. Pure.
//!
//! **Scope.** Numbers in, numbers with intervals out; every method names its source. Robust
//! methods throughout: run times have heavy right tails, drift and bursts, so means, standard
//! deviations and t-tests are used nowhere except on trimmed data.
//!
//! **Not here.** Clocks, files, processes, randomness at run time (`rand` serves only the tests),
//! text for people.
//!
//! **Contract.** NaN, infinities, and values that a method cannot take (zero or negative times
//! for a ratio) are refused with a [`StatsError`] that names the place; no function returns NaN.
//! Intervals carry the level that they really have where that differs from the one asked for.
//!
//! | question | function |
//! |---|---|
//! | what is the typical value? | [`median_interval`], [`hodges_lehmann`], [`midmean`] |
//! | how scattered? | [`mad`], [`quantile`] |
//! | which runs differ from the others? | [`outliers`], [`first_unlike_rest`], [`trend`] |
//! | which share of the samples? | [`wilson`], [`wilson_weighted`] |
//! | which share, seen in stretches of a run? | [`cluster_share`] |
//! | run again? | [`StopRule`] |
//! | which effect is visible here? | [`noise_floor`] |
//! | how do two variants differ, the number of pairs fixed? | [`paired_effect`] |
//! | may the test be evaluated after every pair? | [`Judge`], [`ConfidenceSequence`], [`GroupSequentialTest`] |
//! | several variants at once? | [`e_bh`], [`holm`] |
//! | from which position of an ordered list? | [`StepSearch`] |
//! | which elements of a set? | [`Screening`]; without noise [`bifurcate`]; interacting [`reduce`] |
//! | where does a curve have change points? | [`curve`](fn@curve) |
//! | where does a long series change its level? | [`level_changes`](fn@level_changes) |
//! | which scaling law? | [`fit_scaling_law`]; of exact counts [`growth`](growth_law::growth) |
//! | cost without the empty loop? | [`cost_per_iteration`], [`subtracted_ratio`] |

mod betting;
mod bisect;
mod cluster_share;
mod confidence_sequence;
mod curve;
mod error;
mod group_sequential_test;
pub mod growth_law;
mod hodges_lehmann;
mod input_checks;
mod interval;
mod level_changes;
mod median;
mod midmean;
mod multiple_testing;
mod noise_floor;
mod normal_distribution;
mod outliers;
mod paired_effect;
mod pairs_forecast;
mod quantile;
mod sequential_judge;
mod signed_rank;
mod stopping_rule;
mod subtracted_overhead;
mod trend;
mod verdict;
mod wilson_interval;

pub use bisect::delta_debugging::{Reduced, Test, reduce};
pub use bisect::screening::{
    ElementEffect, Interaction, MAX_SCREENED_ELEMENTS, Screened, Screening, student_quantile,
};
pub use bisect::sequential_bifurcation::{Share, bifurcate};
pub use bisect::step_search::{StepPlace, StepSearch};
pub use cluster_share::cluster_share;
pub use curve::{
    Axis, Curve, CurvePoint, CurveQuestion, Knee, KneeKind, ScalingFit, ScalingLaw, Segment,
    SettingLevel, curve, fit_scaling_law,
};
pub use error::StatsError;
pub use hodges_lehmann::hodges_lehmann;
pub use interval::{Interval, IntervalRule};
pub use level_changes::{
    LevelChange, LevelChanges, LevelPoint, MIN_POINTS_OF_LEVEL, level_changes, level_point,
};
pub use median::median_interval;
pub use midmean::midmean;
pub use noise_floor::{MIN_PAIRS, noise_floor, visible_effect};
pub use normal_distribution::quantile as normal_quantile;
pub use outliers::{OUTLIER_THRESHOLD, Outlier, outliers};
pub use quantile::{MAD_TO_SIGMA, mad, median, quantile};
pub use signed_rank::{SignedRank, signed_rank};
pub use stopping_rule::{StopDecision, StopRule};
pub use trend::{Trend, first_unlike_rest, trend};
pub use wilson_interval::{wilson, wilson_weighted};

pub use confidence_sequence::ConfidenceSequence;
pub use group_sequential_test::{GroupSequentialTest, InterimTest};
pub use multiple_testing::{e_bh, holm};
pub use paired_effect::{PairedEffect, log_ratios, paired_effect};
pub use pairs_forecast::forecast;
pub use sequential_judge::Judge;
pub use subtracted_overhead::{cost_per_iteration, subtracted_ratio};
pub use verdict::{Verdict, equivalent};
