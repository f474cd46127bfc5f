//! `costly-conversion`: a general library routine converts what direct code converts for a fraction
//! of its time, or what was converted just before.
//!
//! **Signature.** A line of the user's own calls a routine of the C, C++ or Rust library that
//! converts between text, numbers, times and names (a table: `printf` of numbers, `strtod`,
//! `sscanf`, `localtime`, `strftime`, `getpwuid`, `regcomp` …), at least a thousand times, and the
//! calls with all that they call take a good part of the time. Calls of one function of the source that convert the same
//! are one finding. What `printf` converts is read from
//! its constant format, or, of formats that are made at run time or handed on by functions of the user's own, from
//! what bursts saw the library read of them; of strings those are reported that are short. Matching is not converting, so that `regexec` is not in
//! the table; `std::regex` is, which takes some tens of times as long as other engines for the same. Streams of C++ and formatting by
//! Rust's `core::fmt` are many functions: those that one line calls count together. Exceptions of C++ are in the table as
//! well (`__cxa_throw`), tests of types by `dynamic_cast`, hashes of keys by SipHash are known by their code ([`super::keyed_hashes`]), and a program's own
//! routines for floating-point numbers by what they write ([`super::whole_numbers`]).
//!
//! **Confirmation.** The direct conversion in its place.
//!
//! **Gain.** From the measured cycles of a call to those of direct conversions
//! ([`direct_conversion`]).
//!
//! **Source.** U. Adams, "Ryū: fast float-to-string conversion", PLDI 2018; D. Lemire, "Number
//! parsing at a gigabyte per second", Software: Practice and Experience 51, 2021; H. Dusíková, "Compile time regular
//! expressions", CppCon 2018 (`std::regex` beside other engines); W. D. Clinger, "How
//! to read floating point numbers accurately", PLDI 1990; redis 8 (f3c6f9c2f44a, fb8755a636ed:
//! `%.17g` replaced).

use genba_model::{CallFact, Cause, ConversionFact, ConversionKind, Estimate, Fix};

use crate::candidate::Candidate;
use crate::causes::keyed_hashes::keyed_hashes;
use crate::causes::whole_numbers::whole_numbers;
use crate::constants::counts::MIN_CALLS_HABITUAL;
use crate::constants::gains::{
    MAX_CONVERSION_RESIDUAL, MAX_CYCLES_OF_SHORT_TEXT, MAX_RESIDUAL, direct_conversion,
    direct_text_copy,
};
use crate::constants::observations::MIN_SEEN;
use crate::constants::search_limits::MAX_FORMAT_CHARS;
use crate::constants::time_shares::{MIN_SHARE_OF_CONVERSION, MOST_OF_IT};
use crate::input::analysis_input::AnalysisInput;
use crate::input::conversion_routines::{FormatDirectives, RUST_LOOP_OVER_VALUES};
use crate::input::conversions::{Conversion, ConversionUser};
use crate::input::user_lines::site_of;
use crate::patterns::calls::{cycles_of_all, index_of};
use crate::patterns::system_calls::share_of_system_calls;

/// Finds lines whose calls of converting library routines take a good part of the time.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let Some(all) = cycles_of_all(input) else {
        return Vec::new();
    };
    let conversions = input.program.conversions.iter();
    let of_routines = conversions.flat_map(|conversion| {
        let converted = (told_apart(&conversion.users).into_iter())
            .filter_map(|user| converted(input, conversion, user, all));
        (of_functions(converted).into_iter())
            .filter_map(|places| candidate(input, conversion, &places, all))
            .collect::<Vec<_>>()
    });
    (of_routines.chain(keyed_hashes(input, all)))
        .chain(whole_numbers(input, all))
        .collect()
}

/// A place that converts, and what doing it directly takes.
struct Converted {
    user: ConversionUser,
    kind: ConversionKind,
    /// Core cycles for each call.
    direct: Estimate,
    share: f64,
    /// The format, where one is known.
    format: Option<String>,
}

