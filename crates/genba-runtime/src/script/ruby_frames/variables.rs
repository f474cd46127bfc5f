//! Where the interpreter's variables are: by their symbols, else among all variables of its file by what they lead to.

use super::super::thread_memory::Memory;

/// Bytes of variables that are searched.
const MAX_BYTES: u64 = 16 << 20;
/// Searches for each variable: the first may come before the interpreter is set up.
const MAX_SEARCHES: u32 = 8;

/// A variable.
#[derive(Clone, Debug, Default)]
pub struct Variable {
    /// Its address, once that is known.
    pub at: Option<u64>,
    searches: u32,
}

impl Variable {
    /// The variable of a symbol, if there is that symbol.
    #[must_use]
    pub fn of_symbol(at: Option<u64>) -> Self {
        Self { at, searches: 0 }
    }

    /// Looks for it among `variables` (addresses and bytes) where it is not known yet: the first word of which the bytes from
    /// there on, and its address, are accepted.
    pub fn locate(
        &mut self,
        memory: &impl Memory,
        variables: &[(u64, u64)],
        is_it: impl Fn(&[u8], u64) -> bool,
    ) -> Option<u64> {
        if self.at.is_some() || self.searches >= MAX_SEARCHES {
            return self.at;
        }
        self.searches += 1;
        self.at = variables.iter().find_map(|(start, bytes)| {
            let most = usize::try_from((*bytes).min(MAX_BYTES)).ok()?;
            let read = memory.some(*start, most);
            (0..read.len()).step_by(8).find_map(|offset| {
                let at = start.checked_add(offset as u64)?;
                is_it(&read[offset..], at).then_some(at)
            })
        });
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::thread_memory::tests::SyntheticMemory;
    use super::super::super::thread_memory::word_at;
    use super::*;

    #[test]
    fn variable_is_looked_for_a_few_times() {
        let mut memory = SyntheticMemory::default();
        memory.object(0x1000, 32, &[(16, 7)]);
        let ranges = [(0x9000, 64), (0x1000, 32)];
        let is_seven = |bytes: &[u8], _: u64| word_at(bytes, 0) == 7;
        let mut found = Variable::default();
        assert_eq!(found.locate(&memory, &ranges, is_seven), Some(0x1010));
        // It is not looked for again.
        assert_eq!(found.locate(&memory, &[], is_seven), Some(0x1010));
        let mut never = Variable::default();
        for _ in 0..MAX_SEARCHES {
            assert_eq!(never.locate(&memory, &ranges, |_, _| false), None);
        }
        assert_eq!(never.locate(&memory, &ranges, is_seven), None);
        let known = Variable::of_symbol(Some(5)).locate(&memory, &ranges, is_seven);
        assert_eq!(known, Some(5));
    }
}
