//! Writes the count file ([`crate::count_file_layout`]).

use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, Ordering};

use crate::count_file_layout::{
    self, CodeRange, Control, KIND_ADD, KIND_BLOCK, KIND_SUBTRACT, ModuleRecord, Record,
};
use crate::thread_state::{self, State};

/// Address of the mapped count file.
#[derive(Clone, Copy)]
pub struct CountFile(pub usize);

impl CountFile {
    /// Returns the control page.
    #[must_use]
    pub fn control(&self) -> &'static Control {
        // SAFETY: mapped for as long as the process lives; all that changes is atomic or
        // written under the engine's lock through raw pointers.
        unsafe { &*(self.0 as *const Control) }
    }

    fn control_mut(&self) -> *mut Control {
        self.0 as *mut Control
    }

    /// Appends bytes to a table of bytes; their offset, or `None` if there is no room.
    fn append(&self, table: u64, capacity: u32, used: &AtomicU32, bytes: &[u8]) -> Option<u32> {
        let at = used.load(Ordering::Relaxed);
        let end = at.checked_add(u32::try_from(bytes.len()).ok()?)?;
        if end > capacity {
            return None;
        }
        let to = (self.0 as u64 + table + u64::from(at)) as *mut u8;
        // SAFETY: within the table, and under the engine's lock.
        unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
        used.store(end, Ordering::Release);
        Some(at)
    }

    /// Appends instruction lengths; their index.
    #[must_use]
    pub fn lengths(&self, lengths: &[u8]) -> Option<u32> {
        let used = &self.control().lengths;
        self.append(
            count_file_layout::LENGTHS,
            count_file_layout::LENGTHS_CAPACITY,
            used,
            lengths,
        )
    }

    /// Returns instruction lengths.
    #[must_use]
    pub fn read_lengths(&self, at: u32, count: usize) -> &'static [u8] {
        let from = (self.0 as u64 + count_file_layout::LENGTHS + u64::from(at)) as *const u8;
        // SAFETY: written by `lengths`, never changed.
        unsafe { core::slice::from_raw_parts(from, count) }
    }

    /// Allocates a counter; its number.
    #[must_use]
    pub fn record(&self, record: Record) -> Option<u32> {
        let used = &self.control().records;
        let number = used.load(Ordering::Relaxed);
        if number >= count_file_layout::COUNTER_CAPACITY {
            return None;
        }
        let to = (self.0 as u64 + count_file_layout::RECORDS) as *mut Record;
        // SAFETY: within the table, and under the engine's lock.
        unsafe { to.add(number as usize).write(record) };
        used.store(number + 1, Ordering::Release);
        Some(number)
    }

    /// Returns the record of a counter.
    #[must_use]
    pub fn read_record(&self, number: u32) -> Option<Record> {
        let used = self.control().records.load(Ordering::Relaxed);
        let from = (self.0 as u64 + count_file_layout::RECORDS) as *const Record;
        // SAFETY: within the part in use; never changed.
        (number < used).then(|| unsafe { from.add(number as usize).read() })
    }

    /// Returns the number of instructions that the counters of a slot have counted.
    ///
    /// # Safety
    /// The state must be mapped.
    #[must_use]
    pub unsafe fn instructions_of(&self, state: State) -> u64 {
        let used = self.control().records.load(Ordering::Relaxed);
        let records = (self.0 as u64 + count_file_layout::RECORDS) as *const Record;
        (0..used).fold(0u64, |sum, number| {
            // SAFETY: within the part in use, which never changes; a slot has a counter for each.
            let (record, count) = unsafe {
                let record = &*records.add(number as usize);
                (record, state.get(thread_state::counter(number)))
            };
            let instructions = count.wrapping_mul(u64::from(record.instructions));
            match record.kind {
                KIND_BLOCK | KIND_ADD => sum.wrapping_add(instructions),
                KIND_SUBTRACT => sum.wrapping_sub(instructions),
                _ => sum,
            }
        })
    }

    /// Adds a module unless it is there already, as when a program revokes and grants again the
    /// right to execute its code; its index.
    #[must_use]
    pub fn module(&self, mut module: ModuleRecord, path: &[u8]) -> Option<u32> {
        if let Some(known) = self.known_module(&module, path) {
            return Some(known);
        }
        let names = &self.control().names;
        module.name = self.append(
            count_file_layout::NAMES,
            count_file_layout::NAMES_CAPACITY,
            names,
            path,
        )?;
        module.name_length = path.len() as u32;
        let used = &self.control().modules;
        let number = used.load(Ordering::Relaxed);
        if number >= count_file_layout::MODULE_CAPACITY {
            return None;
        }
        let to = (self.0 as u64 + count_file_layout::MODULES) as *mut ModuleRecord;
        // SAFETY: within the table, and under the engine's lock.
        unsafe { to.add(number as usize).write(module) };
        used.store(number + 1, Ordering::Release);
        Some(number)
    }

    /// Returns the module of this path that was mapped at the same place. All memory without a name
    /// is one module, in which instructions are known by their address.
    fn known_module(&self, module: &ModuleRecord, path: &[u8]) -> Option<u32> {
        let place = |record: &ModuleRecord| (record.start, record.end, record.offset, record.inode);
        let used = self.control().modules.load(Ordering::Relaxed);
        let modules = (self.0 as u64 + count_file_layout::MODULES) as *const ModuleRecord;
        let names = (self.0 as u64 + count_file_layout::NAMES) as *const u8;
        (0..used).rev().find(|&index| {
            // SAFETY: within the part in use; never changed.
            let known = unsafe { *modules.add(index as usize) };
            let (at, length) = (known.name as usize, known.name_length as usize);
            // SAFETY: where its path was written; never changed.
            let name = unsafe { core::slice::from_raw_parts(names.add(at), length) };
            name == path && (path.is_empty() || place(&known) == place(module))
        })
    }

    /// Returns the ranges of code in which jumps are recorded.
    #[must_use]
    pub fn code_ranges(&self) -> Vec<CodeRange> {
        let count = self.control().code_ranges.load(Ordering::Relaxed);
        let from = (self.0 as u64 + count_file_layout::CODE_RANGES) as *const CodeRange;
        let count = count.min(count_file_layout::CODE_RANGE_CAPACITY) as usize;
        // SAFETY: within the table, which genba filled before the start.
        unsafe { core::slice::from_raw_parts(from, count) }.to_vec()
    }

    /// Whether code was translated from a file with this inode.
    #[must_use]
    pub fn has_module_of(&self, inode: u64) -> bool {
        let used = self.control().modules.load(Ordering::Relaxed) as usize;
        let modules = (self.0 as u64 + count_file_layout::MODULES) as *const ModuleRecord;
        // SAFETY: within the part in use; never changed.
        (0..used).any(|index| unsafe { (*modules.add(index)).inode == inode })
    }

    /// Returns the address ranges at which files with this inode were mapped.
    #[must_use]
    pub fn modules_of(&self, inode: u64) -> Vec<(u64, u64)> {
        let used = self.control().modules.load(Ordering::Relaxed) as usize;
        let modules = (self.0 as u64 + count_file_layout::MODULES) as *const ModuleRecord;
        (0..used)
            // SAFETY: within the part in use; never changed.
            .map(|index| unsafe { *modules.add(index) })
            .filter(|module| module.inode == inode)
            .map(|module| (module.start, module.end))
            .collect()
    }

    /// Writes why the process ends.
    pub fn fail(&self, status: u32, parts: &[&[u8]]) {
        let control = self.control();
        let mut at = 0;
        for byte in parts.iter().flat_map(|part| part.iter()).take(512) {
            // SAFETY: within the array; whoever comes second writes the same table, harmlessly.
            unsafe { (*self.control_mut()).detail[at] = *byte };
            at += 1;
        }
        control.detail_length.store(at as u32, Ordering::Release);
        control.status.store(status, Ordering::Release);
    }

    /// Writes the path of a program into the request channel, cut to its size.
    pub fn request_path(&self, path: &[u8]) {
        for (index, byte) in path.iter().take(4095).chain([&0]).enumerate() {
            // SAFETY: within the array; the writer owns the request channel.
            unsafe { (*self.control_mut()).request_path[index] = *byte };
        }
    }

    /// Sets a slot's class.
    pub fn slot_class(&self, slot: u32, class: u8) {
        // SAFETY: within the array, under the engine's lock.
        unsafe { (*self.control_mut()).slot_class[slot as usize] = class };
    }
}
