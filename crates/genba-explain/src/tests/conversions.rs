//! Costly conversions: routines of the library with their callers: synthetic programs.

use genba_model::{CodePoint, ConversionFact, ConversionKind, Fact, Fix};
use genba_observe::{CallFormats, NumberText, Observations};
use iced_x86::code_asm::*;

use crate::candidate::Candidate;
use crate::causes::{costly_conversion, excess_syscalls};
use crate::input::analysis_input::{
    AnalysisInput, FunctionWithCallees, Place, RuntimeUse, UserCall,
};
use crate::input::conversion_routines::routine;
use crate::input::conversions::{Conversion, ConversionUser};
use crate::tests::observed_repetition::{observations, point, seen};
use crate::tests::synthetic::{ALL, function, program};

/// `write_row`, whose one call of a conversion takes this share of the time.
fn input(
    kind: ConversionKind,
    routine: &str,
    format: Option<&str>,
    share: f64,
    calls: u64,
) -> AnalysisInput {
    let caller = function(
        "write_row",
        |a| {
            let mut callee = a.create_label();
            a.call(callee)?;
            a.set_label(&mut callee)?;
            a.ret()
        },
        &[calls, calls],
        &[1.0 - share, 0.0],
        &[],
    );
    let mut input = program(vec![caller]);
    input.program.conversions = vec![Conversion {
        routine: routine.to_owned(),
        kind,
        share,
        calls,
        users: vec![ConversionUser {
            call: UserCall {
                function: "write_row".to_owned(),
                module: "/bin/prog".to_owned(),
                address: 0x1000,
                place: Place::default(),
                through: Vec::new(),
                through_library: false,
                calls: calls as f64,
                executions: calls,
                caller_calls: None,
            },
            format: format.map(str::to_owned),
            items: 2.0,
        }],
    }];
    input
}

/// Calls that each take so many cycles when a half of all time is in them.
fn calls_of(cycles: f64) -> u64 {
    (0.5 * ALL / cycles) as u64
}

#[test]
fn formatting_a_double_is_reported_at_the_calling_line_with_the_gain_of_direct_code() {
    let calls = calls_of(1000.0);
    let found = costly_conversion::detect(&input(
        ConversionKind::Format,
        "snprintf",
        Some("%.17g"),
        0.5,
        calls,
    ));
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].function, found[0].site.clone()),
        (Some(0), vec![0])
    );
    assert_eq!(
        found[0].fix,
        Fix::ConvertDirectly(ConversionKind::FormatFloat)
    );
    let residual = found[0].residual_fraction;
    assert!((0.1..0.2).contains(&residual.value), "{residual:?}");
    assert!(
        found[0]
            .facts
            .contains(&Fact::Conversion(ConversionFact::Calls {
                routine: "snprintf".to_owned(),
                format: Some("%.17g".to_owned()),
                calls,
                places: 1,
            }))
    );
}

#[test]
fn formats_of_long_strings_and_unknown_formats_are_not_conversions() {
    let formatted = |format, cycles| {
        let calls = calls_of(cycles);
        costly_conversion::detect(&input(
            ConversionKind::Format,
            "fprintf",
            format,
            0.5,
            calls,
        ))
    };
    assert_eq!(formatted(Some("%s=%d\n"), 1000.0).len(), 1);
    // Of short ones interpreting the format takes the time, of long ones the copy.
    for (text, kind) in [
        ("%s: %s\n", ConversionKind::FormatText),
        ("%c%s", ConversionKind::FormatText),
        ("%c", ConversionKind::FormatCharacter),
    ] {
        let [found] = formatted(Some(text), 150.0).try_into().unwrap();
        assert_eq!(found.fix, Fix::ConvertDirectly(kind));
    }
    assert!(formatted(Some("%s: %s\n"), 1000.0).is_empty());
    assert!(formatted(Some("%c %p"), 150.0).is_empty());
    assert!(formatted(None, 150.0).is_empty());
}