/// Places that convert the same in one function of the source: one change serves them.
fn of_functions(converted: impl Iterator<Item = Converted>) -> Vec<Vec<Converted>> {
    let mut groups: Vec<Vec<Converted>> = Vec::new();
    for one in converted {
        let name = |of: &Converted| {
            let call = &of.user.call;
            let inlined = call.place.function.clone();
            (
                inlined.unwrap_or_else(|| call.function.clone()),
                call.module.clone(),
            )
        };
        let same = |group: &&mut Vec<Converted>| {
            group[0].kind == one.kind && name(&group[0]) == name(&one)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups
}

/// The calls of a routine that a reader can tell apart: those of a module without lines that convert the
/// same are one, at the most frequent of them.
fn told_apart(users: &[ConversionUser]) -> Vec<ConversionUser> {
    let mut found: Vec<ConversionUser> = Vec::new();
    for user in users {
        let same = |known: &&mut ConversionUser| {
            let lines = [&known.call, &user.call].map(|call| call.place.line);
            lines == [None, None]
                && known.call.module == user.call.module
                && known.format == user.format
        };
        match found.iter_mut().find(same) {
            Some(known) => {
                let calls = known.call.calls + user.call.calls;
                if user.call.calls > known.call.calls {
                    known.call = user.call.clone();
                }
                known.call.calls = calls;
            }
            None => found.push(user.clone()),
        }
    }
    found
}

fn converted(
    input: &AnalysisInput,
    conversion: &Conversion,
    user: ConversionUser,
    all: f64,
) -> Option<Converted> {
    let call = &user.call;
    let own = conversion.share * (call.calls / conversion.calls.max(1) as f64).min(1.0);
    // A look-up that opens files each time costs what the kernel does for it, too.
    let share = match conversion.kind {
        ConversionKind::Account => (own + share_of_system_calls(input, call)).min(1.0),
        _ => own,
    };
    // What a library tests for itself (streams look their facets up so) no change of the caller spares.
    let of_library = conversion.kind == ConversionKind::TypeTest && call.through_library;
    if call.calls < MIN_CALLS_HABITUAL as f64 || of_library {
        return None;
    }
    let seen = formats_seen(input, &user);
    let (kind, direct) = match (&user.format, conversion.kind) {
        (None, ConversionKind::Format) => cost_of_formats(seen)?,
        _ => direct_cost(input, conversion, &user)?,
    };
    let format = user.format.as_deref();
    let format = format.or(seen.first().map(|one| one.0.as_str()));
    let each = share * all / call.calls;
    (direct.value / each <= MAX_CONVERSION_RESIDUAL).then_some(Converted {
        format: format.map(quoted),
        kind,
        direct,
        share,
        user,
    })
}

fn candidate(
    input: &AnalysisInput,
    conversion: &Conversion,
    places: &[Converted],
    all: f64,
) -> Option<Candidate> {
    let share: f64 = places.iter().map(|one| one.share).sum::<f64>().min(1.0);
    if share < MIN_SHARE_OF_CONVERSION {
        return None;
    }
    let calls: f64 = places.iter().map(|one| one.user.call.calls).sum();
    let each = share * all / calls;
    let mean = |of: fn(&Estimate) -> f64| {
        let cycles = places
            .iter()
            .map(|one| of(&one.direct) * one.user.call.calls);
        cycles.sum::<f64>() / calls
    };
    let direct = Estimate {
        value: mean(|cost| cost.value),
        low: mean(|cost| cost.low),
        high: mean(|cost| cost.high),
    };
    let most = (places.iter()).max_by(|a, b| a.share.total_cmp(&b.share))?;
    let kind = most.kind;
    // Of long texts the copy takes the time, whoever makes it; and what is written takes that of system calls.
    let pieces = direct.value / direct_text_copy().value;
    if kind == ConversionKind::FormatText && each > MAX_CYCLES_OF_SHORT_TEXT * pieces {
        return None;
    }
    let residual_fraction = direct.scaled(1.0 / each);
    let call = &most.user.call;
    let function = index_of(input, &call.function, &call.module);
    let at = function.and_then(|index| {
        let code = &input.functions[index].code;
        code.iter().position(|one| one.address == call.address)
    });
    let fix = Fix::ConvertDirectly(kind);
    let mut one = match at {
        Some(at) => Candidate::new(Cause::CostlyConversion, function, vec![at], fix),
        None => {
            let mut one = Candidate::new(Cause::CostlyConversion, None, Vec::new(), fix);
            one.at = Some(site_of(
                &call.function,
                &call.module,
                call.address,
                &call.place,
            ));
            one
        }
    };
    one.share = Some(share);
    one.residual_fraction = Estimate {
        high: residual_fraction.high.min(MAX_RESIDUAL),
        ..residual_fraction
    };
    one.executions = Some(calls as u64);
    one.cycles = Some(Estimate::exact(each));
    Some(
        one.fact(ConversionFact::Calls {
            routine: conversion.routine.clone(),
            format: most.format.clone(),
            calls: calls as u64,
            places: places.len() as u32,
        })
        .fact(CallFact::Time {
            function: Some(conversion.routine.clone()),
            share,
            cycles: each,
        })
        .fact(ConversionFact::DirectCost {
            kind,
            cycles: direct,
        }),
    )
}

/// What is converted, and the cycles of doing it directly; `None` where nothing is converted, or
/// nobody can say what.
fn direct_cost(
    input: &AnalysisInput,
    conversion: &Conversion,
    user: &ConversionUser,
) -> Option<(ConversionKind, Estimate)> {
    let kind = conversion.kind;
    let format = user.format.as_deref();
    if kind == ConversionKind::Stream {
        let item = [
            direct_conversion(ConversionKind::FormatInteger),
            direct_text_copy(),
        ];
        // Nothing is made where values go into what is there.
        let text = match conversion.routine == RUST_LOOP_OVER_VALUES {
            true => direct_text_copy(),
            false => direct_conversion(kind),
        };
        let float = direct_conversion(ConversionKind::FormatFloat);
        let floats = floats_of_line(input, user);
        let sum = |of: fn(&Estimate) -> f64| {
            of(&text) + user.items * item.iter().map(of).sum::<f64>() + floats * of(&float)
        };
        let cycles = Estimate {
            value: sum(|cost| cost.value),
            low: sum(|cost| cost.low),
            high: sum(|cost| cost.high),
        };
        return Some((kind, cycles));
    }
    if kind == ConversionKind::Scan {
        let items = format.map_or(1, |format| format.matches('%').count().max(1));
        return Some((kind, direct_conversion(kind).scaled(items as f64)));
    }
    if kind != ConversionKind::Format {
        return Some((kind, direct_conversion(kind)));
    }
    cost_of_format(format?)
}

/// Floating-point numbers among the values that a line formats, for each call: digits of those are not had as cheaply as
/// those of integers.
fn floats_of_line(input: &AnalysisInput, user: &ConversionUser) -> f64 {
    let of_floats = input
        .program
        .conversions
        .iter()
        .filter(|one| one.kind == ConversionKind::FormatFloat);
    let here = of_floats.flat_map(|one| &one.users).filter(|other| {
        let (one, other) = (&user.call, &other.call);
        (&one.function, &one.module, &one.place) == (&other.function, &other.module, &other.place)
    });
    here.map(|one| one.call.calls).sum::<f64>() / user.call.calls.max(1.0)
}

/// The formats that bursts saw a call hand over, with their part of the calls.
fn formats_seen<'a>(input: &'a AnalysisInput, user: &ConversionUser) -> &'a [(String, f64)] {
    let known = || {
        let observed = input.observed.as_ref()?;
        let module = observed.module(&user.call.module)?;
        let calls = observed.call_formats.iter().filter(|one| {
            one.at.module == module && one.at.address == user.call.address && one.calls >= MIN_SEEN
        });
        calls.max_by_key(|one| one.calls)
    };
    known().map_or(&[], |one| one.formats.as_slice())
}

