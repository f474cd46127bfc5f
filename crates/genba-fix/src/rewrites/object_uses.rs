//! What C++ code does with an object of a class: whether it may change it, or what it is copied of.

use tree_sitter::Node;

use crate::source_file::{SourceFile, descendants, words};

/// Types of the language and numbers, whose copies cost nothing.
const SMALL: [&str; 14] = [
    "bool",
    "char",
    "short",
    "int",
    "long",
    "unsigned",
    "signed",
    "float",
    "double",
    "size_t",
    "auto",
    "void",
    "ptrdiff_t",
    "string_view",
];

/// Member functions that take elements out of a container or change it.
const CHANGE: [&str; 14] = [
    "pop",
    "pop_front",
    "pop_back",
    "push",
    "push_back",
    "push_front",
    "emplace",
    "emplace_back",
    "erase",
    "clear",
    "insert",
    "resize",
    "assign",
    "swap",
];

/// Whether a type is one of objects: neither a number nor a pointer or reference.
pub(super) fn is_object(file: &SourceFile, kind: Node<'_>) -> bool {
    let text = file.text(kind);
    let enough = matches!(
        kind.kind(),
        "type_identifier" | "qualified_identifier" | "template_type" | "placeholder_type_specifier"
    );
    let small = words(text).any(|word| {
        SMALL.contains(&word) && !text.contains('<') || word.ends_with("_t") || word == "iterator"
    });
    enough && (!small || text == "auto") && !text.contains("_ptr<") || text.contains("shared_ptr<")
}

/// Uses of a name in a function behind an offset.
pub(super) fn uses<'a>(
    file: &SourceFile,
    below: Node<'a>,
    name: &str,
    from: usize,
) -> Vec<Node<'a>> {
    (descendants(below).into_iter())
        .filter(|node| {
            node.kind() == "identifier" && file.text(*node) == name && node.start_byte() >= from
        })
        .collect()
}

/// Whether a use may change the object, or keep its address.
pub(super) fn may_change(file: &SourceFile, node: Node<'_>) -> bool {
    let mut inner = node;
    while let Some(parent) = inner.parent() {
        match parent.kind() {
            "field_expression" | "subscript_expression"
                if parent.child_by_field_name("argument") == Some(inner) =>
            {
                // A member function may; the compiler refuses it of a constant object.
                inner = parent;
            }
            "assignment_expression" => return parent.child_by_field_name("left") == Some(inner),
            "update_expression" => return true,
            "pointer_expression" => return file.operator(parent) == "&",
            "argument_list" => {
                let call = parent
                    .parent()
                    .and_then(|call| call.child_by_field_name("function"));
                return call.is_some_and(|name| {
                    file.text(name).ends_with("move") || file.text(name).ends_with("swap")
                });
            }
            "call_expression" => {
                let name = file
                    .text(inner)
                    .rsplit(['.', '>'])
                    .next()
                    .unwrap_or_default()
                    .to_owned();
                return CHANGE.contains(&name.as_str())
                    || matches!(
                        name.as_str(),
                        "append" | "reserve" | "begin" | "end" | "data"
                    );
            }
            "for_range_loop" => {
                let declared = parent
                    .child_by_field_name("declarator")
                    .map(|one| file.text(one).to_owned());
                return declared.is_some_and(|text| text.starts_with('&'));
            }
            "init_declarator" => {
                return parent
                    .child_by_field_name("declarator")
                    .is_some_and(|one| one.kind() == "reference_declarator");
            }
            _ => return false,
        }
    }
    false
}

/// Whether a function is declared nowhere else in the file, nor overrides anything.
pub(super) fn sole_definition(file: &SourceFile, function: Node<'_>) -> bool {
    let text = file.text(function);
    let head = text.split('{').next().unwrap_or_default();
    let declarator = descendants(function)
        .into_iter()
        .find(|one| one.kind() == "function_declarator");
    let name = declarator
        .and_then(|one| one.child_by_field_name("declarator"))
        .map(|one| file.text(one))
        .unwrap_or_default();
    let last = words(name).last().unwrap_or_default();
    let declared = descendants(file.root()).into_iter().filter(|one| {
        one.kind() == "function_declarator"
            && (one.child_by_field_name("declarator"))
                .is_some_and(|one| words(file.text(one)).last() == Some(last))
    });
    !head.contains("override")
        && !head.contains("virtual")
        && !name.contains("::")
        && declared.count() == 1
}

/// The variable at the bottom of an expression.
pub(super) fn base_of(file: &SourceFile, value: Node<'_>) -> String {
    words(file.text(value))
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// Names of the member functions that may change an object behind an offset, in order; `=` for an assignment.
pub(super) fn changes_of(
    file: &SourceFile,
    list: Node<'_>,
    base: &str,
    from: usize,
) -> Vec<String> {
    let mut found = Vec::new();
    for node in descendants(list) {
        if node.start_byte() < from {
            continue;
        }
        match node.kind() {
            "call_expression" => {
                let Some(name) = node
                    .child_by_field_name("function")
                    .filter(|one| one.kind() == "field_expression")
                else {
                    continue;
                };
                let last = file
                    .text(name)
                    .rsplit(['.', '>'])
                    .next()
                    .unwrap_or_default();
                if words(file.text(name)).next() == Some(base) && CHANGE.contains(&last) {
                    found.push(last.to_owned());
                }
            }
            "assignment_expression" => {
                let left = node.child_by_field_name("left");
                if left.is_some_and(|left| words(file.text(left)).next() == Some(base)) {
                    found.push("=".to_owned());
                }
            }
            _ => {}
        }
    }
    found
}
