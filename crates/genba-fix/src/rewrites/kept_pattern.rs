//! Regular expressions that are compiled once.

use tree_sitter::Node;

use super::{Rewrite, Subject};
use crate::Dialect;
use crate::edit::Edit;

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let file = subject.file;
    if file.dialect != Dialect::Cpp {
        return Err("its file is not C++".to_owned());
    }
    let mut edits = Vec::new();
    for node in subject.nodes_by_place() {
        let kind = node
            .child_by_field_name("type")
            .filter(|_| node.kind() == "declaration");
        let Some(kind) =
            kind.filter(|one| matches!(file.text(*one), "std::regex" | "regex" | "std::wregex"))
        else {
            continue;
        };
        let head = &file.source()[node.start_byte()..kind.start_byte()];
        let literal = node.child_by_field_name("declarator").is_some_and(|one| {
            let text = file.squashed(one);
            let inner = text
                .split_once(['(', '{', '='])
                .map(|parts| parts.1.to_owned())
                .unwrap_or_default();
            inner.starts_with('"') || inner.starts_with("R\"") || inner.starts_with("std::regex(\"")
        });
        let once = literal && !head.contains("static") && subject.is_pure(node);
        if once {
            let constant = if head.contains("const") {
                "static "
            } else {
                "static const "
            };
            edits.push(Edit::insert(node.start_byte(), constant));
        }
    }
    for node in subject.nodes_by_place() {
        edits.extend(temporary(subject, node));
    }
    match edits.is_empty() {
        true => Err(
            "no std::regex of a literal is made in its function: make it once, outside of the function".to_owned(),
        ),
        false => Ok(vec![
            subject.rewrite("compile the regular expression once", edits),
        ]),
    }
}

/// `f(s, std::regex("…"))`: the expression that makes it, as a function that keeps it.
fn temporary(subject: &Subject<'_>, node: Node<'_>) -> Option<Edit> {
    let file = subject.file;
    let (kind, list) = match node.kind() {
        "call_expression" => (
            node.child_by_field_name("function")?,
            node.child_by_field_name("arguments")?,
        ),
        "compound_literal_expression" => (
            node.child_by_field_name("type")?,
            node.child_by_field_name("value")?,
        ),
        _ => return None,
    };
    let kind = file.text(kind);
    let fits = matches!(kind, "std::regex" | "regex" | "std::wregex");
    let literal = list
        .named_child(0)
        .is_some_and(|one| matches!(one.kind(), "string_literal" | "raw_string_literal"));
    // The options behind it are constants, too, if they name no variable.
    let constant = (1..list.named_child_count())
        .filter_map(|at| list.named_child(at as u32 as _))
        .all(|one| file.text(one).contains("::"));
    // A declaration is made static itself.
    let declared = node
        .parent()
        .is_some_and(|one| one.kind() == "init_declarator");
    (fits && literal && constant && !declared).then(|| {
        Edit::replace(
            node.byte_range(),
            format!(
                "[]() -> const {kind} & {{ static const {kind} once{}; return once; }}()",
                file.text(list)
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::test_support::{refused, rewritten};

    const CAUSE: &str = "costly-conversion";

    #[test]
    fn expression_of_a_literal_is_static() {
        let text = "bool f(const std::string &s) {\n    std::regex date(\"[0-9]+-[0-9]+\");\n    return std::regex_match(s, date);\n}\n";
        assert!(
            rewritten(CAUSE, "a.cc", text, 3)
                .contains("    static const std::regex date(\"[0-9]+-[0-9]+\");")
        );
        refused(CAUSE, "a.cc", &text.replace("\"[0-9]+-[0-9]+\"", "s"), 3);
    }

    #[test]
    fn temporary_of_a_literal_is_kept() {
        let text = "bool f(const std::string &s) {\n    return std::regex_match(s, std::regex(\"[0-9]+\"));\n}\n";
        let after = rewritten(CAUSE, "a.cc", text, 2);
        assert!(
            after.contains("{ static const std::regex once(\"[0-9]+\"); return once; }())"),
            "{after}"
        );
        refused(CAUSE, "a.cc", &text.replace("\"[0-9]+\"", "s"), 2);
    }
}
