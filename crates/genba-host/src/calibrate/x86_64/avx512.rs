//! Vectors of 512 bits, and masks.

use std::arch::is_x86_feature_detected;

use iced_x86::code_asm::*;

use super::kernel_plan::{Asm, Emitted, Fill, Plan, Values, ZMM};
use Values::{Double, Integer, Single};

pub(super) fn add(p: &mut Plan) {
    if !(is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512bw"))
    {
        return;
    }
    p.group("512 bits");
    p.zmm("vaddpd zmm, zmm, zmm", Double, |a, d| a.vaddpd(d, d, zmm15));
    p.zmm("vmulpd zmm, zmm, zmm", Double, |a, d| a.vmulpd(d, d, zmm15));
    p.zmm("vfmadd231pd zmm, zmm, zmm", Double, |a, d| {
        a.vfmadd231pd(d, zmm14, zmm15)
    });
    p.zmm("vdivpd zmm, zmm, zmm", Double, |a, d| a.vdivpd(d, d, zmm15));
    p.zmm("vdivps zmm, zmm, zmm", Single, |a, d| a.vdivps(d, d, zmm15));
    p.zmm("vandps zmm, zmm, zmm", Double, |a, d| a.vandps(d, d, zmm15));
    p.zmm("vorps zmm, zmm, zmm", Double, |a, d| a.vorps(d, d, zmm15));
    root(
        p,
        "vsqrtpd zmm, zmm",
        Double,
        |a| a.vsqrtpd(zmm0, zmm0),
        |a, i| a.vsqrtpd(ZMM[i % 14], zmm15),
    );
    root(
        p,
        "vsqrtps zmm, zmm",
        Single,
        |a| a.vsqrtps(zmm0, zmm0),
        |a, i| a.vsqrtps(ZMM[i % 14], zmm15),
    );
    p.zmm("vpaddd zmm, zmm, zmm", Integer, |a, d| {
        a.vpaddd(d, d, zmm15)
    });
    p.zmm("vpandd zmm, zmm, zmm", Integer, |a, d| {
        a.vpandd(d, d, zmm15)
    });
    p.zmm("vpternlogd zmm, zmm, zmm, i", Integer, |a, d| {
        a.vpternlogd(d, zmm14, zmm15, 0x96)
    });
    p.zmm("vpslld zmm, zmm, i", Integer, |a, d| a.vpslld(d, d, 1));
    p.zmm("vpmulld zmm, zmm, zmm", Integer, |a, d| {
        a.vpmulld(d, d, zmm15)
    });
    p.zmm("vpshufb zmm, zmm, zmm", Integer, |a, d| {
        a.vpshufb(d, d, zmm15)
    });
    p.zmm("vpermd zmm, zmm, zmm", Integer, |a, d| {
        a.vpermd(d, zmm15, d)
    });
    p.chain("vmovdqa64 zmm, zmm", |a, i| {
        if i % 2 == 0 {
            a.vmovdqa64(zmm1, zmm0)
        } else {
            a.vmovdqa64(zmm0, zmm1)
        }
    })
    .fill(Fill::Zmm(Integer))
    .detail("free where renamed");
    p.chain("vpcmpeqd k, zmm, zmm", |a, _| {
        a.vpcmpeqd(k1, zmm0, zmm15)?;
        a.vpmovm2d(zmm0, k1)
    })
    .fill(Fill::Zmm(Integer))
    .with("vpmovm2d zmm, k")
    .detail("only measured together");
    p.stream("vpcmpeqd k, zmm, zmm", |a, i| {
        a.vpcmpeqd([k1, k2, k3, k4][i % 4], ZMM[i % 14], zmm15)
    })
    .fill(Fill::Zmm(Integer));
    p.chain("kmovw k, r32", |a, _| {
        a.kmovw(k1, eax)?;
        a.kmovw(eax, k1)
    })
    .with("kmovw r32, k")
    .detail("only measured together");
    p.chain("kandw k, k, k", |a, _| a.kandw(k1, k1, k2));
}

fn root(
    p: &mut Plan,
    form: &'static str,
    values: Values,
    chain: fn(&mut Asm) -> Emitted,
    stream: fn(&mut Asm, usize) -> Emitted,
) {
    p.chain(form, move |a, _| {
        chain(a)?;
        a.vandps(zmm0, zmm0, zmm12)?;
        a.vorps(zmm0, zmm0, zmm15)
    })
    .setup(|a| a.vxorps(zmm12, zmm12, zmm12))
    .fill(Fill::Zmm(values))
    .minus(&["vandps zmm, zmm, zmm", "vorps zmm, zmm, zmm"]);
    p.stream(form, stream).fill(Fill::Zmm(values));
}
