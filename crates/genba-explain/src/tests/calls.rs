//! The causes about calls, on functions assembled by hand: what they must find, and what looks
//! like it and must not be reported.

use iced_x86::code_asm::*;

use genba_model::{CallFact, Fact, Fix};

use crate::causes::indirect_call_one_target;
use crate::causes::loop_invariant_call;
use crate::causes::quadratic;
use crate::causes::tiny_callee_not_inlined;
use crate::causes::tls_lookup;
use crate::input::analysis_input::{AnalysisInput, CallSite, FunctionInput};
use crate::tests::synthetic::{call, function, has_fact, program};

const ITERATIONS: u64 = 10_000_000;

/// A loop that calls once an iteration: `for (; rdi != end; rdi++) sum += callee(*p)`.
fn caller(site: CallSite) -> FunctionInput {
    let (once, iterations) = (10, ITERATIONS);
    let mut caller = function(
        "caller",
        |a| {
            let mut head = a.create_label();
            let mut callee = a.create_label();
            a.push(rbx)?;
            a.mov(rbx, rdi)?;
            a.set_label(&mut head)?;
            a.movzx(edi, byte_ptr(rbx))?;
            a.call(callee)?;
            a.add(rbx, 1)?;
            a.cmp(rbx, rbp)?;
            a.jne(head)?;
            a.pop(rbx)?;
            a.set_label(&mut callee)?;
            a.ret()
        },
        &[
            once, once, iterations, iterations, iterations, iterations, iterations, once, once,
        ],
        &[0.0, 0.0, 0.1, 0.1, 0.1, 0.05, 0.05, 0.0, 0.0],
        &[(6, iterations - once)],
    );
    caller.call_sites.push(site);
    caller
}

/// Two instructions and a return, with 0.5 of the time.
fn callee(name: &str, unit: &str) -> FunctionInput {
    let mut callee = function(
        name,
        |a| {
            a.lea(eax, ptr(rdi + rdi * 2))?;
            a.add(eax, 1)?;
            a.ret()
        },
        &[ITERATIONS; 3],
        &[0.3, 0.2, 0.1],
        &[],
    );
    callee.unit = Some(unit.to_owned());
    for place in &mut callee.places {
        place.file = Some(unit.to_owned());
    }
    callee
}

fn tiny(unit: &str, instructions: f64) -> AnalysisInput {
    let site = call(3, "tiny", ITERATIONS, instructions);
    program(vec![callee("tiny", unit), caller(site)])
}

#[test]
fn tiny_callee_of_another_unit_is_reported_at_the_callee() {
    let found = tiny_callee_not_inlined::detect(&tiny("/src/other.c", 3.0));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].function, Some(0));
    // 100 cycles a call, of which the call itself is a few.
    assert!(
        found[0].residual_fraction.value > 0.5
            && found[0].residual_fraction.low < found[0].residual_fraction.value
    );
    assert_eq!(found[0].executions, Some(ITERATIONS));
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Call(CallFact::SmallCallee { function, calls: ITERATIONS, plt: false, .. })
            if function == "tiny"
    )));
}

#[test]
fn tiny_callee_is_not_found_in_the_same_unit_in_headers_or_if_large() {
    assert!(tiny_callee_not_inlined::detect(&tiny("/src/main.c", 3.0)).is_empty());
    assert!(tiny_callee_not_inlined::detect(&tiny("/src/other.c", 60.0)).is_empty());
    let mut header = tiny("/src/other.c", 3.0);
    for place in &mut header.functions[0].places {
        place.file = Some("/src/other.h".to_owned());
    }
    assert!(tiny_callee_not_inlined::detect(&header).is_empty());
    let assembler = tiny("/src/other.S", 3.0);
    assert!(tiny_callee_not_inlined::detect(&assembler).is_empty());
}

#[test]
fn codegen_units_of_one_crate_are_one_unit() {
    let mut input = tiny("src/main.rs/@/prog.1-cgu.1", 3.0);
    input.functions[1].unit = Some("src/main.rs/@/prog.1-cgu.0".to_owned());
    assert!(tiny_callee_not_inlined::detect(&input).is_empty());
    input.functions[1].unit = Some("src/lib.rs/@/other.1-cgu.0".to_owned());
    assert_eq!(tiny_callee_not_inlined::detect(&input).len(), 1);
}

