//! Sentences on places that take most of the time: executions, cost of each, callers, relation to the
//! input and to the loop model's bound.

use genba_model::{Finding, LoopBound, PlaceCaller, TimePlace, TimePlaceKind};
use genba_units::format;

use super::{counts, findings};

/// Share of the time from which findings explain most of it: places are not shown then.
const MIN_SHARE_EXPLAINED: f64 = 0.5;

/// Share of the time from which a finding is about the whole program.
const SHARE_OF_WHOLE_PROGRAM: f64 = 0.999;

/// Cycles above the bound, as a part of it, from which the difference is reported.
const MIN_EXCESS_OVER_BOUND: f64 = 0.2;

/// Returns whether the places are shown: where no finding, or all together, explain most of the time.
/// Findings about the whole program (system calls, allocations) explain what their fix would save.
pub(crate) fn are_shown(list: &[Finding], places: &[TimePlace]) -> bool {
    let explained = list.iter().filter(|one| findings::gains(one));
    let share = |one: &Finding| match one.share.value >= SHARE_OF_WHOLE_PROGRAM {
        true => 1.0 - 1.0 / one.predicted_speedup.value,
        false => one.share.value,
    };
    let explained: f64 = explained.map(share).sum();
    // Also where a share is not a number.
    !places.is_empty() && (explained < MIN_SHARE_EXPLAINED || !explained.is_finite())
}

/// Returns the sentence before the places.
pub(crate) fn heading(places: &[TimePlace]) -> String {
    let (with_callees, places): (Vec<_>, Vec<_>) =
        (places.iter()).partition(|place| place.kind == TimePlaceKind::WithCallees);
    let share: f64 = places.iter().map(|place| place.share.value).sum();
    if places.is_empty() {
        return "Where the time goes: no place takes much of it alone. No gain is predicted."
            .to_owned();
    }
    let what = match places.len() {
        1 => "this place takes".to_owned(),
        _ => "these places take".to_owned(),
    };
    let mut text = format!(
        "Where the time goes: {what} {} of it. No gain is predicted.",
        format::short_percent(share.min(1.0))
    );
    if !with_callees.is_empty() {
        text.push_str(
            " The rest is spread over many functions; those with most inclusive time follow.",
        );
    }
    text
}

/// Returns what a place is, for its first line.
pub(crate) fn kind(place: &TimePlace) -> &'static str {
    match place.kind {
        TimePlaceKind::Loop => "loop",
        TimePlaceKind::Function => "function",
        TimePlaceKind::LibraryCall => "time in libraries for this line",
        TimePlaceKind::Library if place.site.module == "[jit]" => "generated code",
        TimePlaceKind::Library => "library, not divided among its callers",
        TimePlaceKind::Kernel => "kernel",
        TimePlaceKind::ScriptLine => "line of the script",
        TimePlaceKind::WithCallees => "function, inclusive of its callees",
    }
}

/// Returns the finding that is about the place: `see 2`.
pub(crate) fn finding(place: &TimePlace) -> Option<String> {
    place.finding.map(|number| format!("see finding {number}"))
}

/// Returns the facts about a place: source or subject, and a sentence.
pub(crate) fn facts(place: &TimePlace, input_bytes: Option<u64>) -> Vec<(&'static str, String)> {
    let mut list = Vec::new();
    list.extend(executions(place).map(|text| ("counted", text)));
    list.extend(recursion(place).map(|text| ("", text)));
    list.extend(idle_iterations(place).map(|text| ("", text)));
    list.extend(cost(place).map(|text| match place.kind {
        TimePlaceKind::WithCallees => (
            "model",
            format!("{text}, if each call of a function takes the same time"),
        ),
        _ => ("measured", text),
    }));
    list.extend(bound(place).map(|text| ("model", text)));
    list.extend(spent_in(place).map(|text| ("inside", text)));
    for (index, caller) in place.callers.iter().enumerate() {
        let label = if index == 0 { "called" } else { "" };
        list.push((label, called(place, caller)));
    }
    list.extend(input(place, input_bytes).map(|text| ("input", text)));
    list
}

fn noun(place: &TimePlace) -> &'static str {
    match place.kind {
        TimePlaceKind::Loop => "iteration",
        _ => "call",
    }
}

fn executions(place: &TimePlace) -> Option<String> {
    let times = place.executions.filter(|&times| times > 0)?;
    let noun = noun(place);
    let mut text = format::plural_short(times, noun);
    let per = |part: u64| counts::ratio(times as f64 / part as f64);
    let is_function = matches!(
        place.kind,
        TimePlaceKind::Function | TimePlaceKind::WithCallees
    );
    let calls = (place.calls).filter(|&calls| calls > 0 && !is_function);
    let entries = place.entries.filter(|&entries| entries > 0);
    if let Some(entries) = entries.filter(|&entries| Some(entries) != calls) {
        text.push_str(&format!(", {} per entry", per(entries)));
    }
    text.push_str(&match calls {
        None => String::new(),
        Some(1) => "; the function is called once".to_owned(),
        Some(calls) => format!(
            "; {} of the function, {} {noun}s in each",
            format::plural_short(calls, "call"),
            per(calls),
        ),
    });
    Some(text)
}

fn recursion(place: &TimePlace) -> Option<String> {
    let by_itself = place.recursive_calls.filter(|&calls| calls > 0)?;
    let from_outside = place.calls?.checked_sub(by_itself).filter(|&one| one > 0)?;
    Some(format!(
        "{} of the function by itself, {} for each from outside",
        format::plural_short(by_itself, "call"),
        counts::ratio(by_itself as f64 / from_outside as f64)
    ))
}

