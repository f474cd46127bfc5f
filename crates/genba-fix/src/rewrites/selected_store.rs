//! Branches that depend on data, replaced by a choice of the address or the value.

use tree_sitter::Node;

use super::computed_choice::two_values;
use super::{Rewrite, Subject};
use crate::edit::{Edit, apply};
use crate::source_file::{SourceFile, bare, descendants, squash, words};

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let mut reasons =
        "no `if` at its lines only stores to the next free place, or chooses between two values"
            .to_owned();
    for node in subject.nodes_by_place() {
        if node.kind() != "if_statement" || !subject.is_at_place(node) {
            continue;
        }
        let Some(condition) = node.child_by_field_name("condition").map(bare) else {
            continue;
        };
        let found = chosen_store(subject, node, condition);
        if let Ok(rewrite) = found {
            return Ok(vec![rewrite]);
        }
        if let Some(rewrite) = two_values(subject, node, condition) {
            return Ok(vec![rewrite]);
        }
        if let Err(Some(reason)) = found {
            reasons = reason;
        }
    }
    Err(reasons)
}

/// What an arm does: at most one store, and steps of variables by one.
#[derive(Default)]
struct Arm<'a> {
    store: Option<Store<'a>>,
    steps: Vec<Step<'a>>,
}

/// A store to a place, both without the steps that the program writes into them.
struct Store<'a> {
    place: String,
    value: String,
    /// The value as the program has it.
    node: Node<'a>,
    /// Whether the value is one that has an address.
    has_address: bool,
}

#[derive(Clone, Copy, PartialEq)]
struct Step<'a> {
    variable: &'a str,
    up: bool,
}

impl Step<'_> {
    fn by(&self, count: &str) -> String {
        format!(
            "{} {} {count};",
            self.variable,
            if self.up { "+=" } else { "-=" }
        )
    }
}

/// The statements of an arm.
pub(super) fn statements<'a>(arm: Node<'a>) -> Vec<Node<'a>> {
    let mut inner = arm;
    while inner.kind() == "else_clause" {
        match inner.named_child(0) {
            Some(next) => inner = next,
            None => return Vec::new(),
        }
    }
    if inner.kind() != "compound_statement" {
        return vec![inner];
    }
    let mut cursor = inner.walk();
    inner
        .named_children(&mut cursor)
        .filter(|one| one.kind() != "comment")
        .collect()
}

/// What an arm does; `None` if it does anything else.
fn arm_of<'a>(subject: &Subject<'a>, node: Node<'a>) -> Option<Arm<'a>> {
    let file = subject.file;
    let mut arm = Arm::default();
    for statement in statements(node) {
        let inner =
            (statement.kind() == "expression_statement").then(|| statement.named_child(0))??;
        // What was stepped would have to be read as it was.
        let read = words(file.text(inner)).collect::<Vec<_>>();
        let stepped_before = arm.steps.iter().any(|step| read.contains(&step.variable));
        if stepped_before || arm.store.is_some() && inner.kind() != "update_expression" {
            return None;
        }
        match inner.kind() {
            "update_expression" => arm.steps.push(step(file, inner)?),
            "assignment_expression" => {
                let left = inner.child_by_field_name("left")?;
                let right = inner.child_by_field_name("right")?;
                let one = file.operator(inner) == "+=" && file.text(right) == "1";
                if one && left.kind() == "identifier" {
                    arm.steps.push(Step {
                        variable: file.text(left),
                        up: true,
                    });
                    continue;
                }
                let memory = matches!(left.kind(), "subscript_expression" | "pointer_expression");
                if file.operator(inner) != "=" || !memory {
                    return None;
                }
                let place = without_steps(subject, left, &mut arm.steps)?;
                let value = without_steps(subject, right, &mut arm.steps)?;
                let has_address = matches!(
                    bare(right).kind(),
                    "subscript_expression" | "pointer_expression" | "field_expression"
                );
                arm.store = Some(Store {
                    place,
                    value,
                    node: right,
                    has_address,
                });
            }
            _ => return None,
        }
    }
    // One step of each.
    let twice = arm.steps.iter().enumerate().any(|(at, one)| {
        arm.steps[..at]
            .iter()
            .any(|other| other.variable == one.variable)
    });
    (!twice).then_some(arm)
}

/// `n++` and `--n` of a plain variable or field.
fn step<'a>(file: &'a SourceFile, node: Node<'a>) -> Option<Step<'a>> {
    let argument = node.child_by_field_name("argument")?;
    let plain = matches!(argument.kind(), "identifier" | "field_expression");
    plain.then(|| Step {
        variable: file.text(argument),
        up: file.text(node).contains("++"),
    })
}

