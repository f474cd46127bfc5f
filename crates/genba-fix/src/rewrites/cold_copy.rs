//! A function that keeps its usual path, and leaves the rare one to a copy of what it was.
//!
//! No variable has to be handed over: the copy begins anew. So what stands before the rare path must change
//! nothing.

use tree_sitter::Node;

use super::{Rewrite, Subject};
use crate::Dialect;
use crate::edit::Edit;
use crate::source_file::{SourceFile, bare, descendants, function_declarator};

/// Fewest bytes of a rare path that is worth a function.
const MIN_BYTES: usize = 120;

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let file = subject.file;
    let function = subject.function;
    let body = function
        .child_by_field_name("body")
        .ok_or("its function has no body")?;
    let declarator = function_declarator(function).ok_or("its function has no parameters")?;
    let named = declarator
        .child_by_field_name("declarator")
        .ok_or("its function has no name")?;
    let parameters = declarator
        .child_by_field_name("parameters")
        .ok_or("its function has no parameters")?;
    let rare = rare_path(subject, body)?;
    if file.text(parameters).contains("...")
        || function
            .parent()
            .is_some_and(|one| one.kind() == "template_declaration")
    {
        return Err("its function is a template, or has parameters without names".to_owned());
    }
    if descendants(body)
        .iter()
        .any(|node| node.kind() == "storage_class_specifier" && file.text(*node) == "static")
    {
        return Err("its function has static variables, which a copy would have again".to_owned());
    }
    let mut names = Vec::new();
    let mut cursor = parameters.walk();
    for one in parameters.named_children(&mut cursor) {
        match parameter_name(file, one) {
            Some(name) => names.push(name),
            None if file.squashed(parameters) == "(void)" => {}
            None => return Err("its function has parameters without names".to_owned()),
        }
    }
    let member = function
        .parent()
        .is_some_and(|one| one.kind() == "field_declaration_list");
    let name = file.text(named);
    if !member && name.contains("::") {
        return Err("its function is a member that is defined outside of its class".to_owned());
    }
    let slow = file.fresh_name(&format!("{name}_rarely"));
    let start = function.start_byte();
    let specifiers = &file.source()[start..declarator.start_byte()];
    let result = without(
        specifiers,
        &[
            "static",
            "inline",
            "virtual",
            "constexpr",
            "explicit",
            "extern",
            "__inline",
            "__inline__",
        ],
    );
    // Qualifiers behind the parameters stay, but a copy overrides nothing.
    let behind = without(
        &file.source()[parameters.end_byte()..body.start_byte()],
        &["override", "final"],
    );
    let returns = !result.split_whitespace().any(|word| word == "void") || result.contains('*');
    let indent = file.indent(function);
    let attribute = match file.dialect {
        Dialect::C => "__attribute__((noinline, cold)) ",
        Dialect::Cpp => "[[gnu::noinline, gnu::cold]] ",
    };
    let scope = if member { "" } else { "static " };
    let copy = format!(
        "{attribute}{scope}{}{slow}{} {}{}\n\n{indent}",
        with_space(&result),
        file.text(parameters),
        with_space(&behind),
        file.text(body),
    );
    let call = match returns {
        true => format!("return {slow}({});", names.join(", ")),
        false => format!("{{ {slow}({}); return; }}", names.join(", ")),
    };
    let consequence = rare
        .child_by_field_name("consequence")
        .ok_or("an `if` without an arm")?;
    Ok(vec![subject.rewrite(
        format!("leave the rare path of {name} to a function of its own"),
        vec![
            Edit::insert(start, copy),
            Edit::replace(consequence.byte_range(), call),
        ],
    )])
}

fn with_space(text: &str) -> String {
    let text = text.trim();
    match text.is_empty() || text.ends_with('*') || text.ends_with('&') {
        true => text.to_owned(),
        false => format!("{text} "),
    }
}

/// A text without these words and without attributes.
fn without(text: &str, words: &[&str]) -> String {
    let mut rest = text.to_owned();
    for (open, close) in [("__attribute__((", "))"), ("[[", "]]")] {
        while let Some(at) = rest.find(open) {
            let Some(end) = rest[at..].find(close) else {
                break;
            };
            rest.replace_range(at..at + end + close.len(), " ");
        }
    }
    let kept: Vec<&str> = rest
        .split_whitespace()
        .filter(|word| !words.contains(word))
        .collect();
    kept.join(" ")
}

