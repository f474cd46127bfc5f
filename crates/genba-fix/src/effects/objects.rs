//! What C++ may do without a call or an assignment: streams that are shifted into, objects whose constructors and
//! destructors do something.

use tree_sitter::Node;

use super::library_functions::{OF_MEMORY, OF_NUMBERS, OF_VALUES, QUESTIONS};
use super::{plain_name, without_precision};
use crate::Dialect;
use crate::declarations::Types;
use crate::rewrites::Sources;
use crate::source_file::{DeclaredType, SourceFile, ancestors, bare, descendants};

/// Classes of the standard library whose objects keep to themselves.
const CONTAINERS: [&str; 27] = [
    "array",
    "basic_string",
    "bitset",
    "byte",
    "complex",
    "deque",
    "initializer_list",
    "list",
    "forward_list",
    "map",
    "multimap",
    "multiset",
    "optional",
    "pair",
    "queue",
    "priority_queue",
    "set",
    "span",
    "stack",
    "string",
    "string_view",
    "tuple",
    "unordered_map",
    "unordered_set",
    "variant",
    "vector",
    "wstring",
];

/// Whether `<<` or `>>` moves the bits of a number: of anything else it may be a stream's. In C it always does.
pub(super) fn shifts_number(sources: &Sources, file: &SourceFile, shift: Node<'_>) -> bool {
    file.dialect == Dialect::C
        || shift
            .child_by_field_name("left")
            .is_some_and(|left| is_number(sources, file, left))
}

fn is_number(sources: &Sources, file: &SourceFile, expression: Node<'_>) -> bool {
    let node = bare(expression);
    let child = |name| node.child_by_field_name(name);
    let of = |name| child(name).is_some_and(|one| is_number(sources, file, one));
    match node.kind() {
        "number_literal" | "char_literal" | "true" | "false" | "sizeof_expression" => true,
        "unary_expression" => of("argument"),
        "conditional_expression" => of("consequence"),
        "binary_expression" if matches!(file.operator(node), "<<" | ">>") => of("left"),
        "binary_expression" => of("left") || of("right"),
        "call_expression" => child("function").is_some_and(|called| {
            let whole = file.squashed(called);
            let name = plain_name(&whole);
            matches!(called.kind(), "primitive_type" | "sized_type_specifier")
                || whole.starts_with("static_cast<")
                || OF_NUMBERS.contains(&without_precision(name))
                || OF_MEMORY.contains(&name)
                || OF_VALUES.contains(&name)
                || QUESTIONS.contains(&name) && matches!(name, "size" | "length" | "count")
        }),
        _ => {
            let function = ancestors(node).find(|one| one.kind() == "function_definition");
            let types = Types::new(sources);
            let kind = types.of(file, function.unwrap_or(file.root()), node);
            kind.is_some_and(|kind| kind.is_integer() || kind.specifiers == "bool")
        }
    }
}

/// Whether the variables that a function declares, its parameters among them, do nothing when they begin and end.
pub(super) fn declares_quietly(
    sources: &Sources,
    file: &SourceFile,
    function: Node<'_>,
    defined: &dyn Fn(&str) -> bool,
) -> bool {
    if file.dialect == Dialect::C {
        return true;
    }
    descendants(function).into_iter().all(|node| {
        let declares = matches!(
            node.kind(),
            "declaration"
                | "parameter_declaration"
                | "optional_parameter_declaration"
                | "for_range_loop"
        );
        !declares || refers(node) || has_quiet_type(sources, file, node, defined)
    })
}

/// Whether a declaration is of pointers or references: what these mean is there already.
fn refers(declaration: Node<'_>) -> bool {
    let mut cursor = declaration.walk();
    let mut declarators = declaration.children_by_field_name("declarator", &mut cursor);
    declarators.all(|one| {
        let inner = match one.kind() {
            "init_declarator" => one.child_by_field_name("declarator").unwrap_or(one),
            _ => one,
        };
        matches!(
            inner.kind(),
            "pointer_declarator"
                | "reference_declarator"
                | "abstract_pointer_declarator"
                | "abstract_reference_declarator"
        )
    }) && declaration.child_by_field_name("declarator").is_some()
}

fn has_quiet_type(
    sources: &Sources,
    file: &SourceFile,
    declaration: Node<'_>,
    defined: &dyn Fn(&str) -> bool,
) -> bool {
    let Some(kind) = declaration.child_by_field_name("type") else {
        return false;
    };
    if matches!(
        kind.kind(),
        "primitive_type" | "sized_type_specifier" | "placeholder_type_specifier" | "auto"
    ) {
        return true;
    }
    let resolved = Types::new(sources).resolved(DeclaredType {
        specifiers: file.text(kind).to_owned(),
        pointers: 0,
    });
    if resolved.pointers > 0 || resolved.is_integer() || resolved.is_float() {
        return true;
    }
    let head = resolved.specifiers.split('<').next().unwrap_or_default();
    let name = plain_name(head.trim());
    matches!(name, "bool" | "wchar_t" | "char8_t" | "char16_t" | "char32_t")
        || CONTAINERS.contains(&name)
        || is_template_parameter(file, declaration, name)
        // A class of the sources without constructor and destructor, or an enumeration.
        || !defined(name) && is_declared(sources, name)
}

/// Whether a template around a declaration has a parameter of this name: mostly a number.
fn is_template_parameter(file: &SourceFile, declaration: Node<'_>, name: &str) -> bool {
    ancestors(declaration)
        .filter(|one| one.kind() == "template_declaration")
        .filter_map(|one| one.child_by_field_name("parameters"))
        .flat_map(descendants)
        .any(|one| one.kind() == "type_identifier" && file.text(one) == name)
}

/// Whether the sources have the members of a class or enumeration of this name, none of which is its destructor.
fn is_declared(sources: &Sources, name: &str) -> bool {
    let destructor = format!("~{name}");
    let mut files = sources.files.iter();
    let found = sources.files.iter().any(|file| {
        file.source().contains(name)
            && descendants(file.root()).into_iter().any(|node| {
                matches!(
                    node.kind(),
                    "struct_specifier" | "class_specifier" | "enum_specifier"
                ) && node.child_by_field_name("body").is_some()
                    && node
                        .child_by_field_name("name")
                        .is_some_and(|one| file.text(one) == name)
            })
    });
    found && !files.any(|file| file.source().contains(&destructor))
}
