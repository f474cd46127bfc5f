//! Which of the user's lines ask for the runtime's services: counted calls, followed up through
//! libraries.
//!
//! A library function that calls a service passes its calls on to its own callers in proportion
//! to their calls of it (as gprof does: S. Graham, P. Kessler, M. McKusick, SIGPLAN 1982).

use std::collections::HashMap;

use genba_model::CodePoint;
use genba_profile::reader::ModuleId;

use crate::constants::search_limits::{
    MAX_CALL_DEPTH, MAX_FUNCTIONS_BETWEEN, MAX_USERS_OF_SERVICE, MIN_PART_OF_CALL_PATH,
};
use crate::input::analysis_input::{RuntimeUse, UserCall};
use crate::input::from_profile::{is_own, place_of};
use crate::input::own_code::is_toolchain_file;
use crate::input::runtime_services::{is_library, service};
use genba_attribution::ResolvedProfile;
use genba_attribution::counted::{CallSite, ExecutedFunctions, call_sites};
use genba_symbols::CodeFrame;

/// What waits to be passed on: calls of the service by a library function.
#[derive(Clone, Default)]
struct Waiting {
    calls: f64,
    through: Vec<String>,
}

struct Climb<'a> {
    names: &'a ExecutedFunctions,
    paths: Vec<&'a str>,
    /// By callee.
    callers: HashMap<u32, Vec<CallSite>>,
    /// All calls of a function.
    all: HashMap<u32, f64>,
    /// Frames by place of call, which cost a look into the debug information.
    frames: HashMap<CodePoint, Vec<CodeFrame>>,
}

