//! The regions of a C or C++ file that can be switched off. Pure.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;

use tree_sitter::{Node, Parser};

use crate::ExperimentError;

/// Largest source file, bytes.
const MAX_SOURCE_BYTES: usize = 64 << 20;
/// Deepest nesting of the syntax tree that is searched.
const MAX_DEPTH: usize = 200;
/// Longest name of a region, characters.
const MAX_NAME_CHARACTERS: usize = 60;

/// Language of a source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceLanguage {
    /// C.
    C,
    /// C++.
    Cpp,
}

impl SourceLanguage {
    /// The language by the extension of a file's name; C++ unless it is `.c`.
    #[must_use]
    pub fn of_name(name: &str) -> Self {
        match name.rsplit_once('.') {
            Some((_, "c")) => Self::C,
            _ => Self::Cpp,
        }
    }
}

/// A region of a file, with the text that replaces it when it is switched off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// A function's name, a label, or the beginning of its text.
    pub name: String,
    /// `function`, `block`, `statement`, `include`, `instantiation`, `class`, `declaration`.
    pub kind: &'static str,
    /// First line, counted from 1.
    pub line: u32,
    /// Last line, counted from 1.
    pub end_line: u32,
    /// The byte range that is replaced.
    pub cut: Range<usize>,
    /// The replacement text.
    pub instead: &'static str,
    /// Indices of the regions inside it.
    pub children: Vec<usize>,
}

/// Up to this many removed regions are named in a variant's name.
const MAX_NAMED_REGIONS: usize = 3;

/// The regions of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Regions {
    /// All regions.
    pub all: Vec<Region>,
    /// Indices of the regions that lie in no other.
    pub top: Vec<usize>,
}

impl Regions {
    /// Finds the regions; text that cannot be parsed has none.
    ///
    /// # Errors
    /// A file that is too large or cannot be parsed at all.
    pub fn find(source: &[u8], language: SourceLanguage) -> Result<Self, ExperimentError> {
        let wrong = |what: &str| ExperimentError::Plan {
            what: what.to_owned(),
        };
        if source.len() > MAX_SOURCE_BYTES {
            return Err(wrong("the source file is larger than 64 MB"));
        }
        let mut parser = Parser::new();
        let grammar = match language {
            SourceLanguage::C => tree_sitter_c::LANGUAGE,
            SourceLanguage::Cpp => tree_sitter_cpp::LANGUAGE,
        };
        (parser.set_language(&grammar.into()))
            .map_err(|error| wrong(&format!("cannot load the grammar: {error}")))?;
        let tree =
            (parser.parse(source, None)).ok_or_else(|| wrong("the source cannot be parsed"))?;
        let mut finder = Finder {
            source,
            language,
            all: Vec::new(),
        };
        let top = finder.inside(tree.root_node(), 0);
        Ok(Self {
            all: finder.all,
            top,
        })
    }

    /// The name of the variant without these regions, the same in every session.
    #[must_use]
    pub fn name_without(&self, off: &[usize]) -> String {
        let of = |index: &usize| {
            let region = &self.all[*index];
            format!("{} ({}–{})", region.name, region.line, region.end_line)
        };
        match off {
            [] => "the whole file".to_owned(),
            few if few.len() <= MAX_NAMED_REGIONS => {
                let names: Vec<String> = few.iter().map(of).collect();
                format!("without {}", names.join(", "))
            }
            many => {
                let lines = |index: &usize| self.all[*index].line;
                let first = many.iter().map(lines).min().unwrap_or(0);
                let last = many.iter().map(lines).max().unwrap_or(0);
                let mut hash = DefaultHasher::new();
                many.hash(&mut hash);
                format!(
                    "without {} regions from lines {first} to {last} ({:08x})",
                    many.len(),
                    hash.finish() as u32
                )
            }
        }
    }

    /// The source with these regions switched off; line numbers do not change.
    #[must_use]
    pub fn without(&self, source: &[u8], off: &[usize]) -> Vec<u8> {
        let mut text = source.to_vec();
        for region in off.iter().filter_map(|index| self.all.get(*index)) {
            let Some(cut) = text.get_mut(region.cut.clone()) else {
                continue;
            };
            for byte in cut.iter_mut().filter(|byte| **byte != b'\n') {
                *byte = b' ';
            }
            // Written over the first spaces of the region.
            for (place, byte) in cut
                .iter_mut()
                .filter(|byte| **byte == b' ')
                .zip(region.instead.bytes())
            {
                *place = byte;
            }
        }
        text
    }
}

struct Finder<'s> {
    source: &'s [u8],
    language: SourceLanguage,
    all: Vec<Region>,
}

