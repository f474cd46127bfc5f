//! Records in time order with bounded memory.
//!
//! Every CPU's records are in order among themselves but not with those of others. perf and
//! genba write `FINISHED_ROUND` after each pass over all rings: nothing after round N+1 is older
//! than the newest of round N (tools/perf/util/ordered-events.c), so that two rounds at most
//! have to be held. Here "held" means 16 bytes a record; the records stay in the file.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use crate::perfdata::attr::sample;
use crate::perfdata::feature::FileEvent;
use crate::perfdata::file::trailing;
use crate::perfdata::record::{Layout, QuickLayout, Raw, kind};
use crate::reader::hash::FastMap;
use crate::reader::scan::Place;
use crate::reader::sieve::Sieve;

/// Gives the kernel's records in time order.
pub struct Ordered<'a, 's> {
    data: &'a [u8],
    /// Where in the file the data begin.
    begins: usize,
    progress: &'a AtomicUsize,
    /// The layout of samples, if there is one and it can be read quickly.
    quick: Option<QuickLayout>,
    /// Chooses among the samples.
    pub(super) sieve: Option<Sieve<'s, 's>>,
    at: usize,
    layouts: Vec<Layout>,
    ids: FastMap<u64, u32>,
    /// All events lay their ids out alike, so the first one's layout finds them.
    one_layout: bool,
    queue: Vec<(u64, usize)>,
    ready: std::vec::IntoIter<(u64, usize)>,
    newest: u64,
    newest_of_last_round: u64,
    ended: bool,
    /// The data end in the middle of a record.
    pub cut_short: bool,
    /// A compressed record was met.
    pub compressed: bool,
}

impl<'a, 's> Ordered<'a, 's> {
    /// Starts at the first record. With a sieve, the samples that it keeps back are left out.
    pub(super) fn new(place: Place<'a>, sieve: Option<Sieve<'s, 's>>) -> Self {
        let structure = place.structure;
        let events = &structure.events;
        let layouts: Vec<Layout> = events.iter().map(|e| Layout::new(&e.attr)).collect();
        let mut ids = FastMap::default();
        for (index, FileEvent { ids: own, .. }) in events.iter().enumerate() {
            ids.extend(own.iter().map(|&id| (id, index as u32)));
        }
        let first = events[0].attr.sample_type;
        let one_layout = events.len() == 1
            || first & sample::IDENTIFIER != 0
            || events.iter().all(|e| e.attr.sample_type == first);
        Self {
            data: &place.data[structure.data.clone()],
            begins: structure.data.start,
            progress: place.progress,
            quick: match &layouts[..] {
                [one] => one.quick(),
                _ => None,
            },
            sieve,
            at: 0,
            layouts,
            ids,
            one_layout,
            queue: Vec::new(),
            ready: Vec::new().into_iter(),
            newest: 0,
            newest_of_last_round: 0,
            ended: false,
            cut_short: false,
            compressed: false,
        }
    }

    /// Index of the event that a record belongs to.
    #[inline]
    fn event_of(&self, raw: &Raw<'_>) -> usize {
        if self.layouts.len() == 1 || !self.one_layout {
            return 0;
        }
        let id = self.layouts[0].id(raw);
        id.and_then(|id| self.ids.get(&id))
            .map_or(0, |&i| i as usize)
    }

    /// The next record with the index and the layout of its event.
    pub fn next(&mut self) -> Option<(usize, Layout, Raw<'a>)> {
        loop {
            if let Some((_, at)) = self.ready.next() {
                // It was parsed from here before.
                let (raw, _) = self.data.get(at..).and_then(Raw::parse)?;
                let event = self.event_of(&raw);
                return Some((event, self.layouts[event], raw));
            }
            if self.ended {
                return None;
            }
            self.read_round();
        }
    }

    /// Reads up to the end of a round and makes ready what cannot be overtaken any more.
    fn read_round(&mut self) {
        loop {
            if let (Some(sieve), Some(quick)) = (&mut self.sieve, &self.quick) {
                let (at, newest) = sieve.samples(self.data, self.at, quick, &mut self.queue);
                self.at = at;
                self.newest = self.newest.max(newest);
            }
            let Some((raw, size)) = self.data.get(self.at..).and_then(Raw::parse) else {
                break;
            };
            let at = self.at;
            self.progress.store(self.begins + at, Relaxed);
            // Below 8 would stand still; `Raw::parse` has refused it.
            self.at = at.saturating_add(size).saturating_add(trailing(&raw));
            match raw.kind {
                kind::FINISHED_ROUND => {
                    if let Some(sieve) = &mut self.sieve {
                        sieve.end_round(self.newest_of_last_round, &mut self.queue);
                    }
                    self.release(self.newest_of_last_round);
                    self.newest_of_last_round = self.newest;
                    if self.ready.len() > 0 {
                        return;
                    }
                }
                kind::COMPRESSED | kind::COMPRESSED2 => {
                    self.compressed = true;
                    break;
                }
                n if n < kind::USER_FIRST => {
                    let event = self.event_of(&raw);
                    let layout = &self.layouts[event];
                    // Without a time of its own a record keeps its place in the file.
                    let time = layout.time(&raw).unwrap_or(self.newest);
                    self.newest = self.newest.max(time);
                    let taken = match &mut self.sieve {
                        Some(sieve) if n == kind::SAMPLE => {
                            sieve.sample(event, layout, raw.body, time, at)
                        }
                        Some(sieve) => {
                            sieve.other(&raw);
                            true
                        }
                        None => true,
                    };
                    if taken {
                        self.queue.push((time, at));
                    }
                }
                _ => {}
            }
        }
        self.cut_short = self.at != self.data.len() && !self.compressed;
        self.ended = true;
        if let Some(sieve) = &mut self.sieve {
            sieve.end_round(u64::MAX, &mut self.queue);
        }
        self.release(u64::MAX);
    }

    fn release(&mut self, up_to: u64) {
        // Stable and adaptive: the queue is made of a few ascending runs.
        self.queue.sort();
        let n = self.queue.partition_point(|&(time, _)| time <= up_to);
        let rest = self.queue.split_off(n);
        self.ready = std::mem::replace(&mut self.queue, rest).into_iter();
    }
}
