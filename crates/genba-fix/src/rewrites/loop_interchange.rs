//! Two loops of a perfect nest in the other order, so that memory is walked in the order of its addresses.

use tree_sitter::Node;

use super::{Rewrite, Subject};
use crate::counted_loop::{Until, counted};
use crate::edit::Edit;
use crate::source_file::{SourceFile, bare, descendants, words};

/// A loop of a nest.
struct Level<'a> {
    node: Node<'a>,
    variable: &'a str,
    /// Whether the variable is one of the loop's own.
    declared: bool,
}

/// What the nest does with each element.
struct Work<'a> {
    /// The element that is changed.
    left: Node<'a>,
    /// What it is changed by, if not by one.
    right: Option<Node<'a>>,
    operator: &'a str,
}

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    // A line may have several loops.
    let mut refusal = NONE.to_owned();
    for node in subject.loops() {
        match interchanged(subject, node) {
            Ok(rewrite) => return Ok(vec![rewrite]),
            Err(why) if refusal == NONE => refusal = why,
            Err(_) => {}
        }
    }
    Err(refusal)
}

/// Why there is nothing to interchange.
const NONE: &str = "no two loops at its lines are a perfect nest that counts up and whose only statement changes one element";

/// A loop and the one around it in the other order.
fn interchanged(subject: &Subject<'_>, node: Node<'_>) -> Result<Rewrite, String> {
    let file = subject.file;
    let none = NONE;
    let inner = level(subject, node).ok_or(none)?;
    let outer = parent_level(subject, inner.node).ok_or(none)?;
    let statement = only_statement(inner.node).ok_or(none)?;
    let work = work(subject, statement).ok_or(none)?;
    keeps_result(subject, &work, outer.variable, inner.variable)?;
    let source = file.source();
    // Without the white space before the body.
    let head = |level: &Level<'_>| {
        let body = level.node.child_by_field_name("body")?;
        let start = level.node.start_byte();
        let text = source.get(start..body.start_byte())?;
        Some(start..start + text.trim_end().len())
    };
    let (outer_head, inner_head) = head(&outer).zip(head(&inner)).ok_or(none)?;
    if uses_in(&source[inner_head.clone()], outer.variable)
        || uses_in(&source[outer_head.clone()], inner.variable)
    {
        return Err("the bounds of one loop depend on the other's variable".to_owned());
    }
    for level in [&outer, &inner] {
        if !level.declared && is_used_behind(subject, outer.node, level.variable) {
            return Err(format!("{} is used behind the loops", level.variable));
        }
    }
    let by_inner = strides(file, statement, inner.variable);
    let by_outer = strides(file, statement, outer.variable);
    // Where elements are chosen by a function, the order of memory is not said here: the measurement tells.
    let opaque = descendants(statement).into_iter().any(|node| {
        let text = file.text(node);
        node.kind() == "call_expression"
            && uses_in(text, inner.variable)
            && uses_in(text, outer.variable)
    });
    if by_outer <= by_inner && !opaque {
        return Err("no access would be closer to the one before".to_owned());
    }
    let (one, two) = (&source[outer_head.clone()], &source[inner_head.clone()]);
    Ok(Rewrite {
        assumes: vec![format!(
            "what is read does not overlap {}",
            array(file, work.left).unwrap_or_default()
        )],
        ..subject.rewrite(
            format!("loop over {} inside of {}", outer.variable, inner.variable),
            vec![
                Edit::replace(outer_head.clone(), two),
                Edit::replace(inner_head.clone(), one),
            ],
        )
    })
}

/// `a[i] = e`, `a[i] += e`, `a[i]++`; an element may be chosen by a function, too.
fn work<'a>(subject: &Subject<'a>, statement: Node<'a>) -> Option<Work<'a>> {
    let file = subject.file;
    let inner = statement.named_child(0)?;
    let (left, right, operator) = match inner.kind() {
        "assignment_expression" => {
            let right = inner.child_by_field_name("right")?;
            (
                bare(inner.child_by_field_name("left")?),
                Some(right),
                file.operator(inner),
            )
        }
        "update_expression" => (bare(inner.child_by_field_name("argument")?), None, "+="),
        _ => return None,
    };
    let element = matches!(left.kind(), "subscript_expression" | "call_expression");
    let pure = subject.is_pure(left) && right.is_none_or(|right| subject.is_pure(right));
    (element && pure).then_some(Work {
        left,
        right,
        operator,
    })
}