impl Finder<'_> {
    /// The regions among the children of a node.
    fn inside(&mut self, node: Node<'_>, depth: usize) -> Vec<usize> {
        if depth > MAX_DEPTH {
            return Vec::new();
        }
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.named_children(&mut cursor).collect();
        let labels = children
            .iter()
            .filter(|child| child.kind() == "labeled_statement")
            .count();
        let mut found = Vec::new();
        let mut next = 0;
        while next < children.len() {
            let child = children[next];
            next += 1;
            if child.kind() == "labeled_statement" {
                // With several labels each owns the statements up to the next one.
                let from = next;
                while labels > 1
                    && next < children.len()
                    && children[next].kind() != "labeled_statement"
                {
                    next += 1;
                }
                found.extend(self.labelled(child, &children[from..next], depth));
                continue;
            }
            found.extend(self.node(child, depth));
        }
        found
    }

    fn node(&mut self, node: Node<'_>, depth: usize) -> Vec<usize> {
        let whole = node.byte_range();
        let file_level = |parent: Node<'_>| {
            let kind = parent.kind();
            kind == "translation_unit" || kind == "declaration_list" || kind.starts_with("preproc")
        };
        let outside = node.parent().is_some_and(file_level);
        match node.kind() {
            "preproc_include" => vec![self.add(node, "include", whole, "", Vec::new())],
            "template_instantiation" => {
                vec![self.add(node, "instantiation", whole, "", Vec::new())]
            }
            "function_definition" => self.function(node, depth).into_iter().collect(),
            "class_specifier" | "struct_specifier" | "union_specifier" => {
                let inner = self.inside(node, depth + 1);
                if inner.is_empty() {
                    return Vec::new();
                }
                vec![self.add(node, "class", whole, "", inner)]
            }
            "declaration" if outside || self.language == SourceLanguage::Cpp => {
                let inner = self.inside(node, depth + 1);
                vec![self.add(node, "declaration", whole, "", inner)]
            }
            "compound_statement"
                if node
                    .parent()
                    .is_some_and(|parent| parent.kind() == "compound_statement") =>
            {
                let inner = self.inside(node, depth + 1);
                vec![self.add(node, "block", whole, "{}", inner)]
            }
            "expression_statement"
            | "if_statement"
            | "for_statement"
            | "for_range_loop"
            | "while_statement"
            | "do_statement"
            | "switch_statement"
            | "try_statement" => {
                let inner = self.inside(node, depth + 1);
                vec![self.add(node, "statement", whole, ";", inner)]
            }
            "comment" | "preproc_def" | "preproc_function_def" | "preproc_call" => Vec::new(),
            // Containers and expressions (lambdas) are searched.
            _ => self.inside(node, depth + 1),
        }
    }

    /// A function whose body can be emptied.
    fn function(&mut self, node: Node<'_>, depth: usize) -> Option<usize> {
        let body = node.child_by_field_name("body")?;
        if body.kind() != "compound_statement" {
            return None;
        }
        let inner = self.inside(body, depth + 1);
        let index = self.add(node, "function", body.byte_range(), "{}", inner);
        if let Some(declarator) = node.child_by_field_name("declarator") {
            let text = self.text(declarator.byte_range());
            let name = text
                .split('(')
                .next()
                .unwrap_or_default()
                .trim()
                .trim_start_matches('*');
            // A macro around the declarator can leave an empty name.
            if !name.is_empty() {
                self.all[index].name = name.to_owned();
            }
        }
        Some(index)
    }

    /// A label with its statement and the following ones. The label itself stays, because other
    /// statements may jump to it.
    fn labelled(&mut self, node: Node<'_>, following: &[Node<'_>], depth: usize) -> Option<usize> {
        let mut cursor = node.walk();
        let label = node.child_by_field_name("label")?;
        let body = (node.named_children(&mut cursor))
            .find(|child| child.start_byte() > label.start_byte() && child.kind() != "comment")?;
        let mut inner = self.inside(body, depth + 1);
        if !matches!(body.kind(), "compound_statement") {
            inner = self.node(body, depth + 1);
        }
        for one in following {
            inner.extend(self.node(*one, depth + 1));
        }
        let end = following.last().map_or(body.end_byte(), Node::end_byte);
        let index = self.add(node, "block", body.start_byte()..end, ";", inner);
        // In generated code the comment after a label names it.
        let name = self.text(label.start_byte()..body.start_byte());
        self.all[index].name = name;
        let last = following.last().unwrap_or(&node);
        self.all[index].end_line = line(last.end_position().row);
        Some(index)
    }

    fn add(
        &mut self,
        node: Node<'_>,
        kind: &'static str,
        cut: Range<usize>,
        instead: &'static str,
        children: Vec<usize>,
    ) -> usize {
        let name = self.text(node.byte_range());
        // A preprocessor line ends at the start of the next line.
        let end = node.end_position();
        let last = if end.column == 0 {
            end.row.saturating_sub(1)
        } else {
            end.row
        };
        self.all.push(Region {
            name,
            kind,
            line: line(node.start_position().row),
            end_line: line(last).max(line(node.start_position().row)),
            cut,
            instead,
            children,
        });
        self.all.len() - 1
    }

    /// The beginning of a byte range as one line.
    fn text(&self, range: Range<usize>) -> String {
        let end = range.end.min(range.start + 4 * MAX_NAME_CHARACTERS);
        let text = String::from_utf8_lossy(&self.source[range.start..end]).into_owned();
        let words: Vec<&str> = text.split_whitespace().collect();
        let joined = words.join(" ");
        if joined.chars().count() <= MAX_NAME_CHARACTERS {
            return joined;
        }
        joined
            .chars()
            .take(MAX_NAME_CHARACTERS - 1)
            .chain(['…'])
            .collect()
    }
}

