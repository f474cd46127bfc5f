//! Names of methods written in C, by their method entries and the interpreter's table of identifiers.
//!
//! Layouts are those of method.h, vm_core.h, id.h and symbol.c of CRuby 2.7 to 3.4. The table's variable has no symbol in
//! a stripped library: it is found among the library's variables by what it must lead to.

use std::collections::HashMap;

use super::super::ruby_layout::RubyLayout;
use super::super::thread_memory::{Memory, word_at};
use super::objects::{IMEMO_SHIFT, T_ARRAY, T_IMEMO, TYPE, USER1, string};
use super::variables::Variable;

/// `rb_symbols_t`.
mod symbols {
    /// The number of the last identifier, 32 bits.
    pub const LAST: usize = 0;
    pub const NAMES: usize = 16;
    pub const SIZE: usize = 24;
}
/// `rb_method_entry_t`.
mod entry {
    pub const FLAGS: usize = 0;
    pub const NAME: usize = 24;
    pub const SIZE: usize = 32;
}
/// What an environment pointer points behind: the method entry, the caller's environment, the flags of its frame.
mod environment {
    pub const BEFORE: u64 = 16;
    pub const ENTRY: usize = 0;
    pub const FLAGS: usize = 16;
    pub const SIZE: usize = 24;
}
const IMEMO_MENT: u64 = 6;
/// `VM_FRAME_MAGIC_MASK` and `VM_FRAME_MAGIC_CFUNC`.
const FRAME_KIND: u64 = 0x7fff_0001;
const C_METHOD: u64 = 0x5555_0001;
/// Identifiers of operators are below, and number themselves; those of names have their scope in the lowest bits.
const FIRST_NAME: u64 = 512;
const SCOPE_BITS: u64 = 4;
/// Identifiers in each part of the table; each has a string and a symbol.
const PART: u64 = 512;
const WORDS: u64 = 2;
/// A program that was just started has more identifiers than the smallest, and none has as many as the largest.
const PLAUSIBLE: std::ops::Range<u64> = 512..1 << 26;
/// Operators of a letter, which number themselves in all versions.
const OPERATORS: [u8; 4] = *b"+-*<";

/// The methods of a process that are written in C.
pub struct CMethods {
    pub(super) table: Variable,
    names: HashMap<u64, String>,
}

impl CMethods {
    /// `table`: `ruby_global_symbols`.
    pub fn new(table: Variable) -> Self {
        Self {
            table,
            names: HashMap::new(),
        }
    }

    /// The name of the method whose frame has this environment, if it is a method written in C. `variables`: where the
    /// interpreter's variables are, with their bytes.
    pub fn name(
        &mut self,
        memory: &impl Memory,
        layout: &RubyLayout,
        variables: &[(u64, u64)],
        environment: u64,
    ) -> Option<&str> {
        let at = environment.checked_sub(environment::BEFORE)?;
        let words: [u8; environment::SIZE] = memory.bytes(at)?;
        if word_at(&words, environment::FLAGS) & FRAME_KIND != C_METHOD {
            return None;
        }
        let method: [u8; entry::SIZE] = memory.bytes(word_at(&words, environment::ENTRY))?;
        let flags = word_at(&method, entry::FLAGS);
        if flags & TYPE != T_IMEMO || flags >> IMEMO_SHIFT & 15 != IMEMO_MENT {
            return None;
        }
        let identifier = word_at(&method, entry::NAME);
        if !self.names.contains_key(&identifier) {
            let is_table = |bytes: &[u8], at| is_table(memory, layout, bytes, at);
            let table = self.table.locate(memory, variables, is_table)?;
            let name = name(memory, layout, table, identifier)?;
            self.names.insert(identifier, name);
        }
        self.names.get(&identifier).map(String::as_str)
    }
}

/// The name of an identifier.
fn name(memory: &impl Memory, layout: &RubyLayout, table: u64, identifier: u64) -> Option<String> {
    let number = match identifier < FIRST_NAME {
        true => identifier,
        false => identifier >> SCOPE_BITS,
    };
    let head: [u8; symbols::SIZE] = memory.bytes(table)?;
    let parts = word_at(&head, symbols::NAMES);
    let part = memory.word(item(memory, parts, number / PART)?)?;
    let text = memory.word(item(memory, part, number % PART * WORDS)?)?;
    string(memory, layout, text).filter(|name| !name.is_empty())
}

/// The address of an item of an array that is not embedded in its object.
fn item(memory: &impl Memory, array: u64, index: u64) -> Option<u64> {
    const LENGTH: usize = 16;
    const POINTER: usize = 32;
    let head: [u8; 40] = memory.bytes(array)?;
    let flags = word_at(&head, 0);
    let is_separate = flags & TYPE == T_ARRAY && flags & USER1 == 0;
    (is_separate && index < word_at(&head, LENGTH))
        .then(|| word_at(&head, POINTER).checked_add(index * 8))?
}

