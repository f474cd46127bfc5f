//! The engine's own heap: size classes with free lists over large mappings. It never uses the
//! program's `malloc`, which may be interrupted in the middle of an operation, or be the program's
//! own.
//!
//! What must hold: only a thread that holds the engine's lock allocates. The heap is bounded;
//! beyond its bound the engine ends the process with a message.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::ptr;

use crate::raw_syscall;

/// Bytes that are mapped at a time.
const CHUNK_BYTES: usize = 1 << 20;
/// Bytes that are mapped at a time once that is little of what is mapped: with huge pages.
const LARGE_CHUNK_BYTES: usize = 4 << 20;
/// Mappings of this size or more have huge pages.
const HUGE_PAGES_BYTES: usize = 2 << 20;
/// Allocations of this size or more are mappings of their own.
const LARGE_BYTES: usize = 128 << 10;
/// Maximum size of the heap, bytes.
const MAX_BYTES: usize = 3 << 30;
/// Base-2 logarithm of the smallest size class, bytes.
const SMALLEST_CLASS_LOG2: u32 = 4;
/// Number of size classes: 16 bytes to 128 KiB.
const SIZE_CLASSES: usize = 14;

struct Inner {
    free: [*mut u8; SIZE_CLASSES],
    next: usize,
    end: usize,
    mapped: usize,
}

/// The allocator.
pub struct Heap(UnsafeCell<Inner>);

// SAFETY: whoever allocates has the engine's lock (see above), so only one thread does.
unsafe impl Sync for Heap {}

impl Default for Heap {
    fn default() -> Self {
        Self::new()
    }
}

impl Heap {
    /// Returns an empty heap.
    #[must_use]
    pub const fn new() -> Self {
        Self(UnsafeCell::new(Inner {
            free: [ptr::null_mut(); SIZE_CLASSES],
            next: 0,
            end: 0,
            mapped: 0,
        }))
    }
}

/// Returns the size class of a small allocation, whose size is rounded up to a power of two.
fn class(size: usize) -> usize {
    let bits = usize::BITS
        - size
            .max(1 << SMALLEST_CLASS_LOG2)
            .saturating_sub(1)
            .leading_zeros();
    (bits - SMALLEST_CLASS_LOG2) as usize
}

fn pages(size: usize) -> usize {
    (size + 4095) & !4095
}

impl Inner {
    unsafe fn map(&mut self, size: usize) -> *mut u8 {
        if self.mapped + size > MAX_BYTES {
            crate::runtime::refuse("it has more code than the engine has memory for");
        }
        // SAFETY: a new mapping at a place of the kernel's choice disturbs nobody.
        match unsafe {
            raw_syscall::mmap(0, size, raw_syscall::READ_WRITE, raw_syscall::PRIVATE, -1)
        } {
            Some(address) => {
                self.mapped += size;
                // SAFETY: the new mapping.
                unsafe {
                    raw_syscall::exclude_from_core_dumps(address, size);
                    if size >= HUGE_PAGES_BYTES {
                        raw_syscall::prefer_huge_pages(address, size);
                    }
                }
                address as *mut u8
            }
            None => crate::runtime::refuse("there is no memory left for the engine"),
        }
    }

    unsafe fn small(&mut self, class: usize) -> *mut u8 {
        let head = self.free[class];
        if !head.is_null() {
            // SAFETY: a free block's first word is the next free block.
            self.free[class] = unsafe { *head.cast::<*mut u8>() };
            return head;
        }
        let size = 1usize << (class as u32 + SMALLEST_CLASS_LOG2);
        let align = size.min(4096);
        self.next = (self.next + align - 1) & !(align - 1);
        if self.next + size > self.end {
            // What is left of the old chunk is less than two blocks.
            let bytes = match self.mapped < 2 * LARGE_CHUNK_BYTES {
                true => CHUNK_BYTES,
                false => LARGE_CHUNK_BYTES,
            };
            // SAFETY: as `map`.
            let chunk = unsafe { self.map(bytes) };
            if chunk.is_null() {
                return chunk;
            }
            self.next = chunk as usize;
            self.end = self.next + bytes;
        }
        let block = self.next;
        self.next += size;
        block as *mut u8
    }
}

