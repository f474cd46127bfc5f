//! Parses the files that callgrind writes. Pure; a target can write to them, so they are not
//! trusted.
//!
//! The format is that of valgrind's manual, "Callgrind Format Specification". Read are the
//! executions of each instruction address (the first event, `Ir`), jumps (`jump=`, `jcnd=`) and
//! calls (`calls=`); source positions and inclusive costs are skipped.
//!
//! What must hold: memory grows with distinct addresses in the file, never with a number in a line;
//! no number overflows; an invalid line is an error that names the line.

use std::collections::HashMap;
use std::io::{BufRead, Read};

/// Maximum length of a line, bytes. C++ names of tens of kilobytes exist.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// Name of code of no known object.
pub const UNKNOWN_OBJECT: &str = "???";

/// Bytes of a PLT stub.
const PLT_STUB_BYTES: u64 = 16;

/// An address in an object, as callgrind prints it: a link-time address in known objects, else an
/// address in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    /// Index in [`CallgrindCounts::objects`].
    pub object: u32,
    /// Address.
    pub address: u64,
}

/// The counts of one process: the sum of its files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallgrindCounts {
    /// Process id.
    pub pid: Option<i32>,
    /// Number of the last file of this process, from 1.
    pub part: u32,
    /// The command, its words joined by spaces.
    pub command: String,
    /// Names of objects, by index.
    pub objects: Vec<String>,
    /// Executions of each instruction.
    pub counts: HashMap<Position, u64>,
    /// Executions of jumps within a function, from and to.
    pub jumps: HashMap<(Position, Position), u64>,
    /// Executions of what callgrind regards as calls: calls, and other branches out of a function.
    pub calls: HashMap<(Position, Position), u64>,
    /// Of those, calls through a PLT stub: its address in memory, and the function reached.
    /// callgrind sees through lazy binding here.
    pub stubs: HashMap<(u64, Position), u64>,
    /// Sum of the files' totals of `Ir`.
    pub summary: u64,
    object_index: HashMap<String, u32>,
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ParseError {
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Io(#[from] std::io::Error),
    /// A line is invalid.
    #[error("line {line}: {what}")]
    Line {
        /// Its number, from 1.
        line: u64,
        /// What is wrong.
        what: &'static str,
    },
}

/// What a line without a key is expected to be.
enum Expected {
    Cost,
    /// Position and inclusive cost of a call.
    Call {
        count: u64,
        to: Position,
        /// Address of the stub, if the caller is a stub and the callee is not the resolver.
        stub: Option<u64>,
    },
    /// Position of a jump.
    Jump {
        count: u64,
        to: Position,
    },
}

/// Parser of one file: numbers in parentheses have a meaning within a file only.
struct File<'a> {
    dump: &'a mut CallgrindCounts,
    objects: HashMap<u64, u32>,
    functions: HashMap<u64, Function>,
    /// Index of the instruction address among the positions.
    position: usize,
    positions: usize,
    object: u32,
    called_object: Option<u32>,
    function: Function,
    called: Function,
    /// Address in the last cost line.
    last: u64,
    expected: Expected,
}

/// What a function's name tells.
#[derive(Clone, Copy, Default)]
struct Function {
    /// Address in memory, if it is a PLT stub.
    stub: Option<u64>,
    /// Whether it is ld.so's resolver of lazily bound functions.
    resolver: bool,
}

impl Function {
    fn from_name(name: &[u8]) -> Self {
        // `'2` follows the name in a recursion.
        let plain = match name.iter().rposition(|byte| *byte == b'\'') {
            Some(at) if name[at + 1..].iter().all(u8::is_ascii_digit) => &name[..at],
            _ => name,
        };
        let stub = (plain.strip_suffix(b" [PLT]"))
            .and_then(|address| address.strip_prefix(b"0x"))
            .and_then(|digits| number(digits, 16));
        let resolver = name.starts_with(b"_dl_runtime_resolve");
        Self { stub, resolver }
    }
}

