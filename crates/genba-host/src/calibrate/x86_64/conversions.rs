//! Conversions, and ways between register files.
//!
//! A way between register files can only be measured there and back: of the two, each has at
//! least one cycle and at most all but one. The table says so by its intervals.

use std::arch::is_x86_feature_detected;

use iced_x86::code_asm::*;

use crate::calibrate::table_entries::Rule;

use super::kernel_plan::{Fill, Plan, STREAMS, STREAMS32, Values, XMM};
use Values::{Double, Integer, Single};

const BOTH: &str = "only measured together";

pub(super) fn add(p: &mut Plan) {
    p.group("conversions");
    p.chain("movq xmm, r64", |a, _| {
        a.movq(xmm0, rax)?;
        a.movq(rax, xmm0)
    })
    .with("movq r64, xmm")
    .detail(BOTH);
    p.stream("movq xmm, r64", |a, i| a.movq(XMM[i % 14], rbx));
    p.stream("movq r64, xmm", |a, i| a.movq(STREAMS[i % 11], xmm15))
        .fill(Fill::Xmm(Integer));
    p.chain("cvtsi2sd xmm, r64", |a, _| {
        a.cvtsi2sd(xmm0, rax)?;
        a.cvttsd2si(rax, xmm0)
    })
    .with("cvttsd2si r64, xmm")
    .detail(BOTH);
    p.stream("cvtsi2sd xmm, r64", |a, i| a.cvtsi2sd(XMM[i % 14], rbx));
    p.stream("cvttsd2si r64, xmm", |a, i| {
        a.cvttsd2si(STREAMS[i % 11], xmm15)
    })
    .fill(Fill::Xmm(Double));
    p.chain("cvtsi2sd xmm, r32", |a, _| {
        a.cvtsi2sd(xmm0, eax)?;
        a.cvttsd2si(eax, xmm0)
    })
    .with("cvttsd2si r32, xmm")
    .detail(BOTH);
    p.stream("cvtsi2sd xmm, r32", |a, i| a.cvtsi2sd(XMM[i % 14], ebx));
    p.stream("cvttsd2si r32, xmm", |a, i| {
        a.cvttsd2si(STREAMS32[i % 11], xmm15)
    })
    .fill(Fill::Xmm(Double));
    p.chain("cvtsi2ss xmm, r64", |a, _| {
        a.cvtsi2ss(xmm0, rax)?;
        a.cvttss2si(rax, xmm0)
    })
    .with("cvttss2si r64, xmm")
    .detail(BOTH);
    p.chain("cvtss2sd xmm, xmm", |a, _| {
        a.cvtss2sd(xmm0, xmm0)?;
        a.cvtsd2ss(xmm0, xmm0)
    })
    .fill(Fill::Xmm(Single))
    .with("cvtsd2ss xmm, xmm")
    .detail(BOTH);
    p.stream("cvtss2sd xmm, xmm", |a, i| a.cvtss2sd(XMM[i % 14], xmm15))
        .fill(Fill::Xmm(Single));
    p.stream("cvtsd2ss xmm, xmm", |a, i| a.cvtsd2ss(XMM[i % 14], xmm15))
        .fill(Fill::Xmm(Double));
    p.chain("cvtdq2ps xmm, xmm", |a, _| {
        a.cvtdq2ps(xmm0, xmm0)?;
        a.cvttps2dq(xmm0, xmm0)
    })
    .fill(Fill::Xmm(Single))
    .with("cvttps2dq xmm, xmm")
    .detail(BOTH);
    p.stream("cvtdq2ps xmm, xmm", |a, i| a.cvtdq2ps(XMM[i % 14], xmm15))
        .fill(Fill::Xmm(Integer));
    p.stream("cvttps2dq xmm, xmm", |a, i| a.cvttps2dq(XMM[i % 14], xmm15))
        .fill(Fill::Xmm(Single));
    flags(p);
}

/// Comparisons that set the flags, and masks of sign bits: back by forms that are known.
fn flags(p: &mut Plan) {
    p.chain("comisd xmm, xmm", |a, _| {
        a.comisd(xmm0, xmm15)?;
        a.cmovb(rax, rbx)?;
        a.movq(xmm0, rax)
    })
    .fill(Fill::Xmm(Double))
    .minus(&["cmovcc r64, r64", "movq xmm, r64"])
    .detail("with cmovcc and movq");
    p.stream("comisd xmm, xmm", |a, i| a.comisd(XMM[i % 14], xmm15))
        .fill(Fill::Xmm(Double));
    p.chain("pmovmskb r32, xmm", |a, _| {
        a.pmovmskb(eax, xmm0)?;
        a.movq(xmm0, rax)
    })
    .fill(Fill::Xmm(Integer))
    .minus(&["movq xmm, r64"])
    .detail("with movq");
    p.stream("pmovmskb r32, xmm", |a, i| {
        a.pmovmskb(STREAMS32[i % 11], xmm15)
    })
    .fill(Fill::Xmm(Integer));
    if is_x86_feature_detected!("sse4.1") {
        p.chain("ptest xmm, xmm", |a, _| {
            a.ptest(xmm0, xmm15)?;
            a.cmovb(rax, rbx)?;
            a.movq(xmm0, rax)
        })
        .fill(Fill::Xmm(Integer))
        .minus(&["cmovcc r64, r64", "movq xmm, r64"])
        .detail("with cmovcc and movq");
        p.stream("ptest xmm, xmm", |a, i| a.ptest(XMM[i % 14], xmm15))
            .fill(Fill::Xmm(Integer));
        p.chain("pinsrq xmm, r64, i", |a, _| {
            a.pinsrq(xmm0, rax, 1)?;
            a.pextrq(rax, xmm0, 1)
        })
        .fill(Fill::Xmm(Integer))
        .rule(Rule::RoundTrip("pextrq r64, xmm, i", Vec::new()))
        .detail(BOTH);
        p.stream("pextrq r64, xmm, i", |a, i| {
            a.pextrq(STREAMS[i % 11], xmm15, 1)
        })
        .fill(Fill::Xmm(Integer));
    }
}
