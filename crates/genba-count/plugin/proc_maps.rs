//! Which file an address belongs to: `/proc/self/maps`. The plugin is compiled alone and loaded
//! into qemu, so it does not use the parser of genba-symbols.

use std::collections::HashMap;

/// A file mapped into the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    pub start: u64,
    pub end: u64,
    /// Offset in the file of the start.
    pub offset: u64,
    pub path: String,
}

/// Parses a line of the file; `None` for memory without a file.
pub fn parse(line: &str) -> Option<Mapping> {
    // The path is the rest of the line, blanks and all.
    let mut rest = line;
    let mut field = || {
        let (word, tail) = rest.split_once(' ').unwrap_or((rest, ""));
        rest = tail;
        word
    };
    let (range, _access, offset, _device, _inode) = (field(), field(), field(), field(), field());
    let path = rest.trim_start();
    if !path.starts_with('/') {
        return None;
    }
    let (start, end) = range.split_once('-')?;
    let hex = |digits| u64::from_str_radix(digits, 16).ok();
    Some(Mapping {
        start: hex(start)?,
        end: hex(end)?,
        offset: hex(offset)?,
        path: path.to_owned(),
    })
}

/// The mappings, as last read, and the numbers of files.
#[derive(Default)]
pub struct Maps {
    mappings: Vec<Mapping>,
    numbers: HashMap<String, u32>,
}

/// A position in a file.
pub struct Place {
    pub file: u32,
    pub offset: u64,
    /// The path, if the file is new.
    pub new: Option<String>,
}

impl Maps {
    pub fn refresh(&mut self) {
        let text = std::fs::read("/proc/self/maps").unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        self.mappings = text.lines().filter_map(parse).collect();
    }

    /// Returns the position of an address in its file.
    pub fn find(&mut self, address: u64) -> Option<Place> {
        let mapping = (self.mappings.iter())
            .find(|mapping| (mapping.start..mapping.end).contains(&address))?;
        let offset = address - mapping.start + mapping.offset;
        if let Some(number) = self.numbers.get(&mapping.path) {
            let (file, new) = (*number, None);
            return Some(Place { file, offset, new });
        }
        let number = self.numbers.len() as u32;
        self.numbers.insert(mapping.path.clone(), number);
        Some(Place {
            file: number,
            offset,
            new: Some(mapping.path.clone()),
        })
    }
}
