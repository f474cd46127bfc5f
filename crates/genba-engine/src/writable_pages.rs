//! Pages that the program can write to and that code was translated from: which of them are
//! write-protected, and which fragments are to be invalidated when one is written. Pure: the caller
//! makes the system calls.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Bytes of a page.
pub const PAGE_BYTES: u64 = 4096;
/// A page that was written this often while its code was executed is refused. One write costs some
/// 20 µs and a few hundred bytes of the code cache.
pub const MAX_WRITES: u32 = 200_000;
/// Longest x86 instruction, bytes.
pub const MAX_INSTRUCTION_BYTES: u64 = 15;

/// What is known of a page.
#[derive(Default)]
struct Page {
    /// Whether it is write-protected.
    protected: bool,
    /// How often it was written while it was protected.
    writes: u32,
    /// Numbers of the fragments that were translated from it.
    fragments: Vec<u32>,
}

/// Pages that code was translated from and that the program can write to, by address.
#[derive(Default)]
pub struct WritablePages(BTreeMap<u64, Page>);

/// The page that contains an address.
#[must_use]
pub fn page_of(address: u64) -> u64 {
    address & !(PAGE_BYTES - 1)
}

/// Returns where code that is read from `pc` on ends, so that as few pages as possible are
/// protected for it: at the end of the page, or of the next if an instruction may straddle the two.
#[must_use]
pub fn end_of_code_read(pc: u64) -> u64 {
    let end = page_of(pc) + PAGE_BYTES;
    if end - pc < MAX_INSTRUCTION_BYTES {
        end + PAGE_BYTES
    } else {
        end
    }
}

impl WritablePages {
    /// Whether no page is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a page is known, protected or not.
    #[must_use]
    pub fn contains(&self, page: u64) -> bool {
        self.0.contains_key(&page)
    }

    /// Whether a page is write-protected.
    #[must_use]
    pub fn is_protected(&self, page: u64) -> bool {
        self.0.get(&page).is_some_and(|page| page.protected)
    }

    /// Notes that a page is write-protected.
    pub fn protect(&mut self, page: u64) {
        self.0.entry(page).or_default().protected = true;
    }

    /// Notes that a fragment was translated from a page.
    pub fn add_fragment(&mut self, page: u64, fragment: u32) {
        let fragments = &mut self.0.entry(page).or_default().fragments;
        if fragments.last() != Some(&fragment) {
            fragments.push(fragment);
        }
    }

    /// Notes that a page is not protected any more because it is written; its fragments, and how
    /// often that has happened.
    pub fn release(&mut self, page: u64) -> (Vec<u32>, u32) {
        let Some(page) = self.0.get_mut(&page) else {
            return (Vec::new(), 0);
        };
        page.protected = false;
        page.writes += 1;
        (core::mem::take(&mut page.fragments), page.writes)
    }

    /// Returns the protected pages in a range.
    #[must_use]
    pub fn protected_in(&self, start: u64, end: u64) -> Vec<u64> {
        if start >= end {
            return Vec::new();
        }
        (self.0.range(page_of(start)..end))
            .filter(|(_, page)| page.protected)
            .map(|(&page, _)| page)
            .collect()
    }

    /// Returns all protected pages as ranges, in order.
    #[must_use]
    pub fn protected_ranges(&self) -> Vec<(u64, u64)> {
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for (&page, _) in self.0.iter().filter(|(_, page)| page.protected) {
            match ranges.last_mut() {
                Some(last) if last.1 == page => last.1 += PAGE_BYTES,
                _ => ranges.push((page, page + PAGE_BYTES)),
            }
        }
        ranges
    }

    /// Forgets the pages in a range, whose protection the program has changed.
    pub fn forget(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        let gone: Vec<u64> = (self.0.range(page_of(start)..end))
            .map(|(&page, _)| page)
            .collect();
        for page in gone {
            self.0.remove(&page);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const P: u64 = PAGE_BYTES;

    #[test]
    fn a_written_page_gives_back_its_fragments_once() {
        let mut pages = WritablePages::default();
        pages.protect(P);
        pages.add_fragment(P, 7);
        pages.add_fragment(P, 7);
        pages.add_fragment(P, 8);
        assert!(pages.is_protected(P));
        assert_eq!(pages.release(P), (alloc::vec![7, 8], 1));
        assert!(!pages.is_protected(P) && pages.contains(P));
        pages.protect(P);
        assert_eq!(pages.release(P), (Vec::new(), 2));
        assert_eq!(pages.release(9 * P), (Vec::new(), 0));
    }

    #[test]
    fn protected_pages_are_listed_as_ranges_and_forgotten_by_range() {
        let mut pages = WritablePages::default();
        for page in [5, 1, 2, 3, 8] {
            pages.protect(page * P);
        }
        let _ = pages.release(5 * P);
        assert_eq!(pages.protected_ranges(), [(P, 4 * P), (8 * P, 9 * P)]);
        assert_eq!(pages.protected_in(P + 100, 3 * P + 1), [P, 2 * P, 3 * P]);
        assert_eq!(pages.protected_in(4 * P, 4 * P), [0u64; 0]);
        pages.forget(2 * P + 5, 6 * P);
        assert_eq!(pages.protected_ranges(), [(P, 2 * P), (8 * P, 9 * P)]);
        assert!(!pages.contains(5 * P));
    }

    #[test]
    fn code_is_read_to_the_end_of_its_page_unless_an_instruction_may_straddle_it() {
        assert_eq!(end_of_code_read(P), 2 * P);
        assert_eq!(end_of_code_read(2 * P - 15), 2 * P);
        assert_eq!(end_of_code_read(2 * P - 14), 3 * P);
        assert_eq!(end_of_code_read(2 * P - 1), 3 * P);
    }
}
