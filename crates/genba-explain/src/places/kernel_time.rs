//! The kernel as a place: what it was doing, and the user's lines that ask it most often.
//!
//! Samples without stacks do not say who asked: the lines are those with most system calls, or
//! those at which page faults were taken, whichever the kernel's time is for.

use genba_model::{FindingSite, PlaceCaller, PlaceFunction, TimePlace, TimePlaceKind};

use super::{Costs, callers, most_callers};
use crate::constants::search_limits::{MAX_PLACE_CALLERS, MAX_PLACE_FUNCTIONS};
use crate::input::analysis_input::{AnalysisInput, UserCall};
use crate::input::user_lines::site_of;

/// The kernel's time, where there is any.
pub(super) fn place(input: &AnalysisInput, costs: &Costs) -> Option<TimePlace> {
    let program = &input.program;
    let share = program.kernel_share;
    if share <= 0.0 {
        return None;
    }
    let site = FindingSite {
        function: "the kernel".to_owned(),
        module: "[kernel]".to_owned(),
        file: None,
        line: None,
        end_line: None,
        addresses: Vec::new(),
        called_from: None,
        inside: None,
    };
    let mut place = costs.place(TimePlaceKind::Kernel, site, share, None, input);
    let work = program.kernel.iter().take(MAX_PLACE_FUNCTIONS);
    place.spent_in = work
        .map(|work| PlaceFunction {
            function: work.reason.to_owned(),
            module: "[kernel]".to_owned(),
            share: work.share,
            calls: None,
        })
        .collect();
    let paging = input.paging_share() > 0.5 * share;
    place.callers = match paging {
        true => faulting_lines(input),
        false => asking_lines(input),
    };
    Some(place)
}

/// Lines at which page faults were taken.
fn faulting_lines(input: &AnalysisInput) -> Vec<PlaceCaller> {
    let program = &input.program;
    let faults = program.minor_faults.unwrap_or(0.0);
    let places = program.follow_up.faults.iter().take(MAX_PLACE_CALLERS);
    places
        .map(|one| PlaceCaller {
            site: site_of(&one.function, &one.module, one.address, &one.place),
            calls: faults * one.share,
            share: one.share,
            caller_calls: None,
            through: vec!["page fault".to_owned()],
        })
        .collect()
}

/// Lines with most system calls.
fn asking_lines(input: &AnalysisInput) -> Vec<PlaceCaller> {
    let calls = || input.program.runtime.iter().filter(|one| one.system_call);
    let all: f64 = calls().map(|one| one.calls as f64).sum();
    // By system call: a line may make several kinds.
    let lines = calls().flat_map(|service| {
        let users: Vec<UserCall> = (service.users.iter().cloned())
            .map(|user| UserCall {
                through: vec![service.service.clone()],
                ..user
            })
            .collect();
        callers(&users, all)
    });
    most_callers(lines.collect())
}
