//! Time in functions that are not the user's own code, by the user's lines that call them.

use std::path::Path;

use genba_attribution::counted::{ExecutedFunctions, Joined};
use genba_attribution::{Function, FunctionId, ResolvedProfile};
use genba_model::CodePoint;
use genba_profile::jit::code_index::is_generated_code;

use crate::constants::search_limits::MAX_LIBRARY_FUNCTIONS;
use crate::input::analysis_input::{FunctionInput, LibraryTime, UserCall};
use crate::input::call_paths::{CallPaths, Follow};
use crate::input::from_profile::is_own;
use crate::input::runtime_services::is_library;
use genba_symbols::is_toolchain_file;

/// Index of a function of the profile among those that were executed.
fn executed_as(
    resolved: &ResolvedProfile,
    joined: &Joined,
    names: &ExecutedFunctions,
    function: &Function,
) -> Option<u32> {
    let path = resolved.code.module_name(function.module);
    let build_id = resolved.code.build_id(function.module);
    let module = joined.index.module(&path, build_id.as_deref())?;
    names.at(CodePoint {
        module,
        address: function.address,
    })
}

/// The user's calls that lead to a function, most first; none where that was not counted.
pub(crate) fn user_callers(
    resolved: &ResolvedProfile,
    paths: Option<&mut CallPaths<'_>>,
    names: Option<&ExecutedFunctions>,
    function: &Function,
    follow: Follow,
) -> Vec<UserCall> {
    let found = (resolved.joined.as_ref().zip(names))
        .and_then(|(joined, names)| executed_as(resolved, joined, names, function));
    match (found, paths) {
        (Some(id), Some(paths)) => paths.callers(&[id], follow).1,
        _ => Vec::new(),
    }
}

/// Module of the generated code of all processes, as symbolisation names the code of a perf map that
/// is still there.
const GENERATED: &str = "[jit]";

/// Time in functions of libraries, most first. `hot` has the weight of each function,
/// `analysed` those whose code was looked at. Generated code of one name is one function: each run of
/// the command generates it anew.
pub(crate) fn library_time(
    resolved: &ResolvedProfile,
    hot: &[(u64, FunctionId)],
    analysed: &[FunctionInput],
    names: Option<&ExecutedFunctions>,
    mut paths: Option<&mut CallPaths<'_>>,
) -> Vec<LibraryTime> {
    let all = (resolved.hits.all.weight as f64).max(1.0);
    let mut list: Vec<LibraryTime> = Vec::new();
    for &(weight, id) in hot {
        if list.len() >= MAX_LIBRARY_FUNCTIONS {
            break;
        }
        let function = &resolved.functions[id as usize];
        if resolved.code.is_kernel(function.module) || !function.known {
            continue;
        }
        let module = resolved.code.module_name(function.module);
        let generated = module == GENERATED || is_generated_code(Path::new(&module));
        let share = weight as f64 / all;
        let other_run = |one: &&mut LibraryTime| {
            generated && one.module == GENERATED && one.function == function.name
        };
        if let Some(one) = list.iter_mut().find(other_run) {
            one.share += share;
            continue;
        }
        let known = (analysed.iter()).find(|f| f.module == module && f.address == function.address);
        let users = match known {
            Some(input) => input.is_users(),
            None => is_users(resolved, function, &module),
        };
        if users {
            continue;
        }
        list.push(LibraryTime {
            function: function.name.clone(),
            share,
            calls: resolved.executed(function).map(|executed| executed.calls()),
            users: user_callers(
                resolved,
                paths.as_deref_mut(),
                names,
                function,
                Follow::OwnCode,
            ),
            module: match generated {
                true => GENERATED.to_owned(),
                false => module,
            },
        });
    }
    list.sort_by(|a, b| b.share.total_cmp(&a.share));
    list
}

/// Whether a function is the user's by the file of its first instruction, or without line
/// information by its name.
fn is_users(resolved: &ResolvedProfile, function: &Function, module: &str) -> bool {
    let frames = resolved.code.frames_at(function.module, function.address);
    let mut files = frames.iter().filter_map(|frame| frame.file.as_deref());
    let users = files.clone().any(|file| !is_toolchain_file(file));
    is_own(module)
        && (users
            || files.next().is_none()
                && !is_library(&function.name)
                && !function.name.ends_with("@plt"))
}