#[test]
fn conversions_hardly_slower_than_direct_code_are_not_reported() {
    let parsed = |name, cycles| {
        let kind = routine(name).expect("it converts").kind;
        let calls = calls_of(cycles);
        costly_conversion::detect(&input(kind, name, None, 0.5, calls))
    };
    assert_eq!(parsed("strtod", 300.0).len(), 1);
    assert!(parsed("strtod", 80.0).is_empty());
    let found = parsed("__isoc23_strtoll", 90.0);
    let fix = Fix::ConvertDirectly(ConversionKind::ParseInteger);
    assert_eq!(found[0].fix, fix);
    assert!(parsed("__isoc23_strtoll", 25.0).is_empty());
}

#[test]
fn rare_or_cheap_conversions_are_not_reported() {
    let looked_up = |share, calls| {
        let input = input(ConversionKind::Account, "getpwuid", None, share, calls);
        costly_conversion::detect(&input)
    };
    assert_eq!(looked_up(0.5, 10_000).len(), 1);
    assert!(looked_up(0.5, 100).is_empty());
    assert!(looked_up(0.02, 10_000).is_empty());
}

/// Look-ups that make three system calls each, beside as many others; half of the time is in the kernel.
fn opening_files(kind: ConversionKind, routine: &str) -> AnalysisInput {
    let mut input = input(kind, routine, None, 0.1, 100_000);
    let call = &input.program.conversions[0].users[0].call;
    let opens = UserCall {
        through: vec!["openat".to_owned(), routine.to_owned()],
        through_library: true,
        calls: 300_000.0,
        ..call.clone()
    };
    let other = UserCall {
        address: 0x7000,
        calls: 300_000.0,
        executions: 300_000,
        through: Vec::new(),
        place: Place {
            line: Some(7),
            ..Place::default()
        },
        ..call.clone()
    };
    input.program.cpu_seconds = 1.0;
    input.program.kernel_share = 0.5;
    input.program.runtime = vec![RuntimeUse {
        service: "openat".to_owned(),
        system_call: true,
        calls: 600_000,
        users: vec![opens, other],
        ..RuntimeUse::default()
    }];
    input
}

#[test]
fn look_up_of_an_account_has_the_time_of_the_files_that_it_opens() {
    let found = costly_conversion::detect(&opening_files(ConversionKind::Account, "getpwuid"));
    assert!(
        (found[0].share.unwrap_or(0.0) - 0.35).abs() < 0.01,
        "{found:?}"
    );
    // Other conversions are not work of the kernel: a stream without a buffer is not the format's doing.
    let text = costly_conversion::detect(&opening_files(ConversionKind::TimeText, "strftime"));
    assert!((text[0].share.unwrap_or(0.0) - 0.1).abs() < 0.01);
}

#[test]
fn system_calls_of_account_look_ups_are_not_to_be_buffered() {
    let line = |routine| {
        let found = excess_syscalls::detect(&opening_files(ConversionKind::Account, routine));
        found.first()?.at.as_ref()?.line
    };
    assert_eq!(line("getpwuid"), Some(7));
    // What a stream writes is.
    let mut stream = opening_files(ConversionKind::Format, "fprintf");
    stream.program.runtime[0].users.truncate(1);
    assert_eq!(excess_syscalls::detect(&stream).len(), 1);
}

