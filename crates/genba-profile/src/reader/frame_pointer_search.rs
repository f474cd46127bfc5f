//! Where a frame may begin whose frame pointer is not known: its candidates in a copy of the stack.
//!
//! A frame pointer points at the caller's, which lies below the return address. So each word of the
//! stack that is the address after a call is a candidate. Words of calls that ended long ago are
//! among them; a direct call whose target is not the function in question is known to be one.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use genba_symbols::Binary;

use super::x86_64::{Call, call_before};

/// Words of a stack in which a return address is looked for.
const MAX_WORDS: usize = 512;
/// Most candidates.
const MAX_CANDIDATES: usize = 24;
/// Longest encoding of a call, bytes.
const MAX_CALL_BYTES: u64 = 8;

/// A file with code, opened when it is first asked for.
pub struct CodeFile {
    path: PathBuf,
    opened: OnceLock<Option<Binary>>,
}

impl CodeFile {
    /// The file at a path.
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            opened: OnceLock::new(),
        }
    }

    fn get(&self) -> Option<&Binary> {
        self.opened
            .get_or_init(|| Binary::open(&self.path).ok())
            .as_ref()
    }
}

/// Code of a file in memory.
pub struct MappedCode {
    /// Addresses in memory.
    pub range: Range<u64>,
    /// What is added to an address in the file to give the one in memory.
    pub bias: u64,
    /// The file that is mapped.
    pub file: Arc<CodeFile>,
}

/// How a candidate's return address fits the function whose frame it would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// A direct call of another function: of a part that was moved out of the function at best.
    OtherFunction,
    /// A call whose target the code does not tell.
    Unknown,
    /// A direct call of this function.
    ThisFunction,
}

/// A value that the frame pointer may have had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Address of the caller's frame pointer in the stack.
    pub frame_pointer: u64,
    pub fit: Fit,
}

/// Candidates for the frame pointer of the function at `address`, lowest first. `stack` is a copy
/// from `sp` on; `code` is sorted by address.
pub fn candidates(code: &[MappedCode], address: u64, sp: u64, stack: &[u8]) -> Vec<Candidate> {
    let function = code_at(code, address).and_then(|map| {
        let range = map
            .file
            .get()?
            .function_range_at(address.wrapping_sub(map.bias))?;
        Some(range.start.wrapping_add(map.bias))
    });
    let words = stack.chunks_exact(8).take(MAX_WORDS).enumerate().skip(1);
    words
        .filter_map(|(index, word)| {
            let word = u64::from_le_bytes(word.try_into().ok()?);
            Some(Candidate {
                frame_pointer: sp.wrapping_add(index as u64 * 8 - 8),
                fit: fit(code, word, function)?,
            })
        })
        .take(MAX_CANDIDATES)
        .collect()
}

/// `None` where a word is not the address after a call.
fn fit(code: &[MappedCode], word: u64, function: Option<u64>) -> Option<Fit> {
    let map = code_at(code, word)?;
    let Some(file) = map.file.get() else {
        return Some(Fit::Unknown);
    };
    let svma = word.wrapping_sub(map.bias);
    let from = svma.checked_sub(MAX_CALL_BYTES)?;
    let target = match call_before(file.bytes_at(from, MAX_CALL_BYTES)?)? {
        Call::Indirect => return Some(Fit::Unknown),
        Call::Direct(distance) => svma.wrapping_add_signed(i64::from(distance)),
    };
    // Stubs of other files' functions lie outside of what the compiler made.
    let begins = file
        .function_range_at(target)
        .is_some_and(|range| range.start == target);
    let in_stub = file
        .sections()
        .iter()
        .any(|one| one.name.starts_with(".plt") && target.wrapping_sub(one.address) < one.size);
    Some(match function {
        Some(function) if begins && !in_stub => match target.wrapping_add(map.bias) == function {
            true => Fit::ThisFunction,
            false => Fit::OtherFunction,
        },
        _ => Fit::Unknown,
    })
}

fn code_at(code: &[MappedCode], address: u64) -> Option<&MappedCode> {
    let after = code.partition_point(|map| map.range.start <= address);
    let map = &code[after.checked_sub(1)?];
    map.range.contains(&address).then_some(map)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BIAS: u64 = 0x7000_0000_0000;

    /// A direct call of a function in this test's own file: the address after it and the function.
    fn direct_call(file: &Binary) -> (u64, u64) {
        let text = file.sections().iter().find(|one| one.name == ".text");
        let text = text.expect("an executable has code");
        let addresses = text.address + MAX_CALL_BYTES..text.address + text.size;
        addresses
            .filter_map(|svma| {
                let code = file.bytes_at(svma - MAX_CALL_BYTES, MAX_CALL_BYTES)?;
                let Call::Direct(distance) = call_before(code)? else {
                    return None;
                };
                let target = svma.wrapping_add_signed(i64::from(distance));
                let function = file.function_range_at(target)?;
                (function.start == target && !function.contains(&svma)).then_some((svma, target))
            })
            .next()
            .expect("some function calls another")
    }

    #[test]
    fn a_direct_call_tells_whose_frame_it_made() {
        let path = std::env::current_exe().expect("a test has a file");
        let file = Binary::open(&path).expect("it can be read");
        let (after, callee) = direct_call(&file);
        let caller = file.function_range_at(after - 1).expect("it has a range");
        let text = file.sections().iter().map(|one| one.address + one.size);
        let code = [MappedCode {
            range: BIAS..BIAS + text.max().expect("sections"),
            bias: BIAS,
            file: Arc::new(CodeFile::new(path)),
        }];
        let stack: Vec<u8> = [1, 0x1040, BIAS + after, 7, BIAS + callee, 0]
            .iter()
            .flat_map(|word: &u64| word.to_le_bytes())
            .collect();
        let found = |address: u64| candidates(&code, BIAS + address, 0x1000, &stack);
        let expected = |fit| Candidate {
            frame_pointer: 0x1008,
            fit,
        };
        assert!(found(callee).contains(&expected(Fit::ThisFunction)));
        assert!(found(caller.start).contains(&expected(Fit::OtherFunction)));
        // Outside of all functions nothing is told.
        assert!(found(0).contains(&expected(Fit::Unknown)));
        assert!(candidates(&[], callee, 0x1000, &stack).is_empty());
    }
}
