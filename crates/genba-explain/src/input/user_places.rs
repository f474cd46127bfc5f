//! The user's own lines behind samples with stacks: where page faults were taken, and who asked for
//! the copies that take the time.

use std::collections::HashMap;

use genba_profile::reader::{ModuleId, StackId};
use genba_symbols::CodeFrame;

use crate::constants::search_limits::{MAX_STACK_DEPTH, MAX_USER_PLACES};
use crate::input::analysis_input::UserPlace;
use crate::input::from_profile::is_own;
use crate::input::place_of_frames::place_of;
use crate::input::runtime_services::{is_copy_function, is_library};
use genba_attribution::ResolvedProfile;
use genba_symbols::{is_system_module, is_toolchain_file};

/// The user's own lines in which the samples of this recording were taken, or that called the
/// library in which they were; most first.
#[must_use]
pub fn user_places(resolved: &ResolvedProfile) -> Vec<UserPlace> {
    places_where(resolved, &|_| true)
}

/// The user's own lines whose copies of memory these samples were taken in, as shares of all
/// samples in copies; most first.
#[must_use]
pub fn copy_places(resolved: &ResolvedProfile) -> Vec<UserPlace> {
    places_where(resolved, &|leaf| {
        resolved.frame_place(leaf).is_some_and(|place| {
            let function = &resolved.functions[place.function as usize];
            is_copy_function(&function.name) && !is_own(&resolved.code.module_name(function.module))
        })
    })
}

fn places_where(resolved: &ResolvedProfile, counts: &dyn Fn(StackId) -> bool) -> Vec<UserPlace> {
    let mut all = 0.0;
    let mut found: HashMap<(ModuleId, Option<String>, Option<u32>, String), UserPlace> =
        HashMap::new();
    for (leaf, hits) in (0u32..).zip(&resolved.hits.stacks) {
        if hits.weight == 0 || !counts(StackId(leaf)) {
            continue;
        }
        all += hits.weight as f64;
        let Some((function, address, frames)) = users_frame(resolved, StackId(leaf)) else {
            continue;
        };
        let place = place_of(&frames);
        let function = &resolved.functions[function as usize];
        let key = (
            function.module,
            place.file.clone(),
            place.line,
            function.name.clone(),
        );
        let one = found.entry(key).or_insert_with(|| UserPlace {
            function: function.name.clone(),
            module: resolved.code.module_name(function.module),
            address,
            place,
            share: 0.0,
        });
        one.share += hits.weight as f64;
    }
    let mut list: Vec<UserPlace> = found.into_values().collect();
    list.iter_mut()
        .for_each(|one| one.share /= f64::max(all, 1.0));
    list.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.address.cmp(&b.address)));
    list.truncate(MAX_USER_PLACES);
    list
}

/// The innermost frame of a stack that is the user's own; one of a library of the system without lines only if
/// there is none with a line of theirs.
fn users_frame(resolved: &ResolvedProfile, leaf: StackId) -> Option<(u32, u64, Vec<CodeFrame>)> {
    let mut next = Some(leaf);
    let mut of_system = None;
    for _ in 0..MAX_STACK_DEPTH {
        let Some(id) = next else { break };
        next = resolved.tables.frame(id).parent;
        let Some(place) = resolved.frame_place(id) else {
            continue;
        };
        let function = &resolved.functions[place.function as usize];
        if resolved.code.is_kernel(function.module)
            || !is_own(&resolved.code.module_name(function.module))
        {
            continue;
        }
        let frames = resolved.code.frames_at(function.module, place.address);
        let mut files = frames.iter().filter_map(|frame| frame.file.as_deref());
        let users = files.clone().any(|file| !is_toolchain_file(file));
        let found = || Some((place.function, place.address, frames.clone()));
        if users {
            return found();
        }
        if files.next().is_none() && !is_library(&function.name) {
            if !is_system_module(&resolved.code.module_name(function.module)) {
                return of_system.or_else(found);
            }
            of_system = of_system.or_else(found);
        }
    }
    of_system
}
