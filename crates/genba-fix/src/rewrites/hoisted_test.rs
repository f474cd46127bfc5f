//! Tests whose outcome is the same in all iterations of a loop, made before it.

use tree_sitter::Node;

use super::{Rewrite, Subject};
use crate::Dialect;
use crate::edit::{Edit, apply};
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
    // A loop of its own for each outcome leaves the least in it.
    if let Some(rewrite) = unswitched(subject) {
        found.insert(0, rewrite);
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

/// Most tests of a loop that are made before it: each doubles its copies.
const MAX_TESTS: usize = 2;
/// Longest loop that is copied, bytes.
const MAX_COPIED_BYTES: usize = 3000;

/// Copies of a loop for the outcomes of its tests, each without them.
fn unswitched(subject: &Subject<'_>) -> Option<Rewrite> {
    let file = subject.file;
    let mut tests: Vec<Node<'_>> = Vec::new();
    let mut around: Option<Node<'_>> = None;
    for node in descendants(subject.function) {
        let Some(condition) = (node.kind() == "if_statement")
            .then(|| condition_of(node))
            .flatten()
        else {
            continue;
        };
        let Some(outer) = innermost_invariant(subject, node) else {
            continue;
        };
        // What is evaluated before the loop must be there to be read, and without an effect.
        let plain = subject.is_pure(condition)
            && !matches!(condition.kind(), "true" | "false" | "number_literal");
        if plain && (around.is_none() && subject.is_at_place(outer) || around == Some(outer)) {
            around = Some(outer);
            tests.push(condition);
        }
    }
    let outer = around?;
    let text = file.text(outer);
    tests.truncate(MAX_TESTS);
    let once = descendants(outer).into_iter().any(|one| {
        matches!(
            one.kind(),
            "labeled_statement" | "storage_class_specifier" | "ERROR"
        )
    });
    let listed = outer
        .parent()
        .is_some_and(|one| one.kind() == "compound_statement");
    if once || !listed || text.len() > MAX_COPIED_BYTES {
        return None;
    }
    let indent = file.indent(outer);
    // The loop with the conditions replaced by outcomes.
    let copy = |outcomes: usize| {
        let edits: Vec<Edit> = tests
            .iter()
            .enumerate()
            .map(|(at, test)| {
                let range =
                    test.start_byte() - outer.start_byte()..test.end_byte() - outer.start_byte();
                Edit::replace(range, if outcomes >> at & 1 == 1 { "1" } else { "0" })
            })
            .collect();
        apply(text, &edits)
    };
    let mut whole = String::new();
    let last = (1 << tests.len()) - 1;
    for outcomes in 0..=last {
        let conditions: Vec<String> = tests
            .iter()
            .enumerate()
            .map(|(at, test)| match outcomes >> at & 1 {
                1 => format!("({})", file.text(*test)),
                _ => format!("!({})", file.text(*test)),
            })
            .collect();
        let head = match outcomes == last {
            true => String::new(),
            false => format!("if ({}) ", conditions.join(" && ")),
        };
        whole.push_str(&format!(
            "{head}{{\n{indent}    {}\n{indent}}}",
            copy(outcomes)?
        ));
        if outcomes != last {
            whole.push_str(" else ");
        }
    }
    let shown: Vec<String> = tests
        .iter()
        .map(|one| format!("`{}`", file.text(*one)))
        .collect();
    Some(Rewrite {
        assumes: vec![format!(
            "the loop does not change the outcome of {}, which may be tested where the loop has no iteration",
            shown.join(" and ")
        )],
        ..subject.rewrite(
            format!(
                "test {} before the loop, with a loop for each outcome",
                shown.join(" and ")
            ),
            vec![Edit::replace(outer.byte_range(), whole)],
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
    fn loop_is_copied_for_each_outcome() {
        let text = "void f(unsigned *v, size_t n, const struct o *o) {\n    for (size_t i = 0; i < n; i++) {\n        if (o->clip) v[i] &= 255;\n        if (o->flip) v[i] = ~v[i];\n    }\n}\n";
        let after = rewritten("invariant-check", "a.c", text, 3);
        assert!(after.contains("    if (!(o->clip) && !(o->flip)) {\n        for (size_t i = 0; i < n; i++) {\n        if (0) v[i]"), "{after}");
        assert!(
            after.contains("} else if ((o->clip) && !(o->flip)) {"),
            "{after}"
        );
        assert_eq!(after.matches("for (size_t").count(), 4);
    }

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
