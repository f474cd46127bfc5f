//! The user's functions with the time of what they call: where time is spread over many functions,
//! the one that has them called is the place.

use std::collections::BTreeSet;

use genba_attribution::ResolvedProfile;
use genba_attribution::counted::{ExecutedFunctions, InclusiveTime};
use genba_model::CodePoint;
use genba_profile::reader::ModuleId;

use crate::constants::search_limits::{MAX_CALLEES, MAX_FUNCTIONS_WITH_CALLEES};
use crate::constants::time_shares::MIN_SHARE_WITH_CALLEES;
use crate::input::analysis_input::{FunctionWithCallees, RuntimeUse};
use crate::input::call_paths::CallPaths;
use crate::input::place_of_frames::place_of;
use crate::input::runtime_services::{ASKING, OPENING};

/// Functions of the user's that take much of the time with what they call, most first. Functions that
/// call one another are left out: their time is that of all of them.
pub(crate) fn functions_with_callees(
    resolved: &ResolvedProfile,
    names: &ExecutedFunctions,
    paths: &mut CallPaths<'_>,
    inclusive: &InclusiveTime,
    runtime: &[RuntimeUse],
) -> Vec<FunctionWithCallees> {
    let Some(joined) = &resolved.joined else {
        return Vec::new();
    };
    let naming = runtime.iter().filter(|one| {
        let service = one.service.as_str();
        OPENING.contains(&service) || ASKING.contains(&service)
    });
    let naming: BTreeSet<(&str, &str)> = naming
        .flat_map(|one| &one.users)
        .map(|user| (user.function.as_str(), user.module.as_str()))
        .collect();
    let mut ids: Vec<u32> = (0..names.list.len() as u32)
        .filter(|&id| inclusive.share(id) >= MIN_SHARE_WITH_CALLEES && !inclusive.is_recursive(id))
        .collect();
    ids.sort_by(|&a, &b| inclusive.share(b).total_cmp(&inclusive.share(a)));
    let mut found = Vec::new();
    for id in ids {
        let one = &names.list[id as usize];
        let at = CodePoint {
            module: one.module,
            address: one.address,
        };
        if !one.known || one.name.ends_with("@plt") || !paths.is_users(at, &one.name) {
            continue;
        }
        let led_to = led_to(inclusive, id, if naming.is_empty() { 0 } else { MAX_DEPTH });
        let names_files_in = led_to.into_iter().filter_map(|id| {
            let one = &names.list[id as usize];
            let found = (one.name.as_str(), paths.module_path(one.module));
            (naming.contains(&found)).then(|| (found.0.to_owned(), found.1.to_owned()))
        });
        let names_files_in = names_files_in.collect();
        let callees = inclusive.callees(id).into_iter().take(MAX_CALLEES);
        found.push(FunctionWithCallees {
            function: one.name.clone(),
            module: paths.module_path(one.module).to_owned(),
            address: one.address,
            place: place_of(&names.code.frames_at(ModuleId(at.module), at.address)),
            share: inclusive.share(id),
            own_share: inclusive.own_share(id),
            calls: joined.scaled(joined.index.entered(one.module, one.address, one.end)),
            callees: callees
                .map(|part| {
                    let callee = &names.list[part.callee as usize];
                    let module = paths.module_path(callee.module).to_owned();
                    let calls = joined.scaled(part.calls);
                    (callee.name.clone(), module, part.share, calls)
                })
                .collect(),
            callers: paths.users(&[id]).1,
            names_files_in,
        });
        if found.len() >= MAX_FUNCTIONS_WITH_CALLEES {
            break;
        }
    }
    found
}

/// Calls that are followed from a function to those that open files.
const MAX_DEPTH: u32 = 8;

/// A function and all that its calls lead to, so many calls deep.
fn led_to(inclusive: &InclusiveTime, from: u32, depth: u32) -> BTreeSet<u32> {
    let mut all = BTreeSet::from([from]);
    let mut last = vec![from];
    for _ in 0..depth {
        let callees = last.iter().flat_map(|&id| inclusive.callees(id));
        let new: BTreeSet<u32> = callees.map(|one| one.callee).collect();
        last = new.into_iter().filter(|&id| all.insert(id)).collect();
    }
    all
}
