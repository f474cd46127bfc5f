//! What is to be measured: kernels as closures that write one instance of a form.
//!
//! Registers while a kernel runs: `r15` iterations left, `r14` the kernel's data, `rbx` a small
//! number and `rbp` zero as operands, all others free ([`STREAMS`]); `xmm15` and `xmm14` are
//! vector operands, 0 to 13 free.

use iced_x86::IcedError;
use iced_x86::code_asm::*;

use crate::calibrate::table_entries::Rule;

/// The assembler.
pub(super) type Asm = CodeAssembler;
/// What assembling returns.
pub(super) type Emitted = Result<(), IcedError>;
type Emit = Box<dyn Fn(&mut Asm, usize) -> Emitted>;

/// Registers for independent streams.
pub(super) const STREAMS: [AsmRegister64; 11] =
    [rax, rcx, rdx, rsi, rdi, r8, r9, r10, r11, r12, r13];
/// Their lower halves.
pub(super) const STREAMS32: [AsmRegister32; 11] =
    [eax, ecx, edx, esi, edi, r8d, r9d, r10d, r11d, r12d, r13d];
/// Vector registers for independent streams.
pub(super) const XMM: [AsmRegisterXmm; 14] = [
    xmm0, xmm1, xmm2, xmm3, xmm4, xmm5, xmm6, xmm7, xmm8, xmm9, xmm10, xmm11, xmm12, xmm13,
];
pub(super) const YMM: [AsmRegisterYmm; 14] = [
    ymm0, ymm1, ymm2, ymm3, ymm4, ymm5, ymm6, ymm7, ymm8, ymm9, ymm10, ymm11, ymm12, ymm13,
];
pub(super) const ZMM: [AsmRegisterZmm; 14] = [
    zmm0, zmm1, zmm2, zmm3, zmm4, zmm5, zmm6, zmm7, zmm8, zmm9, zmm10, zmm11, zmm12, zmm13,
];

/// The data that a kernel works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Region {
    /// Constants and scratch of a few pages.
    Scratch,
    /// The random cycle through a working set of this level (1 to 3, 4 for memory).
    Chase(u8),
    /// Bits that repeat 0 1 0 1.
    Alternating,
    /// Random bits.
    Random,
}

/// How vector registers are filled before the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fill {
    None,
    /// 128 bits, legacy encoding.
    Xmm(Values),
    /// 256 bits.
    Ymm(Values),
    /// 512 bits.
    Zmm(Values),
}

/// With what vector registers are filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Values {
    Double,
    Single,
    Integer,
}

impl Values {
    /// Offset of the operands in the scratch pages: 64 bytes for `xmm0` to `xmm13`, then 64 for
    /// `xmm14` and `xmm15`.
    pub(super) fn offset(self) -> i32 {
        match self {
            Self::Double => 4096,
            Self::Single => 4096 + 128,
            Self::Integer => 4096 + 256,
        }
    }
}

/// Bytes of the scratch pages.
pub(crate) const SCRATCH: usize = 3 * 4096;

/// Writes the operands of vectors to the scratch pages.
pub(crate) fn write_constants(scratch: &mut [u8]) {
    let mut write = |values: Values, part: usize, bytes: &[u8]| {
        let start = values.offset() as usize + 64 * part;
        for (place, byte) in scratch[start..start + 64]
            .iter_mut()
            .zip(bytes.iter().cycle())
        {
            *place = *byte;
        }
    };
    write(Values::Double, 0, &1.234_567_890_123_f64.to_le_bytes());
    write(Values::Double, 1, &1.000_000_123_456_f64.to_le_bytes());
    write(Values::Single, 0, &1.234_567_f32.to_le_bytes());
    write(Values::Single, 1, &1.000_012_3_f32.to_le_bytes());
    write(Values::Integer, 0, &0x0102_0304_0506_0708_u64.to_le_bytes());
    write(Values::Integer, 1, &0x0003_0001_0002_0005_u64.to_le_bytes());
}

/// One kernel.
pub(crate) struct Spec {
    /// The entry that it belongs to.
    pub(crate) form: &'static str,
    /// The entry's group.
    pub(crate) group: &'static str,
    /// The entry's detail.
    pub(crate) detail: Option<&'static str>,
    /// What its time becomes.
    pub(crate) rule: Rule,
    /// Instances in one iteration of its loop.
    pub(crate) instances: u32,
    /// Data.
    pub(crate) region: Region,
    pub(super) fill: Fill,
    pub(super) setup: Option<Emit>,
    pub(super) body: Emit,
    /// Subroutines behind the loop; they may use the labels that `body` made.
    pub(super) whole: Option<Whole>,
}

/// For kernels with labels of their own: writes the set-up, and gives the loop's body and what
/// stands behind it.
pub(super) type Whole = Box<dyn Fn(&mut Asm, &mut Part) -> Emitted>;

/// Which part of a kernel with labels is to be written.
pub(super) enum Part {
    /// Before the loop; labels may be made here.
    Before(Vec<CodeLabel>),
    /// The loop's body.
    Body(Vec<CodeLabel>),
    /// Behind the kernel's end.
    Behind(Vec<CodeLabel>),
}

impl Spec {
    /// What it was measured on.
    pub(super) fn detail(&mut self, detail: &'static str) -> &mut Self {
        self.detail = Some(detail);
        self
    }

