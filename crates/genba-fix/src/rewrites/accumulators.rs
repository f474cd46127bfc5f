//! Reductions of floating-point numbers with four accumulators instead of one.

use tree_sitter::Node;

use super::{Rewrite, Subject};
use crate::Dialect;
use crate::edit::Edit;
use crate::source_file::{SourceFile, bare, descendants, words};

/// Accumulators: additions of four cycles, one begun each cycle.
const WAYS: usize = 4;
/// Functions of numbers without an effect.
const PURE: [&str; 10] = [
    "fabs",
    "fabsf",
    "sqrt",
    "sqrtf",
    "fmax",
    "fmin",
    "std::abs",
    "std::sqrt",
    "std::fabs",
    "fma",
];

/// A loop over elements one after the other.
enum Walk<'a> {
    /// `for (T i = first; i < end; i++)`
    Index {
        variable: &'a str,
        kind: &'a str,
        first: &'a str,
        end: Node<'a>,
    },
    /// `for (const T &p : sequence)`
    Range {
        declaration: &'a str,
        sequence: &'a str,
    },
}

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let mut reason =
        "no loop at its lines adds up floating-point numbers and does nothing else".to_owned();
    for outer in subject.loops() {
        match unrolled(subject, outer) {
            Ok(rewrite) => return Ok(vec![rewrite]),
            Err(Some(other)) => reason = other,
            Err(None) => {}
        }
    }
    Err(reason)
}

fn unrolled(subject: &Subject<'_>, outer: Node<'_>) -> Result<Rewrite, Option<String>> {
    let file = subject.file;
    let walk = walk(file, outer).ok_or(None)?;
    let body = outer.child_by_field_name("body").ok_or(None)?;
    let sum = reduction(subject, body).ok_or(None)?;
    let declared = file.declared_type(subject.function, sum).ok_or(None)?;
    if !declared.is_float() {
        return Err(Some(format!(
            "{sum} is not known to be a floating-point number"
        )));
    }
    if let Some(call) = (file.calls(body).into_iter()).find(|call| !PURE.contains(&call.as_str())) {
        return Err(Some(format!("the loop calls {call}")));
    }
    let kind = words(&declared.specifiers).filter(|word| *word != "const" && *word != "static");
    let kind = kind.collect::<Vec<_>>().join(" ");
    let indent = file.indent(outer);
    let deeper = format!("{indent}    ");
    let names: Vec<String> = (1..WAYS)
        .map(|way| file.fresh_name(&format!("{sum}{way}")))
        .collect();
    let zeros: Vec<String> = names.iter().map(|name| format!("{name} = 0")).collect();
    let mut text = format!("{{\n{deeper}{kind} {};\n", zeros.join(", "));
    let one = |variable: Option<(&str, String)>, sum_name: &str| {
        let body = file.text(body);
        let body = replaced(body, sum, sum_name);
        match variable {
            Some((name, by)) => replaced(&body, name, &by),
            None => body,
        }
    };
    match walk {
        Walk::Index {
            variable,
            kind,
            first,
            end,
        } => {
            let changed = file.changed(body);
            let stays = file.is_pure(end)
                && !words(file.text(end))
                    .any(|word| changed.contains(word) || word == sum || word == variable);
            if !stays || changed.contains(variable) {
                return Err(Some("the bound of the loop may change in it".to_owned()));
            }
            let end = file.text(end);
            text.push_str(&format!("{deeper}{kind} {variable} = {first};\n"));
            text.push_str(&format!(
                "{deeper}for (; {variable} + {} < {end}; {variable} += {WAYS}) {{\n",
                WAYS - 1
            ));
            for way in 0..WAYS {
                let by = if way == 0 {
                    variable.to_owned()
                } else {
                    format!("({variable} + {way})")
                };
                let name = if way == 0 { sum } else { &names[way - 1] };
                text.push_str(&format!(
                    "{deeper}    {}\n",
                    one(Some((variable, by)), name)
                ));
            }
            text.push_str(&format!(
                "{deeper}}}\n{deeper}for (; {variable} < {end}; {variable}++)\n"
            ));
            text.push_str(&format!("{deeper}    {}\n", file.text(body)));
        }
        Walk::Range {
            declaration,
            sequence,
        } => {
            let at = file.fresh_name("at");
            let end = file.fresh_name("end_of_all");
            text.push_str(&format!("{deeper}auto {at} = ({sequence}).begin();\n"));
            text.push_str(&format!("{deeper}const auto {end} = ({sequence}).end();\n"));
            text.push_str(&format!(
                "{deeper}for (; {end} - {at} >= {WAYS}; {at} += {WAYS}) {{\n"
            ));
            for way in 0..WAYS {
                let name = if way == 0 { sum } else { &names[way - 1] };
                text.push_str(&format!(
                    "{deeper}    {{\n{deeper}        {declaration} = {at}[{way}];\n"
                ));
                text.push_str(&format!(
                    "{deeper}        {}\n{deeper}    }}\n",
                    one(None, name)
                ));
            }
            text.push_str(&format!(
                "{deeper}}}\n{deeper}for (; {at} != {end}; ++{at}) {{\n"
            ));
            text.push_str(&format!("{deeper}    {declaration} = *{at};\n"));
            text.push_str(&format!("{deeper}    {}\n{deeper}}}\n", file.text(body)));
        }
    }
    text.push_str(&format!(
        "{deeper}{sum} = ({sum} + {}) + ({} + {});\n{indent}}}",
        names[0], names[1], names[2]
    ));
    Ok(Rewrite {
        assumes: vec![
            "the last bits of the sum may differ: its terms are added in another order".to_owned(),
        ],
        ..subject.rewrite(
            format!("add up {sum} in {WAYS} parts"),
            vec![Edit::replace(outer.byte_range(), text)],
        )
    })
}

