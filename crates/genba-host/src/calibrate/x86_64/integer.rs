//! Integer arithmetic and logic.

use std::arch::is_x86_feature_detected;

use iced_x86::code_asm::*;

use super::kernel_plan::{Plan, STREAMS, STREAMS32};

const CARRY: &str = "throughput: after a test";

pub(super) fn add(p: &mut Plan) {
    p.group("integer");
    p.gpr("add r64, r64", |a, d| a.add(d, rbx));
    p.gpr("add r64, i", |a, d| a.add(d, 100));
    p.gpr("sub r64, r64", |a, d| a.sub(d, rbx));
    p.gpr("and r64, r64", |a, d| a.and(d, rbx));
    p.gpr("or r64, r64", |a, d| a.or(d, rbx));
    p.gpr("xor r64, r64", |a, d| a.xor(d, rbx));
    p.gpr("neg r64", |a, d| a.neg(d));
    p.gpr("not r64", |a, d| a.not(d));
    p.gpr("inc r64", |a, d| a.inc(d));
    p.chain("adc r64, r64", |a, _| a.adc(rax, rbx))
        .detail(CARRY);
    p.stream("adc r64, r64", |a, i| {
        a.test(rbp, rbp)?;
        a.adc(STREAMS[i % 11], rbx)
    });
    p.chain("sbb r64, r64", |a, _| a.sbb(rax, rbx))
        .detail(CARRY);
    p.stream("sbb r64, r64", |a, i| {
        a.test(rbp, rbp)?;
        a.sbb(STREAMS[i % 11], rbx)
    });
    p.chain("cmp r64, r64", |a, _| {
        a.cmp(rax, rbx)?;
        a.setb(al)
    })
    .with("setcc r8")
    .detail("measured with setcc");
    p.stream("cmp r64, r64", |a, i| a.cmp(STREAMS[i % 11], rbx));
    p.stream("setcc r8", |a, i| {
        a.setb([al, cl, dl, sil, dil, r8b, r9b, r10b, r11b, r12b, r13b][i % 11])
    });
    p.chain("test r64, r64", |a, _| {
        a.test(rax, rbx)?;
        a.sets(al)
    })
    .with("setcc r8")
    .detail("measured with setcc");
    p.stream("test r64, r64", |a, i| a.test(STREAMS[i % 11], rbx));
    p.gpr("cmovcc r64, r64", |a, d| a.cmovb(d, rbx));
    shifts(p);
    moves(p);
    bits(p);
    p.group("multiplication");
    p.gpr("imul r64, r64", |a, d| a.imul_2(d, rbx));
    p.gpr("imul r64, r64, i", |a, d| a.imul_3(d, d, 100));
    p.gpr32("imul r32, r32", |a, d| a.imul_2(d, ebx));
    p.chain("mul r64", |a, _| a.mul(rbx))
        .detail("to the lower half (rax)");
    p.stream("mul r64", |a, _| {
        a.mov(rax, rbp)?;
        a.mul(rbx)
    })
    .instances(32);
    p.chain("mul r32", |a, _| a.mul(ebx))
        .detail("to the lower half (eax)");
    p.stream("mul r32", |a, _| {
        a.mov(eax, ebp)?;
        a.mul(ebx)
    })
    .instances(32);
    if is_x86_feature_detected!("bmi2") {
        p.chain("mulx r64, r64, r64", |a, _| a.mulx(rcx, rdx, rbx))
            .detail("to the upper half");
        p.stream("mulx r64, r64, r64", |a, i| {
            a.mulx(STREAMS[3 + i % 4], STREAMS[7 + i % 4], rbx)
        })
        .instances(32);
    }
}

fn shifts(p: &mut Plan) {
    p.gpr("shl r64, i", |a, d| a.shl(d, 3));
    p.gpr("shr r64, i", |a, d| a.shr(d, 3));
    p.gpr("sar r64, i", |a, d| a.sar(d, 3));
    p.gpr("rol r64, i", |a, d| a.rol(d, 3));
    p.chain("shl r64, r8", |a, _| a.shl(rax, cl))
        .detail("by cl");
    p.stream("shl r64, r8", |a, i| a.shl(STREAMS[2 + i % 9], cl));
    p.chain("rol r64, r8", |a, _| a.rol(rax, cl))
        .detail("by cl");
    p.stream("rol r64, r8", |a, i| a.rol(STREAMS[2 + i % 9], cl));
    p.gpr("shld r64, r64, i", |a, d| a.shld(d, rbx, 3));
    p.gpr("shrd r64, r64, i", |a, d| a.shrd(d, rbx, 3));
    if is_x86_feature_detected!("bmi2") {
        p.gpr("shlx r64, r64, r64", |a, d| a.shlx(d, d, rbx));
        p.gpr("rorx r64, r64, i", |a, d| a.rorx(d, d, 3));
    }
    p.chain("bt r64, i", |a, _| {
        a.bt(rax, 3)?;
        a.setb(al)
    })
    .with("setcc r8")
    .detail("measured with setcc");
    p.stream("bt r64, i", |a, i| a.bt(STREAMS[i % 11], 3));
    p.gpr("bts r64, i", |a, d| a.bts(d, 3));
}

