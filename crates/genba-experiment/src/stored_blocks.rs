//! The measurement that stored runs of several sessions, machines or jobs amount to. Pure.

use std::collections::BTreeMap;

use crate::Plan;
use crate::measurement::{End, Measurement};
use crate::run_journal::{JournalEntry, recalled};

/// Runs of one session in the order in which they were made, and variants that failed there.
#[derive(Clone, Debug, Default)]
pub struct StoredSession {
    /// The runs.
    pub entries: Vec<JournalEntry>,
    /// Variants that cannot be compared, with the reason.
    pub excluded: Vec<(String, String)>,
}

/// The measurement of these sessions: the n-th runs of all variants of one session are a block, as they
/// were interleaved. A variant that failed in one session is excluded. `complete` says whether the
/// number of blocks was fixed beforehand and has been reached.
#[must_use]
pub fn stored_measurement(
    plan: &Plan,
    sessions: impl IntoIterator<Item = StoredSession>,
    complete: bool,
) -> Measurement {
    let mut all = Measurement::new(plan);
    let sessions: Vec<StoredSession> = sessions.into_iter().collect();
    for (name, reason) in sessions.iter().flat_map(|session| &session.excluded) {
        if let Some(variant) = plan.variants.iter().position(|one| one.name == *name) {
            all.variants[variant]
                .excluded
                .get_or_insert_with(|| reason.clone());
        }
    }
    let active: Vec<usize> = (0..plan.variants.len())
        .filter(|variant| all.variants[*variant].excluded.is_none())
        .collect();
    let mut unpaired = 0_usize;
    for session in sessions {
        let mut by_variant: BTreeMap<String, Vec<JournalEntry>> = BTreeMap::new();
        for entry in session.entries {
            let runs = by_variant.entry(entry.variant.clone()).or_default();
            runs.push(entry);
        }
        let mut columns: Vec<_> = active
            .iter()
            .map(|variant| {
                let runs = by_variant.remove(&plan.variants[*variant].name);
                runs.unwrap_or_default().into_iter()
            })
            .collect();
        loop {
            let round: Vec<Option<JournalEntry>> = columns.iter_mut().map(Iterator::next).collect();
            let present = round.iter().flatten().count();
            if present == 0 {
                break;
            }
            if present < round.len() {
                unpaired += present;
                continue;
            }
            for (variant, entry) in active.iter().zip(round.into_iter().flatten()) {
                all.elapsed_seconds += entry.record.wall_seconds;
                all.add(plan, *variant, &recalled(entry));
            }
            all.blocks += 1;
        }
    }
    if unpaired > 0 {
        all.notes.push(format!(
            "{} without a run of every other variant beside it: not compared",
            match unpaired {
                1 => "1 run is".to_owned(),
                more => format!("{more} runs are"),
            }
        ));
    }
    all.end = if complete {
        End::Counted
    } else {
        End::BudgetSpent
    };
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Stop, VariantPlan};
    use genba_run::{CommandSpec, Finished};

    fn plan() -> Plan {
        let variant = |name: &str| VariantPlan::new(name, name, CommandSpec::direct([name]));
        let mut plan = Plan::new(vec![variant("a"), variant("b"), variant("c")]);
        plan.stop = Stop::Blocks(2);
        plan
    }

    fn session(runs: &[(&str, f64)], excluded: &[&str]) -> StoredSession {
        let entry = |(variant, wall): &(&str, f64)| JournalEntry {
            variant: (*variant).to_owned(),
            at: 0.0,
            record: Finished::mock(*wall).record,
            stdout: Default::default(),
            stderr: Default::default(),
            counters: Vec::new(),
            channel: String::new(),
            steal_share: None,
        };
        StoredSession {
            entries: runs.iter().map(entry).collect(),
            excluded: (excluded.iter())
                .map(|name| ((*name).to_owned(), "failed".to_owned()))
                .collect(),
        }
    }

    #[test]
    fn runs_are_paired_within_their_session() {
        let one = session(&[("b", 2.0), ("a", 1.0), ("a", 1.5), ("b", 2.5)], &[]);
        let two = session(&[("a", 10.0), ("b", 20.0)], &["c"]);
        let all = stored_measurement(&plan(), [one, two], true);
        let wall = all.find("wall").unwrap();
        assert_eq!(all.variants[0].column(wall), [1.0, 1.5, 10.0]);
        assert_eq!(all.variants[1].column(wall), [2.0, 2.5, 20.0]);
        assert!(all.variants[2].column(wall).is_empty());
        assert_eq!((all.blocks, all.end), (3, End::Counted));
        assert_eq!(all.variants[2].excluded.as_deref(), Some("failed"));
    }

    #[test]
    fn run_without_a_partner_is_not_paired_with_one_of_another_session() {
        let one = session(&[("a", 1.0), ("b", 2.0), ("a", 1.5)], &["c"]);
        let two = session(&[("b", 20.0), ("a", 10.0)], &[]);
        let all = stored_measurement(&plan(), [one, two], false);
        let wall = all.find("wall").unwrap();
        assert_eq!(all.variants[0].column(wall), [1.0, 10.0]);
        assert_eq!(all.variants[1].column(wall), [2.0, 20.0]);
        assert_eq!(all.notes.len(), 1);
        assert_eq!(all.end, End::BudgetSpent);
    }
}
