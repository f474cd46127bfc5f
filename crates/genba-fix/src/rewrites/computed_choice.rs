//! Choices between two values that differ by a constant, computed instead of branched for.

use tree_sitter::Node;

use super::selected_store::statements;
use super::{Rewrite, Subject};
use crate::edit::Edit;
use crate::source_file::{SourceFile, bare, squash};

/// `if (c) v = e + 1; else v = e + 2;`
pub(super) fn two_values(
    subject: &Subject<'_>,
    node: Node<'_>,
    condition: Node<'_>,
) -> Option<Rewrite> {
    let file = subject.file;
    if !subject.is_pure(condition) {
        return None;
    }
    let arm = |name: &str| {
        let one = only_expression(node.child_by_field_name(name)?)?;
        let plain = one.kind() == "assignment_expression" && file.operator(one) == "=";
        let (left, right) = (
            one.child_by_field_name("left")?,
            one.child_by_field_name("right")?,
        );
        (plain && subject.is_pure(left) && subject.is_pure(right)).then_some((left, right))
    };
    let (target, one) = arm("consequence")?;
    let (other_target, two) = arm("alternative")?;
    if file.squashed(target) != file.squashed(other_target) {
        return None;
    }
    // Sums of floating-point numbers would be rounded otherwise.
    let kind = subject.type_of(target)?;
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

/// The only statement of an arm.
fn only_expression(node: Node<'_>) -> Option<Node<'_>> {
    match statements(node)[..] {
        [one] if one.kind() == "expression_statement" => one.named_child(0),
        _ => None,
    }
}
