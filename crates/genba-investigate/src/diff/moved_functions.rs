//! Where the code of a function went that is none of its own any more. Pure.

use std::collections::{BTreeMap, BTreeSet};

use genba_model::{Moved, MovedHow};
use genba_symbols::without_parameters;

use super::Side;
use super::function_rows::{Key, Row, base};
use super::lines_and_instructions::seconds_of;

/// A function is gone if of its time (or calls) no more than this share is left.
const GONE: f64 = 0.1;

/// Time and executions of inlined code: by inlined function, then by the function it is in.
pub(super) type Inlined = BTreeMap<String, BTreeMap<String, (f64, u64)>>;

pub(super) fn inlined(side: &Side) -> Inlined {
    let mut all = Inlined::new();
    for annotation in &side.annotations {
        for one in &annotation.instructions {
            let Some(name) = &one.inlined else { continue };
            let inside = all.entry(plain(name)).or_default();
            let entry = inside.entry(annotation.function.clone()).or_default();
            entry.0 += seconds_of(side, annotation, one);
            entry.1 = entry.1.max(one.count.unwrap_or(0));
        }
    }
    all
}

pub(super) fn plain(name: &str) -> String {
    without_parameters(name).to_owned()
}

pub(super) struct Moves<'a> {
    pub before: &'a Side,
    pub rows_before: &'a BTreeMap<Key, Row>,
    pub rows_after: &'a BTreeMap<Key, Row>,
    pub inlined_before: &'a Inlined,
    pub inlined_after: &'a Inlined,
}

impl Moves<'_> {
    /// Where the code of a function went, if it is no function of its own any more.
    pub(super) fn of(&self, left: &Row, right: Option<&Row>) -> Vec<Moved> {
        if !is_gone(left, right) {
            return Vec::new();
        }
        let found = self.inlined(left);
        if !found.is_empty() {
            return found;
        }
        let cloned = self.cloned(left);
        if !cloned.is_empty() {
            return cloned;
        }
        self.likely(left).into_iter().collect()
    }

    fn inlined(&self, left: &Row) -> Vec<Moved> {
        let name = plain(&left.name);
        let there = self.inlined_after.get(&name).into_iter().flatten();
        let known = self.inlined_before.get(&name);
        let mut found: Vec<Moved> = there
            .filter(|(into, (seconds, count))| {
                // What was inlined there before as well is no news.
                let before = known
                    .and_then(|known| known.get(*into))
                    .copied()
                    .unwrap_or_default();
                **into != left.name && (*seconds > before.0 || *count > before.1)
            })
            .map(|(into, (seconds, _))| Moved {
                into: into.clone(),
                how: MovedHow::Inlined,
                seconds: Some(*seconds),
            })
            .collect();
        found.sort_by(|one, two| {
            two.seconds
                .unwrap_or(0.0)
                .total_cmp(&one.seconds.unwrap_or(0.0))
        });
        found
    }

    fn cloned(&self, left: &Row) -> Vec<Moved> {
        let new = self.rows_after.iter().filter(|(key, row)| {
            row.name != left.name
                && base(&row.name) == base(&left.name)
                && !self.rows_before.contains_key(*key)
        });
        new.map(|(_, row)| Moved {
            into: row.name.clone(),
            how: MovedHow::Cloned,
            seconds: row.time.map(|time| time.value),
        })
        .collect()
    }

    /// Of those that called it the one that grew most.
    fn likely(&self, left: &Row) -> Option<Moved> {
        let callers = self.callers(&left.name);
        let grown = |name: &str| -> Option<f64> {
            let find =
                |rows: &BTreeMap<Key, Row>| rows.values().find(|row| row.name == name).cloned();
            let (one, two) = (find(self.rows_before)?, find(self.rows_after)?);
            let time = two.time?.value - one.time.map_or(0.0, |time| time.value);
            let more = match (one.instructions, two.instructions) {
                (Some(one), Some(two)) => two > one,
                _ => true,
            };
            (time > 0.0 && more).then_some(time)
        };
        let best = callers
            .iter()
            .filter_map(|name| Some((name, grown(name)?)))
            .max_by(|one, two| one.1.total_cmp(&two.1))?;
        Some(Moved {
            into: best.0.clone(),
            how: MovedHow::Likely,
            seconds: None,
        })
    }

    fn callers(&self, name: &str) -> BTreeSet<String> {
        let mut callers = BTreeSet::new();
        if let Some(profile) = &self.before.profile {
            for edge in &profile.edges {
                let of = |index: u32| profile.functions.get(index as usize);
                if let (Some(caller), Some(callee)) = (of(edge.caller), of(edge.callee))
                    && callee.function == name
                {
                    callers.insert(caller.function.clone());
                }
            }
        }
        if let Some(counts) = &self.before.counts {
            for call in &counts.calls {
                let of = |index: u32| counts.functions.get(index as usize);
                if let (Some(caller), Some(callee)) = (of(call.caller), of(call.callee))
                    && callee.function == name
                {
                    callers.insert(caller.function.clone());
                }
            }
        }
        callers
    }
}

/// Whether a function that did something does nothing afterwards.
pub(super) fn is_gone(left: &Row, right: Option<&Row>) -> bool {
    if let (Some(before), Some(after)) = (left.calls, right.map_or(Some(0), |row| row.calls))
        && before > 0
    {
        return after as f64 <= GONE * before as f64;
    }
    let time = |row: &Row| row.time.map_or(0.0, |time| time.value);
    time(left) > 0.0 && right.map_or(0.0, time) <= GONE * time(left)
}
