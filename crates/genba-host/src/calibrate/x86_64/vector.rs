//! Vectors of integers, and shuffles, of 128 and 256 bits.

use std::arch::is_x86_feature_detected;

use iced_x86::code_asm::*;

use super::kernel_plan::{Fill, Plan, Values, XMM, YMM};
use Values::{Double, Integer};

pub(super) fn add(p: &mut Plan) {
    p.group("vector integer");
    p.xmm("paddd xmm, xmm", Integer, |a, d| a.paddd(d, xmm15));
    p.xmm("paddq xmm, xmm", Integer, |a, d| a.paddq(d, xmm15));
    p.xmm("pand xmm, xmm", Integer, |a, d| a.pand(d, xmm15));
    p.xmm("pxor xmm, xmm", Integer, |a, d| a.pxor(d, xmm15));
    p.xmm("pcmpeqd xmm, xmm", Integer, |a, d| a.pcmpeqd(d, xmm15));
    p.xmm("pcmpgtd xmm, xmm", Integer, |a, d| a.pcmpgtd(d, xmm15));
    p.xmm("pminub xmm, xmm", Integer, |a, d| a.pminub(d, xmm15));
    p.xmm("pslld xmm, i", Integer, |a, d| a.pslld(d, 1));
    p.xmm("psrld xmm, i", Integer, |a, d| a.psrld(d, 1));
    p.xmm("pslld xmm, xmm", Integer, |a, d| a.pslld(d, xmm15));
    p.xmm("pmullw xmm, xmm", Integer, |a, d| a.pmullw(d, xmm15));
    p.xmm("pmuludq xmm, xmm", Integer, |a, d| a.pmuludq(d, xmm15));
    p.xmm("pmaddwd xmm, xmm", Integer, |a, d| a.pmaddwd(d, xmm15));
    p.xmm("psadbw xmm, xmm", Integer, |a, d| a.psadbw(d, xmm15));
    if is_x86_feature_detected!("sse4.1") {
        p.xmm("pmulld xmm, xmm", Integer, |a, d| a.pmulld(d, xmm15));
        p.xmm("pminud xmm, xmm", Integer, |a, d| a.pminud(d, xmm15));
    }
    if is_x86_feature_detected!("avx2") {
        p.ymm("vpaddd ymm, ymm, ymm", Integer, |a, d| {
            a.vpaddd(d, d, ymm15)
        });
        p.ymm("vpand ymm, ymm, ymm", Integer, |a, d| a.vpand(d, d, ymm15));
        p.ymm("vpcmpeqd ymm, ymm, ymm", Integer, |a, d| {
            a.vpcmpeqd(d, d, ymm15)
        });
        p.ymm("vpslld ymm, ymm, i", Integer, |a, d| a.vpslld(d, d, 1));
        p.ymm("vpsllvd ymm, ymm, ymm", Integer, |a, d| {
            a.vpsllvd(d, d, ymm15)
        });
        p.ymm("vpmuludq ymm, ymm, ymm", Integer, |a, d| {
            a.vpmuludq(d, d, ymm15)
        });
        p.ymm("vpmaddwd ymm, ymm, ymm", Integer, |a, d| {
            a.vpmaddwd(d, d, ymm15)
        });
        p.ymm("vpmulld ymm, ymm, ymm", Integer, |a, d| {
            a.vpmulld(d, d, ymm15)
        });
    }
    moves(p);
    shuffles(p);
    cryptography(p);
}

fn moves(p: &mut Plan) {
    p.group("vector moves");
    p.chain("movaps xmm, xmm", |a, i| {
        if i % 2 == 0 {
            a.movaps(xmm1, xmm0)
        } else {
            a.movaps(xmm0, xmm1)
        }
    })
    .fill(Fill::Xmm(Double))
    .detail("free where renamed");
    p.stream("movaps xmm, xmm", |a, i| a.movaps(XMM[i % 14], xmm15))
        .fill(Fill::Xmm(Double));
    if is_x86_feature_detected!("avx") {
        p.chain("vmovaps ymm, ymm", |a, i| {
            if i % 2 == 0 {
                a.vmovaps(ymm1, ymm0)
            } else {
                a.vmovaps(ymm0, ymm1)
            }
        })
        .fill(Fill::Ymm(Double))
        .detail("free where renamed");
        p.stream("vmovaps ymm, ymm", |a, i| a.vmovaps(YMM[i % 14], ymm15))
            .fill(Fill::Ymm(Double));
    }
}

