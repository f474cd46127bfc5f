//! Files that are opened or asked about again though they stay as they are.
//!
//! What follows from a file's contents is computed again as well, but how far that goes is not seen: at least the
//! system calls, at most what the outermost function does that is called once for each of the calls.

use std::collections::BTreeMap;

use genba_model::{Cause, Fix, KernelFact};

use crate::candidate::Candidate;
use crate::constants::gains::{MAX_RESIDUAL, MAX_SAVED_OF_FILE_CALLS};
use crate::constants::observations::{
    MIN_FILE_CALLS, MIN_REPEATED_AMONG_FEW, MIN_SHARE_OF_REPEATED_WORK, SAME_NUMBER_OF_CALLS,
};
use crate::constants::time_shares::MOST_OF_IT;
use crate::gain::saved_time::SavedTime;
use crate::input::analysis_input::{AnalysisInput, FunctionWithCallees, UserCall};
use crate::input::named_files::{FileCalls, NamedFiles};
use crate::input::runtime_services::{ASKING, OPENING};
use crate::input::user_lines::site_of;
use crate::patterns::system_calls::{looks_up_account, share_of_system_calls};

/// System calls that name a file, and which of the tallied calls they are.
type Kind = (&'static [&'static str], fn(&NamedFiles) -> &FileCalls);

const KINDS: [Kind; 2] = [
    (&OPENING, |files| &files.opened),
    (&ASKING, |files| &files.asked),
];

/// The function of the user's that makes most of the calls of a kind.
struct Opener<'a> {
    first: &'a UserCall,
    calls: f64,
    /// Share of all time of its system calls.
    system_calls: f64,
    /// The function with most time that is called as often, and calls it.
    outermost: Option<&'a FunctionWithCallees>,
}

impl Opener<'_> {
    fn share(&self) -> f64 {
        (self.outermost.map_or(0.0, |one| one.share)).max(self.system_calls)
    }
}

fn opener<'a>(input: &'a AnalysisInput, (services, _): Kind) -> Option<Opener<'a>> {
    let program = &input.program;
    let uses = (program.runtime.iter()).filter(|one| services.contains(&one.service.as_str()));
    // One call may lead to several of the services, as that of `stat` to `fstatat`.
    let mut places: BTreeMap<(&str, u64), &UserCall> = BTreeMap::new();
    for user in uses
        .flat_map(|one| &one.users)
        .filter(|user| !looks_up_account(user))
    {
        let place = places.entry((&user.module, user.address)).or_insert(user);
        if user.calls > place.calls {
            *place = user;
        }
    }
    let mut by_function: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    for user in places.values() {
        *by_function
            .entry((&user.function, &user.module))
            .or_default() += user.calls;
    }
    let all: f64 = by_function.values().sum();
    let (name, calls) = by_function.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    if calls < MIN_FILE_CALLS || calls < MOST_OF_IT * all {
        return None;
    }
    let is_of = |user: &&&UserCall| (user.function.as_str(), user.module.as_str()) == name;
    let of_function = || places.values().filter(is_of).copied();
    let system_calls = of_function().map(|user| share_of_system_calls(input, user));
    let leads = |one: &&FunctionWithCallees| {
        let to = one.names_files_in.iter();
        to.map(|(function, module)| (function.as_str(), module.as_str()))
            .any(|to| to == name)
    };
    let as_often = |one: &&FunctionWithCallees| {
        (one.calls as f64 - calls).abs() <= SAME_NUMBER_OF_CALLS * calls
    };
    Some(Opener {
        first: of_function().max_by(|a, b| a.calls.total_cmp(&b.calls))?,
        calls,
        system_calls: system_calls.sum::<f64>().min(1.0),
        outermost: (program.with_callees.iter())
            .filter(as_often)
            .filter(leads)
            .max_by(|a, b| a.share.total_cmp(&b.share)),
    })
}

/// Whether so many calls name files, in so much time, that it matters which ones.
pub(crate) fn is_suspected(input: &AnalysisInput) -> bool {
    let takes_time = |one: Opener<'_>| one.share() >= MIN_SHARE_OF_REPEATED_WORK;
    KINDS
        .iter()
        .any(|kind| opener(input, *kind).is_some_and(takes_time))
}

/// Finds calls that nearly all name a file that another one named before.
pub(super) fn same_files(input: &AnalysisInput) -> Vec<Candidate> {
    let Some(files) = &input.program.follow_up.files else {
        return Vec::new();
    };
    let found = KINDS
        .iter()
        .filter_map(|kind| again(input, *kind, kind.1(files)));
    found.collect()
}

fn again(input: &AnalysisInput, kind: Kind, files: &FileCalls) -> Option<Candidate> {
    let opener = opener(input, kind)?;
    // The C library asks about opened files by itself, which is not tallied.
    if (files.calls as f64) < (1.0 - SAME_NUMBER_OF_CALLS) * opener.calls {
        return None;
    }
    // All files may be this function's.
    let again = 1.0 - files.different as f64 / opener.calls.min(files.calls as f64);
    if again < MIN_REPEATED_AMONG_FEW || opener.share() < MIN_SHARE_OF_REPEATED_WORK {
        return None;
    }
    let caller = opener.outermost.and_then(|one| one.callers.first());
    let at = caller.unwrap_or(opener.first);
    let site = site_of(&at.function, &at.module, at.address, &at.place);
    let opened = kind.0 == OPENING;
    let fix = match (opened, opener.outermost) {
        (false, _) => Fix::AskFileOnce,
        (true, Some(one)) => Fix::ReadFileOnce {
            function: one.function.clone(),
        },
        // Of the source, where it is inlined.
        (true, None) => Fix::ReadFileOnce {
            function: site.function.clone(),
        },
    };
    let mut one = Candidate::new(Cause::RedundantComputation, None, Vec::new(), fix);
    one.at = Some(site);
    let (least, most) = (again * opener.system_calls, again * opener.share());
    // What follows from the contents is anything between: the middle of what is left, as speed-ups are compared.
    let left = ((1.0 - least) * (1.0 - most).max(1.0 - MAX_SAVED_OF_FILE_CALLS)).sqrt();
    one.saves(&[SavedTime::within(
        (1.0, 1.0, 1.0),
        (1.0 - left, least, most),
    )]);
    one.residual_fraction.high = one.residual_fraction.high.min(MAX_RESIDUAL);
    one.anything_between = true;
    one.executions = Some(opener.calls as u64);
    Some(one.fact(KernelFact::SameFiles {
        opened,
        calls: files.calls,
        different: files.different,
        most: files.most.as_ref().map(|one| (one.name.clone(), one.calls)),
        share: opener.share(),
    }))
}
