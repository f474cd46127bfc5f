//! `quadratic` by functions of the C library that scan the same bytes, with synthetic counts and
//! observations.

use iced_x86::code_asm::*;

use genba_model::{CodePoint, Fix};
use genba_observe::{CallWork, Observations};

use crate::causes::quadratic;
use crate::input::analysis_input::{AnalysisInput, Place, UserCall};
use crate::tests::synthetic::{function, program};

const CALLS: u64 = 20_000;

/// A call of the user's at this line.
fn call_at(line: u32, calls: f64) -> UserCall {
    UserCall {
        function: "append".to_owned(),
        module: "/bin/prog".to_owned(),
        address: 0x1000 + u64::from(line),
        place: Place {
            line: Some(line),
            ..Place::default()
        },
        calls,
        executions: calls as u64,
        ..UserCall::default()
    }
}

/// `strlen` of texts of this length, 32 bytes an iteration: half of its calls from line 10, where bursts
/// saw this part of its work, the others from line 20.
fn lengths(name: &str, bytes: u64, part: f64) -> AnalysisInput {
    let times = CALLS * bytes / 32;
    let mut one = function(
        name,
        |a| {
            let mut head = a.create_label();
            a.set_label(&mut head)?;
            a.vpcmpeqb(ymm1, ymm0, ymmword_ptr(rdi))?;
            a.add(rdi, 32)?;
            a.vptest(ymm1, ymm1)?;
            a.je(head)?;
            a.ret()
        },
        &[times, times, times, times, CALLS],
        &[0.5, 0.1, 0.1, 0.1, 0.0],
        &[(3, times - CALLS)],
    );
    one.own = false;
    "/lib/libc.so.6".clone_into(&mut one.module);
    one.calls = Some(CALLS);
    let half = CALLS as f64 / 2.0;
    one.callers_behind_wrappers = vec![call_at(10, half), call_at(20, half)];
    let mut input = program(vec![one]);
    input.program.input_bytes = Some(1_000_000);
    input.program.max_rss_bytes = Some(8e6);
    let work = |line: u32, part: f64| CallWork {
        at: CodePoint {
            module: 0,
            address: 0x1000 + u64::from(line),
        },
        calls: 100,
        instructions_per_call: 1000.0 * part,
    };
    input.observed = Some(Observations {
        modules: vec!["/bin/prog".to_owned()],
        bursts: 40,
        call_work: vec![work(10, part), work(20, 1.0 - part)],
        ..Observations::default()
    });
    input
}

fn line_of(input: &AnalysisInput) -> Option<u32> {
    let found = quadratic::detect(input);
    assert!(found.len() <= 1 && found.iter().all(|one| one.fix == Fix::ScanOnce));
    found.first()?.at.as_ref()?.line
}

#[test]
fn length_taken_anew_for_each_piece_is_quadratic_where_most_work_is() {
    let input = lengths("__strlen_evex", 100_000, 0.95);
    assert_eq!(line_of(&input), Some(10));
    let found = quadratic::detect(&input);
    assert!((found[0].share.unwrap_or(0.0) - 0.8).abs() < 1e-9);
    assert_eq!(line_of(&lengths("__strlen_evex", 100_000, 0.05)), Some(20));
    // Short ones from another line are not part of it.
    let short = quadratic::detect(&lengths("__strlen_evex", 100_000, 0.998));
    assert!((short[0].share.unwrap_or(0.0) - 0.8 * 0.998).abs() < 1e-9);
}

#[test]
fn scans_that_are_short_once_or_of_no_line_are_not_quadratic() {
    // Lines of a large file, each looked at once.
    assert_eq!(line_of(&lengths("__memchr_evex", 400, 0.95)), None, "short");
    let mut once = lengths("__strlen_evex", 100_000, 0.95);
    once.program.max_rss_bytes = Some(4e9);
    assert_eq!(line_of(&once), None, "as much memory as is read");
    let mut unknown = lengths("__strlen_evex", 100_000, 0.95);
    unknown.program.input_bytes = None;
    assert_eq!(line_of(&unknown), None, "input of unknown size");
    let mut unmet = lengths("__strlen_evex", 100_000, 0.95);
    if let Some(observed) = &mut unmet.observed {
        observed.call_work.clear();
    }
    assert_eq!(line_of(&unmet), None, "calls that no burst met");
    let mut unseen = lengths("__strlen_evex", 100_000, 0.95);
    unseen.observed = None;
    assert_eq!(line_of(&unseen), None, "no bursts");
    assert_eq!(line_of(&lengths("__memset_evex", 100_000, 0.95)), None);
}

#[test]
fn calls_of_another_library_function_scan_what_direct_calls_leave() {
    // Line 10 reads numbers, which takes as long, but scans nothing to speak of.
    let mut input = lengths("__strlen_evex", 100_000, 0.5);
    input.functions[0].callers_behind_wrappers[0].through_library = true;
    let executed: u64 = input.functions[0].counts.iter().sum();
    for work in input.observed.iter_mut().flat_map(|all| &mut all.call_work) {
        work.instructions_per_call = executed as f64 / (CALLS as f64 / 2.0);
    }
    assert_eq!(line_of(&input), Some(20));
    assert!((quadratic::detect(&input)[0].share.unwrap_or(0.0) - 0.8).abs() < 1e-9);
    // `sscanf` of a long text takes its length for each number.
    let mut input = lengths("__strlen_evex", 100_000, 0.95);
    input.functions[0].callers_behind_wrappers[0].through_library = true;
    assert_eq!(line_of(&input), Some(10));
}