fn shuffles(p: &mut Plan) {
    p.group("shuffles");
    p.xmm("pshufd xmm, xmm, i", Integer, |a, d| a.pshufd(d, d, 0x1b));
    p.xmm("shufps xmm, xmm, i", Integer, |a, d| {
        a.shufps(d, xmm15, 0x1b)
    });
    p.xmm("unpcklpd xmm, xmm", Double, |a, d| a.unpcklpd(d, xmm15));
    p.xmm("punpckldq xmm, xmm", Integer, |a, d| a.punpckldq(d, xmm15));
    p.xmm("psrldq xmm, i", Integer, |a, d| a.psrldq(d, 4));
    if is_x86_feature_detected!("ssse3") {
        p.xmm("pshufb xmm, xmm", Integer, |a, d| a.pshufb(d, xmm15));
        p.xmm("palignr xmm, xmm, i", Integer, |a, d| {
            a.palignr(d, xmm15, 4)
        });
    }
    if is_x86_feature_detected!("sse4.1") {
        // The mask is xmm0, which is in the chain thereby.
        p.stream("pblendvb xmm, xmm", |a, i| {
            a.pblendvb(XMM[1 + i % 13], xmm15)
        })
        .fill(Fill::Xmm(Integer));
        p.chain("pblendvb xmm, xmm", |a, _| a.pblendvb(xmm1, xmm15))
            .fill(Fill::Xmm(Integer));
    }
    if is_x86_feature_detected!("avx2") {
        p.ymm("vpshufb ymm, ymm, ymm", Integer, |a, d| {
            a.vpshufb(d, d, ymm15)
        });
        p.ymm("vpermd ymm, ymm, ymm", Integer, |a, d| {
            a.vpermd(d, ymm15, d)
        });
        p.ymm("vpermq ymm, ymm, i", Integer, |a, d| a.vpermq(d, d, 0x1b));
        p.ymm("vperm2i128 ymm, ymm, ymm, i", Integer, |a, d| {
            a.vperm2i128(d, d, ymm15, 0x21)
        });
        p.chain("vpbroadcastd ymm, xmm", |a, _| a.vpbroadcastd(ymm0, xmm0))
            .fill(Fill::Ymm(Integer));
        p.stream("vpbroadcastd ymm, xmm", |a, i| {
            a.vpbroadcastd(YMM[i % 14], xmm15)
        })
        .fill(Fill::Ymm(Integer));
        p.chain("vextracti128 xmm, ymm, i", |a, _| {
            a.vextracti128(xmm0, ymm0, 1)
        })
        .fill(Fill::Ymm(Integer));
        p.stream("vextracti128 xmm, ymm, i", |a, i| {
            a.vextracti128(XMM[i % 14], ymm15, 1)
        })
        .fill(Fill::Ymm(Integer));
        p.chain("vinserti128 ymm, ymm, xmm, i", |a, _| {
            a.vinserti128(ymm0, ymm15, xmm0, 1)
        })
        .fill(Fill::Ymm(Integer));
        p.stream("vinserti128 ymm, ymm, xmm, i", |a, i| {
            a.vinserti128(YMM[i % 14], ymm15, xmm15, 1)
        })
        .fill(Fill::Ymm(Integer));
        p.ymm("vpblendvb ymm, ymm, ymm, ymm", Integer, |a, d| {
            a.vpblendvb(d, d, ymm15, ymm14)
        });
    }
}

fn cryptography(p: &mut Plan) {
    p.group("cryptography");
    if is_x86_feature_detected!("aes") {
        p.xmm("aesenc xmm, xmm", Integer, |a, d| a.aesenc(d, xmm15));
    }
    if is_x86_feature_detected!("pclmulqdq") {
        p.xmm("pclmulqdq xmm, xmm, i", Integer, |a, d| {
            a.pclmulqdq(d, xmm15, 0)
        });
    }
}
