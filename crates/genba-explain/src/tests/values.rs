//! Value numbers of a few instructions assembled by hand, and of random bytes.

use genba_code::{ControlFlow, Disassembler, Location, Syntax, data_flow};
use object::Architecture;
use proptest::prelude::*;

use super::*;

const RAX: Location = 0;
const RCX: Location = 1;
const RDX: Location = 2;
const RBX: Location = 3;
const RSI: Location = 6;

fn number(bytes: &[u8]) -> (ControlFlow, Values) {
    let code = Disassembler::x86_64(Syntax::Intel).disassemble(bytes, 0, &|_| None);
    let data = data_flow(Architecture::X86_64, bytes, 0).expect("x86-64");
    let flow = ControlFlow::build(&code);
    let values = Values::of(&flow, &data);
    (flow, values)
}

/// A loop that divides twice by the same, with a copy of its pointer, and a call behind it:
/// ```text
///  0 mov r8, rdx          7 xor edx, edx        14 mov rbx, rsi
///  1 lea r9, [rdx+16]     8 div rsi             15 call …
///  2 mov rax, rdi  ◄──┐   9 mov rdi, rax        16 mov rax, rsi
///  3 xor edx, edx     │  10 mov [r8+8], rcx     17 mov rcx, rbx
///  4 div rsi          │  11 mov r10, [r9-8]     18 ret
///  5 mov rcx, rdx     │  12 test rdi, rdi
///  6 mov rax, rdi     └─ 13 jne 2
/// ```
const LOOP: &[u8] = &[
    0x49, 0x89, 0xd0, 0x4c, 0x8d, 0x4a, 0x10, 0x48, 0x89, 0xf8, 0x31, 0xd2, 0x48, 0xf7, 0xf6, 0x48,
    0x89, 0xd1, 0x48, 0x89, 0xf8, 0x31, 0xd2, 0x48, 0xf7, 0xf6, 0x48, 0x89, 0xc7, 0x49, 0x89, 0x48,
    0x08, 0x4d, 0x8b, 0x51, 0xf8, 0x48, 0x85, 0xff, 0x75, 0xdd, 0x48, 0x89, 0xf3, 0xe8, 0x07, 0x00,
    0x00, 0x00, 0x48, 0x89, 0xf0, 0x48, 0x89, 0xd9, 0xc3,
];

#[test]
fn equal_divisions_have_equal_operands() {
    let (_, values) = number(LOOP);
    for location in [RAX, RDX, RSI] {
        assert_eq!(values.read(4, location), values.read(8, location));
    }
    assert_eq!(values.written(4, RAX), values.written(8, RAX));
    assert_ne!(values.written(4, RAX), values.written(4, RDX));
    assert_eq!(
        values.origin(values.written(8, RAX).expect("a quotient")),
        Origin::Instruction(4)
    );
}

#[test]
fn sums_of_other_factors_or_constants_are_other_values() {
    // lea eax, [rdi+rdi+1]; lea ecx, [rdi+rdi+2]; lea edx, [rdi+rdi*2+1]; lea ebx, [rdi+rdi+1]
    let bytes = [
        0x8d, 0x44, 0x3f, 0x01, 0x8d, 0x4c, 0x3f, 0x02, 0x8d, 0x54, 0x7f, 0x01, 0x8d, 0x5c, 0x3f,
        0x01,
    ];
    let (_, values) = number(&bytes);
    let first = values.written(0, RAX);
    assert_ne!(first, values.written(1, RCX));
    assert_ne!(first, values.written(2, RDX));
    assert_eq!(first, values.written(3, RBX));
}

#[test]
fn values_not_written_in_a_loop_are_invariant() {
    let (flow, values) = number(LOOP);
    let divisor = values.read(4, RSI).expect("a divisor");
    let dividend = values.read(4, RAX).expect("a dividend");
    assert!(values.is_invariant(divisor, &flow, 0));
    assert!(!values.is_invariant(dividend, &flow, 0));
    let zero = values.read(4, RDX).expect("a zero");
    assert_eq!(
        zero,
        Value {
            number: CONSTANT,
            offset: 0
        }
    );
}

#[test]
fn equal_addresses_are_recognised_through_lea() {
    let (_, values) = number(LOOP);
    let (store, load) = (values.addresses(10)[0], values.addresses(11)[0]);
    assert!(store.is_some());
    assert_eq!(store, load, "r8+8 and r9-8 are both rdx+8");
}

#[test]
fn calls_keep_callee_saved_registers_only() {
    let (_, values) = number(LOOP);
    // rsi may be another after the call, rbx is what it was.
    assert_ne!(values.read(16, RSI), values.read(14, RSI));
    assert_eq!(values.read(17, RBX), values.written(14, RBX));
    assert_eq!(values.read(17, RBX), values.read(14, RSI));
}

#[test]
fn loads_before_and_after_a_store_to_the_same_base_differ() {
    // mov rax,[rdi]; mov rcx,[rdi]; mov [rdi+8],rax; mov rdx,[rdi]; ret
    let (_, values) = number(&[
        0x48, 0x8b, 0x07, 0x48, 0x8b, 0x0f, 0x48, 0x89, 0x47, 0x08, 0x48, 0x8b, 0x17, 0xc3,
    ]);
    let first = values.written(0, RAX);
    assert_eq!(
        first,
        values.written(1, RCX),
        "the same bits in another register"
    );
    assert_ne!(first, values.written(3, RDX));
}

#[test]
fn values_reloaded_each_iteration_are_known_by_their_address() {
    // mov rsi,[rdi]; top: mov rax,rcx; xor edx,edx; div rsi; mov [r8],al; mov rsi,[rdi];
    // mov rcx,rax; test rcx,rcx; jne top; ret
    let (flow, values) = number(&[
        0x48, 0x8b, 0x37, 0x48, 0x89, 0xc8, 0x31, 0xd2, 0x48, 0xf7, 0xf6, 0x41, 0x88, 0x00, 0x48,
        0x8b, 0x37, 0x48, 0x89, 0xc1, 0x48, 0x85, 0xc9, 0x75, 0xea, 0xc3,
    ]);
    assert_eq!(flow.loops().len(), 1);
    let divisor = values.read(3, RSI).expect("a divisor");
    assert!(!values.is_invariant(divisor, &flow, 0), "it is loaded anew");
    let address = values.loaded_from(divisor).expect("an address");
    assert_eq!(Some(address), values.addresses(0)[0]);
    let dividend = values.read(3, RAX).expect("a dividend");
    assert_eq!(values.loaded_from(dividend), None);
}

proptest! {
    #[test]
    fn any_bytes_are_numbered(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let (flow, values) = number(&bytes);
        for index in 0..flow.loops().len() as u32 {
            for at in 0..bytes.len() {
                for &(_, value) in values.reads(at) {
                    let _ = values.is_invariant(value, &flow, index);
                }
            }
        }
    }
}
