//! Quotient and remainder of the same operands from one division.

use tree_sitter::Node;

use super::{Rewrite, Subject};
use crate::edit::Edit;
use crate::source_file::{SourceFile, ancestors, bare, descendants, listed_statement, squash};

/// A division or remainder in the function.
struct Division<'a> {
    node: Node<'a>,
    left: String,
    right: String,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// `a / b`
    Quotient,
    /// `a % b`
    Remainder,
    /// `a /= b`
    QuotientAssigned,
    /// `a %= b`
    RemainderAssigned,
}

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let all: Vec<Division<'_>> = (subject.nodes_by_place().into_iter())
        .filter_map(|node| division(subject, node))
        .collect();
    for one in all.iter().filter(|one| one.kind == Kind::Remainder) {
        let partner = all.iter().find(|other| {
            matches!(other.kind, Kind::Quotient | Kind::QuotientAssigned)
                && (&other.left, &other.right) == (&one.left, &one.right)
        });
        let Some(partner) = partner else { continue };
        if let Some(rewrite) =
            as_loop(subject, one, partner).or_else(|| in_one_list(subject, one, partner))
        {
            return Ok(vec![rewrite]);
        }
    }
    Err(
        "no division and remainder of the same operands stand in one list of statements, with \
         nothing between them that changes an operand"
            .to_owned(),
    )
}

fn division<'a>(subject: &Subject<'a>, node: Node<'a>) -> Option<Division<'a>> {
    let file = subject.file;
    let kind = match (node.kind(), file.operator(node)) {
        ("binary_expression", "/") => Kind::Quotient,
        ("binary_expression", "%") => Kind::Remainder,
        ("assignment_expression", "/=") => Kind::QuotientAssigned,
        ("assignment_expression", "%=") => Kind::RemainderAssigned,
        _ => return None,
    };
    let left = node.child_by_field_name("left")?;
    let right = node.child_by_field_name("right")?;
    (subject.is_pure(left) && subject.is_pure(right)).then(|| Division {
        node,
        left: file.squashed(bare(left)),
        right: file.squashed(bare(right)),
        kind,
    })
}

/// `while (n % p == 0) { n /= p; … }`
fn as_loop(
    subject: &Subject<'_>,
    remainder: &Division<'_>,
    quotient: &Division<'_>,
) -> Option<Rewrite> {
    let file = subject.file;
    let outer = ancestors(remainder.node).find(|node| node.kind() == "while_statement")?;
    let condition = outer.child_by_field_name("condition")?;
    let body = outer.child_by_field_name("body")?;
    let first = match body.kind() {
        "compound_statement" => body.named_child(0)?,
        _ => body,
    };
    let in_condition = condition
        .byte_range()
        .contains(&remainder.node.start_byte());
    let assigned = quotient.kind == Kind::QuotientAssigned;
    if !in_condition
        || !assigned
        || quotient.node.parent() != Some(first)
        || is_conditional(remainder.node, condition)
    {
        return None;
    }
    let (n, p) = (&remainder.left, &remainder.right);
    let name = file.fresh_name("quotient");
    let condition = bare(condition);
    let indent = file.indent(outer);
    Some(subject.rewrite(
        format!("divide {n} by {p} once for quotient and remainder"),
        vec![
            Edit::insert(
                outer.start_byte(),
                format!(
                    "{} {name};\n{indent}",
                    declared(file, &format!("{n} / {p}"))
                ),
            ),
            Edit::insert(condition.start_byte(), format!("{name} = {n} / {p}, ")),
            Edit::replace(remainder.node.byte_range(), format!("({n} - {name} * {p})")),
            Edit::replace(quotient.node.byte_range(), format!("{n} = {name}")),
        ],
    ))
}

/// Type of a variable without initialiser.
fn declared(file: &SourceFile, expression: &str) -> String {
    match file.dialect {
        crate::Dialect::C => format!("__typeof__({expression})"),
        crate::Dialect::Cpp => format!("decltype({expression})"),
    }
}

/// Both in statements of one list: the quotient is computed before the first.
fn in_one_list(
    subject: &Subject<'_>,
    remainder: &Division<'_>,
    quotient: &Division<'_>,
) -> Option<Rewrite> {
    let file = subject.file;
    let one = listed_statement(remainder.node)?;
    let two = listed_statement(quotient.node)?;
    let list = one.parent()?;
    if two.parent() != Some(list) {
        return None;
    }
    let (first, last) = match one.start_byte() <= two.start_byte() {
        true => (one, two),
        false => (two, one),
    };
    let first_node = if first == one {
        remainder.node
    } else {
        quotient.node
    };
    // The quotient is computed although nobody may ask for it: not if the divisor may be zero then.
    if is_conditional(first_node, first) || !is_plain(first) {
        return None;
    }
    let (n, p) = (&remainder.left, &remainder.right);
    let operands = [n.as_str(), p.as_str()];
    // What stands between, and the first statement itself, must leave the operands as they are.
    let mut cursor = list.walk();
    let between: Vec<Node<'_>> = list
        .named_children(&mut cursor)
        .filter(|node| {
            node.start_byte() >= first.start_byte() && node.end_byte() <= last.end_byte()
        })
        .collect();
    for statement in between {
        // What the last statement assigns, it assigns when both are computed.
        if statement == last && only_assigns(last) {
            continue;
        }
        let changed = file.changed(statement);
        let own = quotient.kind == Kind::QuotientAssigned && statement == last && last == two;
        for name in &changed {
            let hits = operands.iter().any(|operand| {
                crate::source_file::words(operand).any(|word| word == name) || *operand == name
            });
            if hits && !(own && *name == *n) {
                return None;
            }
        }
        if statement != last && is_jump(statement) {
            return None;
        }
    }
    let name = file.fresh_name("quotient");
    let indent = file.indent(first);
    let quotient_type = match file.dialect {
        crate::Dialect::C => format!("const __typeof__({n} / {p})"),
        crate::Dialect::Cpp => "const auto".to_owned(),
    };
    let mut edits = vec![
        Edit::insert(
            first.start_byte(),
            format!("{quotient_type} {name} = {n} / {p};\n{indent}"),
        ),
        Edit::replace(remainder.node.byte_range(), format!("({n} - {name} * {p})")),
    ];
    edits.push(match quotient.kind {
        Kind::QuotientAssigned => {
            Edit::replace(quotient.node.byte_range(), format!("{n} = {name}"))
        }
        _ => Edit::replace(quotient.node.byte_range(), name),
    });
    let rewrite = subject.rewrite(
        format!(
            "divide {} by {p} once for quotient and remainder",
            squash(n)
        ),
        edits,
    );
    Some(Rewrite {
        assumes: between_stores(file, first, last, &operands),
        ..rewrite
    })
}