impl CallgrindCounts {
    /// Adds a file of the same process.
    ///
    /// # Errors
    /// If the file cannot be read or is damaged; the counts before the damage have been added.
    pub fn add(&mut self, mut file: impl BufRead) -> Result<(), ParseError> {
        let object = self.object(UNKNOWN_OBJECT);
        let mut state = File {
            dump: self,
            objects: HashMap::new(),
            functions: HashMap::new(),
            position: 0,
            positions: 1,
            object,
            called_object: None,
            function: Function::default(),
            called: Function::default(),
            last: 0,
            expected: Expected::Cost,
        };
        let mut line = Vec::new();
        let mut number = 0u64;
        loop {
            line.clear();
            let length = (file.by_ref())
                .take(MAX_LINE_BYTES)
                .read_until(b'\n', &mut line)?;
            if length == 0 {
                break;
            }
            number += 1;
            let wrong = |what| ParseError::Line { line: number, what };
            let ended = line.pop_if(|byte| *byte == b'\n').is_some();
            if !ended && length as u64 == MAX_LINE_BYTES {
                return Err(wrong("too long"));
            }
            state.line(&line).map_err(wrong)?;
        }
        match state.expected {
            Expected::Cost => Ok(()),
            _ => Err(ParseError::Line {
                line: number,
                what: "the file ends within a call or jump",
            }),
        }
    }

    fn object(&mut self, name: &str) -> u32 {
        if let Some(index) = self.object_index.get(name) {
            return *index;
        }
        let index = u32::try_from(self.objects.len()).unwrap_or(u32::MAX);
        self.objects.push(name.to_owned());
        self.object_index.insert(name.to_owned(), index);
        index
    }
}

type LineError = &'static str;

