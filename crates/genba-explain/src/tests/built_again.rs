//! Tables that are built again of the same, and near misses.

use genba_model::{CodePoint, Estimate, Fix};
use genba_observe::{RedundantCall, SilentStore};
use iced_x86::code_asm::*;

use crate::candidate::Candidate;
use crate::causes::redundant_computation;
use crate::input::analysis_input::FunctionInput;
use crate::tests::observed_repetition::{observations, point, seen, usual_value};
use crate::tests::synthetic::{call, function, program};

const CALLS: u64 = 1_000_000;

/// What building a table is like.
#[derive(Clone, Copy, Debug)]
struct Kind {
    calls: u64,
    /// Entries of the table.
    entries: u64,
    /// Share of the stores that store what is there.
    silent: f64,
    /// Share of the stores that store the most frequent value.
    usual: f64,
    /// Whether each call hands the table on.
    handed_on: bool,
    /// Share of the calls that take what an earlier one took.
    alike: f64,
    /// Share of the calls that leave something new.
    new: f64,
    /// Share of all time.
    share: f64,
}

const PLAIN: Kind = Kind {
    calls: CALLS,
    entries: 64,
    silent: 0.96,
    usual: 0.1,
    handed_on: false,
    alike: 0.87,
    new: 0.11,
    share: 0.2,
};

/// What builds a table for each block.
fn decode(calls: u64) -> FunctionInput {
    let mut one = function(
        "decode",
        |a| {
            let mut callee = a.create_label();
            a.nop()?;
            a.call(callee)?;
            a.set_label(&mut callee)?;
            a.ret()
        },
        &[calls; 3],
        &[0.1; 3],
        &[],
    );
    // Apart from what it calls, whose code has the same addresses.
    "/bin/decode".clone_into(&mut one.module);
    one.call_sites.push(call(1, "build", calls, 2000.0));
    one
}

/// `for (i = 0; i < n; i++) table[i] = next[symbol[i]]++;`, with `next` in the frame.
fn build(kind: Kind) -> Vec<Candidate> {
    let all = kind.calls * kind.entries;
    let calls = kind.calls;
    let mut one = function(
        "build",
        |a| {
            let mut head = a.create_label();
            match kind.handed_on {
                true => a.call(0x9000)?,
                false => a.nop()?,
            }
            a.lea(r10, qword_ptr(rsp + 0x40))?;
            a.set_label(&mut head)?;
            a.movzx(eax, byte_ptr(rsi))?;
            a.mov(ecx, dword_ptr(r10 + rax * 4))?;
            a.mov(dword_ptr(rdi), ecx)?;
            a.add(ecx, 1)?;
            a.mov(dword_ptr(r10 + rax * 4), ecx)?;
            a.add(rsi, 1)?;
            a.add(rdi, 4)?;
            a.cmp(rdi, rdx)?;
            a.jne(head)?;
            a.ret()
        },
        &[
            calls, calls, all, all, all, all, all, all, all, all, all, calls,
        ],
        &[0.0, 0.0, 0.1, 0.2, 0.2, 0.1, 0.1, 0.1, 0.1, 0.05, 0.05, 0.0]
            .map(|heat| heat * kind.share),
        &[(10, all - calls)],
    );
    one.calls = Some(calls);
    one.share = Estimate::exact(kind.share);
    if kind.handed_on {
        one.call_sites.push(call(0, "send", calls, 100.0));
    }
    let mut input = program(vec![one, decode(calls)]);
    let mut observed = observations();
    observed.modules.push("/bin/decode".to_owned());
    observed.redundant_calls.push(RedundantCall {
        at: CodePoint {
            module: 2,
            address: input.functions[1].code[1].address,
        },
        target: point(&input, 0, 0),
        seen: seen(kind.alike),
        repeats_previous: seen(0.0),
        distinct_per_burst: 3.0,
        share_of_instructions: Estimate::exact(kind.share),
        instructions_per_call: 2000.0,
        stores_outside: kind.new,
        about_one_object: 0.0,
        moved: None,
        recaptured: None,
        elsewhere: None,
        made: None,
    });
    observed.silent_stores.push(SilentStore {
        at: point(&input, 0, 4),
        seen: seen(kind.silent),
        reads: false,
    });
    observed.operand_values.push(usual_value(
        point(&input, 0, 4),
        true,
        (4, 5),
        Estimate::exact(kind.usual),
    ));
    input.observed = Some(observed);
    redundant_computation::detect(&input)
}

#[test]
fn a_table_built_again_of_the_same_is_found_whatever_is_counted_in_the_frame() {
    let found = build(PLAIN);
    let keeps = Fix::KeepMade {
        function: "build".to_owned(),
    };
    assert_eq!(found.len(), 1);
    assert_eq!((&found[0].fix, &found[0].site), (&keeps, &vec![4]));
    assert!(found[0].residual_fraction.value < 0.2);
}

#[test]
fn tables_that_change_or_are_of_one_value_or_handed_on_and_short_ones_are_not() {
    for kind in [
        Kind {
            silent: 0.7,
            ..PLAIN
        },
        Kind {
            usual: 0.9,
            ..PLAIN
        },
        Kind {
            handed_on: true,
            ..PLAIN
        },
        Kind {
            entries: 2,
            ..PLAIN
        },
        Kind {
            calls: 100,
            ..PLAIN
        },
        Kind {
            alike: 0.5,
            ..PLAIN
        },
        Kind { new: 0.5, ..PLAIN },
        Kind {
            share: 0.02,
            ..PLAIN
        },
        Kind {
            share: 0.97,
            ..PLAIN
        },
    ] {
        assert!(build(kind).is_empty(), "{kind:?}");
    }
}