fn parameter_name(file: &SourceFile, parameter: Node<'_>) -> Option<String> {
    let mut inner = parameter.child_by_field_name("declarator")?;
    while inner.kind() != "identifier" {
        let next = inner.child_by_field_name("declarator");
        inner = next.or_else(|| inner.named_child(0))?;
    }
    Some(file.text(inner).to_owned())
}

/// The `if` with the largest arm of the function, before which nothing is changed.
fn rare_path<'a>(subject: &Subject<'_>, body: Node<'a>) -> Result<Node<'a>, String> {
    let file = subject.file;
    let mut cursor = body.walk();
    let mut best: Option<Node<'a>> = None;
    let size = |node: Node<'_>| node.end_byte() - node.start_byte();
    for statement in body.named_children(&mut cursor) {
        match statement.kind() {
            "comment" => {}
            "declaration" => {
                let plain =
                    subject.is_pure(statement) && !file.text(statement).contains("volatile");
                if !plain {
                    break;
                }
            }
            "if_statement" => {
                let condition = statement.child_by_field_name("condition").map(bare);
                let pure = condition.is_some_and(|condition| subject.is_pure(condition));
                let alone = statement.child_by_field_name("alternative").is_none();
                let arm = statement.child_by_field_name("consequence");
                if pure
                    && alone
                    && arm.is_some_and(|arm| size(arm) >= MIN_BYTES)
                    && best.is_none_or(|one| size(one) < size(statement))
                {
                    best = Some(statement);
                }
                // Another path may begin behind one that only returns.
                let only_returns = arm
                    .is_some_and(|arm| subject.is_pure(arm) && file.text(arm).contains("return"));
                if !(pure && only_returns) {
                    break;
                }
            }
            _ => break,
        }
    }
    best.ok_or_else(|| {
        "its function does not begin with the test for a long rare path, or changes something before it".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use crate::test_support::{refused, rewritten};

    const CAUSE: &str = "cold-path-in-hot-function";
    const LONG: &str = "fill(r, 1); fill(r, 2); fill(r, 3); fill(r, 4); fill(r, 5); fill(r, 6); fill(r, 7); fill(r, 8); fill(r, 9); fill(r, 10);";

    #[test]
    fn rare_path_is_left_to_a_copy() {
        let text = format!(
            "static int f(struct r *r, int n)\n{{\n    if (r->at == n) {{\n        {LONG}\n    }}\n    return r->block[r->at++];\n}}\n"
        );
        let after = rewritten(CAUSE, "a.c", &text, 3);
        assert!(after.starts_with("__attribute__((noinline, cold)) static int f_rarely(struct r *r, int n) {\n    if (r->at == n) {\n"), "{after}");
        assert!(after.contains("static int f(struct r *r, int n)\n{\n    if (r->at == n) return f_rarely(r, n);\n    return r->block[r->at++];\n}\n"));
    }

    #[test]
    fn member_overrides_nothing_twice() {
        let text = format!(
            "struct C : B {{\n    float f(float t) override\n    {{\n        if (!(t < to)) {{ {LONG} }}\n        return t * scale;\n    }}\n}};\n"
        );
        let after = rewritten(CAUSE, "a.cc", &text, 4);
        assert!(
            after.contains("[[gnu::noinline, gnu::cold]] float f_rarely(float t) {"),
            "{after}"
        );
        assert!(after.contains("if (!(t < to)) return f_rarely(t);"));
    }

    #[test]
    fn paths_behind_a_change_and_static_variables_are_refused() {
        let text = format!(
            "int f(struct r *r)\n{{\n    r->n++;\n    if (r->at) {{ {LONG} }}\n    return 1;\n}}\n"
        );
        refused(CAUSE, "a.c", &text, 4);
        let text = format!(
            "int f(struct r *r)\n{{\n    if (r->at) {{ static int n; {LONG} }}\n    return 1;\n}}\n"
        );
        refused(CAUSE, "a.c", &text, 4);
        refused(
            CAUSE,
            "a.c",
            "int f(int n)\n{\n    if (n)\n        g();\n    return 1;\n}\n",
            3,
        );
    }
}