    /// Instructions before the loop.
    pub(super) fn setup(&mut self, setup: impl Fn(&mut Asm) -> Emitted + 'static) -> &mut Self {
        self.setup = Some(Box::new(move |a, _| setup(a)));
        self
    }

    /// Vector registers.
    pub(super) fn fill(&mut self, fill: Fill) -> &mut Self {
        self.fill = fill;
        self
    }

    /// Latencies of other forms in the chain.
    pub(super) fn minus(&mut self, forms: &[&'static str]) -> &mut Self {
        match &mut self.rule {
            Rule::Latency(minus) | Rule::RoundTrip(_, minus) => minus.extend(forms),
            _ => {}
        }
        self
    }

    /// The chain goes through this form as well.
    pub(super) fn with(&mut self, other: &'static str) -> &mut Self {
        self.rule = Rule::RoundTrip(other, Vec::new());
        self
    }

    /// Instances in one iteration.
    pub(super) fn instances(&mut self, instances: u32) -> &mut Self {
        self.instances = instances;
        self
    }

    /// Data.
    pub(super) fn region(&mut self, region: Region) -> &mut Self {
        self.region = region;
        self
    }

    /// What its time becomes.
    pub(super) fn rule(&mut self, rule: Rule) -> &mut Self {
        self.rule = rule;
        self
    }

    /// Parts with labels.
    pub(super) fn whole(
        &mut self,
        whole: impl Fn(&mut Asm, &mut Part) -> Emitted + 'static,
    ) -> &mut Self {
        self.whole = Some(Box::new(whole));
        self
    }
}

/// All kernels.
#[derive(Default)]
pub(crate) struct Plan {
    /// In the order of printing.
    pub(crate) specs: Vec<Spec>,
    group: &'static str,
}

/// Instances in a chain.
const CHAIN: u32 = 32;

impl Plan {
    /// The kernels added from here on belong to this group.
    pub(super) fn group(&mut self, group: &'static str) {
        self.group = group;
    }

    fn kernel(&mut self, form: &'static str, rule: Rule, instances: u32, body: Emit) -> &mut Spec {
        self.specs.push(Spec {
            form,
            group: self.group,
            detail: None,
            rule,
            instances,
            region: Region::Scratch,
            fill: Fill::None,
            setup: None,
            body,
            whole: None,
        });
        let last = self.specs.len() - 1;
        &mut self.specs[last]
    }

    /// A chain in which every instance needs the one before it; the closure is given the number
    /// of the instance.
    pub(super) fn chain(
        &mut self,
        form: &'static str,
        body: impl Fn(&mut Asm, usize) -> Emitted + 'static,
    ) -> &mut Spec {
        self.kernel(form, Rule::Latency(Vec::new()), CHAIN, Box::new(body))
    }

    /// Instances that do not need one another.
    pub(super) fn stream(
        &mut self,
        form: &'static str,
        body: impl Fn(&mut Asm, usize) -> Emitted + 'static,
    ) -> &mut Spec {
        self.kernel(form, Rule::Throughput, 66, Box::new(body))
    }

    /// Chain and streams of a form that changes one 64-bit register.
    pub(super) fn gpr(
        &mut self,
        form: &'static str,
        body: impl Fn(&mut Asm, AsmRegister64) -> Emitted + Copy + 'static,
    ) {
        self.chain(form, move |a, _| body(a, rax));
        self.stream(form, move |a, i| body(a, STREAMS[i % STREAMS.len()]));
    }

    /// The same with 32-bit registers.
    pub(super) fn gpr32(
        &mut self,
        form: &'static str,
        body: impl Fn(&mut Asm, AsmRegister32) -> Emitted + Copy + 'static,
    ) {
        self.chain(form, move |a, _| body(a, eax));
        self.stream(form, move |a, i| body(a, STREAMS32[i % STREAMS32.len()]));
    }

    /// Chain and streams of a form that changes one vector register of 128 bits.
    pub(super) fn xmm(
        &mut self,
        form: &'static str,
        values: Values,
        body: impl Fn(&mut Asm, AsmRegisterXmm) -> Emitted + Copy + 'static,
    ) {
        self.chain(form, move |a, _| body(a, xmm0))
            .fill(Fill::Xmm(values));
        self.stream(form, move |a, i| body(a, XMM[i % XMM.len()]))
            .instances(70)
            .fill(Fill::Xmm(values));
    }

    /// The same with 256 bits.
    pub(super) fn ymm(
        &mut self,
        form: &'static str,
        values: Values,
        body: impl Fn(&mut Asm, AsmRegisterYmm) -> Emitted + Copy + 'static,
    ) {
        self.chain(form, move |a, _| body(a, ymm0))
            .fill(Fill::Ymm(values));
        self.stream(form, move |a, i| body(a, YMM[i % YMM.len()]))
            .instances(70)
            .fill(Fill::Ymm(values));
    }

    /// The same with 512 bits.
    pub(super) fn zmm(
        &mut self,
        form: &'static str,
        values: Values,
        body: impl Fn(&mut Asm, AsmRegisterZmm) -> Emitted + Copy + 'static,
    ) {
        self.chain(form, move |a, _| body(a, zmm0))
            .fill(Fill::Zmm(values));
        self.stream(form, move |a, i| body(a, ZMM[i % ZMM.len()]))
            .instances(70)
            .fill(Fill::Zmm(values));
    }
}
