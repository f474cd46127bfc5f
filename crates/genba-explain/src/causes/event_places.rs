//! Where an event of the processor came: of a recording of that event.

use super::frame::{EventCounts, EventPlace, Frame};
use crate::scene::Scene;

impl Scene {
    /// How often the event of this recording (of so many runs) came at the instructions of a
    /// frame that was made of another recording of the same program, in one run.
    #[must_use]
    pub fn event_counts(&self, frame: &Frame, runs: usize) -> EventCounts {
        let runs = runs.max(1) as f64;
        let mut places = Vec::new();
        for (id, hits) in self.function_hits() {
            let found = &self.functions[id as usize];
            let module = self.code.module_name(found.module);
            let same = |f: &super::frame::FunctionFrame| {
                f.address == found.address && f.module == module && found.known
            };
            let Some(function) = frame.functions.iter().position(same) else {
                continue;
            };
            let code = &frame.functions[function].code;
            for (address, hits) in hits {
                if let Ok(at) = code.binary_search_by_key(&address, |one| one.address) {
                    places.push(EventPlace {
                        function,
                        at,
                        times: hits.weight as f64 / runs,
                    });
                }
            }
        }
        places.sort_by_key(|one| (one.function, one.at));
        let all = self.hits.all;
        EventCounts {
            event: self.event.name.clone(),
            simulated: false,
            period: all.weight as f64 / all.samples.max(1) as f64 / runs,
            places,
        }
    }
}