/// A text with a name replaced where it is a word of its own and not a field's.
fn replaced(text: &str, name: &str, by: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let word = |c: char| c.is_alphanumeric() || c == '_';
    while let Some(at) = rest.find(name) {
        let before = rest[..at]
            .chars()
            .next_back()
            .or_else(|| out.chars().next_back());
        let after = rest[at + name.len()..].chars().next();
        let field = rest[..at].trim_end().ends_with('.') || rest[..at].trim_end().ends_with("->");
        let whole = !before.is_some_and(word) && !after.is_some_and(word) && !field;
        out.push_str(&rest[..at]);
        out.push_str(if whole { by } else { name });
        rest = &rest[at + name.len()..];
    }
    out.push_str(rest);
    out
}

fn walk<'a>(file: &'a SourceFile, outer: Node<'a>) -> Option<Walk<'a>> {
    if outer.kind() == "for_range_loop" && file.dialect == Dialect::Cpp {
        let right = outer.child_by_field_name("right")?;
        let kind = outer.child_by_field_name("type")?;
        let declarator = outer.child_by_field_name("declarator")?;
        let plain = matches!(right.kind(), "identifier" | "field_expression");
        return plain.then(|| Walk::Range {
            declaration: &file.source()[with_qualifiers(file, outer, kind)..declarator.end_byte()],
            sequence: file.text(right),
        });
    }
    let initializer =
        (outer.child_by_field_name("initializer")).filter(|one| one.kind() == "declaration")?;
    let declarator = initializer.child_by_field_name("declarator")?;
    let variable = file.text(declarator.child_by_field_name("declarator")?);
    let first = file.text(declarator.child_by_field_name("value")?);
    let kind = file.source()[initializer.start_byte()..declarator.start_byte()].trim();
    let update = file.squashed(outer.child_by_field_name("update")?);
    let counts = [
        format!("{variable}++"),
        format!("++{variable}"),
        format!("{variable}+=1"),
    ]
    .contains(&update);
    let condition = bare(outer.child_by_field_name("condition")?);
    let left = condition.child_by_field_name("left")?;
    let end = condition.child_by_field_name("right")?;
    (counts && file.operator(condition) == "<" && file.text(left) == variable).then_some(
        Walk::Index {
            variable,
            kind,
            first,
            end,
        },
    )
}

