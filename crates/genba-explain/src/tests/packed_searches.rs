//! Linear searches in packed lists: a call takes each element apart, and the comparison converts the key the first time.

use iced_x86::code_asm::*;

use crate::causes::quadratic;
use crate::input::analysis_input::FunctionInput;
use crate::tests::searches_by_calls::call;
use crate::tests::synthetic::{function, program};

const SEARCHES: u64 = 20_000;
const ALL: u64 = 50 * SEARCHES;

/// Where the decoding call stores.
#[derive(Clone, Copy, PartialEq)]
enum Stores {
    Frame,
    Elsewhere,
    /// In the frame, and in what the kernel has.
    FrameAndKernel,
}

/// `while (*p != END) { decode(p, &entry); if (compare(key, p, &entry) == 0) return p; p += entry.size; }`; the comparison
/// stores in so many of its calls.
fn search(stores: Stores, converts: u64) -> Vec<FunctionInput> {
    let mut find = function(
        "find",
        |a| {
            let (mut head, mut out) = (a.create_label(), a.create_label());
            a.sub(rsp, 0x40)?;
            a.set_label(&mut head)?;
            a.mov(rdi, rbx)?;
            match stores {
                Stores::Elsewhere => a.lea(rsi, qword_ptr(r14 + 0x18))?,
                _ => a.lea(rsi, qword_ptr(rsp + 0x18))?,
            }
            a.call(0x5000)?;
            a.mov(rdi, r12)?;
            a.mov(rsi, rbx)?;
            a.call(0x6000)?;
            a.test(eax, eax)?;
            a.je(out)?;
            a.add(rbx, qword_ptr(rsp + 0x18))?;
            a.cmp(byte_ptr(rbx), 0x7f)?;
            a.jne(head)?;
            a.set_label(&mut out)?;
            a.ret()
        },
        &[
            SEARCHES, ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, SEARCHES,
        ],
        &[
            0.0, 0.03, 0.03, 0.03, 0.03, 0.03, 0.03, 0.03, 0.03, 0.03, 0.03, 0.03, 0.0,
        ],
        &[(8, 100), (11, ALL - SEARCHES)],
    );
    find.call_sites = vec![
        call(3, "decode", "/bin/prog", ALL),
        call(6, "compare", "/bin/prog", ALL),
    ];
    let mut decode = function(
        "decode",
        |a| {
            a.movzx(eax, byte_ptr(rdi))?;
            a.mov(qword_ptr(rsi), rax)?;
            match stores {
                Stores::FrameAndKernel => a.syscall()?,
                _ => a.nop()?,
            }
            a.ret()
        },
        &[ALL; 4],
        &[0.08; 4],
        &[],
    );
    let mut compare = function(
        "compare",
        |a| {
            let mut known = a.create_label();
            a.cmp(dword_ptr(rdi + 8), 0)?;
            a.jne(known)?;
            a.mov(dword_ptr(rdi + 8), 1)?;
            a.set_label(&mut known)?;
            a.mov(rax, qword_ptr(rdi))?;
            a.sub(rax, qword_ptr(rsi))?;
            a.ret()
        },
        &[ALL, ALL, converts, ALL, ALL, ALL],
        &[0.05; 6],
        &[(1, ALL - converts)],
    );
    decode.calls = Some(ALL);
    compare.calls = Some(ALL);
    vec![find, decode, compare]
}

#[test]
fn search_in_a_packed_list_is_found() {
    let found = quadratic::detect(&program(search(Stores::Frame, SEARCHES)));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].share.is_some_and(|share| share > 0.8));
}

#[test]
fn calls_that_change_something_for_each_element_are_no_search() {
    for functions in [
        search(Stores::Elsewhere, SEARCHES),
        search(Stores::FrameAndKernel, SEARCHES),
        search(Stores::Frame, ALL / 2),
    ] {
        let found = quadratic::detect(&program(functions));
        assert!(found.is_empty(), "{found:?}");
    }
}

/// `for (; n--; p += 16) if (compare(p, key)) return p;`, where the comparison decodes the element into `stores`.
fn decoded_by_comparison(stores: Stores) -> Vec<FunctionInput> {
    let mut find = function(
        "find",
        |a| {
            let (mut head, mut out) = (a.create_label(), a.create_label());
            a.mov(rbx, rdi)?;
            a.set_label(&mut head)?;
            a.mov(rdi, rbx)?;
            a.mov(rsi, r12)?;
            a.call(0x6000)?;
            a.test(eax, eax)?;
            a.je(out)?;
            a.add(rbx, 16)?;
            a.dec(r13)?;
            a.jne(head)?;
            a.set_label(&mut out)?;
            a.ret()
        },
        &[SEARCHES, ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, SEARCHES],
        &[0.0, 0.03, 0.03, 0.03, 0.03, 0.03, 0.03, 0.03, 0.03, 0.0],
        &[(5, 100), (8, ALL - SEARCHES)],
    );
    find.call_sites = vec![call(3, "compare", "/bin/prog", ALL)];
    let [_, decode, _] = <[_; 3]>::try_from(search(stores, 0)).expect("three functions");
    let mut compare = function(
        "compare",
        |a| {
            a.sub(rsp, 0x40)?;
            match stores {
                Stores::Elsewhere => a.lea(rsi, qword_ptr(r14 + 0x18))?,
                _ => a.lea(rsi, qword_ptr(rsp + 0x18))?,
            }
            a.call(0x5000)?;
            a.mov(rax, qword_ptr(rsp + 0x18))?;
            a.sub(rax, qword_ptr(rbp))?;
            a.add(rsp, 0x40)?;
            a.ret()
        },
        &[ALL; 7],
        &[0.05; 7],
        &[],
    );
    compare.call_sites = vec![call(2, "decode", "/bin/prog", ALL)];
    compare.calls = Some(ALL);
    vec![find, decode, compare]
}

#[test]
fn comparison_may_take_the_element_apart_in_its_frame() {
    let found = quadratic::detect(&program(decoded_by_comparison(Stores::Frame)));
    assert_eq!(found.len(), 1, "{found:?}");
    let found = quadratic::detect(&program(decoded_by_comparison(Stores::Elsewhere)));
    assert!(found.is_empty(), "{found:?}");
}
