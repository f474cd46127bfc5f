//! A set-associative cache with least-recently-used replacement that starts with unknown content.

use crate::cache_geometry::CacheSize;

/// What an access to a line found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// It was accessed before, and not evicted since.
    Hit,
    /// As many other lines of its set were accessed as there are ways, since the start or since
    /// its last access: it cannot be there.
    Miss,
    /// It may have been there at the start.
    Unknown,
}

pub(crate) struct SetAssociative {
    /// Line + 1 by set, most recently used first; 0: unknown.
    ways: Vec<u64>,
    per_set: usize,
    sets: u64,
}

impl SetAssociative {
    pub(crate) fn new(size: CacheSize, line_bytes: u64) -> Self {
        let per_set = size.ways.max(1) as usize;
        let sets = (size.bytes / line_bytes / per_set as u64).max(1);
        Self {
            ways: vec![0; per_set * sets as usize],
            per_set,
            sets,
        }
    }

    pub(crate) fn forget(&mut self) {
        self.ways.fill(0);
    }

    pub(crate) fn access(&mut self, line: u64) -> Found {
        let first = (line % self.sets) as usize * self.per_set;
        let set = &mut self.ways[first..first + self.per_set];
        let stored = line.wrapping_add(1);
        let (found, place) = match set.iter().position(|&one| one == stored) {
            Some(place) => (Found::Hit, place),
            None => {
                let known = set.iter().all(|&one| one != 0);
                (
                    if known { Found::Miss } else { Found::Unknown },
                    self.per_set - 1,
                )
            }
        };
        set[..=place].rotate_right(1);
        set[0] = stored;
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_unknown_until_a_set_is_full() {
        let size = CacheSize {
            bytes: 512,
            ways: 2,
        };
        let mut cache = SetAssociative::new(size, 64);
        // Four sets: lines 0, 4 and 8 share one.
        assert_eq!(cache.access(0), Found::Unknown);
        assert_eq!(cache.access(4), Found::Unknown);
        assert_eq!(cache.access(0), Found::Hit);
        assert_eq!(cache.access(8), Found::Miss);
        assert_eq!(cache.access(4), Found::Miss);
        assert_eq!(cache.access(1), Found::Unknown);
        cache.forget();
        assert_eq!(cache.access(4), Found::Unknown);
    }
}
