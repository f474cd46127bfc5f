//! Work whose result a test then discards: moved behind the test, or to the only place that uses it.

use tree_sitter::Node;

use super::{Rewrite, Subject};
use crate::edit::Edit;
use crate::source_file::{SourceFile, ancestors, bare, descendants, is_loop, words};

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let mut found = Vec::new();
    for node in descendants(subject.function) {
        // The finding may name the work, or the test behind it.
        let test = node
            .next_named_sibling()
            .filter(|one| one.kind() == "if_statement");
        let tested = test.and_then(|one| one.child_by_field_name("condition"));
        if !subject.is_at_place(node) && !tested.is_some_and(|one| subject.is_at_place(one)) {
            continue;
        }
        match node.kind() {
            "declaration" => {
                found.extend(moved_to_use(subject, node).or_else(|| moved_behind(subject, node)));
            }
            "expression_statement" => found.extend(moved_behind(subject, node)),
            _ => {}
        }
    }
    match found.is_empty() {
        true => Err(
            "no call at its lines has a result that only one branch uses, or stands before a test that leaves"
                .to_owned(),
        ),
        false => Ok(found),
    }
}

/// The name that a declaration of one variable gives, and its value.
fn declared<'a>(file: &'a SourceFile, node: Node<'a>) -> Option<(&'a str, Node<'a>)> {
    let mut cursor = node.walk();
    let mut declarators = node.children_by_field_name("declarator", &mut cursor);
    let declarator = declarators
        .next()
        .filter(|one| one.kind() == "init_declarator")?;
    if declarators.next().is_some() {
        return None;
    }
    let mut name = declarator.child_by_field_name("declarator")?;
    while matches!(name.kind(), "pointer_declarator" | "reference_declarator") {
        name = (name.child_by_field_name("declarator")).or_else(|| name.named_child(0))?;
    }
    let value = declarator.child_by_field_name("value")?;
    (name.kind() == "identifier").then(|| (file.text(name), value))
}

fn has_call(node: Node<'_>) -> bool {
    descendants(node)
        .iter()
        .any(|one| one.kind() == "call_expression")
}

/// Uses of a name below a node.
fn uses<'a>(file: &SourceFile, below: Node<'a>, name: &str) -> Vec<Node<'a>> {
    (descendants(below).into_iter())
        .filter(|node| node.kind() == "identifier" && file.text(*node) == name)
        .collect()
}

/// Whether anything between two places changes what an expression names.
fn changes_between(
    file: &SourceFile,
    list: Node<'_>,
    from: usize,
    to: usize,
    value: Node<'_>,
) -> bool {
    let mut cursor = list.walk();
    list.named_children(&mut cursor)
        .filter(|one| one.start_byte() >= from && one.start_byte() < to)
        .any(|one| {
            let changed = file.changed(one);
            has_call(one)
                || words(file.text(value)).any(|word| {
                    changed
                        .iter()
                        .any(|target| words(target).next() == Some(word))
                })
        })
}

/// A declaration whose variable only one branch uses: its value is computed there.
fn moved_to_use(subject: &Subject<'_>, node: Node<'_>) -> Option<Rewrite> {
    let file = subject.file;
    let (name, value) = declared(file, node)?;
    if !has_call(value) {
        return None;
    }
    let list = node
        .parent()
        .filter(|one| one.kind() == "compound_statement")?;
    let all: Vec<Node<'_>> = (uses(file, list, name).into_iter())
        .filter(|one| one.start_byte() >= node.end_byte())
        .collect();
    let first = *all.first()?;
    // The arm of a branch that has all uses, with no loop around it.
    let arm = ancestors(first)
        .take_while(|one| *one != list)
        .filter(|one| {
            all.iter()
                .all(|other| one.byte_range().contains(&other.start_byte()))
        });
    let arms: Vec<Node<'_>> = arm.filter(|one| is_arm(*one)).collect();
    let arm = arms
        .first()
        .copied()
        .or_else(|| is_arm(first).then_some(first))?;
    let outermost = arms.last().copied().unwrap_or(arm);
    if ancestors(arm).take_while(|one| *one != list).any(is_loop) {
        return None;
    }
    let statement = ancestors(arm).find(|one| one.parent() == Some(list))?;
    if changes_between(file, list, node.end_byte(), statement.start_byte(), value) {
        return None;
    }
    let assumes = vec![format!(
        "`{}` has no effect that is needed elsewhere",
        file.text(value)
    )];
    let gone = Edit::replace(file.whole_lines(node), "");
    let shown = file.text(value);
    if outermost.kind() == "compound_statement" {
        let inside = outermost.start_byte() + 1;
        let text = format!("\n{}    {}", file.indent(statement), file.text(node));
        return Some(Rewrite {
            assumes,
            ..subject.rewrite(
                format!("compute `{shown}` in the branch that uses it"),
                vec![gone, Edit::insert(inside, text)],
            )
        });
    }
    // An arm that is an expression: one use only, or the work would be done twice.
    (all.len() == 1).then(|| Rewrite {
        assumes,
        ..subject.rewrite(
            format!("compute `{shown}` where it is used"),
            vec![gone, Edit::replace(first.byte_range(), shown)],
        )
    })
}

