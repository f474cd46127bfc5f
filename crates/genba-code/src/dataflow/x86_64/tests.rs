use super::*;
use crate::{Disassembler, Syntax};
use proptest::prelude::*;

const RAX: Locations = 1;
const RCX: Locations = 1 << 1;
const RDX: Locations = 1 << 2;
const RBX: Locations = 1 << 3;
const RSP: Locations = 1 << 4;
const RSI: Locations = 1 << 6;
const RDI: Locations = 1 << 7;
const XMM0: Locations = 1 << 16;
const XMM1: Locations = 1 << 17;
const CF: Locations = 1 << 64;
const ZF: Locations = 1 << 67;

fn decode(bytes: &[u8]) -> DataFlow {
    let mut all = data_flow(64, bytes, 0x1000);
    assert_eq!(all.len(), 1, "one instruction in {bytes:x?}");
    all.remove(0)
}

/// Bytes as an assembler makes them, with form and form without memory.
#[test]
fn forms_name_mnemonic_and_operand_kinds() {
    let cases: &[(&[u8], &str, Option<&str>)] = &[
        (&[0x83, 0xc0, 0x05], "add r32, i", None),
        (&[0x48, 0xf7, 0xf6], "div r64", None),
        (&[0x48, 0xf7, 0x36], "div m64", Some("div r64")),
        (&[0x48, 0x8b, 0x07], "mov r64, m64", None),
        (&[0x48, 0x89, 0x07], "mov m64, r64", None),
        (&[0x0f, 0xb6, 0x07], "movzx r32, m8", None),
        (&[0x0f, 0xb6, 0xc0], "movzx r32, r8", None),
        (&[0x48, 0x03, 0x07], "add r64, m64", Some("add r64, r64")),
        (&[0x48, 0x01, 0x07], "add m64, r64", Some("add r64, r64")),
        (&[0x48, 0x83, 0x07, 0x01], "add m64, i", Some("add r64, i")),
        (
            &[0xf0, 0x48, 0x01, 0x07],
            "lock add m64, r64",
            Some("add r64, r64"),
        ),
        (
            &[0xc5, 0xfd, 0x58, 0x00],
            "vaddpd ymm, ymm, m256",
            Some("vaddpd ymm, ymm, ymm"),
        ),
        (
            &[0xf2, 0x0f, 0x58, 0x00],
            "addsd xmm, m64",
            Some("addsd xmm, xmm"),
        ),
        (&[0xf2, 0x0f, 0x10, 0x00], "movsd xmm, m64", None),
        (
            &[0xf2, 0x48, 0x0f, 0x2a, 0x00],
            "cvtsi2sd xmm, m64",
            Some("cvtsi2sd xmm, r64"),
        ),
        (&[0x75, 0x10], "jne", None),
        (&[0xe8, 0, 0, 0, 0], "call", None),
        (&[0xff, 0xd0], "call r64", None),
        (&[0xff, 0x10], "call m64", None),
        (&[0xff, 0xe0], "jmp r64", None),
        (&[0xc3], "ret", None),
        (&[0xf3, 0xc3], "ret", None),
        (&[0x48, 0x8d, 0x04, 0x37], "lea r64, m [base + index]", None),
        (
            &[0x48, 0x8d, 0x44, 0x37, 0x08],
            "lea r64, m [3 components]",
            None,
        ),
        (
            &[0x48, 0x8d, 0x04, 0x77],
            "lea r64, m [base + scaled index]",
            None,
        ),
        (
            &[0x8d, 0x47, 0x08],
            "lea r32, m [base + displacement]",
            None,
        ),
        (&[0xf3, 0x48, 0xa5], "rep movsq", None),
        (&[0xf3, 0xa6], "repe cmpsb", None),
        (&[0x66, 0x0f, 0x1f, 0x44, 0, 0], "nop", None),
        (&[0xf3, 0x0f, 0x1e, 0xfa], "endbr64", None),
        (&[0x48, 0xd3, 0xe0], "shl r64, r8", None),
        (&[0x48, 0xd1, 0xe0], "shl r64, i", None),
        (&[0x48, 0xc1, 0xe0, 0x04], "shl r64, i", None),
        (&[0x55], "push r64", None),
        (&[0xff, 0x37], "push m64", None),
        (&[0xdd, 0x07], "fld m64", None),
        (&[0xdc, 0x07], "fadd m64", Some("fadd st")),
        (&[0x06], "(bad)", None),
    ];
    for (bytes, form, rest) in cases {
        let flow = decode(bytes);
        assert_eq!(flow.form, *form, "{bytes:x?}");
        assert_eq!(flow.without_memory.as_deref(), *rest, "{bytes:x?}");
    }
}

