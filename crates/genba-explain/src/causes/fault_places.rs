//! Where page faults were taken: of a recording of page faults, with stacks.

use std::collections::HashMap;

use genba_code::CodeFrame;
use genba_profile::reader::{ModuleId, StackId};

use super::build::{is_own, place_of};
use super::frame::FaultPlace;
use super::own_code::is_toolchain_file;
use super::services::is_library;
use crate::scene::Scene;

/// Frames that are looked at for the user's own code.
const DEEPEST: usize = 64;

/// Places that are kept.
const MOST: usize = 16;

impl Scene {
    /// The user's own lines in which the samples of this recording were taken, or that called the
    /// library in which they were; most first.
    #[must_use]
    pub fn user_places(&self) -> Vec<FaultPlace> {
        let all = (self.hits.all.weight as f64).max(1.0);
        let mut found: HashMap<(ModuleId, Option<String>, Option<u32>, String), FaultPlace> =
            HashMap::new();
        for (leaf, hits) in (0u32..).zip(&self.hits.stacks) {
            if hits.weight == 0 {
                continue;
            }
            let Some((function, address, frames)) = self.users_frame(StackId(leaf)) else {
                continue;
            };
            let place = place_of(&frames);
            let function = &self.functions[function as usize];
            let key = (
                function.module,
                place.file.clone(),
                place.line,
                function.name.clone(),
            );
            let one = found.entry(key).or_insert_with(|| FaultPlace {
                function: function.name.clone(),
                module: self.code.module_name(function.module),
                address,
                place,
                share: 0.0,
            });
            one.share += hits.weight as f64 / all;
        }
        let mut list: Vec<FaultPlace> = found.into_values().collect();
        list.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.address.cmp(&b.address)));
        list.truncate(MOST);
        list
    }

    /// The innermost frame of a stack that is the user's own.
    fn users_frame(&self, leaf: StackId) -> Option<(u32, u64, Vec<CodeFrame>)> {
        let mut next = Some(leaf);
        for _ in 0..DEEPEST {
            let id = next?;
            next = self.tables.frame(id).parent;
            let Some(place) = self.frame_place(id) else {
                continue;
            };
            let function = &self.functions[place.function as usize];
            if self.code.is_kernel(function.module)
                || !is_own(&self.code.module_name(function.module))
            {
                continue;
            }
            let frames = self.code.frames_at(function.module, place.address);
            let mut files = frames.iter().filter_map(|frame| frame.file.as_deref());
            let users = files.clone().any(|file| !is_toolchain_file(file));
            if users || files.next().is_none() && !is_library(&function.name) {
                return Some((place.function, place.address, frames));
            }
        }
        None
    }
}