/// Whether these variables begin with the table: operators have their names in it.
fn is_table(memory: &impl Memory, layout: &RubyLayout, variables: &[u8], at: u64) -> bool {
    let names = word_at(variables, symbols::NAMES);
    let is_named = |letter: &u8| {
        name(memory, layout, at, u64::from(*letter))
            .is_some_and(|name| name.as_bytes() == [*letter])
    };
    PLAUSIBLE.contains(&word_at(variables, symbols::LAST))
        && names != 0
        && names.is_multiple_of(8)
        && OPERATORS.iter().all(is_named)
}

#[cfg(test)]
mod tests {
    use super::super::super::thread_memory::tests::SyntheticMemory;
    use super::super::objects::T_STRING;
    use super::*;

    fn layout() -> &'static RubyLayout {
        RubyLayout::of("3.1.2").expect("known")
    }

    fn text(memory: &mut SyntheticMemory, at: u64, text: &str) {
        let flags = T_STRING | (text.len() as u64) << 14;
        let mut bytes = vec![0; 40];
        bytes[..8].copy_from_slice(&flags.to_le_bytes());
        bytes[16..16 + text.len()].copy_from_slice(text.as_bytes());
        memory.put(at, bytes);
    }

    const VARIABLES: u64 = 0x1000;
    const ENVIRONMENT: u64 = 0x9010;

    /// A library whose third word of variables begins the table, with `sleep` as identifier 600.
    fn process() -> SyntheticMemory {
        let mut memory = SyntheticMemory::default();
        memory.object(
            VARIABLES,
            64,
            // The first looks like the table and is none.
            &[(0, 700), (16, 0x2000), (24, 700), (32, 8), (40, 0x3000)],
        );
        memory.object(0x2000, 40, &[(0, T_ARRAY), (16, 2), (32, 0x2100)]);
        memory.object(0x2100, 16, &[]);
        memory.object(0x3000, 40, &[(0, T_ARRAY), (16, 2), (32, 0x3100)]);
        memory.object(0x3100, 16, &[(0, 0x3200), (8, 0x3300)]);
        memory.object(0x3200, 40, &[(0, T_ARRAY), (16, 1024), (32, 0x4000)]);
        memory.object(0x3300, 40, &[(0, T_ARRAY), (16, 1024), (32, 0x7000)]);
        let operators = OPERATORS.map(|letter| {
            let at = 0x2_0000 + u64::from(letter) * 64;
            text(&mut memory, at, std::str::from_utf8(&[letter]).unwrap());
            (usize::from(letter) * 16, at)
        });
        memory.object(0x4000, 8192, &operators);
        text(&mut memory, 0x3_0000, "sleep");
        memory.object(0x7000, 8192, &[((600 - 512) * 16, 0x3_0000)]);
        memory.object(0x9000, 24, &[(0, 0xa000), (16, C_METHOD | 0x80)]);
        let flags = T_IMEMO | IMEMO_MENT << IMEMO_SHIFT;
        memory.object(0xa000, 40, &[(0, flags), (24, 600 << SCOPE_BITS | 1)]);
        memory
    }

    fn named(methods: &mut CMethods, memory: &SyntheticMemory) -> Option<String> {
        let variables = [(VARIABLES, 64)];
        let name = methods.name(memory, layout(), &variables, ENVIRONMENT);
        name.map(str::to_owned)
    }

    fn stripped() -> CMethods {
        CMethods::new(Variable::default())
    }

    #[test]
    fn name_is_found_in_a_stripped_library() {
        let mut memory = process();
        let mut methods = stripped();
        assert_eq!(named(&mut methods, &memory).as_deref(), Some("sleep"));
        // It is known from now on.
        memory.0.remove(&0x3000);
        assert_eq!(named(&mut methods, &memory).as_deref(), Some("sleep"));
        assert_eq!(named(&mut stripped(), &memory), None);
    }

    #[test]
    fn operators_number_themselves() {
        let mut memory = process();
        memory.overwrite(vec![(0xa000 + 24, u64::from(b'<'))]);
        let mut methods = CMethods::new(Variable::of_symbol(Some(VARIABLES + 24)));
        assert_eq!(named(&mut methods, &memory).as_deref(), Some("<"));
    }

    #[test]
    fn other_frames_have_no_name() {
        let mut memory = process();
        memory.overwrite(vec![(0x9010, 0x1111_0001)]);
        assert_eq!(named(&mut stripped(), &memory), None);
        let mut memory = process();
        memory.overwrite(vec![(0xa000, T_STRING)]);
        assert_eq!(named(&mut stripped(), &memory), None);
    }
}
