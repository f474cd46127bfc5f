//! Where the code of a function moved: inlined, cloned or likely inlined. Pure.

use std::collections::{BTreeMap, BTreeSet};

use genba_model::{Moved, MovedHow, without_parameters};

use super::Side;
use super::function_rows::{Key, Row, base};
use super::lines_and_instructions::time_of;

/// Maximum residual share of its calls (or time) for a function to be gone.
const MAX_RESIDUAL_SHARE: f64 = 0.1;

/// Seconds and executions of inlined code, by inlined function, then by the function that contains it.
pub(super) type Inlined = BTreeMap<String, BTreeMap<String, (f64, u64)>>;

/// Returns the inlined code of a side, a run of which takes `run`.
pub(super) fn inlined(side: &Side, run: f64) -> Inlined {
    let mut all = Inlined::new();
    for annotation in &side.annotations {
        for one in &annotation.instructions {
            let Some(name) = &one.inlined else { continue };
            let inside = all.entry(plain(name)).or_default();
            let entry = inside.entry(annotation.function.clone()).or_default();
            entry.0 += time_of(run, annotation, one);
            entry.1 = entry.1.max(one.count.unwrap_or(0));
        }
    }
    all
}

/// Returns the name without parameters.
pub(super) fn plain(name: &str) -> String {
    without_parameters(name).to_owned()
}

/// Callers by the function that they call.
pub(super) type Callers<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// Two sides, to find moved functions.
pub(super) struct Moves<'a> {
    pub callers_before: &'a Callers<'a>,
    pub rows_before: &'a BTreeMap<Key, Row>,
    pub rows_after: &'a BTreeMap<Key, Row>,
    pub inlined_before: &'a Inlined,
    pub inlined_after: &'a Inlined,
}

impl Moves<'_> {
    /// Returns where the code of a function moved; empty where the function is still there.
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
                // Already inlined there before.
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

    /// Returns the caller whose time grew most.
    fn likely(&self, left: &Row) -> Option<Moved> {
        let callers = self.callers_before.get(left.name.as_str())?;
        let grown = |name: &str| -> Option<f64> {
            let find =
                |rows: &BTreeMap<Key, Row>| rows.values().find(|row| row.name == name).cloned();
            // A caller without time of its own before may have no row there.
            let (one, two) = (find(self.rows_before), find(self.rows_after)?);
            let before = one.as_ref().and_then(|row| row.time);
            let time = two.time?.value - before.map_or(0.0, |time| time.value);
            let more = match (one.and_then(|row| row.instructions), two.instructions) {
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
            into: (*best.0).to_owned(),
            how: MovedHow::Likely,
            seconds: None,
        })
    }
}

/// Returns the callers of each function of a side by name, as stacks and counted calls show them.
pub(super) fn callers(side: &Side) -> Callers<'_> {
    let mut callers = Callers::new();
    if let Some(profile) = &side.profile {
        let name = |index: u32| Some(profile.functions.get(index as usize)?.function.as_str());
        for edge in &profile.edges {
            if let (Some(caller), Some(callee)) = (name(edge.caller), name(edge.callee)) {
                callers.entry(callee).or_default().insert(caller);
            }
        }
    }
    if let Some(counts) = &side.counts {
        let name = |index: u32| Some(counts.functions.get(index as usize)?.function.as_str());
        for call in &counts.calls {
            if let (Some(caller), Some(callee)) = (name(call.caller), name(call.callee)) {
                callers.entry(callee).or_default().insert(caller);
            }
        }
    }
    callers
}

/// Returns whether a function with calls or time has (almost) none afterwards.
pub(super) fn is_gone(left: &Row, right: Option<&Row>) -> bool {
    if let (Some(before), Some(after)) = (left.calls, right.map_or(Some(0), |row| row.calls))
        && before > 0
    {
        return after as f64 <= MAX_RESIDUAL_SHARE * before as f64;
    }
    let time = |row: &Row| row.time.map_or(0.0, |time| time.value);
    time(left) > 0.0 && right.map_or(0.0, time) <= MAX_RESIDUAL_SHARE * time(left)
}
