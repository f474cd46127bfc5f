//! Tests whose outcome is the same in all iterations of a loop, made before it.

use tree_sitter::Node;

use super::{Rewrite, Subject};
use crate::Dialect;
use crate::edit::Edit;
use crate::source_file::{SourceFile, ancestors, bare, descendants, function_name, is_loop, words};

/// Options of GCC that move tests out of loops, for one function.
const OPTIMISED: &str = "__attribute__((optimize(\"O3\")))";

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let mut found = Vec::new();
    for node in descendants(subject.function) {
        if node.kind() != "if_statement" || !subject.is_at_place(node) {
            continue;
        }
        let Some(outer) = ancestors(node)
            .take_while(|one| *one != subject.function)
            .filter(|one| is_loop(*one))
            .last()
        else {
            continue;
        };
        let outer = innermost_invariant(subject, node).unwrap_or(outer);
        if let Some(rewrite) = before_loop(subject, outer, node) {
            found.push(rewrite);
        }
    }
    found.extend(at_high_level(subject));
    match found.is_empty() {
        true => Err("no loop at its lines has a test whose operands stay the same".to_owned()),
        false => Ok(found),
    }
}

/// The operands of a test change in no iteration of a loop, as far as it says.
fn stays(file: &SourceFile, outer: Node<'_>, condition: Node<'_>) -> bool {
    let changed = file.changed(outer);
    let text = file.squashed(condition);
    descendants(condition).into_iter().all(|node| {
        !matches!(
            node.kind(),
            "assignment_expression" | "update_expression" | "lambda_expression" | "ERROR"
        )
    }) && !words(file.text(condition)).any(|word| {
        // A field's name alone says nothing of another object's.
        changed.contains(word)
            && !text.contains(&format!(".{word}"))
            && !text.contains(&format!("->{word}"))
    }) && !changed
        .iter()
        .any(|one| one.contains(['.', '>', '[']) && text.contains(one.as_str()))
}

fn condition_of(node: Node<'_>) -> Option<Node<'_>> {
    node.child_by_field_name("condition").map(bare)
}

/// The outermost loop in which a test's outcome stays the same.
fn innermost_invariant<'a>(subject: &Subject<'a>, test: Node<'a>) -> Option<Node<'a>> {
    let condition = condition_of(test)?;
    (ancestors(test).take_while(|one| *one != subject.function))
        .filter(|one| is_loop(*one))
        .take_while(|one| stays(subject.file, *one, condition))
        .last()
}

fn before_loop(subject: &Subject<'_>, outer: Node<'_>, test: Node<'_>) -> Option<Rewrite> {
    let file = subject.file;
    let condition = condition_of(test)?;
    if !stays(file, outer, condition)
        || matches!(condition.kind(), "true" | "false" | "number_literal")
    {
        return None;
    }
    // A local variable's test costs nothing to keep; what is loaded or called does.
    let loads = descendants(condition).into_iter().any(|one| {
        matches!(
            one.kind(),
            "call_expression" | "field_expression" | "subscript_expression" | "pointer_expression"
        )
    });
    let member =
        words(file.text(condition)).any(|word| word.ends_with('_') || word.starts_with("m_"));
    if !loads && !member {
        return None;
    }
    outer
        .parent()
        .filter(|one| one.kind() == "compound_statement")?;
    let name = file.fresh_name("always");
    let kind = if file.dialect == Dialect::Cpp {
        "bool"
    } else {
        "_Bool"
    };
    let shown = file.text(condition);
    let negation = if file.dialect == Dialect::Cpp {
        format!("static_cast<bool>({shown})")
    } else {
        format!("({shown}) != 0")
    };
    let indent = file.indent(outer);
    let mut assumes = vec![format!("the loop does not change the outcome of `{shown}`")];
    if descendants(condition)
        .iter()
        .any(|one| one.kind() == "call_expression")
    {
        assumes.push(format!(
            "`{shown}` has no effect, and may be evaluated where the loop has no iteration"
        ));
    }
    Some(Rewrite {
        assumes,
        ..subject.rewrite(
            format!("test `{shown}` before the loop"),
            vec![
                Edit::insert(
                    outer.start_byte(),
                    format!("const {kind} {name} = {negation};\n{indent}"),
                ),
                Edit::replace(condition.byte_range(), name),
            ],
        )
    })
}

/// The function, or its callers in the file where it is small, at the level that moves tests out of loops.
fn at_high_level(subject: &Subject<'_>) -> Option<Rewrite> {
    let file = subject.file;
    if file.source().contains("optimize(") || file.path.ends_with(".h") {
        return None;
    }
    let own = !subject.loops().is_empty();
    let function = match own {
        true => subject.function,
        false => only_caller_with_loop(subject)?,
    };
    let name = function_name(file, function)?;
    let in_class = ancestors(function).any(|one| one.kind() == "template_declaration");
    (!in_class).then(|| {
        subject.rewrite(
            format!("compile {name} with GCC's -O3, which moves tests out of loops"),
            vec![Edit::insert(
                function.start_byte(),
                format!("{OPTIMISED}\n{}", file.indent(function)),
            )],
        )
    })
}

/// The function of the file that calls the place's function in a loop, if that is one.
fn only_caller_with_loop<'a>(subject: &Subject<'a>) -> Option<Node<'a>> {
    let file = subject.file;
    let name = function_name(file, subject.function)?;
    let mut callers = Vec::new();
    for node in descendants(file.root()) {
        let called = (node.kind() == "call_expression")
            .then(|| node.child_by_field_name("function"))
            .flatten();
        let Some(called) = called else { continue };
        if words(file.text(called)).last() != words(name).last() || !ancestors(node).any(is_loop) {
            continue;
        }
        let around = ancestors(node).find(|one| one.kind() == "function_definition")?;
        if !callers.contains(&around) {
            callers.push(around);
        }
    }
    match callers[..] {
        [one] => Some(one),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::test_support::{all_rewritten, rewritten};

    const CAUSE: &str = "invariant-check";

    #[test]
    fn invariant_test_is_made_before_the_outermost_loop() {
        let text = "void f(struct p *p, int n) {\n    for (int y = 0; y < n; y++)\n        for (int x = 0; x < n; x++)\n            if (p->wants(3))\n                g(x);\n}\n";
        let after = rewritten(CAUSE, "a.cc", text, 4);
        assert!(
            after.contains(
                "    const bool always = static_cast<bool>(p->wants(3));\n    for (int y"
            ),
            "{after}"
        );
        assert!(after.contains("if (always)"));
    }

    #[test]
    fn test_of_what_changes_stays() {
        let text = "void f(struct p *p, int n) {\n    for (int x = 0; x < n; x++)\n        if (p->at[x])\n            g(x);\n}\n";
        let after = all_rewritten(CAUSE, &[("a.c", text)], 3);
        assert_eq!(after.len(), 1);
        assert!(
            after[0][0].starts_with("__attribute__((optimize(\"O3\")))\nvoid f"),
            "{}",
            after[0][0]
        );
    }
}
