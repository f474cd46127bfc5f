//! Integer division.
//!
//! What a division takes depends on how many bits its quotient has (most CPUs) or on the size
//! of its operands (older ones), so several are measured. The upper half of the dividend is zero
//! or the sign, as compilers have it, but where said. The chain restores the dividend by two
//! operations on the result, `and` with zero and `or`, whose latencies are taken off.

use iced_x86::code_asm::*;

use super::kernel_plan::{Plan, Spec};

/// What divisions are measured with.
struct Operands {
    form: &'static str,
    detail: &'static str,
    upper: u64,
    dividend: u64,
    divisor: u64,
}

const fn of(form: &'static str, detail: &'static str, dividend: u64, divisor: u64) -> Operands {
    Operands {
        form,
        detail,
        upper: 0,
        dividend,
        divisor,
    }
}

const DIV64: [Operands; 5] = [
    of("div r64 [zero]", "0-bit quotient: 5 / 77", 5, 77),
    of("div r64 [small]", "8-bit quotient: 1403 / 7", 1403, 7),
    of(
        "div r64 [medium]",
        "32-bit quotient: 0xb504f333b504f333 / 0xc0000001",
        0xb504_f333_b504_f333,
        0xc000_0001,
    ),
    of(
        "div r64 [large]",
        "63-bit quotient: 0xfffffffffffffffe / 3",
        0xffff_ffff_ffff_fffe,
        3,
    ),
    Operands {
        form: "div r64 [128-bit dividend]",
        detail: "rdx not 0; compilers emit none",
        upper: 0x5a5a_5a5a_5a5a_5a5a,
        dividend: 0x1234_5678_9abc_def1,
        divisor: 0xb504_f333_f9de_6485,
    },
];

const IDIV64: [Operands; 4] = [
    of("idiv r64 [zero]", "0-bit quotient: 5 / 77", 5, 77),
    of("idiv r64 [small]", "8-bit quotient: 1403 / 7", 1403, 7),
    of(
        "idiv r64 [medium]",
        "32-bit quotient: 0x3504f333b504f333 / 0x60000001",
        0x3504_f333_b504_f333,
        0x6000_0001,
    ),
    of(
        "idiv r64 [large]",
        "62-bit quotient: 0x7ffffffffffffffe / 3",
        0x7fff_ffff_ffff_fffe,
        3,
    ),
];

const DIV32: [Operands; 4] = [
    of("div r32 [zero]", "0-bit quotient: 5 / 77", 5, 77),
    of("div r32 [small]", "8-bit quotient: 1403 / 7", 1403, 7),
    of(
        "div r32 [medium]",
        "16-bit quotient: 0xb504f333 / 0xc001",
        0xb504_f333,
        0xc001,
    ),
    of(
        "div r32 [large]",
        "31-bit quotient: 0xfffffffe / 3",
        0xffff_fffe,
        3,
    ),
];

const IDIV32: [Operands; 4] = [
    of("idiv r32 [zero]", "0-bit quotient: 5 / 77", 5, 77),
    of("idiv r32 [small]", "8-bit quotient: 1403 / 7", 1403, 7),
    of(
        "idiv r32 [medium]",
        "16-bit quotient: 0x3504f333 / 0x6001",
        0x3504_f333,
        0x6001,
    ),
    of(
        "idiv r32 [large]",
        "30-bit quotient: 0x7ffffffe / 3",
        0x7fff_fffe,
        3,
    ),
];

pub(super) fn add(p: &mut Plan) {
    p.group("division");
    for operands in &DIV64 {
        pair(p, operands, |a| a.div(rcx));
    }
    for operands in &IDIV64 {
        pair(p, operands, |a| a.idiv(rcx));
    }
    for operands in &DIV32 {
        pair(p, operands, |a| a.div(ecx));
    }
    for operands in &IDIV32 {
        pair(p, operands, |a| a.idiv(ecx));
    }
}

fn pair(
    p: &mut Plan,
    operands: &'static Operands,
    divide: fn(&mut CodeAssembler) -> super::kernel_plan::Emitted,
) {
    let upper = |a: &mut CodeAssembler| {
        if operands.upper == 0 {
            a.xor(edx, edx)
        } else {
            a.mov(rdx, r8)
        }
    };
    let prepare = |spec: &mut Spec| {
        spec.detail(operands.detail).instances(16).setup(|a| {
            a.mov(rcx, operands.divisor)?;
            a.mov(r8, operands.upper)?;
            a.mov(r9, operands.dividend)?;
            a.mov(rax, r9)
        });
    };
    prepare(
        p.chain(operands.form, move |a, _| {
            upper(a)?;
            divide(a)?;
            a.and(rax, rbp)?;
            a.or(rax, r9)
        })
        .minus(&["and r64, r64", "or r64, r64"]),
    );
    prepare(p.stream(operands.form, move |a, _| {
        upper(a)?;
        a.mov(rax, r9)?;
        divide(a)
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_have_the_documented_bits() {
        let all = DIV64.iter().chain(&IDIV64).chain(&DIV32).chain(&IDIV32);
        for operands in all {
            if operands.upper != 0 {
                // A quotient of more than 64 bits would be a divide error.
                assert!(operands.upper < operands.divisor);
                continue;
            }
            let (dividend, divisor) = (operands.dividend, operands.divisor);
            let bits = 64 - (dividend / divisor).leading_zeros();
            let said = [
                format!("{bits}-bit quotient: {dividend} / {divisor}"),
                format!("{bits}-bit quotient: {dividend:#x} / {divisor}"),
                format!("{bits}-bit quotient: {dividend:#x} / {divisor:#x}"),
            ];
            assert!(
                said.contains(&operands.detail.to_owned()),
                "{}: {said:?}",
                operands.form
            );
        }
    }
}
