//! Pure statistics for measurements on noisy machines: summaries, intervals, sequential verdicts.
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
//! | which runs are unlike the rest? | [`outliers`], [`first_unlike_rest`], [`trend`] |
//! | which share of the samples? | [`wilson`], [`wilson_weighted`] |
//! | run again? | [`StopRule`] |
//! | what could be seen here? | [`noise_floor`] |
//! | how do two variants differ, the number of pairs fixed? | [`paired_effect`] |
//! | may I look after every pair? | [`Judge`], [`ConfidenceSequence`], [`FiveLooks`] |
//! | several variants at once? | [`e_bh`], [`holm`] |
//! | from where in an ordered list on? | [`StepSearch`] |
//! | which items of a set? | [`Screening`]; without noise [`bifurcate`]; acting together [`reduce`] |
//! | where does a curve change its ways? | [`curve`](fn@curve) |
//! | how does it grow? | [`growth`] |
//! | and without the loop round it? | [`cost_per_iteration`], [`subtracted_ratio`] |

mod betting;
mod bisect;
mod check;
mod confidence_sequence;
mod curve;
mod error;
mod forecast;
mod hodges_lehmann;
mod interval;
mod judge;
mod looks;
mod median;
mod midmean;
mod multiple;
mod noise_floor;
mod normal;
mod outliers;
mod pairs;
mod proportion;
mod quantile;
mod signed_rank;
mod stopping;
mod subtract;
mod trend;
mod verdict;

pub use bisect::delta::{Reduced, Test, reduce};
pub use bisect::screening::{
    Interaction, ItemEffect, MOST_SCREENED, Screened, Screening, student_quantile,
};
pub use bisect::split::{Share, bifurcate};
pub use bisect::step::{StepPlace, StepSearch};
pub use curve::{
    Axis, Curve, CurvePoint, CurveQuestion, Growth, GrowthLaw, Knee, KneeKind, Setting, Stretch,
    curve, growth,
};
pub use error::StatsError;
pub use hodges_lehmann::hodges_lehmann;
pub use interval::{Interval, IntervalRule};
pub use median::median_interval;
pub use midmean::midmean;
pub use noise_floor::{MIN_PAIRS, noise_floor, visible_effect};
pub use normal::quantile as normal_quantile;
pub use outliers::{OUTLIER_THRESHOLD, Outlier, outliers};
pub use proportion::{effective_size, wilson, wilson_weighted};
pub use quantile::{MAD_TO_SIGMA, mad, median, quantile};
pub use signed_rank::{SignedRank, signed_rank};
pub use stopping::{StopDecision, StopRule};
pub use trend::{Trend, first_unlike_rest, trend};

pub use confidence_sequence::ConfidenceSequence;
pub use forecast::forecast;
pub use judge::Judge;
pub use looks::{FiveLooks, LOOKS, Look};
pub use multiple::{e_bh, holm};
pub use pairs::{PairedEffect, log_ratios, paired_effect};
pub use subtract::{cost_per_iteration, subtracted_ratio};
pub use verdict::{Verdict, equivalent};
