//! Stacks of interpreted functions, each once, and the samples that had them; as a text file.
//!
//! A line begins with its kind: `r` a runtime that was found, `u` one whose frames cannot be read,
//! `f` a function (name, file, first line), `n` a node of the call tree (parent or `-`, function,
//! line), `s` a sample (time in ns, thread, node, opcode or `-`). Functions and nodes are numbered
//! in the order of the file.

use std::collections::HashMap;
use std::fmt::Write as _;

/// The file of functions of the language that are written in C.
pub const WRITTEN_IN_C: &str = "<C>";

/// A function of a script, or one written in C that it calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Function {
    /// Name as the language has it.
    pub name: String,
    /// Source file; [`WRITTEN_IN_C`] for a function written in C.
    pub file: String,
    /// Its first line.
    pub line: u32,
}

impl Function {
    /// Whether the language has it from C.
    #[must_use]
    pub fn is_written_in_c(&self) -> bool {
        self.file == WRITTEN_IN_C
    }
}

/// A node of the call tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    /// The caller's node; `None` at the outermost.
    pub parent: Option<u32>,
    /// Number of the function.
    pub function: u32,
    /// Line that is being executed; 0 if unknown.
    pub line: u32,
}

/// A sample's script stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Time, ns: with the thread it names the native sample.
    pub time: u64,
    /// Thread.
    pub tid: i32,
    /// The innermost frame.
    pub node: u32,
    /// Opcode being executed, by the runtime's own number.
    pub opcode: Option<u8>,
}

/// All stacks and samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stacks {
    /// Runtimes that were found: `CPython 3.11.2`.
    pub runtimes: Vec<String>,
    /// Runtimes that were found and whose layout is not known.
    pub unknown: Vec<String>,
    /// Functions.
    pub functions: Vec<Function>,
    /// Nodes, parents before children.
    pub nodes: Vec<Node>,
    /// The samples, each with its stack.
    pub samples: Vec<Sample>,
    function_ids: HashMap<Function, u32>,
    node_ids: HashMap<Node, u32>,
}

/// Samples that are kept at most: those of a day at the default rate.
const MAX_SAMPLES: usize = 50_000_000;
/// Nodes that are kept at most.
const MAX_NODES: usize = 20_000_000;

impl Stacks {
    /// The number of a function.
    pub fn function(&mut self, function: Function) -> u32 {
        if let Some(&id) = self.function_ids.get(&function) {
            return id;
        }
        let id = self.functions.len() as u32;
        self.functions.push(function.clone());
        self.function_ids.insert(function, id);
        id
    }

    /// The number of a node.
    pub fn node(&mut self, node: Node) -> u32 {
        let nodes = &mut self.nodes;
        *self.node_ids.entry(node).or_insert_with(|| {
            nodes.push(node);
            nodes.len() as u32 - 1
        })
    }

    /// Adds a sample, unless there are too many samples or nodes.
    pub fn add(&mut self, sample: Sample) {
        if self.samples.len() < MAX_SAMPLES && self.nodes.len() < MAX_NODES {
            self.samples.push(sample);
        }
    }