/// What formats convert, and the cycles of doing it directly, each by its part; `None` if most convert nothing.
fn cost_of_formats(formats: &[(String, f64)]) -> Option<(ConversionKind, Estimate)> {
    let costs: Vec<(f64, ConversionKind, Estimate)> = (formats.iter())
        .filter_map(|(text, part)| cost_of_format(text).map(|(kind, cost)| (*part, kind, cost)))
        .collect();
    let all: f64 = costs.iter().map(|one| one.0).sum();
    let (_, kind, _) = *(costs.iter()).max_by(|a, b| a.0.total_cmp(&b.0))?;
    let mean =
        |of: fn(&Estimate) -> f64| costs.iter().map(|one| one.0 * of(&one.2)).sum::<f64>() / all;
    (all >= MOST_OF_IT).then(|| {
        let cycles = Estimate {
            value: mean(|cost| cost.value),
            low: mean(|cost| cost.low),
            high: mean(|cost| cost.high),
        };
        (kind, cycles)
    })
}

fn cost_of_format(format: &str) -> Option<(ConversionKind, Estimate)> {
    let asked = FormatDirectives::of(format);
    let kind = match (asked.floats, asked.integers) {
        (0, 0) if asked.others > 0 || asked.characters + asked.texts == 0 => return None,
        (0, 0) if asked.texts == 0 => ConversionKind::FormatCharacter,
        (0, 0) => ConversionKind::FormatText,
        (0, _) => ConversionKind::FormatInteger,
        _ => ConversionKind::FormatFloat,
    };
    let parts = [
        (direct_conversion(ConversionKind::FormatFloat), asked.floats),
        (
            direct_conversion(ConversionKind::FormatInteger),
            asked.integers,
        ),
        (
            direct_conversion(ConversionKind::FormatCharacter),
            asked.characters,
        ),
        // The text between the directives is copied as well.
        (direct_text_copy(), 1 + asked.texts + asked.others),
    ];
    let sum = |of: fn(&Estimate) -> f64| {
        parts
            .iter()
            .map(|(each, times)| of(each) * f64::from(*times))
            .sum()
    };
    let cycles = Estimate {
        value: sum(|cost| cost.value),
        low: sum(|cost| cost.low),
        high: sum(|cost| cost.high),
    };
    Some((kind, cycles))
}

/// A format as it would be in the source, cut off where it is long.
fn quoted(format: &str) -> String {
    let escaped: String = format.escape_debug().collect();
    match escaped.char_indices().nth(MAX_FORMAT_CHARS) {
        Some((cut, _)) => format!("{}…", &escaped[..cut]),
        None => escaped,
    }
}
