//! A parsed C or C++ file, and questions about its syntax tree. Pure.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ops::Range;

use genba_model::name_fit;
use tree_sitter::{Node, Parser, Tree};

/// Largest source file that is parsed, bytes: twice SQLite's in one file.
const MAX_SOURCE_BYTES: usize = 16 << 20;
/// Most nodes of a syntax tree that are looked at in one search: a node has a letter at least, so none of a file that is
/// parsed is overlooked. Rules rest on what a file does *not* have.
const MAX_NODES: usize = MAX_SOURCE_BYTES;

/// Language of a source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// C.
    C,
    /// C++.
    Cpp,
}

impl Dialect {
    /// The language by the ending of a file's name; `None` if it is neither. A header is C++ in a
    /// program whose main language is C++.
    #[must_use]
    pub fn of_name(name: &str, headers: Self) -> Option<Self> {
        match name.rsplit_once('.')?.1 {
            "c" => Some(Self::C),
            "h" => Some(headers),
            "cc" | "cpp" | "cxx" | "C" | "hh" | "hpp" | "hxx" | "inl" | "ipp" => Some(Self::Cpp),
            _ => None,
        }
    }
}

/// A source file with its syntax tree, which is made when it is first asked for.
pub struct SourceFile {
    /// Path relative to the root of the sources.
    pub path: String,
    /// Language.
    pub dialect: Dialect,
    text: String,
    tree: OnceCell<Tree>,
}

impl SourceFile {
    /// A file's text.
    ///
    /// # Errors
    /// The file is too large or is not UTF-8; the reason is a clause.
    pub fn new(path: &str, text: Vec<u8>, dialect: Dialect) -> Result<Self, String> {
        if text.len() > MAX_SOURCE_BYTES {
            return Err(format!("{path} is larger than 16 MB"));
        }
        let text = String::from_utf8(text).map_err(|_| format!("{path} is not UTF-8"))?;
        Ok(Self {
            path: path.to_owned(),
            dialect,
            text,
            tree: OnceCell::new(),
        })
    }