// SAFETY: blocks are disjoint, as large as asked for, and aligned to their size (a power of
// two) or to a page, whichever is less.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: one thread at a time.
        let inner = unsafe { &mut *self.0.get() };
        let size = layout.size().max(layout.align());
        // SAFETY: as above.
        unsafe {
            if size >= LARGE_BYTES {
                inner.map(pages(size))
            } else {
                inner.small(class(size))
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the trait says.
        let block = unsafe { self.alloc(layout) };
        // A mapping of its own is new, so it is zero.
        if !block.is_null() && layout.size().max(layout.align()) < LARGE_BYTES {
            // SAFETY: the new block.
            unsafe { ptr::write_bytes(block, 0, layout.size()) };
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: one thread at a time.
        let inner = unsafe { &mut *self.0.get() };
        let size = layout.size().max(layout.align());
        if size >= LARGE_BYTES {
            inner.mapped -= pages(size);
            // SAFETY: it was a mapping of this size, and nobody has it any more.
            unsafe { raw_syscall::munmap(block as usize, pages(size)) };
        } else {
            let class = class(size);
            // SAFETY: the block has room for a word and is nobody's.
            unsafe { *block.cast::<*mut u8>() = inner.free[class] };
            inner.free[class] = block;
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let old = layout.size().max(layout.align());
        if old >= LARGE_BYTES && size >= LARGE_BYTES {
            // SAFETY: one thread at a time.
            let inner = unsafe { &mut *self.0.get() };
            let (from, to) = (pages(old), pages(size));
            if inner.mapped + to - from.min(to) > MAX_BYTES {
                crate::runtime::refuse("it has more code than the engine has memory for");
            }
            // SAFETY: a mapping of ours, moved by the kernel (MREMAP_MAYMOVE).
            let moved = unsafe {
                raw_syscall::call(raw_syscall::nr::MREMAP, [block as usize, from, to, 1, 0, 0])
            };
            if moved < 0 {
                crate::runtime::refuse("there is no memory left for the engine");
            }
            inner.mapped = inner.mapped + to - from;
            return moved as *mut u8;
        }
        if old < LARGE_BYTES && size < LARGE_BYTES && class(old) == class(size.max(layout.align()))
        {
            return block;
        }
        // SAFETY: as the trait says.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !new.is_null() {
                ptr::copy_nonoverlapping(block, new, layout.size().min(size));
                self.dealloc(block, layout);
            }
            new
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_and_keep_their_contents_when_reallocated() {
        let heap = Heap::new();
        let mut blocks = Vec::new();
        for step in 0..2000usize {
            let size = 1 + (step * 7919) % 300_000;
            let layout = Layout::from_size_align(size, 1 << (step % 6)).expect("valid");
            // SAFETY: size is not zero; the block is written within its size.
            let block = unsafe { heap.alloc(layout) };
            assert!(!block.is_null());
            assert_eq!(block as usize % layout.align(), 0);
            // SAFETY: as above.
            unsafe { ptr::write_bytes(block, step as u8, size) };
            blocks.push((block, layout, step as u8));
            if step % 3 == 0 {
                let (block, layout, fill) = blocks.swap_remove(step / 3 % blocks.len());
                let size = layout.size() / 2 + 1000;
                // SAFETY: a block of the heap, read within both sizes.
                unsafe {
                    let moved = heap.realloc(block, layout, size);
                    for at in 0..size.min(layout.size()) {
                        assert_eq!(*moved.add(at), fill);
                    }
                    heap.dealloc(
                        moved,
                        Layout::from_size_align(size, layout.align()).expect("valid"),
                    );
                }
            }
        }
        for (block, layout, fill) in blocks {
            for at in 0..layout.size() {
                // SAFETY: within the block.
                assert_eq!(unsafe { *block.add(at) }, fill);
            }
            // SAFETY: allocated with this layout.
            unsafe { heap.dealloc(block, layout) };
        }
    }

    #[test]
    fn size_classes_are_powers_of_two() {
        assert_eq!(class(1), 0);
        assert_eq!(class(16), 0);
        assert_eq!(class(17), 1);
        assert_eq!(class(LARGE_BYTES - 1), SIZE_CLASSES - 1);
    }
}
