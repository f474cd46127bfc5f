//! Generated code that was kept with a recording, put where it was at each time.

use super::address_space::{AddressSpace, Mapping};
use super::sample_tables::ModuleId;
use crate::jit::GeneratedCode;

/// The generated code of one process.
pub struct GeneratedMappings {
    generated: GeneratedCode,
    module: ModuleId,
    next: usize,
    space: AddressSpace,
}

impl GeneratedMappings {
    /// `module` is the image.
    pub fn new(generated: GeneratedCode, module: ModuleId) -> Self {
        Self {
            generated,
            module,
            next: 0,
            space: AddressSpace::default(),
        }
    }

    /// When something changes next, ns.
    pub fn next_time(&self) -> Option<u64> {
        self.generated.entries.get(self.next).map(|e| e.time)
    }

    /// Puts there what stood there at this time; false if nothing is new.
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

    /// What stands at an address.
    pub fn find(&self, address: u64) -> Option<&Mapping> {
        self.space.find(address)
    }
}