#[test]
fn tiny_callee_called_through_the_plt_is_reported_at_the_call() {
    let mut input = tiny("/src/main.c", 3.0);
    assert!(tiny_callee_not_inlined::detect(&input).is_empty());
    input.functions[1].call_sites[0].plt = true;
    let found = tiny_callee_not_inlined::detect(&input);
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].function, found[0].site.clone()),
        (Some(1), vec![3])
    );
    // Hidden once, for all who call it.
    let mut beside = tiny("/src/main.c", 3.0).functions.swap_remove(1);
    beside.function = "beside".to_owned();
    beside.call_sites[0].plt = true;
    input.functions.push(beside);
    let found = tiny_callee_not_inlined::detect(&input);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].executions, Some(2 * ITERATIONS));
    assert_eq!(found[0].copies.len(), 1);
    // The C library is not the user's to inline.
    input.functions[0].own = false;
    assert!(tiny_callee_not_inlined::detect(&input).is_empty());
}

/// The C library's function of this name, called through the PLT with so many instructions each.
fn stream(name: &str, instructions: f64) -> AnalysisInput {
    let mut site = call(3, name, ITERATIONS, instructions);
    site.plt = true;
    let mut input = program(vec![callee(name, "/glibc/getc.c"), caller(site)]);
    input.functions[0].own = false;
    input
}

#[test]
fn characters_of_a_stream_are_reported_where_each_is_a_call() {
    let input = stream("_IO_getc", 12.0);
    let found = tiny_callee_not_inlined::detect(&input);
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].function, found[0].site.clone()),
        (Some(1), vec![3])
    );
    let function = "getc".to_owned();
    assert_eq!(found[0].fix, Fix::UnlockStream { function });
    let near = |input| tiny_callee_not_inlined::detect(&input).is_empty();
    // Blocks, and streams whose every character asks the kernel.
    assert!(near(stream("_IO_fgets", 12.0)));
    assert!(near(stream("_IO_getc", 200.0)));
    // The libraries' own use of streams.
    let mut inside = stream("_IO_getc", 12.0);
    inside.functions[1].own = false;
    assert!(near(inside));
    // Linked into the program: nothing lies between but the call.
    let mut linked = stream("_IO_getc", 12.0);
    linked.functions[1].call_sites[0].plt = false;
    assert!(near(linked));
}

#[test]
fn rounding_by_calls_is_reported_where_the_loop_calls_hardly_anything_else() {
    let input = stream("roundf", 24.0);
    let found = tiny_callee_not_inlined::detect(&input);
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].function, found[0].site.clone()),
        (Some(1), vec![3])
    );
    let function = "roundf".to_owned();
    assert_eq!(found[0].fix, Fix::RoundInline { function });
    // A vector that grows now and then; a call in each round.
    for (executions, expected) in [(ITERATIONS / 1000, 1), (ITERATIONS, 0)] {
        let mut beside = stream("roundf", 24.0);
        let mut other = call(3, "grow", executions, 50.0);
        other.plt = true;
        beside.functions[1].call_sites.push(other);
        let found = tiny_callee_not_inlined::detect(&beside);
        assert_eq!(found.len(), expected, "{executions}");
    }
    // The libraries' own loops are not the user's to compile.
    let mut inside = stream("roundf", 24.0);
    inside.functions[1].own = false;
    assert!(tiny_callee_not_inlined::detect(&inside).is_empty());
}

#[test]
fn indirect_call_is_found_with_one_dominant_target_only() {
    let mut input = tiny("/src/main.c", 3.0);
    assert!(indirect_call_one_target::detect(&input).is_empty());
    input.functions[1].call_sites[0].indirect = true;
    let found = indirect_call_one_target::detect(&input);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].function, Some(1));
    // The same call in a rare place is not worth a line.
    let mut rare = input.functions[1].call_sites[0].clone();
    (rare.at, rare.targets[0].count) = (4, ITERATIONS / 1000);
    input.functions[1].call_sites.push(rare);
    let found = indirect_call_one_target::detect(&input);
    let is_target = |fact: &&Fact| matches!(fact, Fact::Call(CallFact::DominantTarget { .. }));
    assert_eq!(found[0].facts.iter().filter(is_target).count(), 1);
    let mut second = input.functions[1].call_sites[0].targets[0].clone();
    second.function = "other".to_owned();
    second.count = ITERATIONS / 4;
    input.functions[1].call_sites[0].targets.push(second);
    assert!(indirect_call_one_target::detect(&input).is_empty());
}

