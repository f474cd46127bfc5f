//! Declarations and types as the sources write them: variables, parameters, fields, aliases. Pure.

use std::collections::BTreeMap;

use tree_sitter::Node;

use crate::rewrites::Sources;
use crate::source_file::{DeclaredType, SourceFile, bare, descendants, words};

/// Longest chain of aliases that is followed.
const MAX_ALIASES: usize = 8;

/// A variable of a function: a parameter, or declared in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Own {
    /// A reference: what is stored there is stored elsewhere.
    pub refers: bool,
    /// A pointer; of an array that is a parameter, too.
    pub points: bool,
    /// Static: it outlives the call.
    pub lasting: bool,
}

/// The variables and parameters of a function by name.
pub(crate) fn own_variables(file: &SourceFile, function: Node<'_>) -> BTreeMap<String, Own> {
    let mut own = BTreeMap::new();
    for node in descendants(function) {
        let parameter = matches!(
            node.kind(),
            "parameter_declaration" | "optional_parameter_declaration"
        );
        if !parameter && !matches!(node.kind(), "declaration" | "for_range_loop") {
            continue;
        }
        let lasting = node
            .children(&mut node.walk())
            .any(|one| one.kind() == "storage_class_specifier" && file.text(one) != "register");
        let mut cursor = node.walk();
        for declarator in node.children_by_field_name("declarator", &mut cursor) {
            let mut variable = Own {
                lasting,
                ..Own::default()
            };
            let mut inner = declarator;
            loop {
                match inner.kind() {
                    "pointer_declarator" => variable.points = true,
                    "array_declarator" => variable.points |= parameter,
                    "reference_declarator" => variable.refers = true,
                    "init_declarator" | "parenthesized_declarator" => {}
                    _ => break,
                }
                match below(inner) {
                    Some(next) => inner = next,
                    None => break,
                }
            }
            if inner.kind() == "identifier" {
                own.insert(file.text(inner).to_owned(), variable);
            }
        }
    }
    own
}

/// The declarator within a declarator.
fn below(declarator: Node<'_>) -> Option<Node<'_>> {
    declarator
        .child_by_field_name("declarator")
        .or_else(|| declarator.named_child(0))
}

/// Types of the names and expressions of a program.
pub(crate) struct Types<'a> {
    sources: &'a Sources,
}

impl<'a> Types<'a> {
    pub(crate) fn new(sources: &'a Sources) -> Self {
        Self { sources }
    }

