//! Conversions between text, numbers, times and names by general library routines: which of the
//! user's own calls lead to them, and how much time they take with all that they call.

use genba_model::ConversionKind;

use crate::constants::search_limits::{MAX_FORMAT_BYTES, MAX_USERS_OF_CONVERSION};
use crate::constants::time_shares::MIN_SHARE_OF_CONVERSION;
use crate::input::analysis_input::{FunctionInput, UserCall};
use crate::input::call_paths::CallPaths;
use crate::input::conversion_routines::{Routine, routine, routine_name};
use crate::input::from_profile::is_own;
use crate::input::values::CONSTANT;
use crate::patterns::invariance::value_at;
use genba_attribution::ResolvedProfile;
use genba_attribution::counted::{ExecutedFunctions, InclusiveTime};
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
            .map(|call| ConversionUser { call, format: None })
            .collect();
        found.push(Conversion {
            routine: routine_name(&one.name).to_owned(),
            kind,
            share,
            calls: calls as u64,
            users,
        });
    }
    found
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