#[test]
fn division_reads_and_writes_its_implied_registers() {
    let flow = decode(&[0x48, 0xf7, 0xf6]); // div rsi
    assert_eq!(flow.data_reads, RAX | RDX | RSI);
    assert_eq!(flow.writes & 0xffff, RAX | RDX);
    let flow = decode(&[0x48, 0xf7, 0x30]); // div qword [rax]
    assert_eq!(flow.data_reads, RAX | RDX);
    assert_eq!(flow.address_reads, RAX);
    let flow = decode(&[0x48, 0x0f, 0xaf, 0xc7]); // imul rax, rdi
    assert_eq!(flow.data_reads, RAX | RDI);
    assert_eq!(flow.writes & 0xffff, RAX);
}

#[test]
fn address_registers_are_not_read_as_data() {
    let flow = decode(&[0x48, 0x8b, 0x04, 0xf7]); // mov rax, [rdi+rsi*8]
    assert_eq!(
        (flow.address_reads, flow.data_reads, flow.writes),
        (RDI | RSI, 0, RAX)
    );
    let access = flow.memory[0];
    assert_eq!(
        (access.base, access.index, access.scale, access.bytes),
        (Some(7), Some(6), 8, 8)
    );
    assert!(access.reads && !access.writes);
    let flow = decode(&[0x48, 0x8d, 0x04, 0xf7]); // lea rax, [rdi+rsi*8]
    assert_eq!((flow.address_reads, flow.data_reads), (0, RDI | RSI));
    assert!(flow.memory.is_empty());
    let flow = decode(&[0x48, 0x8d, 0x04, 0x70]); // lea rax, [rax+rsi*2]
    assert_eq!((flow.data_reads, flow.writes), (RAX | RSI, RAX));
    let flow = decode(&[0x48, 0x8d, 0x04, 0x40]); // lea rax, [rax+rax*2]
    assert_eq!((flow.data_reads, flow.writes), (RAX, RAX));
    let flow = decode(&[0x48, 0x89, 0x00]); // mov [rax], rax
    assert_eq!(
        (flow.address_reads, flow.data_reads, flow.writes),
        (RAX, RAX, 0)
    );
    let flow = decode(&[0x48, 0x8b, 0x05, 0x10, 0, 0, 0]); // mov rax, [rip+0x10]
    assert_eq!(flow.memory[0].base, None);
    assert_eq!(flow.memory[0].displacement, 0x1017);
    let flow = decode(&[0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0]); // mov rax, fs:0x28
    assert!(flow.memory[0].segment);
}

#[test]
fn partial_register_writes_read_the_rest() {
    assert_eq!(decode(&[0x88, 0xd8]).data_reads, RAX | RBX); // mov al, bl
    assert_eq!(decode(&[0x89, 0xd8]).data_reads, RBX); // mov eax, ebx
    assert_eq!(decode(&[0x66, 0x89, 0xd8]).data_reads, RAX | RBX); // mov ax, bx
    assert_eq!(decode(&[0x0f, 0xb6, 0xc3]).data_reads, RBX); // movzx eax, bl
    let sete = decode(&[0x0f, 0x94, 0xc0]);
    assert_eq!(sete.data_reads, RAX | ZF);
    assert_eq!(sete.writes, RAX);
}

