//! What kind of instruction ends a block: as much of decoding x86-64 as that needs.

/// What the last instruction of a block does.
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

/// Looks at an instruction's bytes.
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

/// Whether a PLT stub ends like this: `[bnd] jmp *slot(%rip)`.
pub fn is_stub(last: &[u8]) -> bool {
    matches!(last, [0xff, 0x25, ..] | [0xf2, 0xff, 0x25, ..])
}

/// Whether the way of a stub to ld.so begins like this: `[endbr64] push $index`.
pub fn pushes(first: &[u8]) -> bool {
    matches!(first, [0x68, ..])
}

/// Whether ld.so's way to the function that it has found ends like this: `[bnd] jmp *%r11`.
pub fn resolves(last: &[u8]) -> bool {
    matches!(last, [0x41, 0xff, 0xe3] | [0xf2, 0x41, 0xff, 0xe3])
}

/// `endbr64`.
pub const LANDING: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