    /// The functions of a stack with their lines, innermost first.
    pub fn frames(&self, node: u32) -> impl Iterator<Item = Node> + '_ {
        let mut next = Some(node);
        std::iter::from_fn(move || {
            let node = *self.nodes.get(next? as usize)?;
            // Parents come before children, so that this ends whatever a file says.
            next = node.parent.filter(|&p| Some(p) < next);
            Some(node)
        })
    }

    /// The text of the file.
    #[must_use]
    pub fn write(&self) -> String {
        let mut out = String::new();
        let plain = |s: &str| s.replace(|c: char| c.is_control(), "?");
        for runtime in &self.runtimes {
            let _ = writeln!(out, "r {}", plain(runtime));
        }
        for runtime in &self.unknown {
            let _ = writeln!(out, "u {}", plain(runtime));
        }
        for f in &self.functions {
            let _ = writeln!(out, "f {}\t{}\t{}", plain(&f.name), plain(&f.file), f.line);
        }
        for n in &self.nodes {
            match n.parent {
                Some(parent) => {
                    let _ = writeln!(out, "n {parent} {} {}", n.function, n.line);
                }
                None => {
                    let _ = writeln!(out, "n - {} {}", n.function, n.line);
                }
            }
        }
        for s in &self.samples {
            match s.opcode {
                Some(opcode) => {
                    let _ = writeln!(out, "s {} {} {} {opcode}", s.time, s.tid, s.node);
                }
                None => {
                    let _ = writeln!(out, "s {} {} {} -", s.time, s.tid, s.node);
                }
            }
        }
        out
    }

    /// Parses the text of a file; malformed lines are skipped.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut out = Self::default();
        for line in text.lines() {
            let Some((kind, rest)) = line.split_once(' ') else {
                continue;
            };
            let mut words = rest.split(' ');
            let mut word = || words.next();
            match kind {
                "r" => out.runtimes.push(rest.to_owned()),
                "u" => out.unknown.push(rest.to_owned()),
                "f" => {
                    // Numbers count lines: one that makes no sense still has one.
                    let mut fields = rest.split('\t');
                    let mut text = || fields.next().unwrap_or_default().to_owned();
                    let (name, file) = (text(), text());
                    let line = text().parse().unwrap_or(0);
                    out.functions.push(Function { name, file, line });
                }
                "n" => {
                    let parent = word().and_then(|w| w.parse().ok());
                    let mut number = || word().and_then(|w| w.parse().ok()).unwrap_or(0);
                    let (function, line) = (number(), number());
                    out.nodes.push(Node {
                        parent,
                        function,
                        line,
                    });
                }
                "s" => {
                    let sample = (|| {
                        Some(Sample {
                            time: word()?.parse().ok()?,
                            tid: word()?.parse().ok()?,
                            node: word()?.parse().ok()?,
                            opcode: word().and_then(|w| w.parse().ok()),
                        })
                    })();
                    out.samples.extend(sample);
                }
                _ => {}
            }
        }
        let (functions, nodes) = (out.functions.len() as u32, out.nodes.len() as u32);
        out.samples.retain(|s| s.node < nodes);
        for node in &mut out.nodes {
            node.function = node.function.min(functions.saturating_sub(1));
        }
        if functions == 0 {
            out.nodes.clear();
            out.samples.clear();
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn function(name: &str) -> Function {
        Function {
            name: name.to_owned(),
            file: "a b.py".to_owned(),
            line: 3,
        }
    }

    #[test]
    fn written_stacks_are_read_back() {
        let mut stacks = Stacks::default();
        stacks.runtimes.push("CPython 3.11.2".to_owned());
        let (f, g) = (
            stacks.function(function("f")),
            stacks.function(function("g")),
        );
        assert_eq!(stacks.function(function("f")), f);
        let outer = Node {
            parent: None,
            function: f,
            line: 1,
        };
        let outer = stacks.node(outer);
        let inner = stacks.node(Node {
            parent: Some(outer),
            function: g,
            line: 2,
        });
        stacks.add(Sample {
            time: 5,
            tid: 7,
            node: inner,
            opcode: Some(9),
        });
        stacks.add(Sample {
            time: 6,
            tid: 7,
            node: outer,
            opcode: None,
        });
        let read = Stacks::parse(&stacks.write());
        assert_eq!(read.functions, stacks.functions);
        assert_eq!(read.nodes, stacks.nodes);
        assert_eq!(read.samples, stacks.samples);
        assert_eq!(read.runtimes, stacks.runtimes);
        let names = |node| -> Vec<u32> { read.frames(node).map(|n| n.function).collect() };
        assert_eq!(names(inner), [g, f]);
    }

    proptest! {
        #[test]
        fn arbitrary_text_does_not_panic(text in "([rfns] [-0-9 \t]{0,12}\n){0,12}") {
            let stacks = Stacks::parse(&text);
            for sample in &stacks.samples {
                for node in stacks.frames(sample.node) {
                    let _ = &stacks.functions[node.function as usize];
                }
            }
        }
    }
}
