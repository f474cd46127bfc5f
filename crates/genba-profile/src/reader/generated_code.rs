//! Saved generated code, mapped at each time where it was then.

use super::address_space::{AddressSpace, Mapping};
use super::sample_tables::ModuleId;
use crate::jit::GeneratedCode;

/// The generated code of one process and where it is mapped at present.
pub struct GeneratedMappings {
    generated: GeneratedCode,
    module: ModuleId,
    next: usize,
    space: AddressSpace,
}

impl GeneratedMappings {
    /// Starts before the first entry; `module` is the ELF image.
    pub fn new(generated: GeneratedCode, module: ModuleId) -> Self {
        Self {
            generated,
            module,
            next: 0,
            space: AddressSpace::default(),
        }
    }

    /// The time of the next change, ns; `None` after the last.
    pub fn next_time(&self) -> Option<u64> {
        self.generated.entries.get(self.next).map(|e| e.time)
    }

    /// Maps the code that was there at this time. Returns whether anything changed.
    pub fn advance(&mut self, time: u64) -> bool {
        let before = self.next;
        while let Some(entry) = self.generated.entries.get(self.next)
            && entry.time <= time
        {
            self.space.insert(Mapping {
                start: entry.start,
                end: entry.end,
                module: self.module,
                to_offset: entry.offset.wrapping_sub(entry.start),
            });
            self.next += 1;
        }
        self.next > before
    }

    /// The mapping of generated code at an address.
    pub fn find(&self, address: u64) -> Option<&Mapping> {
        self.space.find(address)
    }
}