    /// The root of the syntax tree.
    #[must_use]
    pub fn root(&self) -> Node<'_> {
        let tree = self.tree.get_or_init(|| {
            let mut parser = Parser::new();
            let grammar = match self.dialect {
                Dialect::C => tree_sitter_c::LANGUAGE,
                Dialect::Cpp => tree_sitter_cpp::LANGUAGE,
            };
            // Both fail only for a grammar of another version, or a parser without one.
            let loaded = parser.set_language(&grammar.into());
            loaded.expect("a grammar of the version of tree-sitter");
            (parser.parse(&self.text, None)).expect("a tree of a parser with a grammar")
        });
        tree.root_node()
    }

    /// The text.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.text
    }

    /// The text of a node.
    #[must_use]
    pub fn text(&self, node: Node<'_>) -> &str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// The text of a node without white space, to compare expressions.
    #[must_use]
    pub fn squashed(&self, node: Node<'_>) -> String {
        squash(self.text(node))
    }

    /// The definition of the function around a line; the innermost one.
    #[must_use]
    pub fn function_at(&self, line: u32) -> Option<Node<'_>> {
        let row = line.checked_sub(1)? as usize;
        let mut found = None;
        let mut cursor = self.root().walk();
        loop {
            let node = cursor.node();
            if (node.start_position().row..=node.end_position().row).contains(&row) {
                if node.kind() == "function_definition" {
                    found = Some(node);
                }
                if cursor.goto_first_child() {
                    continue;
                }
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return found;
                }
            }
        }
    }

    /// Whether a function of this name is defined in the file, but not around the line: another one is there.
    #[must_use]
    pub fn is_elsewhere(&self, function: &str, line: u32) -> bool {
        let is_it = |node: Node<'_>| {
            let name = function_name(self, node);
            name.is_some_and(|name| name_fit(function, name).is_some())
        };
        let definitions = descendants(self.root()).into_iter();
        let mut definitions = definitions.filter(|node| node.kind() == "function_definition");
        !self.function_at(line).is_some_and(is_it) && definitions.any(is_it)
    }

    /// Spaces before the first token of the line in which a node begins.
    #[must_use]
    pub fn indent(&self, node: Node<'_>) -> &str {
        let begin = self.line_start(node.start_byte());
        let line = self.text.get(begin..).unwrap_or_default();
        let end = line
            .find(|c: char| c != ' ' && c != '\t')
            .unwrap_or(line.len());
        &line[..end]
    }

    /// Offset of the beginning of the line that holds an offset.
    #[must_use]
    pub fn line_start(&self, offset: usize) -> usize {
        let before = self.text.get(..offset).unwrap_or_default();
        before.rfind('\n').map_or(0, |end| end + 1)
    }

    /// A node's range with the whole lines that it covers, if nothing else is on them.
    #[must_use]
    pub fn whole_lines(&self, node: Node<'_>) -> Range<usize> {
        let start = self.line_start(node.start_byte());
        let rest = self.text.get(node.end_byte()..).unwrap_or_default();
        let end = rest.find('\n').map_or(rest.len(), |end| end + 1);
        let blank = |text: &str| text.trim().is_empty();
        let alone = blank(&self.text[start..node.start_byte()]) && blank(&rest[..end]);
        match alone {
            true => start..node.end_byte() + end,
            false => node.byte_range(),
        }
    }

    /// A name that occurs nowhere in the file: `base`, or with a number behind it.
    #[must_use]
    pub fn fresh_name(&self, base: &str) -> String {
        let used: BTreeSet<&str> = words(&self.text).collect();
        if !used.contains(base) {
            return base.to_owned();
        }
        (2..)
            .map(|number| format!("{base}_{number}"))
            .find(|name| !used.contains(name.as_str()))
            .unwrap_or_default()
    }

    /// The type of an expression, for a declaration.
    #[must_use]
    pub fn type_of(&self, expression: &str) -> String {
        match self.dialect {
            Dialect::C => format!("__typeof__({expression})"),
            Dialect::Cpp => "auto".to_owned(),
        }
    }

    /// The declared type of a variable or parameter within a function: specifiers as written, and the
    /// number of `*`, `&` or `[]` before or behind the name.
    #[must_use]
    pub fn declared_type(&self, function: Node<'_>, name: &str) -> Option<DeclaredType> {
        let kinds = [
            "parameter_declaration",
            "declaration",
            "optional_parameter_declaration",
            "for_range_loop",
        ];
        (descendants(function).into_iter())
            .filter(|node| kinds.contains(&node.kind()))
            .find_map(|node| self.declared_type_in(node, name))
    }

    /// The type that a declaration (of variables, fields or aliases) gives a name.
    #[must_use]
    pub fn declared_type_in(&self, declaration: Node<'_>, name: &str) -> Option<DeclaredType> {
        let mut cursor = declaration.walk();
        for declarator in declaration.children_by_field_name("declarator", &mut cursor) {
            let mut inner = declarator;
            let mut pointers = 0;
            loop {
                match inner.kind() {
                    "init_declarator" | "parenthesized_declarator" => {}
                    "pointer_declarator" | "array_declarator" | "reference_declarator" => {
                        pointers += 1;
                    }
                    _ => break,
                }
                let next = inner
                    .child_by_field_name("declarator")
                    .or_else(|| inner.named_child(0));
                match next {
                    Some(next) => inner = next,
                    None => break,
                }
            }
            let named = matches!(
                inner.kind(),
                "identifier" | "field_identifier" | "type_identifier"
            );
            if named && self.text(inner) == name {
                let first = declaration
                    .child_by_field_name("type")
                    .unwrap_or(declarator);
                let start = match declaration.kind() {
                    "for_range_loop" | "type_definition" => first.start_byte(),
                    _ => declaration.start_byte(),
                };
                let specifiers = match declarator.start_byte() > start {
                    true => &self.text[start..first.end_byte().max(start)],
                    false => "",
                };
                return Some(DeclaredType {
                    specifiers: specifiers.trim().to_owned(),
                    pointers,
                });
            }
        }
        None
    }

    /// What a piece of code changes: squashed texts of what is assigned to, incremented, or has its
    /// address taken, and the names of variables declared in it.
    #[must_use]
    pub fn changed(&self, code: Node<'_>) -> BTreeSet<String> {
        let mut changed = BTreeSet::new();
        for node in descendants(code) {
            let target = match node.kind() {
                "assignment_expression" => node.child_by_field_name("left"),
                "update_expression" => node.child_by_field_name("argument"),
                "pointer_expression" if self.operator(node) == "&" => {
                    node.child_by_field_name("argument")
                }
                "init_declarator" | "for_range_loop" => node.child_by_field_name("declarator"),
                "declaration" => node.child_by_field_name("declarator"),
                _ => None,
            };
            let Some(mut target) = target else { continue };
            while matches!(
                target.kind(),
                "parenthesized_expression" | "pointer_declarator" | "reference_declarator"
            ) {
                match target.named_child(0) {
                    Some(inner) => target = inner,
                    None => break,
                }
            }
            changed.insert(self.squashed(target));
        }
        changed
    }

    /// Names of the functions that a piece of code calls, as written.
    #[must_use]
    pub fn calls(&self, code: Node<'_>) -> Vec<String> {
        (descendants(code).into_iter())
            .filter(|node| node.kind() == "call_expression")
            .filter_map(|node| node.child_by_field_name("function"))
            .map(|function| self.squashed(function))
            .collect()
    }

    /// The operator of an expression.
    #[must_use]
    pub fn operator(&self, node: Node<'_>) -> &str {
        (node.child_by_field_name("operator")).map_or("", |operator| self.text(operator))
    }

    /// Whether evaluating an expression changes nothing and calls nothing.
    #[must_use]
    pub fn is_pure(&self, expression: Node<'_>) -> bool {
        (descendants(expression).into_iter()).all(|node| {
            !matches!(
                node.kind(),
                "assignment_expression"
                    | "update_expression"
                    | "call_expression"
                    | "new_expression"
                    | "delete_expression"
                    | "gnu_asm_expression"
                    | "lambda_expression"
                    | "co_await_expression"
                    | "ERROR"
            )
        })
    }
}

