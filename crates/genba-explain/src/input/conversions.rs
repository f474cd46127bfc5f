//! Conversions between text, numbers, times and names by general library routines: which of the
//! user's own calls lead to them, and how much time they take with all that they call.

use std::collections::HashSet;

use genba_model::ConversionKind;

use crate::constants::search_limits::{
    MAX_FORMAT_BYTES, MAX_FORMATTING_FUNCTIONS, MAX_USERS_OF_CONVERSION,
};
use crate::constants::time_shares::MIN_SHARE_OF_CONVERSION;
use crate::input::analysis_input::{FunctionInput, UserCall};
use crate::input::call_paths::CallPaths;
use crate::input::conversion_routines::{
    Formatting, Routine, formatting, part_of_value, routine, routine_name,
};
use crate::input::from_profile::is_own;
use crate::input::values::CONSTANT;
use crate::patterns::invariance::value_at;
use genba_attribution::ResolvedProfile;
use genba_attribution::counted::{ExecutedFunctions, InclusiveTime, Joined};
use genba_model::CodePoint;
use genba_profile::reader::ModuleId;

/// A library routine that converts, as far as the user's own code calls it.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversion {
    /// Name without versions and underscores.
    pub routine: String,
    /// What it converts.
    pub kind: ConversionKind,
    /// Share of all time in it and in what it calls.
    pub share: f64,
    /// Calls in one run.
    pub calls: u64,
    /// The user's calls that lead to it, most first.
    pub users: Vec<ConversionUser>,
}

/// A call of the user's own that leads to a conversion.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConversionUser {
    /// The call.
    pub call: UserCall,
    /// The constant format that it hands over, where it calls the routine directly.
    pub format: Option<String>,
    /// Of streams and general formatting: values that are put in for each call.
    pub items: f64,
}

/// Conversions that take time, without formats: those need the code of the callers.
pub(crate) fn conversions(
    resolved: &ResolvedProfile,
    names: &ExecutedFunctions,
    paths: &mut CallPaths<'_>,
    inclusive: &InclusiveTime,
) -> Vec<Conversion> {
    let Some(joined) = &resolved.joined else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (id, one) in (0u32..).zip(&names.list) {
        let path = &joined.index.modules[one.module as usize].path;
        let at = CodePoint {
            module: one.module,
            address: one.address,
        };
        let share = inclusive.share(id);
        let Some(Routine { kind, .. }) = routine(&one.name).filter(|_| one.known) else {
            continue;
        };
        if share < MIN_SHARE_OF_CONVERSION
            || one.name.ends_with("@plt")
            || is_own(path) && paths.is_users(at, &one.name)
        {
            continue;
        }
        let (calls, users) = paths.users(&[id]);
        // What a routine of the table does for another one is reported at that one.
        let directly = |user: &UserCall| !user.through.iter().any(|name| routine(name).is_some());
        let users: Vec<ConversionUser> = users
            .into_iter()
            .filter(directly)
            .take(MAX_USERS_OF_CONVERSION)
            .map(|call| ConversionUser {
                call,
                ..ConversionUser::default()
            })
            .collect();
        found.push(Conversion {
            routine: routine_name(&one.name).to_owned(),
            kind,
            share,
            calls: calls as u64,
            users,
        });
    }
    found.extend(formatted(names, paths, inclusive, joined));
    found
}

/// A line of the user's own that formats through a library.
struct FormattingLine {
    /// The call that puts a value in with the most time, or the one with the most time.
    call: UserCall,
    most: f64,
    routine: String,
    share: f64,
    executions: f64,
    items: f64,
}