#[test]
fn calls_without_lines_that_convert_the_same_are_one_finding() {
    let calls = calls_of(300.0);
    let of = |line: [Option<u32>; 2]| {
        let mut input = input(ConversionKind::ParseFloat, "strtod", None, 0.5, calls);
        let users = &mut input.program.conversions[0].users;
        users[0].call.calls = calls as f64 * 0.4;
        users[0].call.place.line = line[0];
        let mut other = users[0].clone();
        other.call.function = "read_rows".to_owned();
        other.call.address = 0x9000;
        other.call.calls = calls as f64 * 0.6;
        other.call.place.line = line[1];
        users.push(other);
        costly_conversion::detect(&input)
    };
    let found = of([None, None]);
    assert_eq!(found.len(), 1);
    assert!((found[0].share.unwrap_or(0.0) - 0.5).abs() < 1e-9);
    assert_eq!(found[0].executions, Some(calls));
    assert_eq!(of([Some(10), Some(20)]).len(), 2);
    assert_eq!(of([Some(10), None]).len(), 2);
}

#[test]
fn values_put_into_a_stream_are_reported_by_what_writing_them_directly_takes() {
    let calls = calls_of(1200.0);
    let found = costly_conversion::detect(&input(
        ConversionKind::Stream,
        "std::ostream::operator<<",
        None,
        0.5,
        calls,
    ));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].fix, Fix::ConvertDirectly(ConversionKind::Stream));
    // A text of 40 cycles, and two values of 32 each.
    let left = found[0].residual_fraction.value;
    assert!((left - 104.0 / 1200.0).abs() < 1e-3, "{left}");
    // About as fast as direct code.
    let of = |routine: &str| input(ConversionKind::Stream, routine, None, 0.5, calls_of(150.0));
    assert!(costly_conversion::detect(&of("s")).is_empty());
    // No text is made where values go into one that is there.
    let existing = costly_conversion::detect(&of("core::fmt::write"));
    assert!((existing[0].residual_fraction.value - 76.0 / 150.0).abs() < 1e-3);
    // A floating-point number among them.
    let mut with_float = of("core::fmt::write");
    let float = Conversion {
        routine: "float_to_decimal_common_shortest".to_owned(),
        kind: ConversionKind::FormatFloat,
        share: 0.0,
        ..with_float.program.conversions[0].clone()
    };
    with_float.program.conversions.push(float);
    assert!(costly_conversion::detect(&with_float).is_empty());
}

/// A wrapper of `vfprintf` that hands on what bursts saw the library read as formats.
fn wrapped(formats: &[(&str, f64)], calls: u64) -> Vec<Option<String>> {
    let mut input = input(
        ConversionKind::Format,
        "vfprintf",
        None,
        0.5,
        calls_of(400.0),
    );
    input.observed = Some(Observations {
        modules: vec!["/bin/prog".to_owned()],
        bursts: 10,
        call_formats: vec![CallFormats {
            at: CodePoint {
                module: 0,
                address: 0x1000,
            },
            target: CodePoint {
                module: 1,
                address: 0x5000,
            },
            calls,
            formats: (formats.iter())
                .map(|one| (one.0.to_owned(), one.1))
                .collect(),
        }],
        ..Observations::default()
    });
    let found = costly_conversion::detect(&input);
    let format = |fact: &Fact| match fact {
        Fact::Conversion(ConversionFact::Calls { format, .. }) => Some(format.clone()),
        _ => None,
    };
    let facts = found.iter().flat_map(|one| &one.facts);
    facts.filter_map(format).collect()
}

#[test]
fn formats_that_a_wrapper_hands_on_are_those_that_the_library_read() {
    let most = [("…%*x", 0.7), ("%s", 0.2), ("%d", 0.1)];
    assert_eq!(wrapped(&most, 5000), [Some("…%*x".to_owned())]);
}

#[test]
fn wrappers_of_strings_and_formats_seen_a_few_times_are_not_conversions() {
    assert!(wrapped(&[("…%*s", 0.7), ("%d", 0.3)], 5000).is_empty());
    assert!(wrapped(&[("%d", 1.0)], 20).is_empty());
    assert!(wrapped(&[], 5000).is_empty());
}

