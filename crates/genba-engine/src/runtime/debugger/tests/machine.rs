//! Evaluates expressions as a debugger does: with registers, and with memory of which only what
//! is really there may be read.

use std::collections::BTreeMap;

use gimli::{
    Encoding, EndianSlice, Evaluation, EvaluationResult, Format, Location, RunTimeEndian, Value,
};

use crate::runtime::debugger::rules::NUMBERS;

/// Memory in pieces, by their addresses.
#[derive(Default)]
pub struct Memory(BTreeMap<u64, Vec<u8>>);

impl Memory {
    /// Something at an address.
    pub fn put(&mut self, at: u64, bytes: Vec<u8>) {
        assert!(self.0.insert(at, bytes).is_none(), "twice at {at:#x}");
    }

    /// The same with words.
    pub fn words(&mut self, at: u64, words: &[u64]) {
        self.put(
            at,
            words.iter().flat_map(|word| word.to_le_bytes()).collect(),
        );
    }

    /// Changes a word.
    pub fn set(&mut self, at: u64, word: u64) {
        let (start, bytes) = self.0.range_mut(..=at).next_back().expect("something");
        let from = (at - start) as usize;
        bytes[from..from + 8].copy_from_slice(&word.to_le_bytes());
    }

    /// What begins at an address.
    pub fn bytes(&self, at: u64) -> &[u8] {
        self.0.get(&at).map_or(&[], Vec::as_slice)
    }

    fn load(&self, at: u64, size: u8) -> Option<u64> {
        let (&start, bytes) = self.0.range(..=at).next_back()?;
        let from = usize::try_from(at - start).ok()?;
        let bytes = bytes.get(from..from + usize::from(size))?;
        Some((bytes.iter().rev()).fold(0, |value, &byte| value << 8 | u64::from(byte)))
    }
}

/// A stopped thread.
pub struct Machine<'a> {
    pub memory: &'a Memory,
    pub rip: u64,
    /// By the numbers that instructions have.
    pub registers: [u64; 16],
}

impl Machine<'_> {
    fn register(&self, number: u16) -> u64 {
        match NUMBERS.iter().position(|&own| u16::from(own) == number) {
            Some(own) => self.registers[own],
            None => {
                assert_eq!(number, 16);
                self.rip
            }
        }
    }

    /// What an expression gives; for registers' rules, the address of the frame is on the stack.
    ///
    /// gimli's values without types are as gdb's are: comparisons and divisions are of signed
    /// numbers, shifts to the right are not.
    pub fn evaluate(&self, expression: &[u8], frame: Option<u64>) -> Result<u64, String> {
        let encoding = Encoding {
            address_size: 8,
            format: Format::Dwarf32,
            version: 4,
        };
        let code = EndianSlice::new(expression, RunTimeEndian::Little);
        let mut evaluation = Evaluation::new(code, encoding);
        evaluation.set_max_iterations(1_000_000);
        if let Some(frame) = frame {
            evaluation.set_initial_value(frame);
        }
        let mut result = evaluation.evaluate();
        loop {
            result = match result.map_err(|error| error.to_string())? {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresMemory { address, size, .. } => {
                    let value = self.memory.load(address, size);
                    let value = value.ok_or(format!("nothing at {address:#x}, {size}"))?;
                    evaluation.resume_with_memory(Value::Generic(value))
                }
                EvaluationResult::RequiresRegister { register, .. } => {
                    let value = self.register(register.0);
                    evaluation.resume_with_register(Value::Generic(value))
                }
                other => return Err(format!("{other:?}")),
            };
        }
        match evaluation.result()[..] {
            [
                gimli::Piece {
                    location: Location::Address { address },
                    ..
                },
            ] => Ok(address),
            ref other => Err(format!("{other:?}")),
        }
    }
}