/// General formatting: the functions that a line calls for it, together. What one of them calls in turn is part of it.
fn formatted(
    names: &ExecutedFunctions,
    paths: &mut CallPaths<'_>,
    inclusive: &InclusiveTime,
    joined: &Joined,
) -> Vec<Conversion> {
    let mut lines: Vec<FormattingLine> = Vec::new();
    // Functions with time first: their lines are what is looked for; the others only say how many values.
    let mut list: Vec<(u32, Formatting, f64)> = (0u32..)
        .zip(&names.list)
        .filter(|(_, one)| one.known && !one.name.ends_with("@plt"))
        .filter_map(|(id, one)| Some((id, formatting(&one.name)?, inclusive.share(id))))
        .filter(|one| one.2 > 0.0)
        .collect();
    list.sort_by(|a, b| b.2.total_cmp(&a.2).then(a.0.cmp(&b.0)));
    let all: HashSet<u32> = list.iter().map(|one| one.0).collect();
    for (id, kind, share) in list.into_iter().take(MAX_FORMATTING_FUNCTIONS) {
        let one = &names.list[id as usize];
        let at = CodePoint {
            module: one.module,
            address: one.address,
        };
        let path = &joined.index.modules[one.module as usize].path;
        // Formatting that users write for types of their own is theirs.
        if is_own(path) && paths.is_users(at, &one.name) {
            continue;
        }
        let rust = is_rust_item(&one.name);
        let share = match kind {
            Formatting::Values => share_of_library(id, names, paths, inclusive),
            Formatting::Item | Formatting::Around => share,
        };
        let (calls, direct) = paths.users_but_through(id, &all);
        // Those that the library calls for a text say how many values it has.
        let counted = if rust {
            paths.users(&[id]).1
        } else {
            Vec::new()
        };
        let all_users = (direct.into_iter().map(|user| (user, true)))
            .chain(counted.into_iter().map(|user| (user, false)));
        for (user, timed) in all_users {
            let part = if timed {
                share * user.calls / calls.max(1.0)
            } else {
                0.0
            };
            let key = |one: &UserCall| {
                let place = one.place.clone();
                let address = place.line.map_or(one.address, |_| 0);
                (one.function.clone(), one.module.clone(), place, address)
            };
            let index = lines.iter().position(|line| key(&line.call) == key(&user));
            let line = match index {
                Some(index) => &mut lines[index],
                None => {
                    lines.push(FormattingLine {
                        call: user.clone(),
                        most: 0.0,
                        routine: String::new(),
                        share: 0.0,
                        executions: 0.0,
                        items: 0.0,
                    });
                    let last = lines.len() - 1;
                    &mut lines[last]
                }
            };
            if kind == Formatting::Item && rust != timed {
                line.items += user.calls * part_of_value(&one.name);
            }
            if !timed {
                continue;
            }
            line.share += part;
            line.executions = line.executions.max(user.executions as f64);
            // What puts a value in names what is done there; the rest is made for that.
            let named = if kind == Formatting::Item {
                1.0 + part
            } else {
                part
            };
            if named > line.most {
                line.most = named;
                line.call = user;
                routine_name(&one.name).clone_into(&mut line.routine);
            }
        }
    }
    let found = lines.into_iter().filter(|line| {
        line.share >= MIN_SHARE_OF_CONVERSION && line.executions > 0.0 && !line.routine.is_empty()
    });
    found
        .map(|line| {
            let items = line.items / line.executions;
            let call = UserCall {
                calls: line.executions,
                ..line.call
            };
            Conversion {
                routine: line.routine,
                kind: ConversionKind::Stream,
                share: line.share.min(1.0),
                calls: line.executions as u64,
                users: vec![ConversionUser {
                    call,
                    format: None,
                    items,
                }],
            }
        })
        .collect()
}

/// Share of all time in a function that hands values on, with what it calls of the library: what a user's type does to
/// show itself is the user's, also where a reference to one is passed on.
fn share_of_library(
    id: u32,
    names: &ExecutedFunctions,
    paths: &mut CallPaths<'_>,
    inclusive: &InclusiveTime,
) -> f64 {
    let callees = inclusive.callees(id).into_iter();
    let of_library = callees.filter(|call| {
        let callee = &names.list[call.callee as usize];
        let at = CodePoint {
            module: callee.module,
            address: callee.address,
        };
        !callee.name.starts_with("<&") && !paths.is_users(at, &callee.name)
    });
    let inside: f64 = of_library.map(|call| call.share).sum();
    inclusive.own_share(id) + inside
}

/// `<u32 as core::fmt::Display>::fmt`: called by the library's loop over the arguments.
fn is_rust_item(name: &str) -> bool {
    name.contains(" as core::fmt::")
}

/// Reads the constant formats that calls hand over.
pub(crate) fn add_formats(
    conversions: &mut [Conversion],
    functions: &[FunctionInput],
    resolved: &ResolvedProfile,
) {
    for conversion in conversions {
        let Some(location) = routine(&conversion.routine).and_then(|one| one.format) else {
            continue;
        };
        for user in &mut conversion.users {
            let call = &user.call;
            if !call.through.is_empty() {
                continue;
            }
            let caller = functions
                .iter()
                .find(|f| f.function == call.function && f.module == call.module);
            let address = caller.and_then(|function| {
                let at = function
                    .code
                    .iter()
                    .position(|i| i.address == call.address)?;
                let value = value_at(function, at, location)?;
                (value.number == CONSTANT).then_some(value.offset as u64)
            });
            user.format = address.and_then(|address| text_at(resolved, &call.module, address));
        }
    }
}

/// The string constant at an address of a module's file.
fn text_at(resolved: &ResolvedProfile, module: &str, address: u64) -> Option<String> {
    let id = resolved
        .functions
        .iter()
        .map(|function| function.module)
        .find(|&id: &ModuleId| resolved.code.module_name(id) == module)?;
    let binary = resolved.code.binary(id).ok()?;
    let bytes = binary.bytes_at(address, MAX_FORMAT_BYTES)?;
    let end = bytes.iter().position(|&byte| byte == 0)?;
    String::from_utf8(bytes[..end].to_vec()).ok()
}