/// Whether a node is only evaluated by the outcome of a test.
fn is_arm(node: Node<'_>) -> bool {
    let Some(parent) = node.parent() else {
        return false;
    };
    let is = |field: &str| parent.child_by_field_name(field) == Some(node);
    match parent.kind() {
        "conditional_expression" | "if_statement" => is("consequence") || is("alternative"),
        "else_clause" => true,
        "binary_expression" => {
            is("right")
                && (parent.child_by_field_name("operator"))
                    .is_some_and(|one| matches!(one.kind(), "&&" | "||"))
        }
        _ => false,
    }
}

/// A call before a test that leaves the function or the iteration: the test first.
fn moved_behind(subject: &Subject<'_>, node: Node<'_>) -> Option<Rewrite> {
    let file = subject.file;
    if !has_call(node) {
        return None;
    }
    node.parent()
        .filter(|one| one.kind() == "compound_statement")?;
    let test = node
        .next_named_sibling()
        .filter(|one| one.kind() == "if_statement")?;
    if test.child_by_field_name("alternative").is_some() {
        return None;
    }
    let condition = bare(test.child_by_field_name("condition")?);
    let leaves = leaves(test.child_by_field_name("consequence")?)?;
    // What the call gives, and what it is given to write to.
    let mut given = Vec::new();
    match node.kind() {
        "declaration" => given.push(declared(file, node)?.0.to_owned()),
        _ => {
            let inner = node.named_child(0)?;
            if inner.kind() == "assignment_expression" {
                given.push(file.squashed(bare(inner.child_by_field_name("left")?)));
            }
        }
    }
    for one in descendants(node) {
        if one.kind() == "pointer_expression" && file.operator(one) == "&" {
            given.push(file.squashed(bare(one.child_by_field_name("argument")?)));
        }
    }
    let needed = file.squashed(condition);
    let way_out = file.squashed(leaves);
    let depends = given.iter().any(|place| {
        let one_word = words(place).count() == 1 && !place.contains(['.', '>', '[']);
        [&needed, &way_out].iter().any(|text| match one_word {
            true => words(text).any(|word| word == place),
            false => text.contains(place.as_str()),
        })
    });
    if depends || !subject.is_pure(condition) {
        return None;
    }
    let lines = file.whole_lines(node);
    let text = file.source().get(lines.clone())?.to_owned();
    let after = file.whole_lines(test).end;
    let call = file.text(node).trim_end_matches(';');
    Some(Rewrite {
        assumes: vec![format!(
            "`{call}` has no effect that the test or what follows where it is left out needs"
        )],
        ..subject.rewrite(
            format!("test `{}` before `{call}`", file.text(condition)),
            vec![Edit::replace(lines, ""), Edit::insert(after, text)],
        )
    })
}

/// The statement that leaves, if nothing else is done before.
fn leaves(node: Node<'_>) -> Option<Node<'_>> {
    let mut inner = node;
    if inner.kind() == "compound_statement" {
        if inner.named_child_count() != 1 {
            return None;
        }
        inner = inner.named_child(0)?;
    }
    matches!(
        inner.kind(),
        "return_statement" | "continue_statement" | "break_statement"
    )
    .then_some(inner)
}

#[cfg(test)]
mod tests {
    use crate::test_support::{refused, rewritten};

    const CAUSE: &str = "discarded-work";

    #[test]
    fn test_that_leaves_comes_before_the_work() {
        let text = "void f(struct c *c, int n) {\n    g(n, &c->features);\n    if (c->known[n])\n        return;\n    h(&c->features);\n}\n";
        let after = rewritten(CAUSE, "a.c", text, 2);
        assert_eq!(after, rewritten(CAUSE, "a.c", text, 3), "at the test");
        assert!(
            after.contains(
                "{\n    if (c->known[n])\n        return;\n    g(n, &c->features);\n    h("
            ),
            "{after}"
        );
    }

    #[test]
    fn result_of_one_arm_is_computed_there() {
        let text = "int f(const W &w, int n) {\n    Size s = w.measure(n);\n    return w.wanted ? w.wanted : s.height;\n}\n";
        let after = rewritten(CAUSE, "a.cc", text, 2);
        assert!(
            after.contains("{\n    return w.wanted ? w.wanted : w.measure(n).height;"),
            "{after}"
        );
        let text = "int f(int n, int d) {\n    int s = g(n);\n    if (d) {\n        n += s;\n        n *= s;\n    }\n    return n;\n}\n";
        let after = rewritten(CAUSE, "a.c", text, 2);
        assert!(
            after.contains("    if (d) {\n        int s = g(n);\n        n += s;"),
            "{after}"
        );
    }

    #[test]
    fn tests_of_the_result_and_changed_arguments_are_refused() {
        refused(
            CAUSE,
            "a.c",
            "int f(int n) {\n    int s = g(n);\n    if (s)\n        return 0;\n    return h();\n}\n",
            2,
        );
        refused(
            CAUSE,
            "a.c",
            "int f(int n, int d) {\n    int s = g(n);\n    n++;\n    return d ? s : n;\n}\n",
            2,
        );
        refused(
            CAUSE,
            "a.c",
            "int f(int n, int d) {\n    int s = g(n);\n    while (n--)\n        d = d ? s : 1;\n    return d;\n}\n",
            2,
        );
    }
}
