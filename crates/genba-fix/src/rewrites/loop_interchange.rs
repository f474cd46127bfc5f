//! Two loops of a perfect nest in the other order, so that memory is walked in the order of its addresses.

use tree_sitter::Node;

use super::{Rewrite, Subject};
use crate::edit::Edit;
use crate::source_file::{SourceFile, bare, descendants, words};

/// A loop of a nest.
struct Level<'a> {
    node: Node<'a>,
    variable: String,
}

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let file = subject.file;
    let none = "no two loops at its lines are a perfect nest whose only statement adds to, or stores, one element";
    let inner = subject
        .loops()
        .into_iter()
        .next()
        .and_then(|node| level(file, node))
        .ok_or(none)?;
    let outer = parent_level(file, inner.node).ok_or(none)?;
    let statement = only_statement(inner.node).ok_or(none)?;
    let assignment = statement
        .named_child(0)
        .filter(|one| one.kind() == "assignment_expression")
        .ok_or(none)?;
    let (left, right) = assignment
        .child_by_field_name("left")
        .zip(assignment.child_by_field_name("right"))
        .ok_or(none)?;
    if !file.is_pure(right) || left.kind() != "subscript_expression" {
        return Err(none.to_owned());
    }
    let uses = |node: Node<'_>, name: &str| words(file.text(node)).any(|word| word == name);
    // An element that both variables choose is stored once; one that only the inner loop leaves alone gets
    // its terms in the same order.
    let by_outer = uses(left, &outer.variable);
    let by_inner = uses(left, &inner.variable);
    let adds = file.operator(assignment) == "+=";
    let keeps_order = match (by_outer, by_inner) {
        (true, true) => true,
        (true, false) | (false, true) => adds,
        (false, false) => false,
    };
    if !keeps_order || (file.operator(assignment) != "=" && !adds) {
        return Err("the order of the iterations may change the result".to_owned());
    }
    let stored = array(file, left).ok_or(none)?;
    if descendants(right)
        .into_iter()
        .any(|node| array(file, node).is_some_and(|one| one == stored))
    {
        return Err(format!("the nest reads {stored}, which it stores into"));
    }
    let source = file.source();
    // Without the white space before the body.
    let head = |level: &Level<'_>| {
        let body = level.node.child_by_field_name("body")?;
        let start = level.node.start_byte();
        let text = source.get(start..body.start_byte())?;
        Some(start..start + text.trim_end().len())
    };
    let (outer_head, inner_head) = head(&outer).zip(head(&inner)).ok_or(none)?;
    if uses_in(&source[inner_head.clone()], &outer.variable)
        || uses_in(&source[outer_head.clone()], &inner.variable)
    {
        return Err("the bounds of one loop depend on the other's variable".to_owned());
    }
    if strides(file, statement, &outer.variable) <= strides(file, statement, &inner.variable) {
        return Err("no access would be closer to the one before".to_owned());
    }
    let (one, two) = (&source[outer_head.clone()], &source[inner_head.clone()]);
    Ok(vec![Rewrite {
        assumes: vec![format!("what is read does not overlap {stored}")],
        ..subject.rewrite(
            format!("loop over {} inside of {}", outer.variable, inner.variable),
            vec![
                Edit::replace(outer_head.clone(), two),
                Edit::replace(inner_head.clone(), one),
            ],
        )
    }])
}

fn uses_in(text: &str, name: &str) -> bool {
    words(text).any(|word| word == name)
}

/// A loop that counts a variable of its own up.
fn level<'a>(file: &SourceFile, node: Node<'a>) -> Option<Level<'a>> {
    let initializer = node
        .child_by_field_name("initializer")
        .filter(|one| one.kind() == "declaration")?;
    let declarator = initializer
        .child_by_field_name("declarator")?
        .child_by_field_name("declarator")?;
    let variable = file.text(declarator).to_owned();
    let update = file.squashed(node.child_by_field_name("update")?);
    let counts = [format!("{variable}++"), format!("++{variable}")].contains(&update);
    let condition = bare(node.child_by_field_name("condition")?);
    (counts && file.is_pure(condition)).then_some(Level { node, variable })
}

/// The loop whose only statement is this one.
fn parent_level<'a>(file: &SourceFile, node: Node<'a>) -> Option<Level<'a>> {
    let mut outer = node.parent()?;
    if outer.kind() == "compound_statement" {
        if outer.named_child_count() != 1 {
            return None;
        }
        outer = outer.parent()?;
    }
    level(file, outer)
}

fn only_statement(node: Node<'_>) -> Option<Node<'_>> {
    let mut body = node.child_by_field_name("body")?;
    if body.kind() == "compound_statement" {
        if body.named_child_count() != 1 {
            return None;
        }
        body = body.named_child(0)?;
    }
    (body.kind() == "expression_statement").then_some(body)
}

/// The array of an element: `c->at` of `c->at[i]`, `a` of `a[i][j]`.
fn array(file: &SourceFile, node: Node<'_>) -> Option<String> {
    let mut inner = node;
    while inner.kind() == "subscript_expression" {
        inner = bare(inner.child_by_field_name("argument")?);
    }
    (inner != node).then(|| file.squashed(inner))
}

/// Accesses whose address moves by one element, or not at all, when a variable does, less those where it
/// moves far.
fn strides(file: &SourceFile, statement: Node<'_>, variable: &str) -> i32 {
    let subscripts = descendants(statement).into_iter().filter(|node| {
        node.kind() == "subscript_expression"
            && node
                .parent()
                .is_none_or(|parent| parent.child_by_field_name("argument") != Some(*node))
    });
    subscripts
        .map(|node| {
            let argument = node
                .child_by_field_name("argument")
                .map_or(0, |one| one.end_byte());
            let last = &file.source()[argument..node.end_byte()];
            let first = &file.source()[node.start_byte()..argument];
            // Multiplied by a row's length, or an index before the last one.
            let far = uses_in(first, variable)
                || last
                    .split(['+', '[', ']', '-'])
                    .any(|term| term.contains('*') && uses_in(term, variable));
            if far { -1 } else { 1 }
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use crate::test_support::{refused, rewritten};

    const CAUSE: &str = "strided-access";
    const NEST: &str = "    for (int i = 0; i < n; i++)\n        for (int j = 0; j < n; j++)\n            for (int k = 0; k < n; k++)\n";

    #[test]
    fn inner_loops_of_a_product_change_places() {
        let text = format!(
            "void f(float *c, const float *a, const float *b, int n) {{\n{NEST}                c[i * n + j] += a[i * n + k] * b[k * n + j];\n}}\n"
        );
        let after = rewritten(CAUSE, "a.c", &text, 5);
        assert!(after.contains("        for (int k = 0; k < n; k++)\n            for (int j = 0; j < n; j++)\n                c[i * n + j]"), "{after}");
    }

    #[test]
    fn dependent_bounds_own_reads_and_sums_are_refused() {
        for statement in [
            "c[i * n + j] += c[i * n + k] * b[k * n + j];",
            "sum += b[k * n + j];",
            "c[i] = a[k * n + j];",
            "{ g(); c[i * n + j] += b[k * n + j]; }",
        ] {
            refused(
                CAUSE,
                "a.c",
                &format!(
                    "void f(float *c, const float *a, const float *b, int n) {{\n{NEST}                {statement}\n}}\n"
                ),
                5,
            );
        }
        let text = "void f(float *c, const float *b, int n) {\n    for (int j = 0; j < n; j++)\n        for (int k = j; k < n; k++)\n            c[j] += b[k * n + j];\n}\n";
        refused(CAUSE, "a.c", text, 4);
    }
}
