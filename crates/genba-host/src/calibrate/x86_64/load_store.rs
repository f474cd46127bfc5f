//! Loads, stores, and a load of what was just stored.

use std::arch::is_x86_feature_detected;

use iced_x86::code_asm::*;

use super::kernel_plan::{Fill, Plan, Region, STREAMS, Values, XMM, YMM, ZMM};

/// Offset of the word in a chase's first line that keeps the place between calls.
pub(crate) const PLACE: i32 = 8;

pub(super) fn add(p: &mut Plan) {
    p.group("memory");
    for (form, level) in [
        ("load [L1]", 1),
        ("load [L2]", 2),
        ("load [L3]", 3),
        ("load [memory]", 4),
    ] {
        p.chain(form, |a, i| {
            a.mov(rax, qword_ptr(rax))?;
            if i == 31 {
                a.mov(qword_ptr(r14 + PLACE), rax)?;
            }
            Ok(())
        })
        .region(Region::Chase(level))
        .setup(|a| a.mov(rax, qword_ptr(r14 + PLACE)));
    }
    p.chain("mov r64, m64", |a, _| a.mov(rax, qword_ptr(rax)))
        .detail("from L1, of a ring of words")
        .setup(ring);
    p.stream("mov r64, m64", |a, i| {
        a.mov(STREAMS[i % 11], qword_ptr(r14 + 64 * (i as i32 % 40)))
    });
    p.stream("mov m64, r64", |a, i| {
        a.mov(qword_ptr(r14 + 64 + 8 * i as i32), rbx)
    })
    .detail("to L1");
    p.chain("store forward [same registers]", |a, _| {
        a.mov(qword_ptr(r14 + 64), rax)?;
        a.mov(rax, qword_ptr(r14 + 64))
    })
    .detail("address written alike");
    p.chain("store forward [other registers]", |a, _| {
        a.mov(qword_ptr(r14 + 64), rax)?;
        a.mov(rax, qword_ptr(r13))
    })
    .setup(|a| a.lea(r13, qword_ptr(r14 + 64)))
    .detail("address in another register");
    // CPUs that rename memory do the first at the speed of registers.
    p.chain("add m64, r64 [same address]", |a, _| {
        a.add(qword_ptr(r14 + 64), rbx)
    })
    .detail("at one address");
    p.stream("add m64, r64 [same address]", |a, i| {
        a.add(qword_ptr(r14 + 64 + 8 * i as i32), rbx)
    });
    p.chain("add m64, r64 [new address]", |a, _| {
        a.lea(r13, qword_ptr(r14 + 64))?;
        a.add(qword_ptr(r13), rbx)
    })
    .detail("same, computed each time");
    p.stream("push r64", |a, i| {
        a.push(rbx)?;
        if i == 31 {
            a.lea(rsp, qword_ptr(rsp + 256))?;
        }
        Ok(())
    })
    .instances(32);
    p.stream("pop r64", |a, i| {
        if i == 0 {
            a.lea(rsp, qword_ptr(rsp - 256))?;
        }
        a.pop(STREAMS[i % 11])
    })
    .instances(32);
    vectors(p);
}

/// Makes `rax` the address of the first of some words of which each holds the next one's address. Each instruction of a chain
/// loads another word in each round: what always loads the same, some processors do not wait for (Golden Cove).
fn ring(a: &mut CodeAssembler) -> super::kernel_plan::Emitted {
    /// Has no factor in common with the instances of a chain.
    const WORDS: i32 = 13;
    let word = |index: i32| r14 + (2048 + 64 * index);
    for index in 0..WORDS {
        a.lea(rax, qword_ptr(word((index + 1) % WORDS)))?;
        a.mov(qword_ptr(word(index)), rax)?;
    }
    a.lea(rax, qword_ptr(word(0)))
}

fn vectors(p: &mut Plan) {
    p.chain("movq xmm, m64", |a, _| {
        a.movq(xmm0, qword_ptr(rax))?;
        a.movq(rax, xmm0)
    })
    .setup(ring)
    .minus(&["movq r64, xmm"])
    .detail("from L1; with movq");
    p.stream("movsd xmm, m64", |a, i| {
        a.movsd_2(XMM[i % 14], qword_ptr(r14 + 64 * (i as i32 % 40)))
    });
    p.stream("movups xmm, m128", |a, i| {
        a.movups(XMM[i % 14], xmmword_ptr(r14 + 64 * (i as i32 % 40)))
    });
    p.stream("movups m128, xmm", |a, i| {
        a.movups(xmmword_ptr(r14 + 16 * i as i32), xmm15)
    })
    .fill(Fill::Xmm(Values::Double));
    p.chain("store forward [xmm]", |a, _| {
        a.movups(xmmword_ptr(r14 + 64), xmm0)?;
        a.movups(xmm0, xmmword_ptr(r13))
    })
    .setup(|a| a.lea(r13, qword_ptr(r14 + 64)))
    .detail("address in another register");
    if is_x86_feature_detected!("avx2") {
        p.chain("vmovups ymm, m256", |a, _| {
            a.vmovups(ymm0, ymmword_ptr(rax))?;
            a.vmovq(rax, xmm0)
        })
        .fill(Fill::Ymm(Values::Double))
        .setup(ring)
        .minus(&["movq r64, xmm"])
        .detail("from L1; with movq");
        p.stream("vmovups ymm, m256", |a, i| {
            a.vmovups(YMM[i % 14], ymmword_ptr(r14 + 64 * (i as i32 % 40)))
        })
        .fill(Fill::Ymm(Values::Double));
        p.stream("vmovups m256, ymm", |a, i| {
            a.vmovups(ymmword_ptr(r14 + 32 * i as i32), ymm15)
        })
        .fill(Fill::Ymm(Values::Double));
        p.stream("vpgatherdd ymm, m32, ymm", |a, i| {
            a.vpcmpeqd(ymm12, ymm12, ymm12)?;
            a.vpgatherdd_3(YMM[i % 11], dword_ptr(r14 + ymm13 * 4), ymm12)
        })
        .setup(|a| a.vpxor(ymm13, ymm13, ymm13))
        .instances(16)
        .fill(Fill::Ymm(Values::Integer))
        .detail("8 elements of one line");
    }
    if is_x86_feature_detected!("avx512f") {
        p.chain("vmovups zmm, m512", |a, _| {
            a.vmovups(zmm0, zmmword_ptr(rax))?;
            a.vmovq(rax, xmm0)
        })
        .fill(Fill::Zmm(Values::Double))
        .setup(ring)
        .minus(&["movq r64, xmm"])
        .detail("from L1; with movq");
        p.stream("vmovups zmm, m512", |a, i| {
            a.vmovups(ZMM[i % 14], zmmword_ptr(r14 + 64 * (i as i32 % 40)))
        })
        .fill(Fill::Zmm(Values::Double));
        p.stream("vmovups m512, zmm", |a, i| {
            a.vmovups(zmmword_ptr(r14 + 64 * (i as i32 % 40)), zmm15)
        })
        .fill(Fill::Zmm(Values::Double));
    }
}
