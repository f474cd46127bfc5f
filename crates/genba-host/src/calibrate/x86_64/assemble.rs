//! From a plan to machine code: every kernel is a function of two arguments, the iterations of its
//! loop and the address of its data.

use iced_x86::IcedError;
use iced_x86::code_asm::*;
use rustix::io;

use super::kernel_plan::{Asm, Emitted, Fill, Part, Plan, Spec, Values, XMM, YMM, ZMM};
use crate::calibrate::executable_memory::{Code, Data};

/// A kernel: `(iterations, data)`. It changes no register that the System V ABI lets callees keep,
/// no flag of direction and no control register; it writes only to its data and its stack.
pub(crate) type Entry = unsafe extern "sysv64" fn(u64, *mut u8);

/// Machine code of a plan.
#[derive(Debug)]
pub(crate) struct Assembled {
    /// Kept mapped as long as entries may be called.
    _code: Code,
    /// One for each kernel, in the plan's order.
    pub(crate) entries: Vec<Entry>,
    /// The reference: [`REFERENCE_ADDITIONS`] dependent additions per iteration.
    pub(crate) reference: Entry,
}

/// Dependent additions in one iteration of the reference chain.
pub(crate) const REFERENCE_ADDITIONS: u32 = 64;

/// Why there is no machine code.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AssembleError {
    #[error("assembling `{form}`: {source}")]
    Kernel {
        form: &'static str,
        source: IcedError,
    },
    #[error("executable memory: {0}")]
    Memory(#[from] io::Errno),
}

/// Bytes to which kernels and their loops are aligned.
const ALIGNMENT: usize = 64;

/// Assembles and maps all kernels.
pub(crate) fn assemble(plan: &Plan) -> Result<Assembled, AssembleError> {
    let mut reference = Plan::default();
    reference
        .chain("add r64, r64", |a, _| a.add(rax, rbx))
        .instances(REFERENCE_ADDITIONS);
    let specs = || reference.specs.iter().chain(&plan.specs);
    // Code does not depend on its address, as all of its references are relative.
    let mut bytes = Vec::new();
    let mut places = Vec::new();
    for spec in specs() {
        bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0xcc);
        places.push(bytes.len());
        let code = kernel(spec).map_err(|source| AssembleError::Kernel {
            form: spec.form,
            source,
        })?;
        bytes.extend(code);
    }
    let mut data = Data::new(bytes.len(), true)?;
    data.bytes_mut()[..bytes.len()].copy_from_slice(&bytes);
    let code = data.executable()?;
    let mut entries = places.into_iter().map(|place| {
        // SAFETY: `place` is within the mapping and is where a whole function with this
        // signature was written, which the mapping (kept in `_code`) holds executable.
        unsafe { std::mem::transmute::<*const u8, Entry>(code.start().add(place)) }
    });
    match entries.next() {
        Some(reference) => Ok(Assembled {
            reference,
            entries: entries.collect(),
            _code: code,
        }),
        None => Err(io::Errno::NOMEM.into()),
    }
}

const KEPT: [AsmRegister64; 6] = [rbx, rbp, r12, r13, r14, r15];

fn kernel(spec: &Spec) -> Result<Vec<u8>, IcedError> {
    let mut head = Asm::new(64)?;
    before(&mut head, spec)?;
    let length = head.assemble(0)?.len();
    let mut a = Asm::new(64)?;
    before(&mut a, spec)?;
    // The loop starts at a multiple; `whole` kernels with set-up of their own start anywhere.
    a.nops_with_size(length.next_multiple_of(ALIGNMENT) - length)?;
    let mut labels = Vec::new();
    if let Some(whole) = &spec.whole {
        let mut part = Part::Before(Vec::new());
        whole(&mut a, &mut part)?;
        labels = part.labels();
    }
    let mut top = a.create_label();
    a.set_label(&mut top)?;
    if let Some(whole) = &spec.whole {
        let mut part = Part::Body(labels);
        whole(&mut a, &mut part)?;
        labels = part.labels();
    } else {
        for instance in 0..spec.instances {
            (spec.body)(&mut a, instance as usize)?;
        }
    }
    a.dec(r15)?;
    a.jne(top)?;
    if matches!(spec.fill, Fill::Ymm(_) | Fill::Zmm(_)) {
        a.vzeroupper()?;
    }
    for register in KEPT.iter().rev() {
        a.pop(*register)?;
    }
    a.ret()?;
    if let Some(whole) = &spec.whole {
        whole(&mut a, &mut Part::Behind(labels))?;
    }
    a.assemble(0)
}

impl Part {
    fn labels(self) -> Vec<CodeLabel> {
        match self {
            Self::Before(labels) | Self::Body(labels) | Self::Behind(labels) => labels,
        }
    }
}

fn before(a: &mut Asm, spec: &Spec) -> Emitted {
    for register in KEPT {
        a.push(register)?;
    }
    a.mov(r15, rdi)?;
    a.mov(r14, rsi)?;
    a.mov(ebx, 5)?;
    a.xor(ebp, ebp)?;
    for (number, register) in super::kernel_plan::STREAMS32.into_iter().enumerate() {
        a.mov(register, 3 + number as i32)?;
    }
    fill(a, spec.fill)?;
    match &spec.setup {
        Some(setup) => setup(a, 0),
        None => Ok(()),
    }
}

fn fill(a: &mut Asm, fill: Fill) -> Emitted {
    // Constants of the scratch pages: 64 bytes for the streams, 64 for the operands.
    let first = |values: Values| r14 + values.offset();
    let second = |values: Values| r14 + (values.offset() + 64);
    match fill {
        Fill::None => {}
        Fill::Xmm(values) => {
            for register in XMM {
                a.movups(register, xmmword_ptr(first(values)))?;
            }
            a.movups(xmm14, xmmword_ptr(second(values)))?;
            a.movups(xmm15, xmmword_ptr(second(values)))?;
        }
        Fill::Ymm(values) => {
            for register in YMM {
                a.vmovups(register, ymmword_ptr(first(values)))?;
            }
            a.vmovups(ymm14, ymmword_ptr(second(values)))?;
            a.vmovups(ymm15, ymmword_ptr(second(values)))?;
        }
        Fill::Zmm(values) => {
            for register in ZMM {
                a.vmovups(register, zmmword_ptr(first(values)))?;
            }
            a.vmovups(zmm14, zmmword_ptr(second(values)))?;
            a.vmovups(zmm15, zmmword_ptr(second(values)))?;
        }
    }
    Ok(())
}
