//! Elementary functions of one byte, and near misses.

use genba_model::{CallFact, Fact, Fix};
use iced_x86::code_asm::*;

use crate::candidate::Candidate;
use crate::causes::redundant_computation;
use crate::tests::synthetic::{call, function, has_fact, program};

/// From what the argument is computed.
#[derive(Clone, Copy, PartialEq)]
enum From {
    Byte,
    Word,
    TwoBytes,
    /// A factor that changes from call to call.
    Varying,
}

fn found(from: From, calls: u64) -> Vec<Candidate> {
    let second = usize::from(matches!(from, From::TwoBytes | From::Varying));
    let body = 8 + second;
    let mut counts = vec![1, 1];
    counts.extend(vec![calls; body]);
    counts.extend([1, 1]);
    let mut heat = vec![0.0; 2];
    heat.extend(vec![0.1 / body as f64; body]);
    heat.extend([0.0; 2]);
    let mut caller = function(
        "gamma",
        |a| {
            let mut head = a.create_label();
            let mut callee = a.create_label();
            a.mov(rbx, rdi)?;
            a.nop()?;
            a.set_label(&mut head)?;
            match from {
                From::Word => a.movzx(eax, word_ptr(rbx))?,
                _ => a.movzx(eax, byte_ptr(rbx))?,
            }
            match from {
                From::TwoBytes => a.movzx(edx, byte_ptr(rbx + 1))?,
                From::Varying => a.add(r12d, eax)?,
                _ => {}
            }
            match from {
                From::TwoBytes => a.add(eax, edx)?,
                From::Varying => a.add(eax, r12d)?,
                _ => a.add(eax, r13d)?,
            }
            a.pxor(xmm0, xmm0)?;
            a.cvtsi2sd(xmm0, eax)?;
            a.call(callee)?;
            a.inc(rbx)?;
            a.cmp(rbx, rbp)?;
            a.jne(head)?;
            a.nop()?;
            a.set_label(&mut callee)?;
            a.ret()
        },
        &counts,
        &heat,
        &[(1 + body, calls - 1)],
    );
    let site = 6 + second;
    caller.call_sites.push(call(site, "exp", calls, 60.0));
    let mut exp = function("exp", |a| a.ret(), &[calls], &[0.9], &[]);
    exp.calls = Some(calls);
    let mut all = redundant_computation::detect(&program(vec![exp, caller]));
    all.retain(|one| matches!(one.fix, Fix::TableOfBytes { .. }));
    all
}

#[test]
fn functions_of_one_byte_are_found_where_a_table_pays() {
    let found = found(From::Byte, 1_000_000);
    assert_eq!(found.len(), 1);
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Call(CallFact::OfOneByte {
            calls: 1_000_000,
            ..
        })
    )));
    assert!(found[0].residual_fraction.value < 0.2);
}

#[test]
fn more_than_a_byte_and_few_calls_have_no_table() {
    assert!(found(From::Byte, 1000).is_empty(), "few calls");
    assert!(found(From::Word, 1_000_000).is_empty(), "65,536 results");
    assert!(found(From::TwoBytes, 1_000_000).is_empty(), "two bytes");
    assert!(found(From::Varying, 1_000_000).is_empty(), "a sum of all");
}
