//! Something for each byte of memory that a burst touched.

use crate::fast_hash::FastMap;

const PAGE_BYTES: usize = 4096;

/// Pages of memory that one burst may touch before the map stops taking new ones: 16 MB of entries
/// of four bytes each.
const MAX_PAGES: usize = 1024;

/// A value for every byte of the address space, the default where none was set.
pub(crate) struct ByteMap<T> {
    pages: FastMap<u64, Box<[T]>>,
}

impl<T: Copy + Default> ByteMap<T> {
    pub(crate) fn new() -> Self {
        Self {
            pages: FastMap::default(),
        }
    }

    pub(crate) fn clear(&mut self) {
        self.pages.clear();
    }

    /// Calls `see` with the value of every byte of the pages that were touched.
    pub(crate) fn each(&self, mut see: impl FnMut(T)) {
        let bytes = self.pages.values().flat_map(|page| page.iter());
        bytes.for_each(|byte| see(*byte));
    }

    /// Calls `change` with every byte's value, in address order. Pages beyond the limit of memory
    /// are not followed: `change` sees the default there and what it sets is dropped.
    pub(crate) fn update(&mut self, address: u64, size: u16, mut change: impl FnMut(&mut T)) {
        let mut left = usize::from(size);
        let mut address = address;
        while left > 0 {
            let inside = (address % PAGE_BYTES as u64) as usize;
            let here = left.min(PAGE_BYTES - inside);
            let page = address / PAGE_BYTES as u64;
            if self.pages.len() < MAX_PAGES || self.pages.contains_key(&page) {
                let bytes = (self.pages.entry(page))
                    .or_insert_with(|| vec![T::default(); PAGE_BYTES].into_boxed_slice());
                bytes[inside..inside + here]
                    .iter_mut()
                    .for_each(&mut change);
            } else {
                (0..here).for_each(|_| change(&mut T::default()));
            }
            left -= here;
            address = address.wrapping_add(here as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_across_a_page_border_are_kept_apart() {
        let mut map = ByteMap::<u32>::new();
        map.update(4094, 4, |byte| *byte = 7);
        let mut seen = Vec::new();
        map.update(4092, 8, |byte| seen.push(*byte));
        assert_eq!(seen, [0, 0, 7, 7, 7, 7, 0, 0]);
        map.update(u64::MAX - 1, 4, |byte| *byte = 1);
        map.clear();
        map.update(4094, 1, |byte| assert_eq!(*byte, 0));
    }

    #[test]
    fn memory_is_bounded() {
        let mut map = ByteMap::<u32>::new();
        for page in 0..3000u64 {
            map.update(page * 4096, 8, |byte| *byte = 1);
        }
        assert!(map.pages.len() <= MAX_PAGES);
    }
}
