//! The records of the target's events: which threads begin, switch and end, and the samples on a CPU.

use super::*;
use crate::perfdata::record::{Raw, comm, kind, misc, task};
use crate::wait_sampler::switch_log::Event;

impl WaitSampler<'_> {
    /// Moves records into the file; returns the samples on a CPU.
    pub(super) fn drain(&mut self) -> io::Result<Vec<CpuSample>> {
        let mut bytes = Vec::new();
        let round = monotonic_ns();
        if let Some(opened) = &mut self.cpu_clock {
            opened.drain(&mut bytes)?;
        }
        let mut sampled = Vec::new();
        let mut at = 0;
        while let Some((raw, size)) = Raw::parse(&bytes[at..]) {
            let whole = &bytes[at..at + size];
            at += size;
            match raw.kind {
                kind::SAMPLE => {
                    let word = |n: usize| {
                        let word = raw.body.get(n * 8..n * 8 + 8)?;
                        Some(u64::from_le_bytes(word.try_into().ok()?))
                    };
                    let (Some(ids), Some(time), Some(weight)) =
                        (word(1), word(2), self.thinning.next_weight())
                    else {
                        continue;
                    };
                    if self.writer.written() > MAX_BYTES {
                        continue;
                    }
                    sampled.push(CpuSample {
                        tid: (ids >> 32) as i32,
                        time,
                        weight,
                    });
                }
                kind::FORK => {
                    if let Some(new) = task(&raw) {
                        let parent = if new.pid == new.ppid { 0 } else { new.ppid };
                        let began = record_time(&raw);
                        self.switches.add(began, new.tid, Event::Begins);
                        if parent != 0 {
                            self.scripts.forked(parent, new.pid);
                        }
                        let started = Some((began, new.ptid));
                        self.add_thread(new.pid, new.tid, parent, started);
                    }
                }
                kind::EXIT => {
                    if let Some(gone) = task(&raw) {
                        self.switches.add(record_time(&raw), gone.tid, Event::Ends);
                        self.ended(gone.tid, record_time(&raw));
                    }
                }
                kind::SWITCH => {
                    if let Some(tid) = record_thread(&raw) {
                        let event = match raw.misc & (misc::SWITCH_OUT | misc::SWITCH_OUT_PREEMPT) {
                            0 => Event::In,
                            misc::SWITCH_OUT => Event::Blocks,
                            _ => Event::Preempted,
                        };
                        self.switches.add(record_time(&raw), tid, event);
                        self.count_switch(tid, event);
                    }
                    continue;
                }
                kind::COMM => {
                    if let Some((pid, tid, name, exec)) = comm(&raw) {
                        self.renamed(tid, record_time(&raw), name);
                        if exec {
                            self.code.remove(&pid);
                            self.variables.retain(|(of, _), _| *of != pid);
                            self.scripts.executed(pid);
                            // Its start may be in another buffer, and be read later.
                            let process =
                                self.processes.entry(pid).or_insert_with(|| WatchedProcess {
                                    pid,
                                    ..WatchedProcess::default()
                                });
                            process.executed = true;
                        }
                        if exec && pid == self.leader {
                            self.starter = None;
                            self.began = record_time(&raw);
                            // It is on a CPU; its start was not recorded.
                            self.switches.add(self.began, pid, Event::Begins);
                            self.switches.add(self.began, pid, Event::In);
                            self.add_thread(pid, pid, 0, None);
                            if let Some(index) = self.indices.get(&pid) {
                                self.threads[*index as usize].began = self.began;
                            }
                        }
                    }
                }
                kind::MMAP2 if raw.misc & misc::CPUMODE == misc::USER => {
                    if let Some(map) = crate::perfdata::record::mmap(&raw)
                        && map.executable
                    {
                        self.code.remove(&map.pid);
                    }
                }
                _ => {}
            }
            self.writer.append(whole)?;
        }
        if !bytes.is_empty() {
            self.writer.finish_round()?;
        }
        if let Some(wakes) = &mut self.wakes {
            let switches = &mut self.switches;
            wakes.drain(&mut |time, tid| switches.add(time, tid, Event::Wakes))?;
        }
        self.switches.end_of_round(round);
        self.take_whole_lives();
        self.drain_calls(round)?;
        Ok(sampled)
    }

    fn count_switch(&mut self, tid: i32, event: Event) {
        if let Some(index) = self.indices.get(&tid) {
            let thread = &mut self.threads[*index as usize];
            thread.blocks += u64::from(event == Event::Blocks);
            thread.preemptions += u64::from(event == Event::Preempted);
        }
    }

    fn drain_calls(&mut self, round: u64) -> io::Result<()> {
        if let Some((calls, log)) = &mut self.requests {
            calls.drain(round, &mut |record| log.add(record))?;
            let accepted = &mut self.accepted;
            log.end_of_round(round, &mut |pid, descriptor| {
                accepted.is_accepted(pid, descriptor)
            });
        }
        Ok(())
    }
}

/// The thread of a record that is not a sample: the trailer begins with process and thread.
fn record_thread(raw: &Raw<'_>) -> Option<i32> {
    let at = raw.body.len().checked_sub(20)?;
    let word = raw.body.get(at..)?.first_chunk::<4>()?;
    Some(i32::from_le_bytes(*word))
}

/// When a record that is not a sample was made, ns: its trailer ends with time and CPU.
fn record_time(raw: &Raw<'_>) -> u64 {
    let time = raw
        .body
        .len()
        .checked_sub(16)
        .and_then(|at| raw.body[at..].first_chunk::<8>());
    time.map_or_else(monotonic_ns, |time| u64::from_le_bytes(*time))
}