/// Where the declaration of a range loop begins, `const` included.
fn with_qualifiers(file: &SourceFile, outer: Node<'_>, kind: Node<'_>) -> usize {
    let head = &file.source()[outer.start_byte()..kind.start_byte()];
    let open = head
        .find('(')
        .map_or(kind.start_byte(), |at| outer.start_byte() + at + 1);
    let blanks = file.source()[open..].len() - file.source()[open..].trim_start().len();
    open + blanks
}

/// The variable that the body adds to in its last statement, where it changes nothing else.
fn reduction<'a>(subject: &Subject<'a>, body: Node<'a>) -> Option<&'a str> {
    let file = subject.file;
    let mut statements = vec![body];
    if body.kind() == "compound_statement" {
        let mut cursor = body.walk();
        statements = body
            .named_children(&mut cursor)
            .filter(|one| one.kind() != "comment")
            .collect();
    }
    let (last, before) = statements.split_last()?;
    let assignment = last
        .named_child(0)
        .filter(|one| one.kind() == "assignment_expression")?;
    let left = assignment
        .child_by_field_name("left")
        .filter(|one| one.kind() == "identifier")?;
    let right = assignment.child_by_field_name("right")?;
    let sum = file.text(left);
    let uses = |node: Node<'_>| {
        (descendants(node).into_iter())
            .any(|one| one.kind() == "identifier" && file.text(one) == sum)
    };
    let effects = |node: Node<'_>| {
        descendants(node).into_iter().any(|one| {
            matches!(
                one.kind(),
                "assignment_expression" | "update_expression" | "lambda_expression" | "ERROR"
            )
        })
    };
    let plain = before
        .iter()
        .all(|one| one.kind() == "declaration" && !uses(*one) && !effects(*one));
    (file.operator(assignment) == "+=" && plain && !uses(right) && !effects(right)).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::replaced;
    use crate::test_support::{refused, rewritten};

    const CAUSE: &str = "fp-latency-chain";

    #[test]
    fn indexed_sum_has_four_parts() {
        let text = "double f(const double *a, size_t n) {\n    double sum = 0;\n    for (size_t i = 0; i < n; i++)\n        sum += a[i] * a[i];\n    return sum;\n}\n";
        let after = rewritten(CAUSE, "a.c", text, 4);
        assert!(after.contains("for (; i + 3 < n; i += 4) {"), "{after}");
        assert!(
            after.contains("sum2 += a[(i + 2)] * a[(i + 2)];"),
            "{after}"
        );
        assert!(after.contains("sum = (sum + sum1) + (sum2 + sum3);"));
    }

    #[test]
    fn sum_over_a_sequence_keeps_its_local_variables() {
        let text = "double f(const std::vector<P> &all) {\n    double sum = 0;\n    for (const P &p : all) {\n        double off = p.y - p.sum;\n        sum += off * off;\n    }\n    return sum;\n}\n";
        let after = rewritten(CAUSE, "a.cc", text, 5);
        assert!(after.contains("const P &p = at[3];"), "{after}");
        assert!(
            after.contains("double off = p.y - p.sum;\n        sum3 += off * off;"),
            "{after}"
        );
    }

    #[test]
    fn other_reductions_are_refused() {
        for body in [
            "sum += i;",
            "dsum += g(i);",
            "{ dsum += a[i]; a[i] = 0; }",
            "dsum += dsum * a[i];",
            "dsum *= a[i];",
        ] {
            let text = format!(
                "double f(double *a, int n) {{\n    int sum = 0;\n    double dsum = 0;\n    for (int i = 0; i < n; i++)\n        {body}\n    return dsum + sum;\n}}\n"
            );
            refused(CAUSE, "a.c", &text, 5);
        }
    }

    #[test]
    fn only_whole_words_that_are_not_fields_are_replaced() {
        assert_eq!(
            replaced("i + ii + a.i + b->i + (i)", "i", "j"),
            "j + ii + a.i + b->i + (j)"
        );
    }
}
