//! The stack of a sample: recorded call chains, unwound stack copies, nodes of the call tree.

use super::{CachedStack, RECENT_THREADS, STACK_CACHE_BITS, Scan};
use crate::perfdata::byte_cursor::Cursor;
use crate::perfdata::record::{self, CONTEXT_KERNEL, CONTEXT_MAX, CONTEXT_USER, misc};
use crate::reader::sample_tables::{Frame, Sample, StackId, ThreadId};
use crate::reader::stack_unwinder::ProcessUnwinder;
use crate::reader::x86_64::{general_registers, user_regs};

/// `PERF_SAMPLE_REGS_ABI_64`: registers of a 64-bit process.
const ABI_64: u64 = 2;

impl Scan<'_> {
    pub(super) fn sample(&mut self, record: &record::SampleRecord<'_>, flags: u16) -> Sample {
        let mode = flags & misc::CPUMODE;
        let kernel = mode == misc::KERNEL || mode == misc::GUEST_KERNEL;
        let (pid, tid) = (record.pid, record.tid);
        if record.time >= self.next_change {
            self.advance(record.time);
        }
        let thread = self.thread_of(pid, tid);
        let mut truncated = false;
        let stack = if self.stacks {
            self.chain.clear();
            self.chain.push((record.ip, false));
            self.frame_pointer_chain(record.chain, kernel);
            if !record.stack.is_empty() {
                truncated = !self.unwind(record, kernel);
            }
            self.intern_stack(pid, tid)
        } else {
            self.flat_stack(pid, record.ip)
        };
        let totals = &mut self.tables.totals;
        totals.first = if totals.samples == 0 {
            record.time
        } else {
            totals.first.min(record.time)
        };
        totals.last = totals.last.max(record.time);
        totals.samples += 1;
        totals.weight = totals.weight.wrapping_add(record.period);
        totals.kernel += u64::from(kernel);
        totals.copied_stacks += u64::from(!record.stack.is_empty());
        totals.truncated += u64::from(truncated);
        Sample {
            time: record.time,
            pid,
            tid,
            weight: record.period,
            kernel,
            location: self.tables.frame(stack).location,
            stack,
            thread,
            registers: general_registers(self.regs_mask, record.regs)
                .filter(|_| record.abi == ABI_64),
            data: record.data,
        }
    }

    /// The thread under its present name. Most samples have the same thread as the one before.
    fn thread_of(&mut self, pid: i32, tid: i32) -> ThreadId {
        let slot = tid as usize % RECENT_THREADS;
        if let Some((known, id)) = self.recent[slot]
            && known == (pid, tid)
        {
            return id;
        }
        if !self.threads.contains_key(&tid) {
            self.name_thread(pid, tid, "");
        }
        let id = self.threads.get(&tid).map_or(ThreadId(0), |t| t.id);
        self.recent[slot] = Some(((pid, tid), id));
        id
    }

    /// The stack that has the sampled address only.
    fn flat_stack(&mut self, pid: i32, address: u64) -> StackId {
        if self.stack_cache.is_empty() {
            self.stack_cache
                .resize(1 << STACK_CACHE_BITS, CachedStack::default());
        }
        let key = address ^ u64::from(pid.cast_unsigned()) << 32;
        let hash = key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - STACK_CACHE_BITS);
        let known = self.stack_cache[hash as usize];
        if known.generation == self.generation
            && (known.address, known.pid) == (address, pid)
            && let Some(stack) = known.stack
        {
            return stack;
        }
        let stack = self.look_up_flat(pid, address);
        self.stack_cache[hash as usize] = CachedStack {
            address,
            pid,
            generation: self.generation,
            stack: Some(stack),
        };
        stack
    }

    fn look_up_flat(&mut self, pid: i32, address: u64) -> StackId {
        let location = self.location(pid, address, false);
        let index = location.0 as usize;
        if self.flat.len() <= index {
            self.flat.resize(index + 1, None);
        }
        if let Some(known) = self.flat[index] {
            return known;
        }
        let frame = Frame {
            parent: None,
            location,
            is_return_address: false,
        };
        let id = self.tables.intern_frame(frame);
        self.flat[index] = Some(id);
        id
    }

    /// Appends the callers in a recorded chain, innermost first, to the chain.
    fn frame_pointer_chain(&mut self, chain: &[u8], in_kernel: bool) {
        let mut cursor = Cursor::new(chain);
        // The first entry of the sample's own mode is the sample's address; the first entry of the
        // user part of a kernel sample is where user code entered the kernel.
        let mut at_start = true;
        let mut exact = false;
        while let Some(address) = cursor.u64() {
            if address >= CONTEXT_MAX {
                exact = match address {
                    CONTEXT_KERNEL => !in_kernel,
                    CONTEXT_USER => in_kernel,
                    _ => false,
                };
                continue;
            }
            if !at_start || exact {
                self.chain.push((address, !exact));
            }
            at_start = false;
            exact = false;
        }
    }

    /// Appends the user frames unwound from a stack copy; returns false if unwinding does not reach
    /// the outermost frame.
    fn unwind(&mut self, record: &record::SampleRecord<'_>, kernel: bool) -> bool {
        let Some(regs) = user_regs(self.regs_mask, record.regs).filter(|_| record.abi == ABI_64)
        else {
            return false;
        };
        let Some(process) = self.processes.get_mut(&record.pid) else {
            return false;
        };
        if process
            .unwinder
            .as_ref()
            .is_none_or(|u| u.is_stale(&process.space))
        {
            let modules = &self.tables.modules;
            process.unwinder = Some(ProcessUnwinder::new(
                &process.space,
                modules,
                &mut self.files,
            ));
        }
        self.unwound.clear();
        let Some(unwinder) = &mut process.unwinder else {
            return false;
        };
        let complete = unwinder.unwind(regs, record.stack, &mut self.unwound);
        // In user mode the innermost frame is the sample's address.
        let skip = usize::from(!kernel);
        let frames = self.unwound.iter().enumerate().skip(skip);
        self.chain
            .extend(frames.map(|(depth, &address)| (address, depth > 0)));
        complete
    }

    /// Interns the chain from the outermost frame inwards, starting from the frames that it shares
    /// with the thread's last stack.
    fn intern_stack(&mut self, pid: i32, tid: i32) -> StackId {
        let generation = self.processes.get(&pid).map_or(0, |p| p.space.generation);
        let mut last = Vec::new();
        if let Some(thread) = self.threads.get_mut(&tid)
            && thread.pid == pid
        {
            last = std::mem::take(&mut thread.last);
            if thread.last_generation != generation {
                last.clear();
            }
        }
        let common = self
            .chain
            .iter()
            .rev()
            .zip(&last)
            .take_while(|(new, old)| (new.0, new.1) == (old.0, old.1))
            .count();
        last.truncate(common);
        let mut parent = last.last().map(|l| l.2);
        for depth in (0..self.chain.len() - common).rev() {
            let (address, is_return) = self.chain[depth];
            let location = self.location(pid, address, is_return);
            let id = self.tables.intern_frame(Frame {
                parent,
                location,
                is_return_address: is_return,
            });
            last.push((address, is_return, id));
            parent = Some(id);
        }
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.last = last;
            thread.last_generation = generation;
        }
        // The chain has at least the sample's address.
        parent.unwrap_or(StackId(0))
    }
}