/// Refuses where the order of the iterations may change the result.
fn keeps_result(
    subject: &Subject<'_>,
    work: &Work<'_>,
    outer: &str,
    inner: &str,
) -> Result<(), String> {
    let file = subject.file;
    let order = || "the order of the iterations may change the result".to_owned();
    let uses = |name: &str| uses_in(file.text(work.left), name);
    let own = file.squashed(work.left);
    let stored = array(file, work.left).ok_or_else(order)?;
    let adds = matches!(work.operator, "+=" | "-=");
    // Sums of integers are the same in any order, of whichever elements.
    let integer = subject
        .type_of(work.left)
        .is_some_and(|kind| kind.is_integer());
    let commutes = adds && integer || matches!(work.operator, "|=" | "&=" | "^=");
    // An element that both variables choose, each for itself, is changed once; one that only the inner loop leaves
    // alone gets its terms in the same order.
    let once = match (uses(outer), uses(inner)) {
        (true, true) => chooses_one(file, work.left, outer, inner),
        (true, false) | (false, true) => adds,
        (false, false) => false,
    };
    if !commutes && (!once || work.operator != "=" && !adds) {
        return Err(order());
    }
    // It may read the element that it stores.
    let once_each = uses(outer) && uses(inner) && once;
    for node in work.right.into_iter().flat_map(descendants) {
        let same_array = array(file, node).is_some_and(|one| one == stored);
        if same_array && !(once_each && file.squashed(node) == own) && !within_own(file, node, &own)
        {
            return Err(format!("the nest reads {stored}, which it stores into"));
        }
    }
    Ok(())
}

/// Whether a node is part of a use of the element that is stored, as `a[i]` of `a[i][j]`.
fn within_own(file: &SourceFile, node: Node<'_>, own: &str) -> bool {
    node.parent().is_some_and(|parent| {
        parent.kind() == "subscript_expression" && file.squashed(parent) == own
    })
}

/// Whether different values of both variables choose different elements: one subscript or argument for each, or one
/// of them times a row's length.
fn chooses_one(file: &SourceFile, left: Node<'_>, outer: &str, inner: &str) -> bool {
    let text = file.squashed(left);
    let called = left.kind() == "call_expression";
    let plain = |name: &str| {
        let forms = match called {
            true => vec![
                format!("({name},"),
                format!(",{name})"),
                format!(",{name},"),
            ],
            false => vec![format!("[{name}]")],
        };
        // An index that is computed from both may be the same for several.
        (called || !text.contains('(')) && forms.iter().any(|form| text.contains(form.as_str()))
    };
    if plain(outer) && plain(inner) {
        return true;
    }
    // `i * n + j`: a term with a product, and one that is the variable alone.
    let text = text.replace("->", ".");
    let Some(index) = text
        .strip_suffix(']')
        .and_then(|text| text.rsplit_once('['))
    else {
        return false;
    };
    let terms: Vec<&str> = index.1.split('+').collect();
    let row = |name: &str| {
        let product = |term: &&str| {
            term.contains('*') && uses_in(term, name) && !term.contains(['-', '%', '/', '&'])
        };
        terms.iter().filter(|term| product(term)).count() == 1
    };
    let alone = |name: &str| {
        terms
            .iter()
            .any(|term| term.trim_matches(['(', ')']) == name)
    };
    terms.len() == 2 && (row(outer) && alone(inner) || row(inner) && alone(outer))
}

fn uses_in(text: &str, name: &str) -> bool {
    words(text).any(|word| word == name)
}

/// Whether a variable is read behind the nest before it is set anew.
fn is_used_behind(subject: &Subject<'_>, nest: Node<'_>, name: &str) -> bool {
    let file = subject.file;
    let next = descendants(subject.function).into_iter().find(|node| {
        node.kind() == "identifier"
            && file.text(*node) == name
            && node.start_byte() >= nest.end_byte()
    });
    // A loop around the nest comes back to the head of the nest, which sets it.
    next.is_some_and(|next| {
        let set = next.parent().is_some_and(|parent| {
            matches!(parent.kind(), "assignment_expression" | "init_declarator")
                && file.operator(parent) != "+="
                && ["left", "declarator"]
                    .iter()
                    .any(|field| parent.child_by_field_name(field) == Some(next))
        });
        !set
    })
}