#[test]
fn scalar_sse_reads_the_upper_half_that_it_keeps() {
    assert_eq!(
        decode(&[0xf2, 0x48, 0x0f, 0x2a, 0xc7]).data_reads,
        XMM0 | RDI
    ); // cvtsi2sd xmm0, rdi
    assert_eq!(decode(&[0xf2, 0x0f, 0x51, 0xc1]).data_reads, XMM0 | XMM1); // sqrtsd
    assert_eq!(decode(&[0xf2, 0x0f, 0x10, 0xc1]).data_reads, XMM0 | XMM1); // movsd x, x
    assert_eq!(decode(&[0xf2, 0x0f, 0x10, 0x07]).data_reads, 0); // movsd x, m
    assert_eq!(decode(&[0xf2, 0x0f, 0x58, 0xc1]).data_reads, XMM0 | XMM1); // addsd
    assert_eq!(decode(&[0xc5, 0xf3, 0x58, 0xc1]).data_reads, XMM1); // vaddsd x0, x1, x1
}

#[test]
fn renamed_copies_and_zeroing_idioms_are_recognised() {
    let shortcut = |bytes: &[u8]| decode(bytes).shortcut;
    assert_eq!(shortcut(&[0x31, 0xc0]), Shortcut::Constant); // xor eax, eax
    assert_eq!(decode(&[0x31, 0xc0]).data_reads, 0);
    assert_eq!(shortcut(&[0x31, 0xd8]), Shortcut::None); // xor eax, ebx
    assert_eq!(shortcut(&[0x30, 0xc0]), Shortcut::None); // xor al, al
    assert_eq!(shortcut(&[0x66, 0x0f, 0xef, 0xc0]), Shortcut::Constant); // pxor
    assert_eq!(shortcut(&[0xc5, 0xf9, 0xef, 0xc0]), Shortcut::Constant); // vpxor
    assert_eq!(shortcut(&[0xc5, 0xf1, 0x76, 0xc9]), Shortcut::Constant); // vpcmpeqd
    assert_eq!(shortcut(&[0x48, 0x89, 0xd8]), Shortcut::Copy); // mov rax, rbx
    assert_eq!(shortcut(&[0x0f, 0x28, 0xc1]), Shortcut::Copy); // movaps
    assert_eq!(shortcut(&[0xf2, 0x0f, 0x10, 0xc1]), Shortcut::None); // movsd merges
    assert_eq!(shortcut(&[0x48, 0x8b, 0x07]), Shortcut::None); // a load
    assert_eq!(shortcut(&[0x90]), Shortcut::Nothing);
    assert_eq!(shortcut(&[0xc5, 0xf8, 0x77]), Shortcut::Nothing); // vzeroupper
    let sbb = decode(&[0x19, 0xc0]);
    assert_eq!(sbb.data_reads, CF);
}

#[test]
fn flags_are_tracked_one_by_one() {
    let inc = decode(&[0x48, 0xff, 0xc0]);
    assert_eq!(inc.writes & CF, 0, "inc leaves the carry alone");
    assert_ne!(inc.writes & ZF, 0);
    let add = decode(&[0x48, 0x01, 0xd8]);
    assert_ne!(add.writes & CF, 0);
    assert_eq!(
        decode(&[0x48, 0x11, 0xd8]).data_reads,
        RAX | RBX | CF // adc
    );
    assert_eq!(decode(&[0x75, 0]).data_reads, ZF); // jne
    let bt = decode(&[0x48, 0x0f, 0xa3, 0xc8]); // bt rax, rcx
    assert_ne!(bt.writes & CF, 0);
    assert_eq!(bt.writes & ZF, 0);
    assert_eq!(decode(&[0x48, 0xd3, 0xe0]).data_reads, RAX | RCX); // shl rax, cl
    // cmovne eax, ebx may keep eax.
    assert_eq!(decode(&[0x0f, 0x45, 0xc3]).data_reads, RAX | RBX | ZF);
}

