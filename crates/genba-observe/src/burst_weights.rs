//! What each burst stands for in the run.
//!
//! Bursts begin at random moments of CPU time. Where a program executes fewer instructions in a second
//! there are more bursts for each million instructions, so plain sums over bursts give the shares of a
//! second of CPU time, not of the program's executions. Each burst therefore stands for the
//! instructions that its thread executed from the middle between it and the burst before to the middle
//! between it and the next: a stratified sample, weighted by the size of the stratum ÷ what was seen of it
//! (Cochran, "Sampling Techniques", 3rd edition, 1977, sections 5.3 and 5A.8). A weight that is much larger
//! than the others is cut, since one burst would decide everything (Potter, "A study of procedures to
//! identify and trim extreme sampling weights", ASA 1990).

use genba_model::Burst;

/// Weights are at most this multiple of their mean. Chosen: with 64 bursts one has at most a seventh of
/// the whole.
const MAX_WEIGHT: f64 = 10.0;

/// A burst that a system call ended early counts as if it had this part of the mean length: what is
/// divided by next to nothing is noise. Chosen.
const MIN_PART_OF_MEAN_LENGTH: f64 = 0.25;

/// Sets the weights of bursts, which are in the order of their beginning.
pub(crate) fn set_weights(bursts: &mut [Burst]) {
    let mean_length = bursts
        .iter()
        .map(|one| one.instructions as f64)
        .sum::<f64>()
        / bursts.len().max(1) as f64;
    let least = (mean_length * MIN_PART_OF_MEAN_LENGTH).max(1.0);
    let weights: Vec<Option<f64>> = (0..bursts.len())
        .map(|index| {
            let stratum = stratum(bursts, index)?;
            Some(stratum / (bursts[index].instructions as f64).max(least))
        })
        .collect();
    // Of all instructions that were seen, one stands for one on average.
    let mean = |weights: &[Option<f64>]| {
        let known = (bursts.iter().zip(weights))
            .filter_map(|(burst, weight)| Some((burst.instructions as f64, (*weight)?)));
        let (sum, all) = known.fold((0.0, 0.0), |(sum, all), (instructions, weight)| {
            (sum + instructions * weight, all + instructions)
        });
        (sum > 0.0).then(|| sum / all)
    };
    let Some(first_mean) = mean(&weights) else {
        return;
    };
    let cut: Vec<Option<f64>> = (weights.iter())
        .map(|weight| weight.map(|weight| weight.min(first_mean * MAX_WEIGHT)))
        .collect();
    let Some(mean) = mean(&cut) else {
        return;
    };
    for (burst, weight) in bursts.iter_mut().zip(cut) {
        burst.weight = weight.map_or(1.0, |weight| weight / mean);
    }
}

/// Instructions that a burst stands for; `None` if it is the only one of its thread.
fn stratum(bursts: &[Burst], index: usize) -> Option<f64> {
    let one = &bursts[index];
    let same = |other: &&Burst| (other.pid, other.thread) == (one.pid, one.thread);
    let distance =
        |other: &Burst| other.instructions_before.abs_diff(one.instructions_before) as f64;
    let before = bursts[..index].iter().rfind(same).map(distance);
    let after = bursts[index + 1..].iter().find(same).map(distance);
    match (before, after) {
        (Some(before), Some(after)) => Some((before + after) / 2.0),
        // What the thread executed before its first burst, and after its last, is not known.
        (Some(only), None) | (None, Some(only)) => Some(only),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load_levels::load_levels;
    use crate::synthetic::{at, burst, geometry, load};
    use genba_model::BurstEvent;
    use proptest::prelude::*;

    fn begins(before: u64, instructions: u64) -> Burst {
        Burst {
            instructions_before: before,
            instructions,
            ..burst(Vec::new())
        }
    }

    fn weights(mut bursts: Vec<Burst>) -> Vec<f64> {
        set_weights(&mut bursts);
        bursts.iter().map(|one| one.weight).collect()
    }

    #[test]
    fn bursts_at_equal_distances_weigh_the_same() {
        let found = weights((0..8).map(|one| begins(one * 1000, 100)).collect());
        assert!(
            found.iter().all(|one| (one - 1.0).abs() < 1e-12),
            "{found:?}"
        );
    }

    #[test]
    fn burst_among_many_instructions_stands_for_more() {
        let found = weights(vec![
            begins(0, 100),
            begins(1000, 100),
            begins(2000, 100),
            begins(8000, 100),
            begins(14_000, 100),
        ]);
        assert!((found[3] / found[1] - 6.0).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn threads_and_processes_have_counts_of_their_own() {
        let mut other = begins(5, 100);
        other.thread = 1;
        let found = weights(vec![begins(0, 100), other, begins(1000, 100)]);
        // A thread with one burst has no distance.
        assert!((found[1] - 1.0).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn burst_cut_short_by_a_system_call_does_not_decide_everything() {
        let mut bursts: Vec<Burst> = (0..20).map(|one| begins(one * 1000, 100)).collect();
        bursts[7].instructions = 1;
        let found = weights(bursts);
        assert!(found[7] < 5.0, "{found:?}");
    }

    /// A program whose first part hits and is fast, and whose second part misses and is slow, observed at
    /// moments of equal distance: `slow` times as many for each instruction of the second.
    fn two_parts(fast_bursts: u64, slow: u64, length: u64) -> Vec<Burst> {
        let mut before = 0;
        (0..fast_bursts * 2)
            .map(|number| {
                let misses = number >= fast_bursts;
                let events: Vec<BurstEvent> = (0..length)
                    .map(|one| {
                        let address = match misses {
                            true => (number << 32) + one * 64,
                            false => 0x1000 + 8 * (one % 16),
                        };
                        load(0x10, address, 8, 0)
                    })
                    .collect();
                let mut one = burst(events);
                one.instructions_before = before;
                before += if misses { 1_000_000 } else { 1_000_000 * slow };
                one
            })
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]
        #[test]
        fn rate_of_two_parts_is_that_of_their_executions(
            slow in 2u64..8,
            fast_bursts in 16u64..30,
        ) {
            let mut bursts = two_parts(fast_bursts, slow, 600);
            let rate = |bursts: &[Burst]| {
                let found = load_levels(bursts, &geometry());
                let site = found.into_iter().find(|one| one.at == at(0x10));
                site.expect("seen").l1_missed.share.value
            };
            let plain = rate(&bursts);
            set_weights(&mut bursts);
            let weighted = rate(&bursts);
            // Of slow + 1 executions one misses, though half of the CPU time is there.
            let exact = 1.0 / (slow as f64 + 1.0);
            prop_assert!((plain - 0.5).abs() < 0.05, "{plain}");
            // The burst between the parts stands for some of both.
            prop_assert!((weighted - exact).abs() < 0.3 * exact, "{weighted} {exact}");
        }

        #[test]
        fn instructions_seen_weigh_one_on_average(
            distances in prop::collection::vec((1u64..1_000_000, 1u64..200_000), 2..60),
        ) {
            let mut before = 0;
            let mut bursts: Vec<Burst> = distances
                .iter()
                .map(|&(distance, instructions)| {
                    before += distance;
                    begins(before, instructions)
                })
                .collect();
            set_weights(&mut bursts);
            let seen: f64 = bursts.iter().map(|one| one.instructions as f64).sum();
            let stands: f64 = (bursts.iter())
                .map(|one| one.weight * one.instructions as f64)
                .sum();
            prop_assert!((stands / seen - 1.0).abs() < 1e-9);
            prop_assert!(bursts.iter().all(|one| one.weight.is_finite() && one.weight >= 0.0));
        }
    }
}
