//! Names of what bursts observed: functions, lines, instructions and memory, and whether a user asks for them.

use genba_code::{Syntax, disassemble};
use genba_model::{CodePoint, name_fit};
use genba_observe::{MemoryPlace, Observations};
use genba_symbols::Binary;

/// A place that a user asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlaceQuery {
    /// A line of a file whose path ends like this; of any file of the user's own code if `None`.
    Line(Option<String>, u32),
    /// A function.
    Function(String),
}

impl PlaceQuery {
    /// Reads `FUNCTION`, `LINE` or `FILE:LINE`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        if let Ok(line) = text.parse() {
            return Self::Line(None, line);
        }
        match text.rsplit_once(':') {
            Some((file, line)) if !file.is_empty() && !file.ends_with(':') => match line.parse() {
                Ok(line) => Self::Line(Some(file.to_owned()), line),
                Err(_) => Self::Function(text.to_owned()),
            },
            _ => Self::Function(text.to_owned()),
        }
    }
}

/// Binaries of the modules, opened once.
pub(crate) struct Names {
    binaries: Vec<Option<Binary>>,
    own: Vec<bool>,
}

impl Names {
    pub(crate) fn of(observations: &Observations) -> Self {
        let open = |path: &String| match path.starts_with('/') {
            true => Binary::open(path).ok(),
            false => None,
        };
        let modules = &observations.modules;
        Self {
            binaries: modules.iter().map(open).collect(),
            own: modules
                .iter()
                .map(|path| genba_explain::is_own(path))
                .collect(),
        }
    }

    fn binary(&self, at: CodePoint) -> Option<&Binary> {
        self.binaries.get(at.module as usize)?.as_ref()
    }

    pub(crate) fn function(&self, at: CodePoint) -> Option<String> {
        let symbol = self.binary(at)?.symbol_at(at.address)?;
        Some(symbol.display_name().into_owned())
    }

    /// The innermost line of the user's own, else the innermost.
    pub(crate) fn line(&self, at: CodePoint) -> Option<(String, u32)> {
        let frames = self.binary(at)?.frames_at(at.address);
        frames
            .iter()
            .find_map(|frame| Some((frame.file.as_ref()?.to_string(), frame.line?)))
    }

    pub(crate) fn is_asked_for(&self, at: CodePoint, query: &PlaceQuery) -> bool {
        let Some(binary) = self.binary(at) else {
            return false;
        };
        match query {
            PlaceQuery::Function(name) => {
                let is = |function: &str| name_fit(function, name).is_some();
                let symbol = binary.symbol_at(at.address);
                symbol.is_some_and(|symbol| symbol.name == *name || is(&symbol.display_name()))
                    || binary
                        .frames_at(at.address)
                        .iter()
                        .any(|frame| frame.function.as_ref().is_some_and(|function| is(function)))
            }
            PlaceQuery::Line(file, line) => {
                let own = self.own.get(at.module as usize).copied().unwrap_or(false);
                (file.is_some() || own)
                    && binary.frames_at(at.address).iter().any(|frame| {
                        let path = frame.file.as_deref().unwrap_or_default();
                        frame.line == Some(*line)
                            && file
                                .as_deref()
                                .is_none_or(|file| ends_with_path(path, file))
                    })
            }
        }
    }

    pub(crate) fn place(&self, place: MemoryPlace, observations: &Observations) -> String {
        let module = |module: u32| {
            let path = (observations.modules.get(module as usize)).map_or("", String::as_str);
            path.rsplit('/').next().unwrap_or(path).to_owned()
        };
        match place {
            MemoryPlace::Variable(at) => {
                let binary = self.binary(at);
                let variable = binary.and_then(|binary| binary.variable_at(at.address));
                variable.map_or_else(
                    || format!("data of {}", module(at.module)),
                    |variable| variable.name.clone(),
                )
            }
            MemoryPlace::Module(number) => format!("data of {}", module(number)),
            MemoryPlace::Stack => "stack".to_owned(),
            MemoryPlace::Heap => "heap".to_owned(),
            MemoryPlace::Allocated(at) => {
                let place = self.line(at).map(|(file, line)| {
                    format!("{}:{line}", file.rsplit('/').next().unwrap_or(&file))
                });
                let place = place.unwrap_or_else(|| format!("{:#x}", at.address));
                format!("allocated at {place}")
            }
            MemoryPlace::Region(number) => {
                let name = observations.regions.get(number as usize);
                name.cloned().unwrap_or_else(|| "unknown memory".to_owned())
            }
            MemoryPlace::Unknown => "unknown memory".to_owned(),
        }
    }
}

/// Whether a path ends with these components.
fn ends_with_path(path: &str, end: &str) -> bool {
    path.strip_suffix(end)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with('/') || end.starts_with('/'))
}

/// The longest instruction of x86-64, bytes.
const MAX_INSTRUCTION_BYTES: u64 = 15;

/// The text of an instruction; empty where it cannot be read.
pub(crate) fn text(names: &Names, at: CodePoint) -> String {
    let code = names.binary(at).and_then(|binary| {
        let end = at.address.saturating_add(MAX_INSTRUCTION_BYTES);
        disassemble(binary, at.address, end, Syntax::Intel).ok()
    });
    let first = code.and_then(|code| code.into_iter().next());
    first.map_or_else(String::new, |first| first.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_functions_lines_or_lines_of_files() {
        let function = |name: &str| PlaceQuery::Function(name.to_owned());
        assert_eq!(PlaceQuery::parse("12"), PlaceQuery::Line(None, 12));
        let line = PlaceQuery::Line(Some("src/a.c".to_owned()), 12);
        assert_eq!(PlaceQuery::parse("src/a.c:12"), line);
        assert_eq!(PlaceQuery::parse("std::sort"), function("std::sort"));
        assert_eq!(PlaceQuery::parse("a::12"), function("a::12"));
    }

    #[test]
    fn files_are_matched_by_whole_components() {
        assert!(ends_with_path("/home/x/src/a.c", "a.c"));
        assert!(ends_with_path("/home/x/src/a.c", "src/a.c"));
        assert!(!ends_with_path("/home/x/src/ba.c", "a.c"));
    }
}
