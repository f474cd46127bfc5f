//! Call paths from functions up to the lines of the user's own code that lead to them: counted calls,
//! followed up through libraries.
//!
//! A library function passes the calls that it makes on to its own callers in proportion to their
//! calls of it (as gprof does: S. Graham, P. Kessler, M. McKusick, SIGPLAN 1982).

use std::collections::{HashMap, HashSet};

use genba_model::CodePoint;
use genba_profile::reader::ModuleId;

use crate::constants::counts::{
    MAX_INSTRUCTIONS_OF_WRAPPER, MAX_PART_OF_OTHER_CALLS, MIN_PART_OF_WRAPPER,
};
use crate::constants::search_limits::{
    MAX_CALL_DEPTH, MAX_FUNCTIONS_BETWEEN, MAX_FUNCTIONS_WITHOUT_LINES, MAX_USERS_OF_SERVICE,
    MIN_PART_OF_CALL_PATH,
};
use crate::constants::time_shares::MOST_OF_IT;
use crate::input::analysis_input::UserCall;
use crate::input::from_profile::is_own;
use crate::input::place_of_frames::place_of;
use crate::input::runtime_services::{is_allocator, is_library};
use genba_attribution::counted::{CallSite, ExecutedFunctions, Joined, call_sites};
use genba_symbols::CodeFrame;
use genba_symbols::{is_system_module, is_toolchain_file};

/// What waits to be passed on: calls of the service by a library function.
#[derive(Clone, Default)]
struct Waiting {
    calls: f64,
    through: Vec<String>,
}

impl Waiting {
    fn add_through(&mut self, names: &[String]) {
        for name in names {
            if self.through.len() < MAX_FUNCTIONS_BETWEEN && !self.through.contains(name) {
                self.through.push(name.clone());
            }
        }
    }
}

/// Which functions of the user's own are passed through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Follow {
    /// None: the first line of the user's own is it.
    OwnCode,
    /// Those that hand on what they are asked for (`xmalloc`): their callers are it.
    Wrappers,
}

/// By module: whether it is a library of the system without lines, where a program of the user's has some.
fn without_lines(joined: &Joined, names: &ExecutedFunctions) -> Vec<bool> {
    let modules = &joined.index.modules;
    let mut looked_at = vec![0usize; modules.len()];
    let mut has_lines = vec![false; modules.len()];
    for function in &names.list {
        let index = function.module as usize;
        if has_lines[index]
            || looked_at[index] >= MAX_FUNCTIONS_WITHOUT_LINES
            || !is_own(&modules[index].path)
        {
            continue;
        }
        looked_at[index] += 1;
        let frames = (names.code).frames_at(ModuleId(function.module), function.address);
        has_lines[index] = frames.iter().any(|frame| frame.file.is_some());
    }
    let paths = modules.iter().map(|module| module.path.as_str());
    foreign(&paths.zip(has_lines).collect::<Vec<_>>())
}

/// The same by paths, with whether a module has lines.
fn foreign(modules: &[(&str, bool)]) -> Vec<bool> {
    let is_theirs = |one: &(&str, bool)| one.1 && !is_system_module(one.0);
    let theirs = modules.iter().any(is_theirs);
    (modules.iter())
        .map(|(path, has_lines)| theirs && !has_lines && is_system_module(path))
        .collect()
}

/// The counted call graph, to be followed from callees to the user's code.
pub(crate) struct CallPaths<'a> {
    joined: &'a Joined,
    names: &'a ExecutedFunctions,
    paths: Vec<&'a str>,
    /// By callee.
    callers: HashMap<u32, Vec<CallSite>>,
    /// All calls of a function.
    all: HashMap<u32, f64>,
    /// Calls that a function makes, but for those of the allocator.
    made: HashMap<u32, f64>,
    /// By module: whether it is a library of the system without lines, where the program has some.
    foreign: Vec<bool>,
    /// Frames by place of call, which cost a look into the debug information.
    frames: HashMap<CodePoint, Vec<CodeFrame>>,
}