#[test]
fn library_sort_with_small_comparator_is_reported_at_the_comparator() {
    let mut input = tiny("/src/main.c", 3.0);
    input.functions[1].own = false;
    input.functions[1].call_sites[0].indirect = true;
    assert!(indirect_call_one_target::detect(&input).is_empty());
    input.functions[1].function = "msort_with_tmp.part.0".to_owned();
    let found = indirect_call_one_target::detect(&input);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].function, Some(0));
}

#[test]
fn tls_lookup_is_reported_at_the_calling_line() {
    let mut input = program(vec![
        callee("pthread_getspecific@@GLIBC_2.34", "x"),
        caller(call(3, "pthread_getspecific@@GLIBC_2.34", ITERATIONS, 3.0)),
    ]);
    input.functions[0].own = false;
    let found = tls_lookup::detect(&input);
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].function, found[0].site.clone()),
        (Some(1), vec![3])
    );
    input.functions[1].call_sites[0].targets[0].count = 50;
    assert!(tls_lookup::detect(&input).is_empty());
}

/// `for (i = 0; i < strlen(rbx); i++)` with a pointer that stays, or one that moves.
fn measured(moves: bool) -> AnalysisInput {
    measured_ahead(0, moves)
}

/// The same with the length of what begins so many bytes further.
fn measured_ahead(bytes: i32, moves: bool) -> AnalysisInput {
    let (once, iterations) = (100, 1_000_000);
    let mut caller = function(
        "caller",
        |a| {
            let mut head = a.create_label();
            let mut callee = a.create_label();
            a.mov(rbx, rdi)?;
            a.xor(ebp, ebp)?;
            a.set_label(&mut head)?;
            a.lea(rdi, qword_ptr(rbx + bytes))?;
            a.call(callee)?;
            if moves {
                a.add(rbx, 1)?;
            } else {
                a.add(r12, 1)?;
            }
            a.add(rbp, 1)?;
            a.cmp(rbp, rax)?;
            a.jb(head)?;
            a.set_label(&mut callee)?;
            a.ret()
        },
        &[
            once, once, iterations, iterations, iterations, iterations, iterations, iterations,
            once,
        ],
        &[0.0, 0.0, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.0],
        &[(7, iterations - once)],
    );
    caller
        .call_sites
        .push(call(3, "__strlen_avx2", iterations, 20.0));
    let mut strlen = callee("__strlen_avx2", "strlen-avx2.S");
    strlen.own = false;
    strlen.calls = Some(iterations);
    program(vec![strlen, caller])
}

#[test]
fn loop_invariant_strlen_is_found() {
    let found = loop_invariant_call::detect(&measured(false));
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].function, found[0].site.clone()),
        (Some(1), vec![3])
    );
    assert!(found[0].residual_fraction.value < 0.6);
}

#[test]
fn place_of_the_table_of_toupper_is_the_same_each_time() {
    let named = |name: &str| {
        // Whatever moves: it has no arguments.
        let mut input = measured(true);
        input.functions[1].call_sites[0].targets[0].function = name.to_owned();
        input.functions[0].function = name.to_owned();
        loop_invariant_call::detect(&input)
    };
    let found = named("__ctype_toupper_loc");
    assert_eq!(found.len(), 1);
    let hoisted = Fix::HoistCalls {
        functions: vec!["ctype_toupper_loc".to_owned()],
    };
    assert_eq!(found[0].fix, hoisted);
    assert!(!has_fact(&found, |fact| {
        *fact == Fact::Call(CallFact::InvariantArgument)
    }));
    assert!(named("__errno_place").is_empty());
}

#[test]
fn strlen_of_a_different_string_each_iteration_is_not_invariant() {
    assert!(loop_invariant_call::detect(&measured(true)).is_empty());
    // What the pointer is after it has moved on is where the next iteration begins.
    assert!(loop_invariant_call::detect(&measured_ahead(1, true)).is_empty());
    assert_eq!(
        loop_invariant_call::detect(&measured_ahead(1, false)).len(),
        1
    );
}

