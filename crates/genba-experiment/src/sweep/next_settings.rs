//! Choice of the settings that a sweep measures next. Pure.

use genba_stats::{Curve, Knee, KneeKind};

use super::SweptParameter;

/// The next step of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Every change point is located and confirmed.
    Answered,
    /// Measure these new settings, and their neighbours again.
    Refine(Vec<NewSetting>),
    /// Measure these settings again.
    Repeat(Vec<f64>),
}

/// A new setting with its neighbours.
#[derive(Clone, Debug, PartialEq)]
pub struct NewSetting {
    /// Its value.
    pub value: String,
    /// Number of blocks that determine on which side of the change point it is.
    pub blocks: u32,
    /// The nearest settings below and above.
    pub neighbours: (f64, f64),
}

/// New settings at most, without those for change points.
const MAX_NEW_SETTINGS: usize = 12;
/// New settings for each change point at most.
const MAX_NEW_SETTINGS_PER_KNEE: usize = 8;
/// Gaps within the interval of a hinge up to which it is refined: a hinge has a natural width.
const MAX_HINGE_GAPS: usize = 4;
/// Runs of a setting beyond which it is not repeated.
const MAX_RUNS: u32 = 16;
/// Runs of a setting at the boundary of a step at least.
const MIN_BOUNDARY_RUNS: u32 = 4;
/// Blocks for a new setting at least.
const MIN_BLOCKS: u32 = 2;
/// Blocks for a new setting at most.
const MAX_BLOCKS: u32 = 5;
/// Confidence below which a change point is measured again.
const MIN_CONFIDENCE: f64 = 0.95;
/// Settings on either side of an uncertain change point that are measured again.
const REPEATED_NEIGHBOURS: usize = 3;

/// The next step. `refined` settings have been added so far; change points with a p-value above
/// `max_p_value` are measured again.
pub fn next(
    curve: &Curve,
    parameter: &SweptParameter,
    refined: usize,
    delta: f64,
    max_p_value: f64,
) -> Next {
    let xs: Vec<f64> = curve.settings.iter().map(|setting| setting.x).collect();
    let mut wanted: Vec<NewSetting> = Vec::new();
    if refined < MAX_NEW_SETTINGS + MAX_NEW_SETTINGS_PER_KNEE * curve.knees.len() {
        for knee in curve.knees.iter().chain(&curve.suspects) {
            for one in halves(&xs, knee, parameter, curve.scatter) {
                if !wanted.contains(&one) {
                    wanted.push(one);
                }
            }
        }
    }
    if !wanted.is_empty() {
        return Next::Refine(wanted);
    }
    let doubtful = (curve.knees.iter())
        .filter(|knee| {
            knee.confidence < MIN_CONFIDENCE || !knee.settled || knee.p_value > max_p_value
        })
        .chain(&curve.suspects);
    let mut again: Vec<f64> = Vec::new();
    for knee in doubtful {
        let from = xs.iter().rposition(|x| *x <= knee.low).unwrap_or(0);
        let to = (xs.iter().position(|x| *x >= knee.high)).unwrap_or(xs.len().saturating_sub(1));
        let part = &curve.settings[from.saturating_sub(REPEATED_NEIGHBOURS)
            ..(to + REPEATED_NEIGHBOURS + 1).min(xs.len())];
        let few = part.iter().filter(|setting| setting.runs < MAX_RUNS);
        again.extend(few.map(|setting| setting.x));
    }
    // Two runs at a boundary of a step may both have been disturbed. Both boundaries are repeated
    // together, so that disturbances of the block cancel.
    for knee in (curve.knees.iter()).filter(|knee| knee.kind == KneeKind::Step) {
        let bounds = (curve.settings.iter()).filter(|one| one.x == knee.low || one.x == knee.high);
        if bounds.clone().any(|one| one.runs < MIN_BOUNDARY_RUNS) {
            again.extend(bounds.map(|one| one.x));
        }
    }
    if again.is_empty() && curve.knees.is_empty() && curve.visible_step > 2.0 * delta {
        let few = (curve.settings.iter()).filter(|setting| setting.runs < MAX_RUNS);
        again = few.map(|setting| setting.x).collect();
    }
    again.sort_by(f64::total_cmp);
    again.dedup();
    match again.is_empty() {
        true => Next::Answered,
        false => Next::Repeat(again),
    }
}

/// The initial grid in groups: both ends with what is halfway between, those halfway between these, and so on. Any number
/// of groups makes an even grid.
pub fn coarse_first(all: &[usize]) -> Vec<Vec<usize>> {
    let last = all.len().saturating_sub(1);
    let mut stride = last.div_ceil(2).next_power_of_two();
    let mut groups = Vec::new();
    let mut known = vec![false; all.len()];
    while stride > 0 {
        let mut group = Vec::new();
        for (at, index) in all.iter().enumerate() {
            if (at == last || at.is_multiple_of(stride)) && !known[at] {
                known[at] = true;
                group.push(*index);
            }
        }
        groups.push(group);
        stride /= 2;
    }
    groups.retain(|group| !group.is_empty());
    groups
}

/// Settings that halve the interval of a change point: for a step the first and the last gap
/// between settings within its interval, for a hinge its most likely gap.
fn halves(xs: &[f64], knee: &Knee, parameter: &SweptParameter, scatter: f64) -> Vec<NewSetting> {
    let blocks = blocks(knee, scatter);
    let gaps: Vec<(f64, f64)> = (xs.windows(2))
        .map(|pair| (pair[0], pair[1]))
        .filter(|(low, high)| *high > knee.low && *low < knee.high)
        .collect();
    let halve = |gap: &(f64, f64)| {
        Some(NewSetting {
            value: parameter.halfway(gap.0, gap.1)?,
            blocks,
            neighbours: *gap,
        })
    };
    match knee.kind {
        KneeKind::Step => {
            let first = gaps.iter().find_map(halve);
            let last = gaps.iter().rev().find_map(halve);
            let mut both: Vec<NewSetting> = first.into_iter().chain(last).collect();
            both.dedup();
            both
        }
        KneeKind::Hinge => {
            let near = gaps.len() > MAX_HINGE_GAPS;
            let about = gaps.iter().find(|gap| gap.0 <= knee.at && knee.at <= gap.1);
            // No hinge is sharper than this.
            let wide = |gap: &&(f64, f64)| match parameter.axis() {
                Some(genba_stats::Axis::Log2) => gap.1 / gap.0 > 1.3,
                _ => gap.1 - gap.0 > (xs[xs.len() - 1] - xs[0]) / 50.0,
            };
            (about.filter(wide).filter(|_| !near))
                .and_then(halve)
                .into_iter()
                .collect()
        }
    }
}

/// Number of blocks that make the standard error of a level 1/20 of the step. For a hinge the change
/// between settings is not known beforehand.
fn blocks(knee: &Knee, scatter: f64) -> u32 {
    let step = knee.effect.value.ln().abs();
    let wanted = match knee.kind {
        KneeKind::Step if step > 0.0 => (20.0 * scatter / step).powi(2).ceil(),
        _ => f64::INFINITY,
    };
    wanted.clamp(f64::from(MIN_BLOCKS), f64::from(MAX_BLOCKS)) as u32
}