#[test]
fn push_and_pop_do_not_wait_for_the_stack_pointer() {
    let push = decode(&[0x50]); // push rax
    assert_eq!(
        (push.data_reads, push.writes, push.stack_delta),
        (RAX, 0, -8)
    );
    assert!(push.memory[0].writes && push.memory[0].stack);
    assert_eq!(push.memory[0].displacement, -8);
    let pop = decode(&[0x58]);
    assert_eq!((pop.data_reads, pop.writes, pop.stack_delta), (0, RAX, 8));
    let ret = decode(&[0xc3]);
    assert_eq!(ret.stack_delta, 8);
    assert_eq!(ret.opaque, Some(Opaque::Exit));
    let call = decode(&[0xe8, 0, 0, 0, 0]);
    assert_eq!(call.opaque, Some(Opaque::Call));
    assert_eq!(call.stack_delta, -8);
    let add = decode(&[0x48, 0x83, 0xc4, 0x08]); // add rsp, 8
    assert_eq!((add.data_reads, add.stack_delta), (RSP, 0));
    assert_eq!(add.writes & 0xffff, RSP);
}

#[test]
fn register_plus_constant_is_recognised_as_a_sum() {
    let sum = |bytes: &[u8]| decode(bytes).sum.map(|s| (s.to, s.source, s.addend));
    assert_eq!(sum(&[0x48, 0x83, 0xc7, 0x08]), Some((7, Some(7), 8))); // add rdi, 8
    assert_eq!(sum(&[0x48, 0x83, 0xef, 0x08]), Some((7, Some(7), -8)));
    assert_eq!(sum(&[0x48, 0x83, 0xef, 0x80]), Some((7, Some(7), 128)));
    assert_eq!(sum(&[0x48, 0xff, 0xc0]), Some((0, Some(0), 1)));
    assert_eq!(sum(&[0x48, 0x8d, 0x47, 0x10]), Some((0, Some(7), 16))); // lea rax,[rdi+16]
    assert_eq!(sum(&[0x48, 0x8d, 0x04, 0x37]), None);
    assert_eq!(sum(&[0x48, 0x89, 0xf8]), Some((0, Some(7), 0))); // mov rax, rdi
    assert_eq!(sum(&[0x89, 0xf8]), None, "cuts the upper half off");
    assert_eq!(sum(&[0xb8, 5, 0, 0, 0]), Some((0, None, 5)));
    assert_eq!(sum(&[0x31, 0xc0]), Some((0, None, 0)));
    assert_eq!(sum(&[0x48, 0x03, 0x07]), None);
}

#[test]
fn x87_pushes_and_pops_move_the_top_of_the_stack() {
    assert_eq!(decode(&[0xdd, 0x07]).x87_delta, -1); // fld qword [rdi]
    assert_eq!(decode(&[0xde, 0xc1]).x87_delta, 1); // faddp
    assert_eq!(decode(&[0xd8, 0xc1]).x87_delta, 0); // fadd st, st1
}

#[test]
fn unknown_architecture_is_an_error() {
    let result = crate::data_flow(object::Architecture::Aarch64, &[0; 8], 0);
    assert!(matches!(result, Err(crate::CodeError::Architecture { .. })));
}

proptest! {
    #[test]
    fn data_flow_of_arbitrary_bytes_aligns_with_the_disassembly(
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        address in any::<u64>(),
        wide in any::<bool>(),
    ) {
        let architecture = if wide {
            object::Architecture::X86_64
        } else {
            object::Architecture::I386
        };
        let flows = crate::data_flow(architecture, &bytes, address).expect("known");
        let listing = Disassembler::new(architecture, Syntax::Intel)
            .expect("known")
            .disassemble(&bytes, address, &|_| None);
        prop_assert_eq!(flows.len(), listing.len());
        for (flow, instruction) in flows.iter().zip(&listing) {
            prop_assert_eq!(flow.address, instruction.address);
            prop_assert!(!flow.form.is_empty());
            // What goes beyond the listing's sets are flags, merged parts and nothing else.
            prop_assert!(flow.loads() <= instruction.reads_memory, "{}", instruction.text);
            prop_assert!(flow.stores() <= instruction.writes_memory, "{}", instruction.text);
        }
    }
}
