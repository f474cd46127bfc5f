//! Places that take most of the time, whether a cause is known or not: what an expert would look
//! at first. No gain is predicted.
//!
//! The time of a program is divided among loops and functions of the user's own code, the user's
//! lines that call libraries (with the time that libraries spend for them), and the kernel. Nothing
//! is counted twice, but where these places leave most of the time out: then functions with what they
//! call come last.

mod code_pieces;
mod idle_iterations;
mod kernel_time;
mod library_lines;
mod script_lines;
mod with_callees;

pub use script_lines::script_lines;

use genba_model::{Diagnosis, Estimate, FindingSite, PlaceCaller, TimePlace, TimePlaceKind};

use crate::constants::search_limits::{MAX_PLACE_CALLERS, MAX_TIME_PLACES};
use crate::constants::time_shares::{
    ENOUGH_SHARE_OF_PLACES, MIN_SAMPLES_OF_TIME_PLACE, MIN_SHARE_OF_TIME_PLACE,
};
use crate::findings::share_interval;
use crate::input::analysis_input::{AnalysisInput, UserCall};
use crate::input::user_lines::site_of;
use crate::patterns::calls::cycles_of_all;

/// The places with most of the time, most first. `samples` is how many the shares are of;
/// `diagnoses` are those of [`crate::explain`], which places refer to by number.
#[must_use]
pub fn time_places(input: &AnalysisInput, samples: u64, diagnoses: &[Diagnosis]) -> Vec<TimePlace> {
    let costs = Costs::of(input, samples);
    let mut list = code_pieces::places(input, &costs);
    list.extend(library_lines::places(input, &costs));
    list.extend(kernel_time::place(input, &costs));
    list.retain(|place| place.share.value >= MIN_SHARE_OF_TIME_PLACE);
    list.sort_by(|a, b| {
        b.share
            .value
            .total_cmp(&a.share.value)
            .then_with(|| a.site.addresses.cmp(&b.site.addresses))
    });
    list.truncate(MAX_TIME_PLACES);
    if list.iter().map(|place| place.share.value).sum::<f64>() < ENOUGH_SHARE_OF_PLACES {
        list.extend(with_callees::places(input, &costs));
    }
    list.retain(|place| place.share.value * samples as f64 >= MIN_SAMPLES_OF_TIME_PLACE);
    for place in &mut list {
        place.finding = finding_about(place, diagnoses);
    }
    list
}

/// Number, from 1, of the first diagnosis with a gain that is about a place.
fn finding_about(place: &TimePlace, diagnoses: &[Diagnosis]) -> Option<u32> {
    let same_code = |site: &FindingSite| {
        site.module == place.site.module
            && (site.addresses.iter()).any(|address| place.site.addresses.contains(address))
    };
    let same_line = |site: &FindingSite| {
        place.site.line.is_some()
            && site.line == place.site.line
            && site.file == place.site.file
            && site.function == place.site.function
    };
    let about = |one: &Diagnosis| {
        let beside = [one.site.called_from.as_deref(), one.site.inside.as_deref()];
        one.predicted_speedup.value > 1.0
            && [Some(&one.site), beside[0], beside[1]]
                .into_iter()
                .flatten()
                .any(|site| same_code(site) || same_line(site))
    };
    let index = diagnoses.iter().position(about)?;
    Some(index as u32 + 1)
}

/// What shares of time are in samples, seconds and cycles.
struct Costs {
    samples: u64,
    cycles: Option<f64>,
    seconds: Option<f64>,
}

impl Costs {
    fn of(input: &AnalysisInput, samples: u64) -> Self {
        let cycles = cycles_of_all(input);
        let by_clock = cycles.zip(input.program.clock_hz).map(|(c, hz)| c / hz);
        let measured = Some(input.program.cpu_seconds).filter(|&seconds| seconds > 0.0);
        Self {
            samples,
            cycles,
            seconds: by_clock.or(measured),
        }
    }

    /// A place with so much of the time; costs are per execution.
    fn place(
        &self,
        kind: TimePlaceKind,
        site: FindingSite,
        share: f64,
        executions: Option<u64>,
        input: &AnalysisInput,
    ) -> TimePlace {
        let share = share_interval(share.min(1.0), self.samples);
        let times = executions.filter(|&times| times > 0);
        let each =
            |all: Option<f64>| -> Option<Estimate> { Some(share.scaled(all? / times? as f64)) };
        let bytes = input.program.input_bytes.filter(|&bytes| bytes > 0);
        TimePlace {
            executions,
            cost_seconds: each(self.seconds),
            cost_cycles: each(self.cycles),
            executions_per_input_byte: (times.zip(bytes))
                .map(|(times, bytes)| times as f64 / bytes as f64),
            ..TimePlace::of(kind, site, share)
        }
    }
}

/// Callers by line, most calls first, as shares of so many calls. Calls without line information
/// are taken together by function: two rows of the same name would say nothing more.
fn callers(users: &[UserCall], all: f64) -> Vec<PlaceCaller> {
    let mut list: Vec<PlaceCaller> = Vec::new();
    for user in users {
        let site = site_of(&user.function, &user.module, user.address, &user.place);
        let share = user.calls / all.max(user.calls).max(1.0);
        let same = |one: &&mut PlaceCaller| {
            one.site.module == site.module
                && one.site.file == site.file
                && one.site.line == site.line
                && one.site.function == site.function
        };
        match list.iter_mut().find(same) {
            Some(one) => {
                one.calls += user.calls;
                one.share += share;
                one.site.addresses.push(user.address);
                for name in &user.through {
                    if !one.through.contains(name) {
                        one.through.push(name.clone());
                    }
                }
            }
            None => list.push(PlaceCaller {
                site,
                calls: user.calls,
                share,
                caller_calls: user.caller_calls,
                through: user.through.clone(),
            }),
        }
    }
    most_callers(list)
}

/// Those with most calls.
fn most_callers(mut list: Vec<PlaceCaller>) -> Vec<PlaceCaller> {
    list.sort_by(|a, b| b.calls.total_cmp(&a.calls));
    list.truncate(MAX_PLACE_CALLERS);
    list
}
