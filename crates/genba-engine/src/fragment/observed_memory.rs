//! Emits what observing code does with memory: computes addresses, reads values, writes words of a
//! burst. None of it changes a flag.

use super::{RAX, RCX};
use crate::burst_layout::{HASHED_BYTES, pieces};
use crate::emitter::Emitter;
use crate::observed_operations::Address;
use crate::thread_state;

const RDX: u8 = 2;

/// A word of the block, by its number; rcx is BURST_BLOCK.
pub struct EventPlace(pub u32);

impl EventPlace {
    fn gs_rcx(&self, emitter: &mut Emitter, opcode: u8, register: u8) {
        let rex = 0x48 | (register >> 3) << 2;
        emitter.bytes(&[0x65, rex, opcode, 0x81 | (register & 7) << 3]);
        emitter.u32(thread_state::RECORDING + self.0 * 8);
    }

    /// `mov gs:[rcx + …], register`
    pub fn store(&self, emitter: &mut Emitter, register: u8) {
        self.gs_rcx(emitter, 0x89, register);
    }

    /// `mov register, gs:[rcx + …]`
    pub fn load(&self, emitter: &mut Emitter, register: u8) {
        self.gs_rcx(emitter, 0x8B, register);
    }
}

/// Emits the computation of an address in rax. All registers must have the program's values; with
/// %fs, rcx is overwritten, too.
pub fn address_to_rax(emitter: &mut Emitter, address: &Address) {
    let to = if address.fs { RCX } else { RAX };
    lea(emitter, to, address);
    if address.fs {
        // rdfsbase rax; lea rax, [rax + rcx]
        emitter.bytes(&[0xF3, 0x48, 0x0F, 0xAE, 0xC0]);
        emitter.bytes(&[0x48, 0x8D, 0x04, 0x08]);
    }
}

fn lea(emitter: &mut Emitter, to: u8, address: &Address) {
    if address.base.is_none() && address.index.is_none() {
        // mov to, displacement
        let displacement = match address.narrow {
            true => address.displacement & 0xFFFF_FFFF,
            false => address.displacement,
        };
        emitter.bytes(&[0x48, 0xB8 | to]);
        emitter.bytes(&displacement.to_le_bytes());
        return;
    }
    let wide = if address.narrow { 0x40 } else { 0x48 };
    let base = address.base.unwrap_or(5);
    // Without an index, its number is that of rsp.
    let index = address.index.unwrap_or(4);
    let base_high = if address.base.is_some() { base >> 3 } else { 0 };
    let rex = wide | (index >> 3) << 1 | base_high;
    let mode = if address.base.is_some() { 0x80 } else { 0 };
    let scale = address.scale.trailing_zeros() as u8;
    emitter.bytes(&[
        rex,
        0x8D,
        mode | to << 3 | 4,
        scale << 6 | (index & 7) << 3 | (base & 7),
    ]);
    emitter.u32(address.displacement as u32);
}

/// Emits reading the value at the address in rax to rax: see
/// [`crate::burst_layout::recorded_value`]. A hash overwrites rcx and rdx.
pub fn value_to_rax(emitter: &mut Emitter, size: u16) {
    if let 1 | 2 | 4 | 8 = size {
        return read(emitter, RAX, RAX, 0, usize::from(size));
    }
    // mov rdx, rax
    emitter.bytes(&[0x48, 0x89, 0xC2]);
    let mut at = 0;
    for piece in pieces(usize::from(size)) {
        if at == 0 {
            read(emitter, RAX, RDX, 0, piece);
        } else {
            read(emitter, RCX, RDX, at, piece);
            // rorx rax, rax, 29; lea rax, [rax + rax * 4]; lea rax, [rax + rcx]
            emitter.bytes(&[0xC4, 0xE3, 0xFB, 0xF0, 0xC0, 29]);
            emitter.bytes(&[0x48, 0x8D, 0x04, 0x80]);
            emitter.bytes(&[0x48, 0x8D, 0x04, 0x08]);
        }
        at += piece as u8;
    }
}

const _: () = assert!(HASHED_BYTES < 128, "displacements of one byte");

/// Emits `mov to, [from + displacement]`, zero-extended.
fn read(emitter: &mut Emitter, to: u8, from: u8, displacement: u8, size: usize) {
    let opcode: &[u8] = match size {
        1 => &[0x0F, 0xB6],
        2 => &[0x0F, 0xB7],
        4 => &[0x8B],
        _ => &[0x48, 0x8B],
    };
    emitter.bytes(opcode);
    emitter.bytes(&[0x40 | to << 3 | from, displacement]);
}
