//! Branches that depend on data, replaced by a choice of the address or the value.

use tree_sitter::Node;

use super::{Rewrite, Subject};
use crate::Dialect;
use crate::edit::Edit;
use crate::source_file::{SourceFile, bare, squash};

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let mut reasons =
        "no `if` at its lines is a store to the next free place, or a choice between two values"
            .to_owned();
    for node in subject.nodes_by_place() {
        if node.kind() != "if_statement" || !subject.is_at_place(node) {
            continue;
        }
        let Some(condition) = node.child_by_field_name("condition").map(bare) else {
            continue;
        };
        if !subject.file.is_pure(condition) {
            reasons = "the condition calls or changes something".to_owned();
            continue;
        }
        let found = two_appends(subject, node, condition)
            .or_else(|| one_append(subject, node, condition))
            .or_else(|| two_values(subject, node, condition));
        if let Some(rewrite) = found {
            return Ok(vec![rewrite]);
        }
    }
    Err(reasons)
}

/// `array[next++] = value;`
struct Append<'a> {
    array: &'a str,
    next: &'a str,
    value: Node<'a>,
}

/// The only statement of an arm.
fn only_expression(node: Node<'_>) -> Option<Node<'_>> {
    let mut inner = node;
    while matches!(
        inner.kind(),
        "else_clause" | "compound_statement" | "expression_statement"
    ) {
        if inner.named_child_count() != 1 {
            return None;
        }
        inner = inner.named_child(0)?;
    }
    Some(inner)
}

fn append<'a>(file: &'a SourceFile, arm: Node<'a>) -> Option<Append<'a>> {
    let assignment = only_expression(arm).filter(|one| one.kind() == "assignment_expression")?;
    let left = assignment.child_by_field_name("left")?;
    let value = assignment.child_by_field_name("right")?;
    if file.operator(assignment) != "="
        || left.kind() != "subscript_expression"
        || !file.is_pure(value)
    {
        return None;
    }
    let array = left
        .child_by_field_name("argument")
        .filter(|array| file.is_pure(*array))?;
    let text = file.text(left);
    let index = text.get(file.text(array).len()..)?.trim();
    let next = index
        .strip_prefix('[')?
        .strip_suffix(']')?
        .trim()
        .strip_suffix("++")?
        .trim();
    let plain = next
        .chars()
        .all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '>'));
    (plain && !next.is_empty()).then_some(Append {
        array: file.text(array),
        next,
        value,
    })
}

/// `if (c) low[l++] = v; else high[h++] = v;`
fn two_appends(subject: &Subject<'_>, node: Node<'_>, condition: Node<'_>) -> Option<Rewrite> {
    let file = subject.file;
    let one = append(file, node.child_by_field_name("consequence")?)?;
    let two = append(file, node.child_by_field_name("alternative")?)?;
    if file.squashed(one.value) != file.squashed(two.value) || one.next == two.next {
        return None;
    }
    let indent = file.indent(node);
    let (value, chosen, to) = (
        file.fresh_name("value"),
        file.fresh_name("chosen"),
        file.fresh_name("to"),
    );
    let kind = file.type_of(&format!("{}[0]", one.array));
    let text = format!(
        "{{\n{indent}    const {kind} {value} = {};\n\
         {indent}    const int {chosen} = !!({});\n\
         {indent}    {} *{to} = {chosen} ? &{}[{}] : &{}[{}];\n\
         {indent}    *{to} = {value};\n\
         {indent}    {} += {chosen};\n{indent}    {} += !{chosen};\n{indent}}}",
        file.text(one.value),
        file.text(condition),
        element(file, one.array),
        one.array,
        one.next,
        two.array,
        two.next,
        one.next,
        two.next,
    );
    Some(Rewrite {
        assumes: vec![format!(
            "{} and {} are of the same type",
            one.array, two.array
        )],
        ..subject.rewrite(
            "choose where to store instead of branching",
            vec![Edit::replace(node.byte_range(), text)],
        )
    })
}

/// The type of an element, for a pointer to it.
fn element(file: &SourceFile, array: &str) -> String {
    match file.dialect {
        Dialect::C => format!("__typeof__({array}[0])"),
        // Of a reference the type that it refers to.
        Dialect::Cpp => "auto".to_owned(),
    }
}

/// `if (c) out[n++] = v;`: the store goes nowhere where the condition does not hold.
fn one_append(subject: &Subject<'_>, node: Node<'_>, condition: Node<'_>) -> Option<Rewrite> {
    let file = subject.file;
    if node.child_by_field_name("alternative").is_some() {
        return None;
    }
    let one = append(file, node.child_by_field_name("consequence")?)?;
    // What the condition guards must not be read without it.
    if !is_safe(file, one.value, condition) {
        return None;
    }
    let indent = file.indent(node);
    let (chosen, nowhere, to) = (
        file.fresh_name("chosen"),
        file.fresh_name("nowhere"),
        file.fresh_name("to"),
    );
    let cell = match file.dialect {
        Dialect::C => format!("__typeof__({}[0])", one.array),
        Dialect::Cpp => format!("__typeof__(+{}[0])", one.array),
    };
    if file.dialect == Dialect::Cpp {
        // The type without its reference is not to be had by name.
        return None;
    }
    let text = format!(
        "{{\n{indent}    {cell} {nowhere};\n\
         {indent}    const int {chosen} = {};\n\
         {indent}    {cell} *{to} = {chosen} ? &{}[{}] : &{nowhere};\n\
         {indent}    *{to} = {};\n\
         {indent}    {} += {chosen};\n{indent}}}",
        without_short_circuit(file, condition),
        one.array,
        one.next,
        file.text(one.value),
        one.next,
    );
    Some(subject.rewrite(
        "choose where to store instead of branching",
        vec![Edit::replace(node.byte_range(), text)],
    ))
}

