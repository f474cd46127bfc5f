//! Which of the user's lines ask for the runtime's services: counted calls, followed up through
//! libraries.

use std::collections::HashMap;

use genba_model::CodePoint;

use crate::input::analysis_input::RuntimeUse;
use crate::input::call_paths::{CallPaths, Follow};
use crate::input::from_profile::is_own;
use crate::input::runtime_services::service;
use genba_attribution::counted::{ExecutedFunction, ExecutedFunctions};
use genba_profile::reader::ModuleId;

/// The service that a function is the entry of, by any of the names that its address has: glibc calls
/// its `lseek` `llseek` as well.
fn service_of(
    names: &ExecutedFunctions,
    function: &ExecutedFunction,
) -> Option<(&'static str, bool)> {
    service(&function.name).or_else(|| {
        let binary = names.code.binary(ModuleId(function.module)).ok()?;
        let aliases = binary.aliases(function.address);
        aliases.iter().find_map(|alias| service(&alias.name))
    })
}

/// What the user's own code asks of the runtime.
pub(crate) fn runtime_use(paths: &mut CallPaths<'_>, names: &ExecutedFunctions) -> Vec<RuntimeUse> {
    let mut entries: HashMap<(&'static str, bool), Vec<u32>> = HashMap::new();
    for (id, one) in (0u32..).zip(&names.list) {
        let path = paths.module_path(one.module);
        if one.known
                && !one.name.ends_with("@plt")
                && let Some(key) = service_of(names, one)
                // A program's own `read` is none of the runtime's, unless it is linked statically
                // and its place is in no file of the user's.
                && (!is_own(path) || !paths.is_users(CodePoint { module: one.module, address: one.address }, &one.name))
        {
            entries.entry(key).or_default().push(id);
        }
    }
    let mut list: Vec<RuntimeUse> = entries
        .into_iter()
        .map(|((service, system_call), ids)| {
            let (calls, users) = paths.users(&ids);
            let callers_behind_wrappers = match service {
                "malloc" | "realloc" => paths.callers(&ids, Follow::Wrappers).1,
                _ => Vec::new(),
            };
            RuntimeUse {
                service: service.to_owned(),
                system_call,
                calls: calls as u64,
                users,
                callers_behind_wrappers,
            }
        })
        .filter(|one| one.calls > 0)
        .collect();
    list.sort_by(|a, b| {
        b.calls
            .cmp(&a.calls)
            .then_with(|| a.service.cmp(&b.service))
    });
    list
}