/// What the user's own code asks of the runtime.
pub(crate) fn runtime_use(
    resolved: &ResolvedProfile,
    names: &ExecutedFunctions,
) -> Vec<RuntimeUse> {
    let Some(joined) = &resolved.joined else {
        return Vec::new();
    };
    let index = &joined.index;
    let mut callers: HashMap<u32, Vec<CallSite>> = HashMap::new();
    let mut all: HashMap<u32, f64> = HashMap::new();
    for site in call_sites(index, names) {
        if site.caller != site.callee {
            *all.entry(site.callee).or_default() += site.count as f64;
            callers.entry(site.callee).or_default().push(site);
        }
    }
    let mut climb = Climb {
        names,
        paths: index.modules.iter().map(|m| m.path.as_str()).collect(),
        callers,
        all,
        frames: HashMap::new(),
    };
    let mut entries: HashMap<(&'static str, bool), Vec<u32>> = HashMap::new();
    for (id, one) in (0u32..).zip(&names.list) {
        let path = climb.paths[one.module as usize];
        if one.known
                && !one.name.ends_with("@plt")
                && let Some(key) = service(&one.name)
                // A program's own `read` is none of the runtime's, unless it is linked statically
                // and its place is in no file of the user's.
                && (!is_own(path) || !climb.is_users(CodePoint { module: one.module, address: one.address }, &one.name))
        {
            entries.entry(key).or_default().push(id);
        }
    }
    let mut list: Vec<RuntimeUse> = entries
        .into_iter()
        .map(|((service, system_call), ids)| {
            let (calls, mut users) = climb.users(&ids);
            for user in &mut users {
                user.calls = user.calls * joined.scaled(1 << 20) as f64 / f64::from(1 << 20);
                user.executions = joined.scaled(user.executions);
            }
            RuntimeUse {
                service: service.to_owned(),
                system_call,
                calls: joined.scaled(calls as u64),
                users,
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

impl Climb<'_> {
    fn frames_at(&mut self, at: CodePoint) -> &[CodeFrame] {
        let code = &self.names.code;
        self.frames
            .entry(at)
            .or_insert_with(|| code.frames_at(ModuleId(at.module), at.address))
    }

    /// Whether code at a place is the user's: in a file of theirs; without line information,
    /// anything that bears no library's name.
    fn is_users(&mut self, at: CodePoint, name: &str) -> bool {
        if !is_own(self.paths[at.module as usize]) {
            return false;
        }
        let frames = self.frames_at(at);
        let mut files = frames.iter().filter_map(|frame| frame.file.as_deref());
        let users = files.clone().any(|file| !is_toolchain_file(file));
        users
            || files.next().is_none()
                && !is_library(name)
                && !name.ends_with("@plt")
                && name != "_start"
    }

    /// Calls of a service, and the user's calls that lead to it.
    fn users(&mut self, entries: &[u32]) -> (f64, Vec<UserCall>) {
        let mut waiting: HashMap<u32, Waiting> = entries
            .iter()
            .map(|&id| {
                (
                    id,
                    Waiting {
                        calls: self.all.get(&id).copied().unwrap_or(0.0),
                        through: Vec::new(),
                    },
                )
            })
            .collect();
        let mut total: f64 = waiting.values().map(|one| one.calls).sum();
        let mut found: HashMap<CodePoint, UserCall> = HashMap::new();
        for depth in 0..MAX_CALL_DEPTH {
            let mut next: HashMap<u32, Waiting> = HashMap::new();
            for (callee, here) in std::mem::take(&mut waiting) {
                let sites = self.callers.get(&callee).cloned().unwrap_or_default();
                let all = self.all.get(&callee).copied().unwrap_or(0.0);
                for site in sites {
                    let calls = here.calls * site.count as f64 / all;
                    // One entry that calls another of its own service (`calloc` and `malloc`) is
                    // one call.
                    if depth == 0 && entries.contains(&site.caller) {
                        total -= calls;
                        continue;
                    }
                    if calls < MIN_PART_OF_CALL_PATH * total {
                        continue;
                    }
                    self.pass(site, calls, &here.through, &mut next, &mut found);
                }
            }
            waiting = next;
            if waiting.is_empty() {
                break;
            }
        }
        let mut users: Vec<UserCall> = found.into_values().collect();
        users.sort_by(|a, b| b.calls.total_cmp(&a.calls).then(a.address.cmp(&b.address)));
        users.truncate(MAX_USERS_OF_SERVICE);
        (total, users)
    }

    fn pass(
        &mut self,
        site: CallSite,
        calls: f64,
        through: &[String],
        next: &mut HashMap<u32, Waiting>,
        found: &mut HashMap<CodePoint, UserCall>,
    ) {
        let caller = &self.names.list[site.caller as usize];
        let name = caller.name.clone();
        let path = self.paths[site.from.module as usize].to_owned();
        let mut through = through.to_vec();
        let mut add = |name: &str| {
            if through.len() < MAX_FUNCTIONS_BETWEEN && !through.iter().any(|one| one == name) {
                through.push(name.to_owned());
            }
        };
        if !self.is_users(site.from, &name) {
            add(&name);
            let to = next.entry(site.caller).or_default();
            to.calls += calls;
            for name in through {
                if to.through.len() < MAX_FUNCTIONS_BETWEEN && !to.through.contains(&name) {
                    to.through.push(name);
                }
            }
            return;
        }
        let frames = self.frames_at(site.from);
        let mine =
            |frame: &&CodeFrame| frame.file.as_deref().is_some_and(|f| !is_toolchain_file(f));
        for frame in frames.iter().take_while(|frame| !mine(frame)) {
            if let (Some(function), true) = (&frame.function, frames.iter().any(|f| mine(&f))) {
                add(function);
            }
        }
        let place = place_of(frames);
        let user = found.entry(site.from).or_insert_with(|| UserCall {
            function: name,
            module: path,
            address: site.from.address,
            place,
            through: Vec::new(),
            calls: 0.0,
            executions: 0,
        });
        user.calls += calls;
        user.executions = user.executions.saturating_add(site.count);
        for name in through {
            if user.through.len() < MAX_FUNCTIONS_BETWEEN && !user.through.contains(&name) {
                user.through.push(name);
            }
        }
    }
}
