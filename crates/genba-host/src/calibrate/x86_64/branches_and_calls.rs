//! Kernels of branches with the misprediction penalty, calls, string operations, system calls.

use iced_x86::code_asm::*;

use crate::calibrate::table_entries::Rule;

use super::kernel_plan::{Asm, Emitted, Part, Plan, Region};

/// Bytes of branch outcomes, one bit each, in their regions; a power of two.
pub(crate) const DIRECTIONS: usize = 1 << 18;
/// Offset of the outcomes in their region; the first word keeps the position between calls.
pub(crate) const DIRECTIONS_START: i32 = 64;
/// Branches per iteration: the bits of a double word.
const BRANCHES: u32 = 32;
/// `getppid`, which does little more than enter and leave the kernel.
const GETPPID: i32 = 110;

pub(super) fn add(p: &mut Plan) {
    p.group("control");
    p.stream("jmp [taken]", |a, _| over(a, Asm::jmp::<CodeLabel>))
        .instances(64)
        .detail("predicted, 16 bytes apart");
    p.stream("jcc [taken]", |a, _| over(a, Asm::jae::<CodeLabel>))
        .setup(|a| a.test(rbx, rbx))
        .instances(64)
        .detail("predicted, 16 bytes apart");
    p.stream("jcc [not taken]", |a, _| {
        let mut next = a.create_label();
        a.jb(next)?;
        a.nop()?;
        a.set_label(&mut next)
    })
    .setup(|a| a.test(rbx, rbx))
    .instances(64)
    .detail("predicted, followed by a nop");
    p.stream("branches [predictable]", branch_on_bit)
        .setup(|a| a.mov(rcx, qword_ptr(r14)))
        .rule(Rule::Helper)
        .region(Region::Alternating)
        .instances(BRANCHES);
    p.stream("jcc [mispredicted]", branch_on_bit)
        .setup(|a| a.mov(rcx, qword_ptr(r14)))
        .rule(Rule::Mispredict("branches [predictable]"))
        .region(Region::Random)
        .instances(BRANCHES)
        .detail("in addition to a predicted branch");
    p.stream("call + ret", |_, _| Ok(()))
        .instances(8)
        .whole(|a, part| match part {
            Part::Before(labels) => {
                labels.push(a.create_label());
                Ok(())
            }
            Part::Body(labels) => repeat(a, 8, |a| a.call(labels[0])),
            Part::Behind(labels) => {
                a.set_label(&mut labels[0])?;
                a.ret()
            }
        })
        .detail("of an empty function");
    p.stream("call [indirect] + ret", |_, _| Ok(()))
        .instances(8)
        .whole(|a, part| match part {
            Part::Before(labels) => {
                labels.push(a.create_label());
                a.lea(rbx, ptr(labels[0]))
            }
            Part::Body(_) => repeat(a, 8, |a| a.call(rbx)),
            Part::Behind(labels) => {
                a.set_label(&mut labels[0])?;
                a.ret()
            }
        })
        .detail("by register, one target");
    p.stream("call [PLT] + ret", |_, _| Ok(()))
        .instances(8)
        .whole(|a, part| match part {
            Part::Before(labels) => {
                labels.push(a.create_label());
                labels.push(a.create_label());
                a.lea(rax, ptr(labels[1]))?;
                a.mov(qword_ptr(r14 + 64), rax)
            }
            Part::Body(labels) => repeat(a, 8, |a| a.call(labels[0])),
            Part::Behind(labels) => {
                a.set_label(&mut labels[0])?;
                a.jmp(qword_ptr(r14 + 64))?;
                a.nops_with_size(64)?;
                a.set_label(&mut labels[1])?;
                a.ret()
            }
        })
        .detail("stub: jump through the GOT");
    strings(p);
    p.group("system");
    p.stream("system call", |a, _| {
        a.mov(eax, GETPPID)?;
        a.syscall()
    })
    .rule(Rule::Seconds)
    .instances(8)
    .detail("getppid");
}

fn repeat(a: &mut Asm, times: u32, body: impl Fn(&mut Asm) -> Emitted) -> Emitted {
    (0..times).try_for_each(|_| body(a))
}

/// A jump over a nop that fills 16 bytes.
fn over(a: &mut Asm, jump: fn(&mut Asm, CodeLabel) -> Emitted) -> Emitted {
    let mut next = a.create_label();
    jump(a, next)?;
    a.nops_with_size(14)?;
    a.set_label(&mut next)
}

/// A branch on the next bit of the region. The bits of an iteration are loaded at its start, so
/// that a mispredicted branch waits only for the front end.
fn branch_on_bit(a: &mut Asm, instance: usize) -> Emitted {
    if instance == 0 {
        a.mov(edx, dword_ptr(r14 + rcx + DIRECTIONS_START))?;
        a.add(rcx, BRANCHES as i32 / 8)?;
        a.and(rcx, DIRECTIONS as i32 - 1)?;
        a.mov(qword_ptr(r14), rcx)?;
    }
    let mut next = a.create_label();
    a.bt(edx, instance as i32)?;
    a.jae(next)?;
    a.inc(rsi)?;
    a.set_label(&mut next)?;
    // A label must be attached to an instruction.
    a.nop()
}

fn strings(p: &mut Plan) {
    p.stream("rep movsb [64 bytes]", |a, _| {
        a.lea(rsi, qword_ptr(r14 + 1024))?;
        a.lea(rdi, qword_ptr(r14 + 2048))?;
        a.mov(ecx, 64)?;
        a.rep().movsb()
    })
    .instances(8)
    .detail("mostly startup cost");
    p.stream("rep stosb [64 bytes]", |a, _| {
        a.lea(rdi, qword_ptr(r14 + 2048))?;
        a.mov(ecx, 64)?;
        a.rep().stosb()
    })
    .instances(8)
    .detail("mostly startup cost");
}