/// A power of the same two numbers each iteration, the second kept in memory across the call; or one
/// that the iteration changes before it is kept.
fn powers(changes: bool) -> AnalysisInput {
    let (once, iterations) = (1000, 4_000_000);
    let mut caller = function(
        "develop",
        |a| {
            let mut head = a.create_label();
            let mut callee = a.create_label();
            a.movsd_2(xmm1, qword_ptr(rsi))?;
            a.mov(rbx, rdi)?;
            a.set_label(&mut head)?;
            if changes {
                a.addsd(xmm1, xmm1)?;
            } else {
                a.nop()?;
            }
            a.movsd_2(qword_ptr(rsp + 8), xmm1)?;
            a.movsd_2(xmm0, qword_ptr(rsp + 16))?;
            a.call(callee)?;
            a.movsd_2(qword_ptr(rbx), xmm0)?;
            a.movsd_2(xmm1, qword_ptr(rsp + 8))?;
            a.add(rbx, 8)?;
            a.cmp(rbx, rbp)?;
            a.jne(head)?;
            a.set_label(&mut callee)?;
            a.ret()
        },
        &[
            once, once, iterations, iterations, iterations, iterations, iterations, iterations,
            iterations, iterations, iterations, once,
        ],
        &[
            0.0, 0.0, 0.01, 0.01, 0.01, 0.02, 0.02, 0.01, 0.01, 0.01, 0.0, 0.0,
        ],
        &[(10, iterations - once)],
    );
    caller.call_sites.push(call(5, "pow", iterations, 60.0));
    let mut callee = function("pow", |a| a.ret(), &[iterations], &[0.9], &[]);
    callee.module = caller.module.clone();
    program(vec![callee, caller])
}

#[test]
fn argument_saved_across_the_call_is_invariant() {
    let found = loop_invariant_call::detect(&powers(false));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].site, [5]);
    assert!(loop_invariant_call::detect(&powers(true)).is_empty());
}

#[test]
fn strlen_of_a_reread_buffer_is_not_invariant() {
    let mut input = measured(false);
    // `fgets(buffer, …)` beside it: the contents change, the pointer does not.
    let mut other = call(4, "fgets", 1_000_000, 100.0);
    other.targets[0].module = "/lib/libc.so.6".to_owned();
    input.functions[1].call_sites.push(other);
    assert!(loop_invariant_call::detect(&input).is_empty());
}

#[test]
fn quadratic_is_found_for_memmove_onto_itself_not_for_a_copy() {
    enum From {
        Behind,
        FarBehind,
        Elsewhere,
    }
    let move_by = |from: From| {
        let (once, iterations) = (1, 20_000);
        let mut caller = function(
            "erase",
            |a| {
                let mut head = a.create_label();
                let mut callee = a.create_label();
                a.mov(rbx, rdi)?;
                a.set_label(&mut head)?;
                a.mov(rdi, rbx)?;
                match from {
                    From::Behind => a.lea(rsi, ptr(rbx + 24))?,
                    From::FarBehind => a.lea(rsi, ptr(rbx + r12))?,
                    From::Elsewhere => a.mov(rsi, r12)?,
                }
                a.call(callee)?;
                a.sub(r13, 1)?;
                a.jne(head)?;
                a.set_label(&mut callee)?;
                a.ret()
            },
            &[
                once, iterations, iterations, iterations, iterations, iterations, once,
            ],
            &[0.0, 0.0, 0.0, 0.05, 0.05, 0.0, 0.0],
            &[(5, iterations - once)],
        );
        caller
            .call_sites
            .push(call(3, "__memmove_avx_unaligned", iterations, 500.0));
        let mut memmove = callee("__memmove_avx_unaligned", "memmove.S");
        memmove.own = false;
        memmove.calls = Some(iterations);
        quadratic::detect(&program(vec![memmove, caller]))
    };
    for from in [From::Behind, From::FarBehind] {
        let found = move_by(from);
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].function, found[0].site.clone()),
            (Some(1), vec![3])
        );
    }
    assert!(move_by(From::Elsewhere).is_empty());
}