/// The text of an expression whose only effects are steps after their use (`n++`), without them.
fn without_steps<'a>(
    subject: &Subject<'a>,
    expression: Node<'a>,
    steps: &mut Vec<Step<'a>>,
) -> Option<String> {
    let file = subject.file;
    let start = expression.start_byte();
    let mut edits = Vec::new();
    for node in descendants(expression) {
        if node.kind() == "update_expression" {
            if file.text(node).starts_with(['+', '-']) {
                return None;
            }
            let one = step(file, node)?;
            let range = node.start_byte() - start..node.end_byte() - start;
            edits.push(Edit::replace(range, one.variable));
            steps.push(one);
        } else if node.kind() == "assignment_expression"
            || node.kind() == "call_expression" && !subject.is_pure_call(node)
        {
            return None;
        }
    }
    apply(file.text(expression), &edits)
}

/// `if (c) low[l++] = v; else *h++ = v;` and what is like it: the addresses are chosen, and variables that only one
/// arm steps are stepped by the outcome.
fn chosen_store(
    subject: &Subject<'_>,
    node: Node<'_>,
    condition: Node<'_>,
) -> Result<Rewrite, Option<String>> {
    let file = subject.file;
    let changes = descendants(condition).into_iter().any(|one| {
        matches!(
            one.kind(),
            "assignment_expression" | "update_expression" | "ERROR"
        )
    });
    if changes {
        return Err(Some("the condition changes something".to_owned()));
    }
    let one = node.child_by_field_name("consequence").ok_or(None)?;
    let one = arm_of(subject, one).ok_or(None)?;
    let two = match node.child_by_field_name("alternative") {
        Some(arm) => arm_of(subject, arm).ok_or(None)?,
        None => Arm::default(),
    };
    let names = ["value", "chosen", "nowhere", "to", "from"].map(|name| file.fresh_name(name));
    let [value, chosen, nowhere, to, from] = &names;
    let indent = file.indent(node);
    let kind = |text: &str| format!("__typeof__({text})");
    let mut lines = vec![format!(
        "const int {chosen} = {};",
        without_short_circuit(subject, condition)
    )];
    let mut assumes = Vec::new();
    match (&one.store, &two.store) {
        (Some(first), Some(second)) => {
            let same_place = squash(&first.place) == squash(&second.place);
            let same_value = squash(&first.value) == squash(&second.value);
            let safe = |store: &Store<'_>| is_safe(subject, store.node, condition);
            let stored = match () {
                () if same_value => first.value.clone(),
                () if first.has_address && second.has_address => {
                    lines.push(format!(
                        "const {} *{from} = {chosen} ? &{} : &{};",
                        kind(&first.value),
                        first.value,
                        second.value
                    ));
                    assumes.push(format!(
                        "{} and {} are of the same type",
                        first.value, second.value
                    ));
                    format!("*{from}")
                }
                () if safe(first) && safe(second) => {
                    format!("{chosen} ? {} : {}", first.value, second.value)
                }
                () => {
                    return Err(Some(
                        "a value that only one arm needs cannot be read in both".to_owned(),
                    ));
                }
            };
            match same_place {
                true => lines.push(format!("{} = {stored};", first.place)),
                false => {
                    lines.push(format!("const {} {value} = {stored};", kind(&first.place)));
                    lines.push(format!(
                        "{} *{to} = {chosen} ? &{} : &{};",
                        kind(&first.place),
                        first.place,
                        second.place
                    ));
                    lines.push(format!("*{to} = {value};"));
                    assumes.push(format!(
                        "{} and {} are of the same type",
                        first.place, second.place
                    ));
                }
            }
        }
        (Some(store), None) | (None, Some(store)) => {
            // What the condition guards must not be read without it.
            if !is_safe(subject, store.node, condition) {
                return Err(Some(format!(
                    "`{}` may only be read where the condition holds",
                    store.value
                )));
            }
            let place = match one.store.is_some() {
                true => format!("{chosen} ? &{} : &{nowhere}", store.place),
                false => format!("{chosen} ? &{nowhere} : &{}", store.place),
            };
            let kind = kind(&store.place);
            lines.push(format!("{kind} {nowhere};"));
            lines.push(format!("{kind} *{to} = {place};"));
            lines.push(format!("*{to} = {};", store.value));
        }
        (None, None) => return Err(None),
    }
    for step in &one.steps {
        match two.steps.contains(step) {
            true => lines.push(step.by("1")),
            false => lines.push(step.by(chosen)),
        }
    }
    for step in two.steps.iter().filter(|step| !one.steps.contains(step)) {
        lines.push(step.by(&format!("!{chosen}")));
    }
    let text = format!(
        "{{\n{indent}    {}\n{indent}}}",
        lines.join(&format!("\n{indent}    "))
    );
    Ok(Rewrite {
        assumes,
        ..subject.rewrite(
            "choose what and where to store instead of branching",
            vec![Edit::replace(node.byte_range(), text)],
        )
    })
}