/// Stores through pointers between both divisions, which could be to an operand in memory.
fn between_stores(
    file: &SourceFile,
    first: Node<'_>,
    last: Node<'_>,
    operands: &[&str],
) -> Vec<String> {
    let in_memory = operands
        .iter()
        .find(|one| one.contains(['.', '>', '[', '*']));
    let stores = first != last
        && file
            .changed(first)
            .iter()
            .any(|one| one.contains(['[', '*', '>']));
    match (in_memory, stores) {
        (Some(operand), true) => vec![format!("the store before it does not change {operand}")],
        _ => Vec::new(),
    }
}

/// Whether all that a statement changes is one place, by its outermost assignment.
fn only_assigns(statement: Node<'_>) -> bool {
    let outermost = statement
        .named_child(0)
        .filter(|one| one.kind() == "assignment_expression");
    outermost.is_some_and(|outermost| {
        descendants(statement).into_iter().all(|node| {
            node == outermost
                || !matches!(
                    node.kind(),
                    "assignment_expression" | "update_expression" | "call_expression"
                )
        })
    })
}

/// A statement that is executed as a whole.
fn is_plain(statement: Node<'_>) -> bool {
    matches!(
        statement.kind(),
        "expression_statement" | "declaration" | "return_statement"
    )
}

fn is_jump(statement: Node<'_>) -> bool {
    descendants(statement).iter().any(|node| {
        matches!(
            node.kind(),
            "return_statement"
                | "break_statement"
                | "continue_statement"
                | "goto_statement"
                | "labeled_statement"
        )
    })
}

/// Whether a node is not always evaluated with what is round it.
pub(super) fn is_conditional(node: Node<'_>, within: Node<'_>) -> bool {
    let mut inner = node;
    for outer in ancestors(node) {
        let right = outer.child_by_field_name("right") == Some(inner);
        let operator = outer.child_by_field_name("operator").map(|one| one.kind());
        let short = outer.kind() == "binary_expression"
            && right
            && matches!(operator, Some("&&" | "||" | "and" | "or"));
        let arm = outer.kind() == "conditional_expression"
            && outer.child_by_field_name("condition") != Some(inner);
        if short || arm || outer.kind() == "lambda_expression" {
            return true;
        }
        if outer == within {
            return false;
        }
        inner = outer;
    }
    false
}

#[cfg(test)]
mod tests {
    use crate::test_support::{refused, rewritten};

    #[test]
    fn digits_of_a_number_take_one_division() {
        let text = "void f(struct w *w, unsigned value) {\n    while (value) {\n        \
                    w->text[--w->at] = names[value % w->base];\n        value /= w->base;\n    }\n}\n";
        let after = rewritten("duplicate-division", "a.c", text, 3);
        assert!(after.contains("const __typeof__(value / w->base) quotient = value / w->base;\n"));
        assert!(after.contains("names[(value - quotient * w->base)];"));
        assert!(after.contains("        value = quotient;\n"));
    }

    #[test]
    fn quotient_may_be_assigned_to_what_was_divided() {
        let text = "void f(struct w *w) {\n    do {\n        *--w->at = names[w->rest % w->base]; /* digit */\n        w->rest = w->rest / w->base;\n    } while (w->rest);\n}\n";
        let after = rewritten("duplicate-division", "a.c", text, 3);
        assert!(after.contains("w->rest = quotient;"), "{after}");
    }

    #[test]
    fn loop_condition_with_a_remainder_divides_once() {
        let text = "int f(long n, long p) {\n    int e = 0;\n    while (n % p == 0) {\n        n /= p;\n\
                    \u{20}       e++;\n    }\n    return e;\n}\n";
        let after = rewritten("duplicate-division", "a.cc", text, 3);
        assert!(after.contains(
            "    decltype(n / p) quotient;\n    while (quotient = n / p, (n - quotient * p) == 0) {"
        ));
        assert!(after.contains("n = quotient;"));
    }

    #[test]
    fn operand_that_changes_between_is_refused() {
        let text =
            "void f(int n, int b, int *o) {\n    o[0] = n % b;\n    b++;\n    o[1] = n / b;\n}\n";
        refused("duplicate-division", "a.c", text, 2);
    }

    #[test]
    fn division_behind_a_test_is_refused() {
        let text = "int f(int n, int b) {\n    int r = b ? n % b : 0;\n    return r + n / b;\n}\n";
        refused("duplicate-division", "a.c", text, 2);
    }

    #[test]
    fn remainder_alone_is_refused() {
        refused(
            "duplicate-division",
            "a.c",
            "int f(int n) {\n    return n % 10;\n}\n",
            2,
        );
    }
}