/// A declared type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredType {
    /// Type specifiers as written: `const unsigned char`.
    pub specifiers: String,
    /// Levels of pointers, arrays and references.
    pub pointers: u32,
}

impl DeclaredType {
    /// Whether it is an unsigned integer, as far as its name tells.
    #[must_use]
    pub fn is_unsigned(&self) -> bool {
        self.pointers == 0
            && !self.specifiers.contains('<')
            && words(&self.specifiers).any(|word| {
                matches!(word, "unsigned" | "size_t" | "uintptr_t")
                    || (word.starts_with("uint") || word.starts_with("u_int"))
            })
    }

    /// Whether it is an integer, as far as its name tells.
    #[must_use]
    pub fn is_integer(&self) -> bool {
        self.is_unsigned()
            || self.pointers == 0
                && !self.specifiers.contains('<')
                && words(&self.specifiers).any(|word| {
                    matches!(
                        word,
                        "int" | "long" | "short" | "char" | "signed" | "ssize_t" | "ptrdiff_t"
                    ) || word.starts_with("int") && word.ends_with("_t")
                })
                && !self.is_float()
    }

    /// Whether it is a floating-point number.
    #[must_use]
    pub fn is_float(&self) -> bool {
        self.pointers == 0
            && !self.specifiers.contains('<')
            && words(&self.specifiers).any(|word| matches!(word, "float" | "double"))
    }
}

/// A text without white space.
#[must_use]
pub fn squash(text: &str) -> String {
    // Between words one blank stays: `unsigned long` is not `unsignedlong`.
    let mut out = String::with_capacity(text.len());
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let mut gap = false;
    for c in text.chars() {
        if c.is_whitespace() {
            gap = true;
            continue;
        }
        if gap && word(c) && out.chars().next_back().is_some_and(word) {
            out.push(' ');
        }
        gap = false;
        out.push(c);
    }
    out
}

/// The identifiers and keywords of a text.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| word.starts_with(|c: char| c.is_alphabetic() || c == '_'))
}

/// The declarator of a function below pointers and references to its result.
#[must_use]
pub fn function_declarator(function: Node<'_>) -> Option<Node<'_>> {
    let mut inner = function.child_by_field_name("declarator")?;
    while inner.kind() != "function_declarator" {
        let next = inner.child_by_field_name("declarator");
        inner = next.or_else(|| inner.named_child(0))?;
    }
    Some(inner)
}

/// The name of a function as its definition or declaration has it: `is_word`, `Image::at`.
#[must_use]
pub fn function_name<'a>(file: &'a SourceFile, function: Node<'a>) -> Option<&'a str> {
    let name = function_declarator(function)?.child_by_field_name("declarator")?;
    Some(file.text(name))
}

/// A node and all below it, in the order of the text.
#[must_use]
pub fn descendants(root: Node<'_>) -> Vec<Node<'_>> {
    let mut all = Vec::new();
    let mut cursor = root.walk();
    loop {
        all.push(cursor.node());
        if all.len() >= MAX_NODES {
            return all;
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return all;
            }
        }
    }
}

/// The nodes round a node, the nearest first.
pub fn ancestors(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    std::iter::successors(node.parent(), Node::parent)
}

/// The statement of a node that stands in a list of statements.
#[must_use]
pub fn listed_statement(node: Node<'_>) -> Option<Node<'_>> {
    std::iter::once(node).chain(ancestors(node)).find(|one| {
        one.parent()
            .is_some_and(|parent| parent.kind() == "compound_statement")
    })
}

/// Whether a node is a loop.
#[must_use]
pub fn is_loop(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "for_statement" | "while_statement" | "do_statement" | "for_range_loop"
    )
}

/// First and last line of a node, from 1.
#[must_use]
pub fn lines(node: Node<'_>) -> (u32, u32) {
    let of = |row: usize| u32::try_from(row + 1).unwrap_or(u32::MAX);
    (of(node.start_position().row), of(node.end_position().row))
}

/// Without parentheses around it.
#[must_use]
pub fn bare(mut node: Node<'_>) -> Node<'_> {
    while matches!(node.kind(), "parenthesized_expression" | "condition_clause") {
        match node
            .child_by_field_name("value")
            .or_else(|| node.named_child(0))
        {
            Some(inner) => node = inner,
            None => break,
        }
    }
    node
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn function_that_has_moved_is_known_to_be_elsewhere() {
        let text =
            "int lower(int c) {\n  return c | 32;\n}\nint upper(int c) {\n  return c & ~32;\n}\n";
        let file = SourceFile::new("case.c", text.into(), Dialect::C).expect("C");
        assert!(!file.is_elsewhere("lower", 2) && !file.is_elsewhere("upper", 5));
        assert!(file.is_elsewhere("upper", 2) && file.is_elsewhere("lower", 7));
        // Of what has no definition of that name nothing is known.
        assert!(!file.is_elsewhere("print::{lambda(int)#1}::operator()", 2));
    }
}