/// Whether a value may be read where the condition does not hold: variables, and what the condition reads.
fn is_safe(file: &SourceFile, value: Node<'_>, condition: Node<'_>) -> bool {
    let read = file.squashed(condition);
    crate::source_file::descendants(value)
        .into_iter()
        .all(|node| match node.kind() {
            "subscript_expression" | "field_expression" | "pointer_expression" => {
                read.contains(&file.squashed(node))
            }
            "binary_expression" => !matches!(file.operator(node), "/" | "%"),
            _ => true,
        })
}

/// `a && b` as `(a) & (b)` where `b` needs no guard.
fn without_short_circuit(file: &SourceFile, condition: Node<'_>) -> String {
    let (left, right) = (
        condition.child_by_field_name("left"),
        condition.child_by_field_name("right"),
    );
    match (left, right, file.operator(condition)) {
        (Some(left), Some(right), "&&" | "||") if is_safe(file, right, left) => {
            let operator = if file.operator(condition) == "&&" {
                "&"
            } else {
                "|"
            };
            format!(
                "(!!({})) {operator} (!!({}))",
                without_short_circuit(file, left),
                without_short_circuit(file, right)
            )
        }
        _ => format!("!!({})", file.text(condition)),
    }
}

/// `if (c) v = e + 1; else v = e + 2;`
fn two_values(subject: &Subject<'_>, node: Node<'_>, condition: Node<'_>) -> Option<Rewrite> {
    let file = subject.file;
    let arm = |name: &str| {
        let one = only_expression(node.child_by_field_name(name)?)?;
        let plain = one.kind() == "assignment_expression" && file.operator(one) == "=";
        let (left, right) = (
            one.child_by_field_name("left")?,
            one.child_by_field_name("right")?,
        );
        (plain && file.is_pure(left) && file.is_pure(right)).then_some((left, right))
    };
    let (target, one) = arm("consequence")?;
    let (other_target, two) = arm("alternative")?;
    if file.squashed(target) != file.squashed(other_target) {
        return None;
    }
    // Sums of floating-point numbers would be rounded otherwise.
    let kind = file.declared_type(subject.function, file.text(target))?;
    if kind.is_float() || kind.pointers > 0 {
        return None;
    }
    let (first, a) = sum(file, one)?;
    let (second, b) = sum(file, two)?;
    if first != second || a == b {
        return None;
    }
    // Both differ by a constant: the larger one less what the condition says.
    let step = a.abs_diff(b);
    let sign = if a < b { '-' } else { '+' };
    let times = if step == 1 {
        String::new()
    } else {
        format!(" * {step}")
    };
    let text = format!(
        "{} = {} {sign} !!({}){times};",
        file.text(target),
        file.text(two),
        file.text(condition)
    );
    Some(subject.rewrite(
        "compute the choice instead of branching",
        vec![Edit::replace(node.byte_range(), text)],
    ))
}

/// `expression + constant` as the expression and the constant.
fn sum(file: &SourceFile, node: Node<'_>) -> Option<(String, i64)> {
    let node = bare(node);
    if node.kind() == "number_literal" {
        return Some((String::new(), file.text(node).parse().ok()?));
    }
    if node.kind() == "binary_expression" && file.operator(node) == "+" {
        let (left, right) = (
            node.child_by_field_name("left")?,
            node.child_by_field_name("right")?,
        );
        if right.kind() == "number_literal" {
            return Some((squash(file.text(left)), file.text(right).parse().ok()?));
        }
    }
    Some((file.squashed(node), 0))
}

#[cfg(test)]
mod tests {
    use crate::test_support::{refused, rewritten};

    const CAUSE: &str = "unpredictable-branch";

    #[test]
    fn store_to_one_of_two_places_is_chosen() {
        let text = "void f(int *low, int *high, const int *from, int p) {\n    if (from[0] < p)\n        low[l++] = from[0];\n    else\n        high[h++] = from[0];\n}\n";
        let after = rewritten(CAUSE, "a.c", text, 2);
        assert!(after.contains("*to = chosen ? &low[l] : &high[h];"));
        assert!(after.contains("l += chosen;\n        h += !chosen;"));
    }

    #[test]
    fn store_that_may_not_happen_goes_nowhere() {
        let text = "void f(int *out, const int *p, int lo, int hi) {\n    for (int i = 0; i < 9; i++)\n        if (p[i] >= lo && p[i] < hi)\n            out[n++] = i;\n}\n";
        let after = rewritten(CAUSE, "a.c", text, 3);
        assert!(after.contains("const int chosen = (!!(!!(p[i] >= lo))) & (!!(!!(p[i] < hi)));"));
        assert!(after.contains("= chosen ? &out[n] : &nowhere;"));
    }

    #[test]
    fn choice_of_values_that_differ_by_a_constant_is_computed() {
        let text = "void f(int node) {\n    if (a[node] < 3)\n        node = 2 * node + 1;\n    else\n        node = 2 * node + 2;\n}\n";
        let after = rewritten(CAUSE, "a.cc", text, 2);
        assert!(after.contains("    node = 2 * node + 2 - !!(a[node] < 3);\n"));
    }

    #[test]
    fn guarded_reads_effects_and_other_arms_are_refused() {
        for statement in [
            "if (p)\n        out[n++] = p->x;",
            "if (next())\n        out[n++] = 1;",
            "if (a)\n        g();\n    else\n        h();",
            "if (a)\n        x = y;\n    else\n        z = y;",
            "float x;\n    if (a)\n        x = y;\n    else\n        x = y + 1;",
        ] {
            refused(
                CAUSE,
                "a.c",
                &format!("void f(struct s *p) {{\n    {statement}\n}}\n"),
                3,
            );
        }
    }
}
