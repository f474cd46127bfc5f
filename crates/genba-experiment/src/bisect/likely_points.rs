//! The points that a bisection is likely to need next. Pure.

use std::collections::VecDeque;

/// Points in the order in which a search between two points needs them: the next one (by default the middle), then the middles
/// of the two halves, one of which follows, and so on.
pub(super) fn likely_points(
    (low, high): (u64, u64),
    next: Option<u64>,
) -> impl Iterator<Item = u64> {
    let mut open: VecDeque<(u64, u64, Option<u64>)> = VecDeque::from([(low, high, next)]);
    std::iter::from_fn(move || {
        loop {
            let (low, high, next) = open.pop_front()?;
            let point = next.unwrap_or(low.midpoint(high));
            if low < point && point < high {
                open.extend([(low, point, None), (point, high, None)]);
                return Some(point);
            }
            if next.is_some() {
                return next;
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn middles_of_the_halves_follow_the_middle() {
        let points: Vec<u64> = likely_points((0, 16), None).take(7).collect();
        assert_eq!(points, [8, 4, 12, 2, 6, 10, 14]);
        let points: Vec<u64> = likely_points((0, 16), Some(4)).take(3).collect();
        assert_eq!(points, [4, 2, 10]);
    }

    #[test]
    fn each_point_comes_once_and_the_ends_only_if_they_are_next() {
        let mut all: Vec<u64> = likely_points((3, 20), None).collect();
        all.sort_unstable();
        assert_eq!(all, (4..20).collect::<Vec<u64>>());
        assert_eq!(likely_points((3, 4), None).next(), None);
        assert_eq!(likely_points((3, 4), Some(4)).collect::<Vec<u64>>(), [4]);
    }
}