impl<'a> CallPaths<'a> {
    pub(crate) fn new(joined: &'a Joined, names: &'a ExecutedFunctions) -> Self {
        let index = &joined.index;
        let mut callers: HashMap<u32, Vec<CallSite>> = HashMap::new();
        let mut all: HashMap<u32, f64> = HashMap::new();
        let mut made: HashMap<u32, f64> = HashMap::new();
        for site in call_sites(index, names) {
            if site.caller != site.callee {
                *all.entry(site.callee).or_default() += site.count as f64;
                if !is_allocator(&names.list[site.callee as usize].name) {
                    *made.entry(site.caller).or_default() += site.count as f64;
                }
                callers.entry(site.callee).or_default().push(site);
            }
        }
        Self {
            joined,
            names,
            foreign: without_lines(joined, names),
            paths: index.modules.iter().map(|m| m.path.as_str()).collect(),
            callers,
            all,
            made,
            frames: HashMap::new(),
        }
    }

    /// The path of a module of the counts.
    pub(crate) fn module_path(&self, module: u32) -> &'a str {
        self.paths[module as usize]
    }

    fn frames_at(&mut self, at: CodePoint) -> &[CodeFrame] {
        let code = &self.names.code;
        self.frames
            .entry(at)
            .or_insert_with(|| code.frames_at(ModuleId(at.module), at.address))
    }

    /// Whether code at a place is the user's: in a file of theirs; without line information,
    /// anything that bears no library's name.
    pub(crate) fn is_users(&mut self, at: CodePoint, name: &str) -> bool {
        if !is_own(self.paths[at.module as usize]) {
            return false;
        }
        let foreign = self.foreign[at.module as usize];
        let frames = self.frames_at(at);
        let mut files = frames.iter().filter_map(|frame| frame.file.as_deref());
        let users = files.clone().any(|file| !is_toolchain_file(file));
        users
            || files.next().is_none()
                && !foreign
                && !is_library(name)
                && !name.ends_with("@plt")
                && name != "_start"
    }

    /// Whether the function that a call is in hands on what it is asked for.
    fn is_wrapper(&self, site: CallSite) -> bool {
        let caller = &self.names.list[site.caller as usize];
        let index = &self.joined.index;
        let calls = index.entered(caller.module, caller.address, caller.end);
        let called = self.all.get(&site.caller).copied().unwrap_or(0.0);
        let made = self.made.get(&site.caller).copied().unwrap_or(0.0);
        let others = match is_allocator(&self.names.list[site.callee as usize].name) {
            true => made,
            false => made - site.count as f64,
        };
        caller.known && hands_on(calls, called, (site.count, others), caller.instructions)
    }

    /// Calls of the functions with these indices, taken together, and the user's calls that lead to
    /// them, most first.
    pub(crate) fn users(&mut self, entries: &[u32]) -> (f64, Vec<UserCall>) {
        self.callers(entries, Follow::OwnCode)
    }

    /// The same of one function, but for calls that come through some others; with all its calls.
    pub(crate) fn users_but_through(
        &mut self,
        entry: u32,
        others: &HashSet<u32>,
    ) -> (f64, Vec<UserCall>) {
        let all = self.all.get(&entry).copied().unwrap_or(0.0);
        let (_, users) = self.followed(&[entry], others, Follow::OwnCode);
        (self.joined.scaled(all as u64) as f64, users)
    }

    /// The same, through some functions of the user's own.
    pub(crate) fn callers(&mut self, entries: &[u32], follow: Follow) -> (f64, Vec<UserCall>) {
        self.followed(entries, &HashSet::new(), follow)
    }

    fn followed(
        &mut self,
        entries: &[u32],
        without: &HashSet<u32>,
        follow: Follow,
    ) -> (f64, Vec<UserCall>) {
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
                    if without.contains(&site.caller)
                        || depth == 0 && entries.contains(&site.caller)
                    {
                        total -= calls;
                        continue;
                    }
                    if calls < MIN_PART_OF_CALL_PATH * total {
                        continue;
                    }
                    if follow == Follow::Wrappers
                        && depth + 1 < MAX_CALL_DEPTH
                        && self.is_wrapper(site)
                    {
                        let to = next.entry(site.caller).or_default();
                        to.calls += calls;
                        to.add_through(&here.through);
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
        for user in &mut users {
            user.calls = user.calls * self.joined.scaled(1 << 20) as f64 / f64::from(1 << 20);
            user.executions = self.joined.scaled(user.executions);
        }
        users.sort_by(|a, b| b.calls.total_cmp(&a.calls).then(a.address.cmp(&b.address)));
        users.truncate(MAX_USERS_OF_SERVICE);
        (self.joined.scaled(total as u64) as f64, users)
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
        let through_library = !through.is_empty();
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
            to.add_through(&through);
            return;
        }
        let index = &self.joined.index;
        let calls_of_caller = index.entered(caller.module, caller.address, caller.end);
        let caller_calls = (caller.known).then(|| self.joined.scaled(calls_of_caller));
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
            through_library,
            calls: 0.0,
            executions: 0,
            caller_calls,
        });
        user.through_library |= through_library;
        user.calls += calls;
        user.executions = user.executions.saturating_add(site.count);
        for name in through {
            if user.through.len() < MAX_FUNCTIONS_BETWEEN && !user.through.contains(&name) {
                user.through.push(name);
            }
        }
    }
}