    /// The type of an expression in a function, its aliases resolved.
    pub(crate) fn of(
        &self,
        file: &SourceFile,
        function: Node<'_>,
        expression: Node<'_>,
    ) -> Option<DeclaredType> {
        let node = bare(expression);
        let argument = || node.child_by_field_name("argument");
        match node.kind() {
            "identifier" => self.of_name(file, function, file.text(node)),
            "field_expression" => {
                let field = node.child_by_field_name("field")?;
                self.of_field(file.text(field))
            }
            "subscript_expression" => self.element(self.of(file, function, argument()?)?),
            "pointer_expression" if file.operator(node) == "*" => {
                self.element(self.of(file, function, argument()?)?)
            }
            "update_expression" => self.of(file, function, argument()?),
            "cast_expression" => {
                let kind = node.child_by_field_name("type")?;
                let text = file.text(kind);
                Some(self.resolved(DeclaredType {
                    specifiers: text.trim_end_matches(['*', ' ']).to_owned(),
                    pointers: u32::try_from(text.matches('*').count()).unwrap_or(1),
                }))
            }
            "call_expression" => {
                let name = node.child_by_field_name("function")?;
                let kind = file.text(name).strip_prefix("static_cast<")?;
                Some(self.resolved(DeclaredType {
                    specifiers: kind.trim_end_matches('>').to_owned(),
                    pointers: 0,
                }))
            }
            "number_literal" => {
                let text = file.text(node);
                let fraction = text.contains('.') && !text.starts_with("0x");
                Some(DeclaredType {
                    specifiers: if fraction { "double" } else { "int" }.to_owned(),
                    pointers: 0,
                })
            }
            "binary_expression" if matches!(file.operator(node), "+" | "-" | "*" | "/") => {
                let one = self.of(file, function, node.child_by_field_name("left")?);
                let two = self.of(file, function, node.child_by_field_name("right")?);
                match (one, two) {
                    (Some(one), _) if one.is_float() || one.pointers > 0 => Some(one),
                    (_, Some(two)) if two.is_float() || two.pointers > 0 => Some(two),
                    (Some(one), Some(two)) => Some(if one.is_unsigned() { one } else { two }),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The type of a name in a function: its own variable, else a field, else what the file declares.
    pub(crate) fn of_name(
        &self,
        file: &SourceFile,
        function: Node<'_>,
        name: &str,
    ) -> Option<DeclaredType> {
        let found = file
            .declared_type(function, name)
            .map(|declared| (declared, true))
            .or_else(|| self.of_field(name).map(|declared| (declared, false)))
            .or_else(|| {
                let declared = file.declared_type(file.root(), name)?;
                Some((declared, false))
            });
        let (declared, own) = found?;
        if own && words(&declared.specifiers).any(|word| word == "auto") {
            return self.inferred(file, function, name);
        }
        Some(self.resolved(declared))
    }

    /// The type of an `auto` variable, by its initial value.
    fn inferred(&self, file: &SourceFile, function: Node<'_>, name: &str) -> Option<DeclaredType> {
        descendants(function).into_iter().find_map(|node| {
            let declarator = node.child_by_field_name("declarator")?;
            (words(file.text(declarator)).next() == Some(name)).then_some(())?;
            match node.kind() {
                "init_declarator" => {
                    let value = node.child_by_field_name("value")?;
                    // `auto x = x + 1` has no type.
                    let own = words(file.text(value)).any(|word| word == name);
                    (!own).then(|| self.of(file, function, value)).flatten()
                }
                "for_range_loop" => {
                    let sequence = node.child_by_field_name("right")?;
                    let own = words(file.text(sequence)).any(|word| word == name);
                    (!own)
                        .then(|| self.of(file, function, sequence))?
                        .and_then(|kind| self.element(kind))
                }
                _ => None,
            }
        })
    }

    /// The type of the fields of a name, if all that the sources declare have the same.
    fn of_field(&self, name: &str) -> Option<DeclaredType> {
        let mut found: Option<DeclaredType> = None;
        for file in &self.sources.files {
            if !file.source().contains(name) {
                continue;
            }
            let fields = descendants(file.root())
                .into_iter()
                .filter(|node| node.kind() == "field_declaration");
            for node in fields {
                let Some(declared) = file.declared_type_in(node, name) else {
                    continue;
                };
                let declared = self.resolved(declared);
                match &found {
                    Some(other) if *other != declared => return None,
                    _ => found = Some(declared),
                }
            }
        }
        found
    }

    /// The type of what a pointer points to, or of an element of an array, vector or span.
    fn element(&self, kind: DeclaredType) -> Option<DeclaredType> {
        if kind.pointers > 0 && !kind.specifiers.ends_with('>') {
            return Some(DeclaredType {
                pointers: kind.pointers - 1,
                ..kind
            });
        }
        let (_, inner) = kind.specifiers.split_once('<')?;
        let inner = inner.strip_suffix('>')?.split(',').next()?.trim();
        let plain = inner.trim_end_matches(['*', ' ']);
        Some(self.resolved(DeclaredType {
            specifiers: plain.to_owned(),
            pointers: u32::from(plain.len() < inner.len()),
        }))
    }

    /// With the names of aliases (`typedef`, `using`) replaced by what they stand for.
    pub(crate) fn resolved(&self, mut kind: DeclaredType) -> DeclaredType {
        for _ in 0..MAX_ALIASES {
            let name = words(&kind.specifiers)
                .filter(|word| !matches!(*word, "const" | "static" | "register" | "std"))
                .last()
                .unwrap_or_default()
                .to_owned();
            if kind.specifiers.contains('<') || name.is_empty() {
                return kind;
            }
            let Some(alias) = self.alias(&name) else {
                return kind;
            };
            let constant = words(&kind.specifiers).any(|word| word == "const");
            kind = DeclaredType {
                specifiers: match constant && !alias.specifiers.contains("const") {
                    true => format!("const {}", alias.specifiers),
                    false => alias.specifiers,
                },
                pointers: kind.pointers + alias.pointers,
            };
        }
        kind
    }

    /// What an alias stands for.
    fn alias(&self, name: &str) -> Option<DeclaredType> {
        self.sources
            .files
            .iter()
            .filter(|file| file.source().contains(name))
            .find_map(|file| {
                descendants(file.root())
                    .into_iter()
                    .find_map(|node| match node.kind() {
                        "type_definition" => file.declared_type_in(node, name),
                        "alias_declaration" => {
                            let own = node.child_by_field_name("name")?;
                            let kind = node.child_by_field_name("type")?;
                            (file.text(own) == name).then(|| DeclaredType {
                                specifiers: file.text(kind).trim_end_matches(['*', ' ']).to_owned(),
                                pointers: u32::from(file.text(kind).ends_with('*')),
                            })
                        }
                        _ => None,
                    })
            })
            .filter(|found| words(&found.specifiers).last() != Some(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dialect;

    fn kind(text: &str, name: &str, of: &str) -> Option<DeclaredType> {
        let dialect = Dialect::of_name(name, Dialect::C).expect("a source file");
        let sources = Sources {
            files: vec![SourceFile::new(name, text.as_bytes().to_vec(), dialect).expect("a text")],
        };
        let file = &sources.files[0];
        let function = descendants(file.root())
            .into_iter()
            .rfind(|node| node.kind() == "function_definition")
            .expect("a function");
        let node = descendants(function)
            .into_iter()
            .rfind(|node| file.text(*node) == of)
            .expect("the expression");
        Types::new(&sources).of(file, function, node)
    }

    #[test]
    fn aliases_are_resolved_over_several_steps() {
        let text =
            "typedef double real;\ntypedef real value_t;\nvoid f(const value_t *a) { a[0]; }\n";
        assert!(kind(text, "a.c", "a[0]").expect("a type").is_float());
        let text = "using word = std::uint32_t;\nvoid f(word w) { w; }\n";
        assert!(kind(text, "a.cc", "w").expect("a type").is_unsigned());
    }

    #[test]
    fn fields_members_and_old_style_parameters_have_types() {
        let text = "struct s { float gain; };\nvoid f(struct s *p) { p->gain; }\n";
        assert!(kind(text, "a.c", "p->gain").expect("a type").is_float());
        let text = "class C { unsigned state_; void f() { state_; } };\n";
        assert!(kind(text, "a.cc", "state_").expect("a type").is_unsigned());
        let text = "int f(s)\nchar *s;\n{ *s; }\n";
        let found = kind(text, "a.c", "s").expect("a type");
        assert_eq!((found.specifiers.as_str(), found.pointers), ("char", 1));
    }

    #[test]
    fn auto_has_the_type_of_its_value() {
        let text = "void f(const std::vector<float> &xs) { for (auto x : xs) x; }\n";
        assert!(kind(text, "a.cc", "x").expect("a type").is_float());
        let text = "void f(double d) { auto x = d * 2; x; }\n";
        assert!(kind(text, "a.cc", "x").expect("a type").is_float());
        let text = "void f() { auto x = g(); x; }\n";
        assert_eq!(kind(text, "a.cc", "x"), None);
    }

    #[test]
    fn fields_of_one_name_and_several_types_have_none() {
        let text = "struct a { float x; };\nstruct b { int x; };\nvoid f(struct b *p) { p->x; }\n";
        assert_eq!(kind(text, "a.c", "p->x"), None);
    }
}