fn line(row: usize) -> u32 {
    u32::try_from(row + 1).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const C: &str = "#include <stdio.h>\nstatic int f(int x) { if (x) { return 1; } return 2; }\n\
        int g(int n) {\n  int y = 0;\n  goto label_1;\nlabel_1: /* opt_plus */ {\n    y += n;\n    \
        y++;\n  }\nlabel_2: /* leave */\n  y += 2;\n  y += 3;\n  while (y) { y--; }\n  return y;\n}\n";

    fn find<'r>(regions: &'r Regions, name: &str) -> &'r Region {
        regions
            .all
            .iter()
            .find(|region| region.name.contains(name))
            .unwrap()
    }

    #[test]
    fn name_of_a_variant_has_few_regions_or_their_number_and_lines() {
        let regions = Regions::find(C.as_bytes(), SourceLanguage::C).unwrap();
        assert_eq!(regions.name_without(&[]), "the whole file");
        assert_eq!(
            regions.name_without(&[regions.top[1], regions.top[2]]),
            "without f (2–2), g (3–15)"
        );
        let all: Vec<usize> = (0..regions.all.len()).collect();
        let name = regions.name_without(&all);
        assert!(
            name.starts_with(&format!(
                "without {} regions from lines 1 to 13 (",
                all.len()
            )),
            "{name}"
        );
        assert_ne!(name, regions.name_without(&all[1..]));
    }

    #[test]
    fn functions_labels_and_statements_are_regions() {
        let regions = Regions::find(C.as_bytes(), SourceLanguage::C).unwrap();
        let top: Vec<&str> = regions
            .top
            .iter()
            .map(|at| regions.all[*at].name.as_str())
            .collect();
        assert_eq!(top, ["#include <stdio.h>", "f", "g"]);
        let block = find(&regions, "opt_plus");
        assert_eq!(
            (block.kind, block.line, block.end_line, block.children.len()),
            ("block", 6, 9, 2)
        );
        // The last label owns what follows it.
        let last = find(&regions, "leave");
        assert_eq!((last.line, last.end_line), (10, 14));
        assert!(last.children.len() >= 3);
    }

    #[test]
    fn switched_off_regions_keep_line_numbers_and_labels() {
        let regions = Regions::find(C.as_bytes(), SourceLanguage::C).unwrap();
        let at = |name: &str| {
            regions
                .all
                .iter()
                .position(|one| one.name == name || one.name.ends_with(name))
                .unwrap()
        };
        let text = regions.without(C.as_bytes(), &[at("/* opt_plus */"), at("f")]);
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text.lines().count(), C.lines().count());
        assert!(text.contains("label_1: /* opt_plus */ ;"), "{text}");
        assert!(text.contains("static int f(int x) {}"), "{text}");
        assert!(text.contains("label_2: /* leave */\n  y += 2;"), "{text}");
    }

    #[test]
    fn templates_methods_and_instantiations_are_regions() {
        let source = "#include <vector>\nnamespace n {\ntemplate <class T> T twice(T x) { return x + x; }\n\
            class C { int get() const { return v; } int v; };\n}\ntemplate class std::vector<int>;\n\
            extern \"C\" { int z(void) { return 0; } }\n";
        let regions = Regions::find(source.as_bytes(), SourceLanguage::Cpp).unwrap();
        assert_eq!(find(&regions, "vector<int>").kind, "instantiation");
        assert_eq!(find(&regions, "twice").kind, "function");
        assert_eq!(find(&regions, "get").kind, "function");
        assert_eq!(find(&regions, "class C").kind, "class");
        assert_eq!(find(&regions, "z").kind, "function");
    }

    proptest! {
        #[test]
        fn any_bytes_keep_their_length(source in prop::collection::vec(any::<u8>(), 0..400)) {
            let regions = Regions::find(&source, SourceLanguage::Cpp).unwrap();
            let all: Vec<usize> = (0..regions.all.len()).collect();
            let text = regions.without(&source, &all);
            prop_assert_eq!(text.len(), source.len());
        }

        #[test]
        fn any_tokens_keep_their_line_count(words in prop::collection::vec(prop::sample::select(vec!["{", "}", "(", ")", ";", "if", "int", "f", "a:", "template<", ">", "class", "#if 0\n", "#endif\n", "\n", "x=1;"]), 0..200)) {
            let source = words.join(" ");
            let regions = Regions::find(source.as_bytes(), SourceLanguage::C).unwrap();
            let lines = source.bytes().filter(|byte| *byte == b'\n').count();
            for at in 0..regions.all.len() {
                let text = regions.without(source.as_bytes(), &[at]);
                prop_assert_eq!(text.iter().filter(|byte| **byte == b'\n').count(), lines);
            }
        }
    }
}