/// Whether a function does little but make a call: most of its `calls` make it (`made`), hardly any makes
/// `others`, few of its own `instructions` are executed for each, and it is known who calls it (`called` times).
fn hands_on(calls: u64, called: f64, (made, others): (u64, f64), instructions: u64) -> bool {
    let calls = calls as f64;
    calls > 0.0
        && called >= MOST_OF_IT * calls
        && made as f64 >= MIN_PART_OF_WRAPPER * calls
        && others <= MAX_PART_OF_OTHER_CALLS * calls
        && instructions as f64 <= MAX_INSTRUCTIONS_OF_WRAPPER * calls
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn library_of_the_system_is_another_s_only_beside_a_program_with_lines() {
        let (zlib, own) = ("/usr/lib/x86_64-linux-gnu/libz.so.1", "/srv/packer");
        assert_eq!(foreign(&[(zlib, false), (own, true)]), [true, false]);
        assert_eq!(foreign(&[(zlib, true), (own, true)]), [false, false]);
        assert_eq!(foreign(&[(zlib, false), (own, false)]), [false, false]);
        assert_eq!(
            foreign(&[("/srv/libz.so.1", false), (own, true)]),
            [false, false]
        );
    }

    #[test]
    fn small_functions_that_mostly_make_the_call_hand_on() {
        assert!(hands_on(1000, 1000.0, (1000, 0.0), 12_000));
        // Zero bytes are asked for now and then.
        assert!(hands_on(1000, 1000.0, (900, 0.0), 12_000));
    }

    #[test]
    fn functions_with_work_of_their_own_do_not_hand_on() {
        // Fills what it allocates.
        assert!(!hands_on(1000, 1000.0, (1000, 0.0), 90_000));
        // Frees and resizes as well: its callers may do only that.
        assert!(!hands_on(1000, 1000.0, (500, 0.0), 12_000));
        // Allocates now and then: a table that grows.
        assert!(!hands_on(1000, 1000.0, (20, 0.0), 12_000));
        // Computes with what it gets.
        assert!(!hands_on(1000, 1000.0, (1000, 900.0), 12_000));
        // Called by nobody that is known.
        assert!(!hands_on(1000, 10.0, (1000, 0.0), 12_000));
        assert!(!hands_on(0, 0.0, (0, 0.0), 0));
    }
}
