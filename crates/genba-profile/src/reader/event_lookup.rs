//! The event to which a record belongs.

use super::FastMap;
use crate::perfdata::attr::sample;
use crate::perfdata::feature_sections::FileEvent;
use crate::perfdata::record::{Layout, Raw};

/// The events of a recording: their sample layouts and their ids.
pub struct EventLookup {
    layouts: Vec<Layout>,
    ids: FastMap<u64, u32>,
    /// All events have the id at the same place, so the first one's layout finds it.
    one_layout: bool,
}

impl EventLookup {
    /// For at least one event.
    pub fn new(events: &[FileEvent]) -> Self {
        let mut ids = FastMap::default();
        for (index, FileEvent { ids: own, .. }) in events.iter().enumerate() {
            ids.extend(own.iter().map(|&id| (id, index as u32)));
        }
        let first = events[0].attr.sample_type;
        let one_layout = events.len() == 1
            || first & sample::IDENTIFIER != 0
            || events.iter().all(|e| e.attr.sample_type == first);
        Self {
            layouts: events.iter().map(|e| Layout::new(&e.attr)).collect(),
            ids,
            one_layout,
        }
    }

    /// The index and layout of a record's event.
    #[inline]
    pub fn of(&self, raw: &Raw<'_>) -> (usize, &Layout) {
        let mut event = 0;
        if self.layouts.len() > 1 && self.one_layout {
            let id = self.layouts[0].id(raw);
            event = id
                .and_then(|id| self.ids.get(&id))
                .map_or(0, |&i| i as usize);
        }
        (event, &self.layouts[event])
    }
}