impl File<'_> {
    fn line(&mut self, line: &[u8]) -> Result<(), LineError> {
        let first = match line.first() {
            None | Some(b'#') => return Ok(()),
            Some(first) => *first,
        };
        if first.is_ascii_digit() || matches!(first, b'+' | b'-' | b'*') {
            return self.body(line);
        }
        let sign = line.iter().position(|byte| matches!(byte, b'=' | b':'));
        let at = sign.ok_or("neither a position nor a key")?;
        let (key, rest) = (&line[..at], &line[at + 1..]);
        if line[at] == b':' {
            return self.header(key, rest.trim_ascii());
        }
        if !matches!(self.expected, Expected::Cost) {
            return Err("a position should follow a call or jump");
        }
        match key {
            b"ob" => self.object = self.object_name(rest)?,
            b"cob" => self.called_object = Some(self.object_name(rest)?),
            b"fn" => self.function = self.function_name(rest)?,
            b"cfn" => self.called = self.function_name(rest)?,
            b"calls" => self.call(rest)?,
            b"jump" => self.jump(rest, false)?,
            b"jcnd" => self.jump(rest, true)?,
            // Source files, and functions of jump targets, are skipped.
            _ => {}
        }
        Ok(())
    }

    fn header(&mut self, key: &[u8], value: &[u8]) -> Result<(), LineError> {
        match key {
            b"positions" => {
                let names: Vec<&[u8]> = value.split(u8::is_ascii_whitespace).collect();
                let instr = names.iter().position(|name| name == b"instr");
                self.position = instr.ok_or("no instruction addresses (--dump-instr=yes)")?;
                self.positions = names.len();
            }
            b"events" if !value.starts_with(b"Ir") => return Err("the first event is not Ir"),
            b"pid" => self.dump.pid = number(value, 10).and_then(|pid| i32::try_from(pid).ok()),
            b"part" => {
                let part = number(value, 10).and_then(|part| u32::try_from(part).ok());
                self.dump.part = self.dump.part.max(part.unwrap_or(0));
            }
            b"cmd" => self.dump.command = String::from_utf8_lossy(value).into_owned(),
            b"totals" => {
                let total = words(value).next().and_then(|word| number(word, 10));
                self.dump.summary = self.dump.summary.saturating_add(total.unwrap_or(0));
            }
            _ => {}
        }
        Ok(())
    }

    /// `(7) name` defines, `(7)` refers, anything else is a name itself.
    fn compressed(value: &[u8]) -> Result<(Option<u64>, &[u8]), LineError> {
        let value = value.trim_ascii();
        let Some(rest) = value.strip_prefix(b"(") else {
            return Ok((None, value));
        };
        // A name may begin with a parenthesis: `(below main)`.
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 || rest.get(digits) != Some(&b')') {
            return Ok((None, value));
        }
        let id = number(&rest[..digits], 10).ok_or("a number is too large")?;
        Ok((Some(id), rest[digits + 1..].trim_ascii()))
    }

    fn object_name(&mut self, value: &[u8]) -> Result<u32, LineError> {
        let (id, name) = Self::compressed(value)?;
        if name.is_empty() {
            let id = id.ok_or("an object without a name")?;
            return self
                .objects
                .get(&id)
                .copied()
                .ok_or("an object that was not named before");
        }
        let object = self.dump.object(&String::from_utf8_lossy(name));
        if let Some(id) = id {
            self.objects.insert(id, object);
        }
        Ok(object)
    }

    fn function_name(&mut self, value: &[u8]) -> Result<Function, LineError> {
        let (id, name) = Self::compressed(value)?;
        if name.is_empty() {
            let known = id.and_then(|id| self.functions.get(&id));
            return Ok(known.copied().unwrap_or_default());
        }
        let function = Function::from_name(name);
        if let Some(id) = id {
            self.functions.insert(id, function);
        }
        Ok(function)
    }

    /// The address among the first words, each of which may be relative to the last line of costs.
    fn place(&self, words: &[&[u8]]) -> Result<u64, LineError> {
        let word = words.get(self.position).ok_or("too few positions")?;
        let relative = |digits: &[u8]| any_number(digits).ok_or("a position is not a number");
        match word.split_first() {
            Some((b'*', [])) => Ok(self.last),
            Some((b'+', digits)) => {
                (self.last.checked_add(relative(digits)?)).ok_or("a position overflows")
            }
            Some((b'-', digits)) => {
                (self.last.checked_sub(relative(digits)?)).ok_or("a position is negative")
            }
            _ => relative(word),
        }
    }

    fn call(&mut self, value: &[u8]) -> Result<(), LineError> {
        let words: Vec<&[u8]> = words(value).collect();
        let (count, place) = words.split_first().ok_or("a call without a count")?;
        let count = any_number(count).ok_or("the number of calls is not a number")?;
        let object = self.called_object.take().unwrap_or(self.object);
        let address = self.place(place)?;
        let called = std::mem::take(&mut self.called);
        let stub = (self.function.stub).filter(|_| !called.resolver && called.stub.is_none());
        let to = Position { object, address };
        self.expected = Expected::Call { count, to, stub };
        Ok(())
    }

    fn jump(&mut self, value: &[u8], conditional: bool) -> Result<(), LineError> {
        let words: Vec<&[u8]> = words(value).collect();
        let (count, place) = words.split_first().ok_or("a jump without a count")?;
        // Taken / executed.
        let taken = match count.iter().position(|byte| *byte == b'/') {
            Some(at) if conditional => &count[..at],
            _ => count,
        };
        let count = any_number(taken).ok_or("the number of jumps is not a number")?;
        let to = Position {
            object: self.object,
            address: self.place(place)?,
        };
        self.expected = Expected::Jump { count, to };
        Ok(())
    }

    fn body(&mut self, line: &[u8]) -> Result<(), LineError> {
        let words: Vec<&[u8]> = words(line).collect();
        let address = self.place(&words)?;
        let from = Position {
            object: self.object,
            address,
        };
        match std::mem::replace(&mut self.expected, Expected::Cost) {
            Expected::Cost => {
                // callgrind compares with its last line of costs; where calls and jumps are does
                // not count, though the format's description says nothing of that. It shows
                // where a call has no costs: one that was begun when the file before ended.
                self.last = address;
                // Costs that are zero may be left out.
                let count = match words.get(self.positions) {
                    Some(word) => any_number(word).ok_or("the cost is not a number")?,
                    None => 0,
                };
                if count > 0 {
                    add(&mut self.dump.counts, from, count);
                }
            }
            Expected::Call { count, to, stub } => {
                if let Some(stub) = stub {
                    add(&mut self.dump.stubs, (stub, to), count);
                }
                // After lazy binding it is ld.so that jumps, though callgrind says that it is
                // the common part of all stubs.
                if stub.is_none_or(|stub| from.address.wrapping_sub(stub) < PLT_STUB_BYTES) {
                    add(&mut self.dump.calls, (from, to), count);
                }
            }
            Expected::Jump { count, to } => add(&mut self.dump.jumps, (from, to), count),
        }
        Ok(())
    }
}

fn add<K: std::hash::Hash + Eq>(map: &mut HashMap<K, u64>, key: K, count: u64) {
    let sum = map.entry(key).or_default();
    *sum = sum.saturating_add(count);
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
}

fn number(digits: &[u8], radix: u32) -> Option<u64> {
    let digits = std::str::from_utf8(digits).ok()?;
    // `from_str_radix` would accept a sign.
    let plain = digits.chars().all(|digit| digit.is_digit(radix));
    plain.then(|| u64::from_str_radix(digits, radix).ok())?
}

/// Decimal, or hexadecimal with `0x`.
fn any_number(digits: &[u8]) -> Option<u64> {
    match digits.strip_prefix(b"0x") {
        Some(digits) => number(digits, 16),
        None => number(digits, 10),
    }
}

#[cfg(test)]
#[path = "callgrind_file_tests.rs"]
mod tests;
