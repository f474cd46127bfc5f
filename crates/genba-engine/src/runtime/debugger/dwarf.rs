//! DWARF expressions: what a debugger computes with the registers and memory of a stopped thread
//! (DWARF 5, 2.5; numbers of operations from 7.7.1).

use alloc::vec;
use alloc::vec::Vec;

/// A place in an expression to branch to.
#[derive(Clone, Copy)]
pub struct Label(usize);

/// An expression that is being written.
#[derive(Default)]
pub struct Expression {
    code: Vec<u8>,
    labels: Vec<usize>,
    branches: Vec<(usize, usize)>,
}

/// Operations without operands.
#[derive(Clone, Copy)]
#[repr(u8)]
pub enum Op {
    Deref = 0x06,
    Dup = 0x12,
    Drop = 0x13,
    Over = 0x14,
    Swap = 0x16,
    Rot = 0x17,
    And = 0x1A,
    Div = 0x1B,
    Minus = 0x1C,
    Mul = 0x1E,
    Or = 0x21,
    Plus = 0x22,
    Shl = 0x24,
    Shr = 0x25,
    Eq = 0x29,
    Ge = 0x2A,
    Gt = 0x2B,
    Le = 0x2C,
    Lt = 0x2D,
}

/// Appends a number in LEB128.
pub fn unsigned(code: &mut Vec<u8>, mut value: u64) {
    loop {
        let byte = value as u8 & 0x7F;
        value >>= 7;
        code.push(if value == 0 { byte } else { byte | 0x80 });
        if value == 0 {
            return;
        }
    }
}

impl Expression {
    /// An operation without operands.
    pub fn op(&mut self, op: Op) -> &mut Self {
        self.code.push(op as u8);
        self
    }

    /// Several of them.
    pub fn ops(&mut self, ops: &[Op]) -> &mut Self {
        for &op in ops {
            self.op(op);
        }
        self
    }

    /// A number.
    pub fn number(&mut self, value: u64) -> &mut Self {
        if value < 32 {
            self.code.push(0x30 + value as u8);
        } else {
            self.code.push(0x10);
            unsigned(&mut self.code, value);
        }
        self
    }

    /// Adds a number.
    pub fn add(&mut self, value: u64) -> &mut Self {
        self.code.push(0x23);
        unsigned(&mut self.code, value);
        self
    }

    /// A copy of what is so deep in the stack; 0 is the top.
    pub fn pick(&mut self, depth: u8) -> &mut Self {
        self.code.extend_from_slice(&[0x15, depth]);
        self
    }

    /// What is in memory, so many bytes, in place of the address.
    pub fn load(&mut self, bytes: u8) -> &mut Self {
        self.code.extend_from_slice(&[0x94, bytes]);
        self
    }

    /// A register, by DWARF's number (0 to 31).
    pub fn register(&mut self, number: u8) -> &mut Self {
        self.code.extend_from_slice(&[0x70 + number, 0]);
        self
    }

    /// A label, to be set later.
    pub fn label(&mut self) -> Label {
        self.labels.push(0);
        Label(self.labels.len() - 1)
    }

    /// The label is here.
    pub fn set(&mut self, label: Label) -> &mut Self {
        self.labels[label.0] = self.code.len();
        self
    }

    /// A label that is here.
    pub fn here(&mut self) -> Label {
        let label = self.label();
        self.set(label);
        label
    }

    /// There, if the top of the stack, which is taken off it, is not 0.
    pub fn branch(&mut self, label: Label) -> &mut Self {
        self.jump(0x28, label)
    }

    /// There.
    pub fn skip(&mut self, label: Label) -> &mut Self {
        self.jump(0x2F, label)
    }

    fn jump(&mut self, code: u8, label: Label) -> &mut Self {
        self.code.extend_from_slice(&[code, 0, 0]);
        self.branches.push((self.code.len(), label.0));
        self
    }

    /// The expression's bytes.
    #[must_use]
    pub fn finish(&self) -> Vec<u8> {
        let mut code = vec![0; self.code.len()];
        code.copy_from_slice(&self.code);
        for &(after, label) in &self.branches {
            let distance = (self.labels[label] as i64 - after as i64) as i16;
            code[after - 2..after].copy_from_slice(&distance.to_le_bytes());
        }
        code
    }
}
