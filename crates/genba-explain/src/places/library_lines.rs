//! The user's lines that call libraries, with the time that is spent there for them.
//!
//! A library function's time is divided among the lines in proportion to the calls that they lead
//! to. Functions that go through memory cost as much as that is long: for copies, samples of stacks
//! are taken instead where a follow-up run has them; otherwise their time is divided only where one
//! line makes all calls.

use genba_model::{FindingSite, PlaceFunction, TimePlace, TimePlaceKind};

use super::{Costs, callers};
use crate::constants::search_limits::MAX_PLACE_FUNCTIONS;
use crate::constants::time_shares::SOLE_CALLER_PART;
use crate::input::analysis_input::{AnalysisInput, LibraryTime, UserCall};
use crate::input::runtime_services::{is_copy_function, plain};
use crate::input::user_lines::site_of;

/// Time in libraries for one line.
struct Line {
    site: FindingSite,
    share: f64,
    /// The calls in the code, each once: address and executions.
    calls: Vec<(u64, u64)>,
    spent_in: Vec<PlaceFunction>,
}

/// All places in libraries.
pub(super) fn places(input: &AnalysisInput, costs: &Costs) -> Vec<TimePlace> {
    let mut lines: Vec<Line> = Vec::new();
    let mut unknown: Vec<TimePlace> = Vec::new();
    for library in &input.program.library_time {
        let by_stacks = match is_copy_function(&library.function) {
            true => &input.program.follow_up.copies[..],
            false => &[],
        };
        let mut known = 0.0;
        if by_stacks.is_empty() {
            let all: f64 = library.users.iter().map(|user| user.calls).sum();
            let calls = library.calls.map_or(0.0, |calls| calls as f64).max(all);
            let certain = has_equal_calls(&library.function) || is_sole_line(library, calls);
            for user in library.users.iter().filter(|_| certain) {
                let part = user.calls / calls.max(1.0);
                known += part;
                let site = site_of(&user.function, &user.module, user.address, &user.place);
                let call = Some((user.address, user.executions));
                add(&mut lines, site, library, part, call, Some(user.calls));
            }
        } else {
            for user in by_stacks {
                known += user.share;
                let site = site_of(&user.function, &user.module, user.address, &user.place);
                let asked = |one: &&UserCall| one.address == user.address;
                let call = library.users.iter().find(asked);
                let executions = call.map(|call| (user.address, call.executions));
                let calls = call.map(|call| call.calls);
                add(&mut lines, site, library, user.share, executions, calls);
            }
        }
        let rest = library.share * (1.0 - known).max(0.0);
        unknown.push(without_callers(input, costs, library, rest));
    }
    let lines = lines.into_iter().map(|line| place(input, costs, line));
    lines.chain(unknown).collect()
}

fn add(
    lines: &mut Vec<Line>,
    site: FindingSite,
    library: &LibraryTime,
    part: f64,
    call: Option<(u64, u64)>,
    calls: Option<f64>,
) {
    let share = library.share * part;
    let same = |line: &Line| {
        line.site.module == site.module
            && line.site.function == site.function
            && line.site.file == site.file
            && line.site.line == site.line
            && (site.line.is_some() || line.site.addresses == site.addresses)
    };
    let line = match lines.iter().position(same) {
        Some(index) => &mut lines[index],
        None => {
            lines.push(Line {
                site: site.clone(),
                share: 0.0,
                calls: Vec::new(),
                spent_in: Vec::new(),
            });
            let last = lines.len() - 1;
            &mut lines[last]
        }
    };
    line.share += share;
    for address in site.addresses {
        if !line.site.addresses.contains(&address) {
            line.site.addresses.push(address);
        }
    }
    if let Some(call) = call
        && !line.calls.iter().any(|one| one.0 == call.0)
    {
        line.calls.push(call);
    }
    let known =
        |one: &&mut PlaceFunction| one.function == library.function && one.module == library.module;
    match line.spent_in.iter_mut().find(known) {
        Some(one) => {
            one.share += share;
            one.calls = one.calls.zip(calls).map(|(a, b)| a + b);
        }
        None => line.spent_in.push(PlaceFunction {
            function: library.function.clone(),
            module: library.module.clone(),
            share,
            calls,
        }),
    }
}

fn place(input: &AnalysisInput, costs: &Costs, mut line: Line) -> TimePlace {
    // Calls in the line are made one after the other: the most frequent one says how often.
    let executions = line.calls.iter().map(|call| call.1).max();
    line.spent_in.sort_by(|a, b| {
        b.share
            .total_cmp(&a.share)
            .then(a.function.cmp(&b.function))
    });
    line.spent_in.truncate(MAX_PLACE_FUNCTIONS);
    let around = input.functions.iter().find(|function| {
        let has = |address| function.code.iter().any(|one| one.address == address);
        function.module == line.site.module && line.site.addresses.iter().any(|&a| has(a))
    });
    let kind = TimePlaceKind::LibraryCall;
    let mut place = costs.place(kind, line.site, line.share, executions, input);
    place.spent_in = line.spent_in;
    if let Some(function) = around {
        place.calls = function.calls;
        let calls = function.calls.unwrap_or_default() as f64;
        place.callers = callers(&function.user_callers, calls);
    }
    place
}

fn without_callers(
    input: &AnalysisInput,
    costs: &Costs,
    library: &LibraryTime,
    share: f64,
) -> TimePlace {
    let site = FindingSite {
        function: library.function.clone(),
        module: library.module.clone(),
        file: None,
        line: None,
        end_line: None,
        addresses: Vec::new(),
        called_from: None,
        inside: None,
    };
    // Where only a part of its calls is without a known caller, their number is not known.
    let whole = share >= library.share;
    let calls = library.calls.filter(|_| whole);
    let mut place = costs.place(TimePlaceKind::Library, site, share, calls, input);
    if whole {
        place.callers = callers(&library.users, calls.unwrap_or_default() as f64);
    }
    place
}

/// Whether calls of a function take about the same time; those that go through memory take as long as
/// that is.
fn has_equal_calls(function: &str) -> bool {
    let name = plain(function);
    ![
        "mem", "str", "wmem", "wcs", "stp", "rawmem", "bcmp", "bcopy",
    ]
    .iter()
    .any(|start| name.starts_with(start))
}

/// Whether one line makes all calls of a function that are known.
fn is_sole_line(library: &LibraryTime, calls: f64) -> bool {
    let most = callers(&library.users, calls);
    most.first()
        .is_some_and(|one| one.share >= SOLE_CALLER_PART)
}
