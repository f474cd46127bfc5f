//! The allocator: the system's, whose large blocks have huge pages where the kernel allows it. Counts
//! of large programs are tables of tens of megabytes, and a fault for every 4 KiB of them takes as
//! long as filling them.

use std::alloc::{GlobalAlloc, Layout, System};

use rustix::mm::{Advice, madvise};

/// Bytes of a huge page.
const HUGE_PAGE_BYTES: usize = 2 << 20;
/// Blocks of this size or more have huge pages.
const LARGE_BYTES: usize = 2 * HUGE_PAGE_BYTES;

/// The system's allocator with huge pages.
pub struct LargeAllocations;

/// Asks for huge pages within a block.
fn prefer_huge_pages(block: *mut u8, size: usize) {
    if size < LARGE_BYTES || block.is_null() {
        return;
    }
    let before = block.align_offset(HUGE_PAGE_BYTES);
    let within = size.saturating_sub(before) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
    if within > 0 {
        // SAFETY: whole pages of a block that is the caller's; the advice changes no contents.
        // Without huge pages it is refused, and nothing is lost.
        let _ = unsafe { madvise(block.add(before).cast(), within, Advice::LinuxHugepage) };
    }
}

// SAFETY: all blocks are the system allocator's.
unsafe impl GlobalAlloc for LargeAllocations {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let block = unsafe { System.alloc(layout) };
        prefer_huge_pages(block, layout.size());
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let block = unsafe { System.alloc_zeroed(layout) };
        prefer_huge_pages(block, layout.size());
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, layout) };
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        let moved = unsafe { System.realloc(block, layout, size) };
        if size > layout.size() {
            prefer_huge_pages(moved, size);
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_blocks_keep_their_contents_when_they_grow() {
        let layout = |size| Layout::from_size_align(size, 8).expect("valid");
        let mut size = 100;
        // SAFETY: the block is used within its size, and freed with its layout.
        unsafe {
            let mut block = LargeAllocations.alloc_zeroed(layout(size));
            while size < 5 * LARGE_BYTES {
                block.add(size - 1).write(7);
                block = LargeAllocations.realloc(block, layout(size), size * 3);
                assert_eq!(block.add(size - 1).read(), 7);
                size *= 3;
            }
            LargeAllocations.dealloc(block, layout(size));
            let zeroed = LargeAllocations.alloc_zeroed(layout(3 * LARGE_BYTES));
            assert!(
                (0..3 * LARGE_BYTES)
                    .step_by(4096)
                    .all(|at| zeroed.add(at).read() == 0)
            );
            LargeAllocations.dealloc(zeroed, layout(3 * LARGE_BYTES));
        }
    }
}
