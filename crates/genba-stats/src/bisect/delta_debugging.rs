//! Delta debugging: the smallest set of elements that shows an effect.

/// Result of the test of a subset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// The subset shows the effect.
    Shows,
    /// It does not.
    Lacks,
    /// The test is undecided, or the subset fails.
    Unresolved,
}

/// A subset that shows the effect while no smaller one that was tried does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reduced {
    /// The elements.
    pub items: Vec<usize>,
    /// Whether without any one of them the effect was shown to be gone: the set is 1-minimal.
    /// `false` where a test was unresolved or the tests ran out.
    pub minimal: bool,
    /// Tests made.
    pub tests: usize,
}

/// Reduces `items`, which together show an effect, by Zeller and Hildebrandt's ddmin
/// ("Simplifying and isolating failure-inducing input", IEEE TSE 28 (2002)): subsets, then
/// complements, then finer ones. An unresolved test counts as one that lacks the effect, so the
/// result may be too large, never too small. No more than `most` tests are made.
///
/// # Errors
/// The first error of `test`.
pub fn reduce<E>(
    items: &[usize],
    most: usize,
    mut test: impl FnMut(&[usize]) -> Result<Test, E>,
) -> Result<Reduced, E> {
    let mut items = items.to_vec();
    let mut parts = 2;
    let mut tests = 0;
    let mut known = std::collections::BTreeMap::<Vec<usize>, Test>::new();
    let mut exhausted = false;
    while items.len() > 1 && !exhausted {
        let chunk = items.len().div_ceil(parts);
        let subsets: Vec<Vec<usize>> = items.chunks(chunk).map(<[usize]>::to_vec).collect();
        let complements: Vec<Vec<usize>> = (subsets.iter())
            .map(|subset| {
                let outside = |item: &&usize| !subset.contains(item);
                items.iter().filter(outside).copied().collect()
            })
            .collect();
        let mut found = None;
        // Of two halves each is the other's complement.
        let second = if subsets.len() == 2 {
            &[]
        } else {
            &complements[..]
        };
        let candidates = subsets.iter().map(|subset| (subset, 2));
        let finer = (second.iter()).map(|rest| (rest, parts.saturating_sub(1).max(2)));
        for (candidate, next) in candidates.chain(finer) {
            let verdict = match known.get(candidate) {
                Some(verdict) => *verdict,
                None if tests == most => {
                    exhausted = true;
                    break;
                }
                None => {
                    tests += 1;
                    let verdict = test(candidate)?;
                    known.insert(candidate.clone(), verdict);
                    verdict
                }
            };
            if verdict == Test::Shows {
                found = Some((candidate.clone(), next));
                break;
            }
        }
        match found {
            Some((smaller, next)) => {
                parts = next.min(smaller.len().max(2));
                items = smaller;
            }
            None if parts < items.len() => parts = (2 * parts).min(items.len()),
            None => break,
        }
    }
    let lacks = |without: usize| {
        let rest: Vec<usize> = (items.iter().copied())
            .filter(|item| *item != without)
            .collect();
        rest.is_empty() || known.get(&rest) == Some(&Test::Lacks)
    };
    Ok(Reduced {
        minimal: items.iter().all(|item| lacks(*item)),
        items,
        tests,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::convert::Infallible;

    fn reduced(count: usize, needed: &[usize]) -> Reduced {
        let all: Vec<usize> = (0..count).collect();
        reduce(&all, usize::MAX, |subset| {
            let shows = needed.iter().all(|item| subset.contains(item));
            Ok::<_, Infallible>(if shows { Test::Shows } else { Test::Lacks })
        })
        .unwrap()
    }

    #[test]
    fn one_culprit_takes_a_logarithm_of_tests() {
        let found = reduced(1024, &[717]);
        assert_eq!(found.items, [717]);
        assert!(found.minimal && found.tests <= 20, "{found:?}");
    }

    #[test]
    fn unresolved_test_leaves_a_larger_set_marked_as_not_minimal() {
        let found = reduce(&[0, 1, 2, 3], 100, |subset| {
            Ok::<_, Infallible>(match subset.contains(&2) {
                true if subset.len() > 1 => Test::Shows,
                true => Test::Unresolved,
                false => Test::Lacks,
            })
        })
        .unwrap();
        assert!(found.items.contains(&2) && found.items.len() == 2 && !found.minimal);
    }

    #[test]
    fn number_of_tests_is_bounded_and_errors_are_returned() {
        let found = reduce(&[0, 1, 2, 3, 4], 3, |_| Ok::<_, Infallible>(Test::Lacks)).unwrap();
        assert_eq!((found.tests, found.minimal), (3, false));
        assert_eq!(reduce(&[0, 1], 9, |_| Err("stop")), Err("stop"));
    }

    proptest! {
        #[test]
        fn finds_exactly_what_is_needed(count in 1usize..40, seeds in prop::collection::btree_set(0usize..40, 1..4)) {
            let needed: Vec<usize> = seeds.iter().map(|seed| seed % count).collect::<std::collections::BTreeSet<_>>().into_iter().collect();
            let found = reduced(count, &needed);
            let mut items = found.items.clone();
            items.sort_unstable();
            prop_assert_eq!(&items, &needed);
            prop_assert!(found.minimal);
        }
    }
}
