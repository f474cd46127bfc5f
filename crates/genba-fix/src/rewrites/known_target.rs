//! An indirect call that is made direct where its pointer is the usual target.

use genba_model::Fix;

use super::{Rewrite, Subject};
use crate::edit::Edit;
use crate::source_file::{descendants, words};

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let file = subject.file;
    let Some(Fix::TestTarget { function: target }) = subject.change else {
        return Err("the finding does not name the target".to_owned());
    };
    let target = target.rsplit("::").next().unwrap_or(target);
    let plain = target.chars().all(|c| c.is_alphanumeric() || c == '_');
    // Its definition or declaration must stand before the call.
    let before = &file.source()[..subject.function.start_byte()];
    if !plain || !words(before).any(|word| word == target) {
        return Err(format!(
            "{target} is not declared before the function that calls it"
        ));
    }
    let own: Vec<String> = file.calls(subject.function);
    let defined =
        |name: &str| words(before).any(|word| word == name) && own.iter().any(|call| call == name);
    for node in subject.nodes_by_place() {
        if node.kind() != "call_expression" || !subject.is_at_place(node) {
            continue;
        }
        let (Some(function), Some(list)) = (
            node.child_by_field_name("function"),
            node.child_by_field_name("arguments"),
        ) else {
            continue;
        };
        let pointer = file.text(function);
        // A pointer in a variable, a field or an array; not a method or a function's own name.
        let kind = function.kind();
        let field = matches!(
            kind,
            "field_expression" | "subscript_expression" | "parenthesized_expression"
        );
        let variable =
            kind == "identifier" && file.declared_type(subject.function, pointer).is_some();
        if !(field || variable) || !subject.is_pure(function) || defined(pointer) {
            continue;
        }
        let arguments = file.text(list);
        if !parameters_match(subject, target, list.named_child_count()) {
            continue;
        }
        let call = format!("({pointer} == {target} ? {target}{arguments} : {pointer}{arguments})");
        return Ok(vec![subject.rewrite(
            format!("call {target} directly where {pointer} is it"),
            vec![Edit::replace(node.byte_range(), call)],
        )]);
    }
    Err("no call through a function pointer stands at its lines; a virtual function has no address to compare"
        .to_owned())
}

/// Whether the target is a function with so many parameters, as far as this file defines it.
fn parameters_match(subject: &Subject<'_>, target: &str, count: usize) -> bool {
    let file = subject.file;
    descendants(file.root())
        .into_iter()
        .filter(|node| node.kind() == "function_declarator")
        .filter(|node| {
            node.child_by_field_name("declarator")
                .is_some_and(|name| file.text(name) == target)
        })
        .any(|node| {
            let list = node.child_by_field_name("parameters");
            list.is_some_and(|list| {
                let none = file.squashed(list) == "(void)";
                (if none { 0 } else { list.named_child_count() }) == count
            })
        })
}

#[cfg(test)]
mod tests {
    use genba_model::Fix;

    use crate::test_support::rewritten_with;

    const TEXT: &str = "static int h(long k) { return k; }\nint f(struct t *t, long k) {\n    return t->hash(k) & t->mask;\n}\n";

    fn target(name: &str) -> Fix {
        Fix::TestTarget {
            function: name.to_owned(),
        }
    }

    #[test]
    fn usual_target_is_called_directly() {
        let after =
            rewritten_with("indirect-call-one-target", &target("h"), "a.c", TEXT, 3).unwrap();
        assert!(after.contains("return (t->hash == h ? h(k) : t->hash(k)) & t->mask;"));
    }

    #[test]
    fn target_that_is_not_known_here_or_has_other_parameters_is_refused() {
        for name in ["g", "f"] {
            assert!(
                rewritten_with("indirect-call-one-target", &target(name), "a.c", TEXT, 3).is_err()
            );
        }
    }
}