fn idle_iterations(place: &TimePlace) -> Option<String> {
    let idle = place.idle_iterations.filter(|idle| idle.is_finite())?;
    Some(format!(
        "{} of the iterations change nothing: they look at an element and go on",
        format::short_percent(idle.clamp(0.0, 1.0))
    ))
}

fn cost(place: &TimePlace) -> Option<String> {
    let each = match (place.cost_seconds, place.cost_cycles) {
        (Some(seconds), Some(cycles)) => format!(
            "{} = {} cycles",
            format::time(&seconds),
            super::execution_costs::bare_cycles(&cycles)
        ),
        (Some(seconds), None) => format::time(&seconds),
        (None, Some(cycles)) => {
            format!("{} cycles", super::execution_costs::bare_cycles(&cycles))
        }
        (None, None) => return None,
    };
    Some(format!("{each} per {}", noun(place)))
}

fn bound(place: &TimePlace) -> Option<String> {
    let bound = place.bound_cycles?;
    let cycles = place.cost_cycles?;
    let least = super::execution_costs::bare_cycles(&bound);
    let by = match place.bound? {
        LoopBound::Latency => "its critical chain",
        LoopBound::Throughput => "throughput",
        LoopBound::Memory => "memory beyond L1d, not by its instructions",
        LoopBound::FrontEnd => "fetch, decoding or mispredictions, not by its instructions",
        LoopBound::Unexplained => "nothing that the model knows",
    };
    let excess = cycles.low - bound.high;
    let mut text = format!("its instructions need {least} cycles here; bound by {by}");
    if excess > MIN_EXCESS_OVER_BOUND * bound.value && excess.is_finite() {
        text.push_str(&format!(
            "; {}× the time that they need",
            findings::ratio(cycles.value / bound.value)
        ));
    }
    Some(text)
}

fn spent_in(place: &TimePlace) -> Option<String> {
    let parts: Vec<String> = (place.spent_in.iter())
        .map(|one| {
            let share = format::short_percent(one.share);
            let calls = one.calls.filter(|calls| *calls >= 1.0);
            let itself = place.kind == TimePlaceKind::WithCallees
                && (&one.function, &one.module) == (&place.site.function, &place.site.module);
            match calls {
                None if itself => format!("itself {share}"),
                Some(calls) => {
                    let calls = format::plural_short(calls as u64, "call");
                    format!(
                        "{} {share} ({calls})",
                        without_template_arguments(&one.function)
                    )
                }
                None => format!("{} {share}", without_template_arguments(&one.function)),
            }
        })
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// A function's name without what its templates are instantiated with, which fills lines and says little: `std::map<int,
/// long>::find` is `std::map::find`. Names of operators stay.
fn without_template_arguments(name: &str) -> String {
    let mut short = String::new();
    let mut depth = 0usize;
    for letter in name.chars() {
        // Not in `operator<`, nor in Rust's `<Type as Trait>::method`.
        let after_name = short.ends_with(|last: char| last.is_alphanumeric() || last == '_')
            && !short.ends_with("operator");
        match letter {
            '<' if depth > 0 || after_name => depth += 1,
            '>' if depth > 0 => depth -= 1,
            _ if depth == 0 => short.push(letter),
            _ => {}
        }
    }
    // Not a name as compilers make them.
    if depth > 0 { name.to_owned() } else { short }
}

fn called(place: &TimePlace, caller: &PlaceCaller) -> String {
    let at = findings::place(&caller.site);
    if place.kind == TimePlaceKind::Kernel {
        let what = caller.through.first().map_or("system call", String::as_str);
        return format!(
            "by {at}: {} of {what}, {} of all",
            format::plural_short(caller.calls as u64, "time"),
            format::short_percent(caller.share)
        );
    }
    let mut text = format!(
        "by {at}: {} ({})",
        format::plural_short(caller.calls as u64, "time"),
        format::short_percent(caller.share.min(1.0)),
    );
    if let Some(calls) = caller.caller_calls.filter(|&calls| calls > 0) {
        text.push_str(&match calls {
            1 => ", in one call of that function".to_owned(),
            _ => format!(
                ", {} per call of that function",
                counts::ratio(caller.calls / calls as f64)
            ),
        });
    }
    // What the line names: the functions inside of it are the library's own affair.
    if let Some(library) = caller.through.last() {
        text.push_str(&format!(
            ", through {}",
            without_template_arguments(library)
        ));
    }
    text
}

fn input(place: &TimePlace, bytes: Option<u64>) -> Option<String> {
    let per_byte = place.executions_per_input_byte?;
    let noun = noun(place);
    let size = bytes.map(|bytes| format!(" ({})", format::bytes(bytes as f64)));
    Some(format!(
        "{} {noun}s per byte of the files that the command names{}",
        counts::ratio(per_byte),
        size.unwrap_or_default()
    ))
}

#[cfg(test)]
mod tests {
    use super::without_template_arguments;

    #[test]
    fn names_lose_what_templates_are_instantiated_with() {
        for (name, short) in [
            ("std::map<int, std::vector<long> >::find", "std::map::find"),
            ("f<A>(B<C>&)", "f(B&)"),
            ("std::operator< <char>", "std::operator< <char>"),
            ("Ring::operator->", "Ring::operator->"),
            (
                "<std::fs::Metadata>::modified",
                "<std::fs::Metadata>::modified",
            ),
            ("<Vec<T> as Trait<U>>::go", "<Vec as Trait>::go"),
            ("main::<lambda(int)>", "main::<lambda(int)>"),
            ("plain", "plain"),
            ("broken<int", "broken<int"),
            ("a>b", "a>b"),
        ] {
            assert_eq!(without_template_arguments(name), short);
        }
    }
}