/// A loop that counts a variable up.
fn level<'a>(subject: &Subject<'a>, node: Node<'a>) -> Option<Level<'a>> {
    let file = subject.file;
    let found = counted(file, node).filter(|_| node.kind() == "for_statement")?;
    let Until::End { variable, end, .. } = found.until else {
        return None;
    };
    let initializer = node.child_by_field_name("initializer")?;
    // One variable, which is all that is set and stepped.
    let sets_one = words(file.text(initializer)).any(|word| word == variable)
        && !file.text(initializer).contains(',');
    let steps_one = !found.update?.contains(',');
    (sets_one && steps_one && subject.is_pure(end)).then_some(Level {
        node,
        variable,
        declared: initializer.kind() == "declaration",
    })
}

/// The loop whose only statement is this one.
fn parent_level<'a>(subject: &Subject<'a>, node: Node<'a>) -> Option<Level<'a>> {
    let mut outer = node.parent()?;
    if outer.kind() == "compound_statement" {
        if statements_of(outer).len() != 1 {
            return None;
        }
        outer = outer.parent()?;
    }
    level(subject, outer)
}

fn statements_of(block: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = block.walk();
    block
        .named_children(&mut cursor)
        .filter(|one| one.kind() != "comment")
        .collect()
}

fn only_statement(node: Node<'_>) -> Option<Node<'_>> {
    let mut body = node.child_by_field_name("body")?;
    if body.kind() == "compound_statement" {
        body = match statements_of(body)[..] {
            [one] => one,
            _ => return None,
        };
    }
    (body.kind() == "expression_statement").then_some(body)
}

/// The array of an element: `c->at` of `c->at[i]`, `a` of `a[i][j]`, `m` of `m(i, j)`.
fn array(file: &SourceFile, node: Node<'_>) -> Option<String> {
    let mut inner = node;
    if node.kind() == "call_expression" {
        return Some(file.squashed(node.child_by_field_name("function")?));
    }
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
    fn nest_beside_another_loop_of_its_line_is_found() {
        let line = "    for (x = 0; x < n; x++) for (y = 0; y < n; y++) c[y * n + x] += 1; for (x = 0; x < n; x++) c[x] += 2;";
        let text = format!("void f(double *c, int n) {{ int x, y;\n{line}\n}}\n");
        let after = rewritten(CAUSE, "a.c", &text, 2);
        assert!(
            after.contains("for (y = 0; y < n; y++) for (x = 0; x < n; x++) c[y * n + x]"),
            "{after}"
        );
    }

    #[test]
    fn inner_loops_of_a_product_change_places() {
        let text = format!(
            "void f(float *c, const float *a, const float *b, int n) {{\n{NEST}                c[i * n + j] += a[i * n + k] * b[k * n + j];\n}}\n"
        );
        let after = rewritten(CAUSE, "a.c", &text, 5);
        assert!(after.contains("        for (int k = 0; k < n; k++)\n            for (int j = 0; j < n; j++)\n                c[i * n + j]"), "{after}");
    }

    #[test]
    fn variables_of_the_function_own_reads_and_counts_are_understood() {
        let text = "void f(struct m *m, double k) {\n    int r, c;\n    for (c = 0; c < m->cols; c++)\n        for (r = 0; r < m->rows; r++)\n            m->v[r * m->cols + c] = m->v[r * m->cols + c] * k;\n}\n";
        let after = rewritten(CAUSE, "a.c", text, 5);
        assert!(
            after.contains(
                "    for (r = 0; r < m->rows; r++)\n        for (c = 0; c < m->cols; c++)\n"
            ),
            "{after}"
        );
        refused(CAUSE, "a.c", &text.replace("k;\n}", "k;\n    g(c);\n}"), 5);
        let text = "void f(const Image &img, std::vector<long> &bins) {\n    for (int x = 0; x < img.width(); ++x) {\n        for (int y = 0; y < img.height(); ++y) {\n            bins[img.at(x, y)]++;\n        }\n    }\n}\nint Image::width() const { return w_; }\nint Image::height() const { return h_; }\n";
        let after = rewritten(CAUSE, "a.cc", text, 4);
        assert!(
            after.contains("{\n    for (int y = 0; y < img.height(); ++y) {\n        for (int x"),
            "{after}"
        );
        refused(CAUSE, "a.cc", &text.replace("<long>", "<double>"), 4);
    }

    #[test]
    fn dependent_bounds_own_reads_and_sums_are_refused() {
        for statement in [
            "c[i * n + j] += c[i * n + k] * b[k * n + j];",
            "sum += b[k * n + j];",
            "c[i] = a[k * n + j];",
            "c[j + k] = b[k * n + j];",
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