#[test]
fn calls_of_one_function_that_convert_the_same_are_one_finding() {
    let calls = calls_of(200.0);
    let kind = ConversionKind::TypeTest;
    let mut all = input(kind, "__dynamic_cast", None, 0.5, calls);
    let one = all.program.conversions[0].users[0].clone();
    all.program.conversions[0].users = ["area_of", "area_of", "draw"]
        .into_iter()
        .zip(12..)
        .map(|(function, line)| {
            let mut user = one.clone();
            user.call.place.function = Some(function.to_owned());
            user.call.place.line = Some(line);
            user.call.calls = calls as f64 / [1.0, 2.0, 4.0, 4.0][line as usize - 11];
            user
        })
        .collect();
    let found = costly_conversion::detect(&all);
    let places = |one: &Candidate| {
        let calls = one.facts.iter().find_map(|fact| match fact {
            Fact::Conversion(ConversionFact::Calls { calls, places, .. }) => {
                Some((*calls, *places))
            }
            _ => None,
        });
        calls.expect("a fact about the calls")
    };
    let found: Vec<(u64, u32)> = found.iter().map(places).collect();
    assert_eq!(found, [(calls * 3 / 4, 2), (calls / 4, 1)]);
}

#[test]
fn types_that_a_library_tests_for_itself_are_no_finding() {
    let calls = calls_of(200.0);
    let mut all = input(ConversionKind::TypeTest, "__dynamic_cast", None, 0.5, calls);
    assert_eq!(costly_conversion::detect(&all).len(), 1);
    let call = &mut all.program.conversions[0].users[0].call;
    call.through = vec!["std::operator>> <char>".to_owned()];
    call.through_library = true;
    assert!(costly_conversion::detect(&all).is_empty());
}

/// `write_number`, half of the time in so many calls, of which these are seen to write whole numbers.
fn numbers(calls: u64, whole: f64) -> AnalysisInput {
    let body = |a: &mut CodeAssembler| {
        a.movq(rax, xmm0)?;
        a.ret()
    };
    let writer = function("write_number", body, &[calls; 2], &[0.25, 0.25], &[]);
    let mut input = program(vec![writer]);
    let address = input.functions[0].code[0].address;
    input.program.with_callees = vec![FunctionWithCallees {
        function: "write_number".to_owned(),
        module: "/bin/prog".to_owned(),
        address,
        share: 0.5,
        calls,
        ..FunctionWithCallees::default()
    }];
    let mut observed = observations();
    observed.number_texts.push(NumberText {
        target: point(&input, 0, 0),
        whole: seen(whole),
    });
    input.observed = Some(observed);
    input
}

#[test]
fn whole_numbers_written_as_any_number_are_found() {
    let found = costly_conversion::detect(&numbers(calls_of(300.0), 0.9));
    let [one] = found.try_into().expect("one finding");
    assert_eq!(one.fix, Fix::ConvertDirectly(ConversionKind::FormatWhole));
    let share = one.share.expect("a share");
    assert!((share - 0.45).abs() < 1e-9, "of the whole ones: {share}");
    assert!((0.03..0.15).contains(&one.residual_fraction.value));
}

#[test]
fn numbers_with_a_point_and_cheap_calls_are_not_whole_numbers() {
    assert!(costly_conversion::detect(&numbers(calls_of(300.0), 0.6)).is_empty());
    assert!(costly_conversion::detect(&numbers(calls_of(25.0), 0.9)).is_empty());
    // It saves all vector registers for an open list of arguments.
    let mut formatter = numbers(calls_of(300.0), 0.9);
    let calls = formatter.functions[0].counts[0];
    let body = |a: &mut CodeAssembler| {
        a.movaps(xmmword_ptr(rsp + 16), xmm0)?;
        a.movaps(xmmword_ptr(rsp + 128), xmm7)?;
        a.ret()
    };
    let shares = [0.2, 0.2, 0.1];
    formatter.functions[0] = function("write_number", body, &[calls; 3], &shares, &[]);
    assert!(costly_conversion::detect(&formatter).is_empty());
}