fn moves(p: &mut Plan) {
    p.gpr("lea r64, m [base + index]", |a, d| {
        a.lea(d, qword_ptr(d + rbx))
    });
    p.gpr("lea r64, m [base + displacement]", |a, d| {
        a.lea(d, qword_ptr(d + 8))
    });
    p.gpr("lea r64, m [base + scaled index]", |a, d| {
        a.lea(d, qword_ptr(d + rbx * 4))
    });
    p.gpr("lea r64, m [3 components]", |a, d| {
        a.lea(d, qword_ptr(d + rbx * 4 + 8))
    });
    p.chain("mov r64, r64", |a, i| {
        if i % 2 == 0 {
            a.mov(rcx, rax)
        } else {
            a.mov(rax, rcx)
        }
    })
    .detail("free where renamed");
    p.stream("mov r64, r64", |a, i| a.mov(STREAMS[i % 11], rbx));
    p.chain("mov r32, r32", |a, i| {
        if i % 2 == 0 {
            a.mov(ecx, eax)
        } else {
            a.mov(eax, ecx)
        }
    })
    .detail("free where renamed");
    p.stream("mov r32, r32", |a, i| a.mov(STREAMS32[i % 11], ebx));
    p.stream("mov r32, i", |a, i| a.mov(STREAMS32[i % 11], 5));
    p.chain("movzx r32, r8", |a, i| {
        if i % 2 == 0 {
            a.movzx(ecx, al)
        } else {
            a.movzx(eax, cl)
        }
    });
    p.stream("movzx r32, r8", |a, i| a.movzx(STREAMS32[i % 11], bl));
    p.chain("movsx r64, r8", |a, _| a.movsx(rax, al));
    p.stream("movsx r64, r8", |a, i| a.movsx(STREAMS[i % 11], bl));
    p.chain("movsxd r64, r32", |a, _| a.movsxd(rax, eax));
    p.stream("movsxd r64, r32", |a, i| a.movsxd(STREAMS[i % 11], ebx));
    p.chain("xchg r64, r64", |a, _| a.xchg(rax, rcx));
    p.stream("xchg r64, r64", |a, i| {
        a.xchg(STREAMS[2 * (i % 5)], STREAMS[2 * (i % 5) + 1])
    })
    .instances(40);
    p.chain("cdqe", |a, _| a.cdqe());
    p.chain("cqo", |a, _| {
        a.cqo()?;
        a.lea(rax, qword_ptr(rdx + rbp))
    })
    .minus(&["lea r64, m [base + index]"]);
    p.stream("cqo", |a, _| a.cqo());
    p.stream("nop", |a, _| a.nop());
}

fn bits(p: &mut Plan) {
    p.group("bits");
    p.gpr("bswap r64", |a, d| a.bswap(d));
    p.gpr("bsf r64, r64", |a, d| a.bsf(d, d));
    p.gpr("bsr r64, r64", |a, d| a.bsr(d, d));
    if is_x86_feature_detected!("popcnt") {
        p.gpr("popcnt r64, r64", |a, d| a.popcnt(d, d));
    }
    if is_x86_feature_detected!("lzcnt") {
        p.gpr("lzcnt r64, r64", |a, d| a.lzcnt(d, d));
    }
    if is_x86_feature_detected!("bmi1") {
        p.gpr("tzcnt r64, r64", |a, d| a.tzcnt(d, d));
        p.gpr("andn r64, r64, r64", |a, d| a.andn(d, d, rbx));
        p.gpr("bextr r64, r64, r64", |a, d| a.bextr(d, d, rbx));
        p.gpr("blsr r64, r64", |a, d| a.blsr(d, d));
    }
    if is_x86_feature_detected!("bmi2") {
        p.gpr("pdep r64, r64, r64", |a, d| a.pdep(d, d, rbx));
        p.gpr("pext r64, r64, r64", |a, d| a.pext(d, d, rbx));
    }
    if is_x86_feature_detected!("sse4.2") {
        p.gpr("crc32 r64, r64", |a, d| a.crc32(d, rbx));
    }
}
