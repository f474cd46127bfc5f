//! A sample with registers and a stack copy as a perf.data record.

use crate::perfdata::record::{kind, misc};

/// The fields of a sample.
pub struct Sample<'a> {
    pub ip: u64,
    pub pid: i32,
    pub tid: i32,
    pub time: u64,
    pub cpu: u32,
    pub period: u64,
    /// In the order of `asm/perf_regs.h`; `None` if the thread was not stopped.
    pub registers: Option<[u64; 20]>,
    pub stack: &'a [u8],
}

/// The bytes of a record whose attribute has IP, TID, TIME, CPU, PERIOD, CALLCHAIN, REGS_USER
/// and STACK_USER.
pub fn bytes(sample: &Sample<'_>) -> Vec<u8> {
    const ABI_NONE: u64 = 0;
    const ABI_64: u64 = 2;
    let mut body = sample.ip.to_le_bytes().to_vec();
    body.extend(sample.pid.to_le_bytes());
    body.extend(sample.tid.to_le_bytes());
    body.extend(sample.time.to_le_bytes());
    body.extend(u64::from(sample.cpu).to_le_bytes());
    body.extend(sample.period.to_le_bytes());
    // An empty call chain.
    body.extend(0u64.to_le_bytes());
    let stack = match &sample.registers {
        Some(registers) => {
            body.extend(ABI_64.to_le_bytes());
            body.extend(registers.iter().flat_map(|r| r.to_le_bytes()));
            &sample.stack[..sample.stack.len() & !7]
        }
        None => {
            body.extend(ABI_NONE.to_le_bytes());
            &[]
        }
    };
    body.extend((stack.len() as u64).to_le_bytes());
    if !stack.is_empty() {
        body.extend(stack);
        // The dynamic size: all of the copy is valid.
        body.extend((stack.len() as u64).to_le_bytes());
    }
    let mut out = kind::SAMPLE.to_le_bytes().to_vec();
    out.extend(misc::USER.to_le_bytes());
    // The stack copy is far shorter than 64 KiB.
    out.extend(((body.len() + 8) as u16).to_le_bytes());
    out.extend(body);
    out
}
