//! Classifies the instruction that ends a block, decoding as little of x86-64 as that needs.

/// The kind of a block's last instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// A call or a jump that is always taken.
    Transfer,
    /// A conditional jump.
    Conditional,
    /// A string instruction with a repeat prefix.
    Repeat,
    /// Anything else: a return, a system call, or the block was full.
    Other,
}

/// Classifies an instruction by its bytes.
pub fn ending(bytes: &[u8]) -> Ending {
    let mut rest = bytes;
    let mut repeat = false;
    while let Some((first, tail)) = rest.split_first() {
        match first {
            0xf2 | 0xf3 => repeat = true,
            0x26 | 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0x40..=0x4f => {}
            _ => break,
        }
        rest = tail;
    }
    match rest {
        [0x70..=0x7f | 0xe0..=0xe3, ..] | [0x0f, 0x80..=0x8f, ..] => Ending::Conditional,
        [0xe8 | 0xe9 | 0xeb, ..] => Ending::Transfer,
        [0xff, modrm, ..] if matches!(modrm >> 3 & 7, 2..=5) => Ending::Transfer,
        [0xa4..=0xa7 | 0xaa..=0xaf | 0x6c..=0x6f, ..] if repeat => Ending::Repeat,
        _ => Ending::Other,
    }
}

/// Whether an instruction is the jump of a PLT stub: `[bnd] jmp *slot(%rip)`.
pub fn is_stub(last: &[u8]) -> bool {
    matches!(last, [0xff, 0x25, ..] | [0xf2, 0xff, 0x25, ..])
}

/// Whether an instruction is the first of a stub's path to ld.so: `[endbr64] push $index`.
pub fn pushes(first: &[u8]) -> bool {
    matches!(first, [0x68, ..])
}

/// Whether an instruction is ld.so's jump to the function that it has found: `[bnd] jmp *%r11`.
pub fn resolves(last: &[u8]) -> bool {
    matches!(last, [0x41, 0xff, 0xe3] | [0xf2, 0x41, 0xff, 0xe3])
}

/// The instruction `endbr64`.
pub const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
