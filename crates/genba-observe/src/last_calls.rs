//! The last call from each place of a burst, and which of them later accesses may belong to.

use genba_model::CodePoint;

use crate::fast_hash::FastMap;

/// A call instruction and its callee's entry.
pub(crate) type Place = (CodePoint, CodePoint);

/// By place, what is known of its last call.
pub(crate) struct LastCalls<C> {
    calls: FastMap<Place, C>,
    /// The most recent places, the latest one last: callees hand on what they are called with.
    recent: Vec<Place>,
    followed: usize,
}

impl<C> LastCalls<C> {
    /// Accesses may belong to the calls from so many places.
    pub(crate) fn following(followed: usize) -> Self {
        Self {
            calls: FastMap::default(),
            recent: Vec::new(),
            followed,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.calls.clear();
        self.recent.clear();
    }

    /// Calls `see` with each call that an access may belong to.
    pub(crate) fn each_recent(&mut self, mut see: impl FnMut(&mut C)) {
        for place in &self.recent {
            if let Some(call) = self.calls.get_mut(place) {
                see(call);
            }
        }
    }

    /// The call before from the same place.
    pub(crate) fn before(&self, place: &Place) -> Option<&C> {
        self.calls.get(place)
    }

    /// A call, which takes the place of the one before.
    pub(crate) fn insert(&mut self, place: Place, call: C) {
        self.recent.retain(|&one| one != place);
        if self.recent.len() == self.followed {
            self.recent.remove(0);
        }
        self.recent.push(place);
        self.calls.insert(place, call);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::at;

    #[test]
    fn accesses_belong_to_the_last_places_only() {
        let mut last = LastCalls::following(2);
        for (number, place) in [1, 2, 1, 3].into_iter().enumerate() {
            last.insert((at(place), at(9)), number);
        }
        let mut seen = Vec::new();
        last.each_recent(|call| seen.push(*call));
        assert_eq!(seen, [2, 3]);
        assert_eq!(last.before(&(at(2), at(9))), Some(&1));
        last.clear();
        assert_eq!(last.before(&(at(1), at(9))), None);
    }
}
