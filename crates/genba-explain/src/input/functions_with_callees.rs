//! The user's functions with the time of what they call: where time is spread over many functions,
//! the one that has them called is the place.

use genba_attribution::ResolvedProfile;
use genba_attribution::counted::{ExecutedFunctions, InclusiveTime};
use genba_model::CodePoint;
use genba_profile::reader::ModuleId;

use crate::constants::search_limits::{MAX_CALLEES, MAX_FUNCTIONS_WITH_CALLEES};
use crate::constants::time_shares::MIN_SHARE_WITH_CALLEES;
use crate::input::analysis_input::FunctionWithCallees;
use crate::input::call_paths::CallPaths;
use crate::input::place_of_frames::place_of;

/// Functions of the user's that take much of the time with what they call, most first. Functions that
/// call one another are left out: their time is that of all of them.
pub(crate) fn functions_with_callees(
    resolved: &ResolvedProfile,
    names: &ExecutedFunctions,
    paths: &mut CallPaths<'_>,
    inclusive: &InclusiveTime,
) -> Vec<FunctionWithCallees> {
    let Some(joined) = &resolved.joined else {
        return Vec::new();
    };
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
        });
        if found.len() >= MAX_FUNCTIONS_WITH_CALLEES {
            break;
        }
    }
    found
}
