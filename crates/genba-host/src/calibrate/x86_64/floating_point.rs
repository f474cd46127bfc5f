//! Floating point, scalar and vectors of up to 256 bits.
//!
//! Values stay normal and keep full mantissas: operands near 1, restored before each square
//! root (which would converge to 1), as older CPUs take less time for short results.

use std::arch::is_x86_feature_detected;

use iced_x86::code_asm::*;

use super::kernel_plan::{Asm, Emitted, Fill, Plan, Values, XMM, YMM};
use Values::{Double, Single};

pub(super) fn add(p: &mut Plan) {
    p.group("floating point");
    p.xmm("addsd xmm, xmm", Double, |a, d| a.addsd(d, xmm15));
    p.xmm("addss xmm, xmm", Single, |a, d| a.addss(d, xmm15));
    p.xmm("mulsd xmm, xmm", Double, |a, d| a.mulsd(d, xmm15));
    p.xmm("mulss xmm, xmm", Single, |a, d| a.mulss(d, xmm15));
    if is_x86_feature_detected!("fma") {
        p.xmm("vfmadd231sd xmm, xmm, xmm", Double, |a, d| {
            a.vfmadd231sd(d, xmm14, xmm15)
        });
    }
    p.xmm("maxsd xmm, xmm", Double, |a, d| a.maxsd(d, xmm15));
    p.xmm("divsd xmm, xmm", Double, |a, d| a.divsd(d, xmm15));
    p.xmm("divss xmm, xmm", Single, |a, d| a.divss(d, xmm15));
    root(
        p,
        "sqrtsd xmm, xmm",
        Double,
        |a| a.sqrtsd(xmm0, xmm0),
        |a, i| a.sqrtsd(XMM[i % 14], xmm15),
    );
    root(
        p,
        "sqrtss xmm, xmm",
        Single,
        |a| a.sqrtss(xmm0, xmm0),
        |a, i| a.sqrtss(XMM[i % 14], xmm15),
    );
    if is_x86_feature_detected!("sse4.1") {
        p.xmm("roundsd xmm, xmm, i", Double, |a, d| a.roundsd(d, d, 1));
    }
    p.xmm("andps xmm, xmm", Double, |a, d| a.andps(d, xmm15));
    p.xmm("orps xmm, xmm", Double, |a, d| a.orps(d, xmm15));
    p.xmm("cmpsd xmm, xmm, i", Double, |a, d| a.cmpsd_3(d, xmm15, 1));
    p.xmm("addpd xmm, xmm", Double, |a, d| a.addpd(d, xmm15));
    p.xmm("mulpd xmm, xmm", Double, |a, d| a.mulpd(d, xmm15));
    p.xmm("divpd xmm, xmm", Double, |a, d| a.divpd(d, xmm15));
    p.xmm("divps xmm, xmm", Single, |a, d| a.divps(d, xmm15));
    root(
        p,
        "sqrtpd xmm, xmm",
        Double,
        |a| a.sqrtpd(xmm0, xmm0),
        |a, i| a.sqrtpd(XMM[i % 14], xmm15),
    );
    root(
        p,
        "sqrtps xmm, xmm",
        Single,
        |a| a.sqrtps(xmm0, xmm0),
        |a, i| a.sqrtps(XMM[i % 14], xmm15),
    );
    if is_x86_feature_detected!("sse3") {
        p.xmm("haddpd xmm, xmm", Double, |a, d| a.haddpd(d, xmm15));
    }
    if is_x86_feature_detected!("avx") {
        avx(p);
    }
}

/// Square roots, the operand restored in the chain.
fn root(
    p: &mut Plan,
    form: &'static str,
    values: Values,
    chain: fn(&mut Asm) -> Emitted,
    stream: fn(&mut Asm, usize) -> Emitted,
) {
    p.chain(form, move |a, _| {
        chain(a)?;
        a.andps(xmm0, xmm12)?;
        a.orps(xmm0, xmm15)
    })
    .setup(|a| a.xorps(xmm12, xmm12))
    .fill(Fill::Xmm(values))
    .minus(&["andps xmm, xmm", "orps xmm, xmm"]);
    p.stream(form, stream).fill(Fill::Xmm(values));
}

fn avx(p: &mut Plan) {
    p.ymm("vaddpd ymm, ymm, ymm", Double, |a, d| a.vaddpd(d, d, ymm15));
    p.ymm("vmulpd ymm, ymm, ymm", Double, |a, d| a.vmulpd(d, d, ymm15));
    if is_x86_feature_detected!("fma") {
        p.ymm("vfmadd231pd ymm, ymm, ymm", Double, |a, d| {
            a.vfmadd231pd(d, ymm14, ymm15)
        });
    }
    p.ymm("vdivpd ymm, ymm, ymm", Double, |a, d| a.vdivpd(d, d, ymm15));
    p.ymm("vdivps ymm, ymm, ymm", Single, |a, d| a.vdivps(d, d, ymm15));
    p.ymm("vandps ymm, ymm, ymm", Double, |a, d| a.vandps(d, d, ymm15));
    p.ymm("vorps ymm, ymm, ymm", Double, |a, d| a.vorps(d, d, ymm15));
    root256(
        p,
        "vsqrtpd ymm, ymm",
        Double,
        |a| a.vsqrtpd(ymm0, ymm0),
        |a, i| a.vsqrtpd(YMM[i % 14], ymm15),
    );
    root256(
        p,
        "vsqrtps ymm, ymm",
        Single,
        |a| a.vsqrtps(ymm0, ymm0),
        |a, i| a.vsqrtps(YMM[i % 14], ymm15),
    );
}

fn root256(
    p: &mut Plan,
    form: &'static str,
    values: Values,
    chain: fn(&mut Asm) -> Emitted,
    stream: fn(&mut Asm, usize) -> Emitted,
) {
    p.chain(form, move |a, _| {
        chain(a)?;
        a.vandps(ymm0, ymm0, ymm12)?;
        a.vorps(ymm0, ymm0, ymm15)
    })
    .setup(|a| a.vxorps(ymm12, ymm12, ymm12))
    .fill(Fill::Ymm(values))
    .minus(&["vandps ymm, ymm, ymm", "vorps ymm, ymm, ymm"]);
    p.stream(form, stream).fill(Fill::Ymm(values));
}
