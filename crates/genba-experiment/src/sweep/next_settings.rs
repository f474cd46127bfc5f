//! Where to measure next. Pure.

use genba_stats::{Curve, Knee, KneeKind};

use super::SweptParameter;

/// What is to be done next.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// All is known that was asked.
    Answered,
    /// Measure these new settings, and those beside them once more.
    Place(Vec<Placement>),
    /// Measure these settings again.
    Again(Vec<f64>),
}

/// A new setting, and the settings that it is compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    /// Its value.
    pub value: String,
    /// Blocks that tell to which side it belongs.
    pub blocks: u32,
    /// The nearest settings below and above.
    pub beside: (f64, f64),
}

/// New settings at most.
const MOST_PLACED: usize = 12;
/// And for every knee.
const MOST_EACH: usize = 8;
/// New settings for one hinge at most: a hinge has a width by nature.
const MOST_FOR_HINGE: usize = 4;
/// Runs of a setting beyond which repeating is given up.
const MOST_RUNS: u32 = 16;
/// Runs of a setting that bounds a step, at least.
const BOUND_RUNS: u32 = 4;
/// Blocks for a new setting.
const FEWEST: u32 = 2;
const MOST_BLOCKS: u32 = 5;
/// A knee less certain than this is measured again.
const CERTAIN: f64 = 0.95;
/// Settings at either side of a doubtful knee that are measured again.
const AROUND: usize = 3;

/// Decides. `placed` settings have been placed so far; knees that chance explains more often than
/// `chance` are not believed yet.
pub fn next(
    curve: &Curve,
    parameter: &SweptParameter,
    placed: usize,
    delta: f64,
    chance: f64,
) -> Next {
    let xs: Vec<f64> = curve.settings.iter().map(|setting| setting.x).collect();
    let mut wanted: Vec<Placement> = Vec::new();
    if placed < MOST_PLACED + MOST_EACH * curve.knees.len() {
        for knee in curve.knees.iter().chain(&curve.suspects) {
            for one in halves(&xs, knee, parameter, curve.scatter) {
                if !wanted.contains(&one) {
                    wanted.push(one);
                }
            }
        }
    }
    if !wanted.is_empty() {
        return Next::Place(wanted);
    }
    let doubtful = (curve.knees.iter())
        .filter(|knee| knee.confidence < CERTAIN || !knee.settled || knee.p_value > chance)
        .chain(&curve.suspects);
    let mut again: Vec<f64> = Vec::new();
    for knee in doubtful {
        let from = xs.iter().rposition(|x| *x <= knee.low).unwrap_or(0);
        let to = (xs.iter().position(|x| *x >= knee.high)).unwrap_or(xs.len().saturating_sub(1));
        let part = &curve.settings[from.saturating_sub(AROUND)..(to + AROUND + 1).min(xs.len())];
        let few = part.iter().filter(|setting| setting.runs < MOST_RUNS);
        again.extend(few.map(|setting| setting.x));
    }
    // What bounds a step is not left to two runs that may both have met something. Both bounds
    // each time: one alone would not show what the machine did meanwhile.
    for knee in (curve.knees.iter()).filter(|knee| knee.kind == KneeKind::Step) {
        let bounds = (curve.settings.iter()).filter(|one| one.x == knee.low || one.x == knee.high);
        if bounds.clone().any(|one| one.runs < BOUND_RUNS) {
            again.extend(bounds.map(|one| one.x));
        }
    }
    if again.is_empty() && curve.knees.is_empty() && curve.visible_step > 2.0 * delta {
        let few = (curve.settings.iter()).filter(|setting| setting.runs < MOST_RUNS);
        again = few.map(|setting| setting.x).collect();
    }
    again.sort_by(f64::total_cmp);
    again.dedup();
    match again.is_empty() {
        true => Next::Answered,
        false => Next::Again(again),
    }
}

/// The settings of the first look in groups: every fourth with both ends, those between, the
/// rest. However many groups are measured, they make an even grid.
pub fn coarse_first(all: &[usize]) -> Vec<Vec<usize>> {
    let last = all.len().saturating_sub(1);
    let group = |at: usize| match at {
        at if at == last || at.is_multiple_of(4) => 0,
        at if at.is_multiple_of(2) => 1,
        _ => 2,
    };
    let mut groups = vec![Vec::new(); 3];
    for (at, index) in all.iter().enumerate() {
        groups[group(at)].push(*index);
    }
    groups.retain(|group| !group.is_empty());
    groups
}

/// Settings that halve where a knee may be: of a step the first and the last gap between
/// settings within its interval, of a hinge the gap that it most likely is in.
fn halves(xs: &[f64], knee: &Knee, parameter: &SweptParameter, scatter: f64) -> Vec<Placement> {
    let blocks = blocks(knee, scatter);
    let gaps: Vec<(f64, f64)> = (xs.windows(2))
        .map(|pair| (pair[0], pair[1]))
        .filter(|(low, high)| *high > knee.low && *low < knee.high)
        .collect();
    let halve = |gap: &(f64, f64)| {
        Some(Placement {
            value: parameter.halfway(gap.0, gap.1)?,
            blocks,
            beside: *gap,
        })
    };
    match knee.kind {
        KneeKind::Step => {
            let first = gaps.iter().find_map(halve);
            let last = gaps.iter().rev().find_map(halve);
            let mut both: Vec<Placement> = first.into_iter().chain(last).collect();
            both.dedup();
            both
        }
        KneeKind::Hinge => {
            let near = gaps.len() > MOST_FOR_HINGE;
            let about = gaps.iter().find(|gap| gap.0 <= knee.at && knee.at <= gap.1);
            // Finer than a fifth of the way no hinge is sharp.
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

/// As many as make the standard error of a level a twentieth of the step; of a hinge the change from
/// one setting to the next is not known beforehand.
fn blocks(knee: &Knee, scatter: f64) -> u32 {
    let step = knee.effect.value.ln().abs();
    let wanted = match knee.kind {
        KneeKind::Step if step > 0.0 => (20.0 * scatter / step).powi(2).ceil(),
        _ => f64::INFINITY,
    };
    wanted.clamp(f64::from(FEWEST), f64::from(MOST_BLOCKS)) as u32
}