/// Whether a value may be read where the condition does not hold: variables, and what the condition reads.
fn is_safe(subject: &Subject<'_>, value: Node<'_>, condition: Node<'_>) -> bool {
    let file = subject.file;
    let read = file.squashed(condition);
    descendants(value)
        .into_iter()
        .all(|node| match node.kind() {
            "subscript_expression" | "field_expression" | "pointer_expression" => {
                read.contains(&file.squashed(node)) || always_read(subject, node)
            }
            "binary_expression" => !matches!(file.operator(node), "/" | "%"),
            "update_expression" | "assignment_expression" => false,
            "call_expression" => subject.is_pure_call(node),
            _ => true,
        })
}

/// Whether the next iteration or statement before this one has read the same, so that it may be read.
fn always_read(subject: &Subject<'_>, node: Node<'_>) -> bool {
    let file = subject.file;
    let text = file.squashed(node);
    let Some(test) = crate::source_file::ancestors(node).find(|one| one.kind() == "if_statement")
    else {
        return false;
    };
    let mut before = test.prev_named_sibling();
    while let Some(statement) = before {
        let declares = statement.kind() == "declaration" && subject.is_pure(statement);
        if !declares && statement.kind() != "comment" {
            return false;
        }
        if file.squashed(statement).contains(&text) {
            return true;
        }
        before = statement.prev_named_sibling();
    }
    false
}

/// `a && b` as `(a) & (b)` where `b` needs no guard.
fn without_short_circuit(subject: &Subject<'_>, condition: Node<'_>) -> String {
    let file = subject.file;
    let (left, right) = (
        condition.child_by_field_name("left"),
        condition.child_by_field_name("right"),
    );
    match (left, right, file.operator(condition)) {
        (Some(left), Some(right), "&&" | "||") if is_safe(subject, right, left) => {
            let operator = if file.operator(condition) == "&&" {
                "&"
            } else {
                "|"
            };
            format!(
                "(!!({})) {operator} (!!({}))",
                without_short_circuit(subject, left),
                without_short_circuit(subject, right)
            )
        }
        _ => format!("!!({})", file.text(condition)),
    }
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
        assert!(
            after.contains("l += chosen;\n        h += !chosen;"),
            "{after}"
        );
    }

    #[test]
    fn store_that_may_not_happen_goes_nowhere() {
        let text = "void f(int *out, const int *p, int lo, int hi) {\n    for (int i = 0; i < 9; i++)\n        if (p[i] >= lo && p[i] < hi)\n            out[n++] = i;\n}\n";
        let after = rewritten(CAUSE, "a.c", text, 3);
        assert!(after.contains("const int chosen = (!!(!!(p[i] >= lo))) & (!!(!!(p[i] < hi)));"));
        assert!(after.contains("= chosen ? &out[n] : &nowhere;"));
    }

    #[test]
    fn pointers_that_advance_are_chosen() {
        let text = "void f(int *o, int *e, const int *p) {\n    if (*p & 1)\n        *o++ = *p;\n    else\n        *e++ = *p;\n}\n";
        let after = rewritten(CAUSE, "a.c", text, 2);
        assert!(
            after.contains("const __typeof__(*o) value = *p;"),
            "{after}"
        );
        assert!(
            after.contains("o += chosen;\n        e += !chosen;"),
            "{after}"
        );
    }

    #[test]
    fn merge_chooses_what_it_stores() {
        let text = "void f(int *d, const int *a, const int *b) {\n    if (a[i] <= b[j])\n        d[k++] = a[i++];\n    else\n        d[k++] = b[j++];\n}\n";
        let after = rewritten(CAUSE, "a.cc", text, 2);
        assert!(after.contains("*from = chosen ? &a[i] : &b[j];\n        d[k] = *from;\n        k += 1;\n        i += chosen;\n        j += !chosen;"), "{after}");
    }

    #[test]
    fn condition_with_a_call_is_evaluated_once() {
        let text = "void f(int *out, int v) {\n    if (keep(v))\n        out[n++] = v;\n}\n";
        let after = rewritten(CAUSE, "a.cc", text, 2);
        assert!(after.contains("const int chosen = !!(keep(v));"), "{after}");
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
            "if (n++)\n        out[m++] = 1;",
            "if (a)\n        out[n++] = next();",
            "if (a) {\n        n++;\n        out[n] = 1;\n    }",
            "if (a) {\n        out[n++] = 1;\n        out[n++] = 2;\n    }",
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
