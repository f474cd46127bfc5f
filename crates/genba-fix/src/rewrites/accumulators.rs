//! Reductions of floating-point numbers with four accumulators instead of one.

use tree_sitter::Node;

use super::accumulate_call::accumulate_call;
use super::{Rewrite, Subject};
use crate::Dialect;
use crate::counted_loop::{CountedLoop, Until, counted};
use crate::edit::{Edit, apply};
use crate::effects::Effect;
use crate::source_file::{SourceFile, bare, descendants, words};

/// Accumulators: additions of four cycles, one begun each cycle.
pub(super) const WAYS: usize = 4;
/// Most sums of a loop that are taken apart: each needs four registers.
const MAX_SUMS: usize = 3;

/// A sum, difference or product that a loop makes.
#[derive(Clone, Debug, PartialEq)]
struct Sum {
    /// The place that has it.
    place: String,
    /// Type of a part.
    kind: String,
    /// Whether it is a product.
    product: bool,
}

impl Sum {
    fn start(&self) -> &'static str {
        if self.product { "1" } else { "0" }
    }

    fn operator(&self) -> char {
        if self.product { '*' } else { '+' }
    }
}

/// What a loop walks over.
enum Walk<'a> {
    /// It counts.
    Counted(CountedLoop<'a>),
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
    if let Some(rewrite) = accumulate_call(subject) {
        return Ok(vec![rewrite]);
    }
    Err(reason)
}

fn unrolled(subject: &Subject<'_>, outer: Node<'_>) -> Result<Rewrite, Option<String>> {
    let file = subject.file;
    let body = outer.child_by_field_name("body").ok_or(None)?;
    let walk = walk(file, outer).ok_or_else(|| {
        Some("the loop that adds up does not count by one, or may leave early".to_owned())
    })?;
    let counter = match &walk {
        Walk::Counted(one) => Some(one.variable()),
        Walk::Range { .. } => None,
    };
    let sums = sums(subject, body, counter)?;
    if let Some(call) = descendants(body).into_iter().find(|node| {
        node.kind() == "call_expression" && subject.effects.of_call(file, *node) == Effect::Changes
    }) {
        return Err(Some(format!(
            "the loop calls `{}`, which may have an effect",
            file.text(call)
        )));
    }
    let indent = file.indent(outer);
    let deeper = format!("{indent}    ");
    // The names of the parts of each sum, but the first.
    let parts: Vec<Vec<String>> = sums
        .iter()
        .map(|sum| {
            let base = words(&sum.place)
                .last()
                .unwrap_or("sum")
                .trim_end_matches('_');
            (1..WAYS)
                .map(|way| file.fresh_name(&format!("{base}{way}")))
                .collect()
        })
        .collect();
    let mut text = String::from("{\n");
    for (sum, names) in sums.iter().zip(&parts) {
        let starts: Vec<String> = names
            .iter()
            .map(|name| format!("{name} = {}", sum.start()))
            .collect();
        text.push_str(&format!("{deeper}{} {};\n", sum.kind, starts.join(", ")));
    }
    // The body with the sums of one part.
    let copy = |way: usize| match way {
        0 => file.text(body).to_owned(),
        _ => with_parts(file, body, &sums, &parts, way),
    };
    match walk {
        Walk::Counted(one) => counted_loops(subject, &one, &deeper, &copy, &mut text)?,
        Walk::Range {
            declaration,
            sequence,
        } => range_loops(file, body, declaration, sequence, &deeper, &copy, &mut text),
    }
    for (sum, names) in sums.iter().zip(&parts) {
        let (place, by) = (&sum.place, sum.operator());
        text.push_str(&format!(
            "{deeper}{place} = ({place} {by} {}) {by} ({} {by} {});\n",
            names[0], names[1], names[2]
        ));
    }
    text.push_str(&format!("{indent}}}"));
    let shown: Vec<&str> = sums.iter().map(|sum| sum.place.as_str()).collect();
    Ok(Rewrite {
        assumes: vec![
            "the last bits of the sum may differ: its terms are added in another order".to_owned(),
        ],
        ..subject.rewrite(
            format!("add up {} in {WAYS} parts", shown.join(" and ")),
            vec![Edit::replace(outer.byte_range(), text)],
        )
    })
}

/// The loop over four iterations, and the one over what is left.
fn counted_loops(
    subject: &Subject<'_>,
    one: &CountedLoop<'_>,
    deeper: &str,
    copy: &dyn Fn(usize) -> String,
    text: &mut String,
) -> Result<(), Option<String>> {
    let file = subject.file;
    let more = WAYS - 1;
    if let Some(initializer) = one.initializer.filter(|text| !text.is_empty()) {
        text.push_str(&format!("{deeper}{initializer};\n"));
    }
    let (enough, by_condition) = match &one.until {
        Until::Zero { variable } => (
            format!("{variable} >= {WAYS}"),
            one.counts_in_condition
                .then(|| format!("{variable} -= {WAYS};")),
        ),
        Until::End {
            variable,
            end,
            inclusive,
        } => {
            let changed = file.changed(one.body);
            let stays = subject.is_pure(*end)
                && !words(file.text(*end)).any(|word| changed.contains(word) || word == *variable);
            if !stays {
                return Err(Some("the bound of the loop may change in it".to_owned()));
            }
            let end = file.text(*end);
            let index = (subject.types)
                .of_name(file, subject.function, variable)
                .is_some_and(|kind| kind.is_integer());
            let less = if *inclusive { "<=" } else { "<" };
            // The distance, where the variable is a pointer or an iterator.
            let enough = match index {
                true => format!("{variable} + {more} {less} {end}"),
                false => format!("{variable} {less} {end} && {end} - {variable} > {more}"),
            };
            (enough, None)
        }
    };
    text.push_str(&format!("{deeper}while ({enough}) {{\n"));
    for way in 0..WAYS {
        text.push_str(&format!("{deeper}    {}\n", copy(way)));
        if let Some(update) = one.update {
            text.push_str(&format!("{deeper}    {update};\n"));
        }
    }
    if let Some(count) = by_condition {
        text.push_str(&format!("{deeper}    {count}\n"));
    }
    text.push_str(&format!("{deeper}}}\n"));
    // What is left, by the loop as it was.
    let condition = one.node.child_by_field_name("condition").map(bare);
    let condition = condition.map_or("", |condition| file.text(condition));
    let head = match one.update {
        Some(update) => format!("for (; {condition}; {update})"),
        None => format!("while ({condition})"),
    };
    text.push_str(&format!(
        "{deeper}{head}\n{deeper}    {}\n",
        file.text(one.body)
    ));
    Ok(())
}

fn range_loops(
    file: &SourceFile,
    body: Node<'_>,
    declaration: &str,
    sequence: &str,
    deeper: &str,
    copy: &dyn Fn(usize) -> String,
    text: &mut String,
) {
    let at = file.fresh_name("at");
    let end = file.fresh_name("end_of_all");
    text.push_str(&format!("{deeper}auto {at} = ({sequence}).begin();\n"));
    text.push_str(&format!("{deeper}const auto {end} = ({sequence}).end();\n"));
    text.push_str(&format!(
        "{deeper}for (; {end} - {at} >= {WAYS}; {at} += {WAYS}) {{\n"
    ));
    for way in 0..WAYS {
        text.push_str(&format!(
            "{deeper}    {{\n{deeper}        {declaration} = {at}[{way}];\n\
             {deeper}        {}\n{deeper}    }}\n",
            copy(way)
        ));
    }
    text.push_str(&format!(
        "{deeper}}}\n{deeper}for (; {at} != {end}; ++{at}) {{\n\
         {deeper}    {declaration} = *{at};\n{deeper}    {}\n{deeper}}}\n",
        file.text(body)
    ));
}

/// The body with other places for the sums.
fn with_parts(
    file: &SourceFile,
    body: Node<'_>,
    sums: &[Sum],
    parts: &[Vec<String>],
    way: usize,
) -> String {
    let start = body.start_byte();
    let mut edits: Vec<Edit> = Vec::new();
    for node in descendants(body) {
        let place = file.squashed(node);
        let inside = edits
            .iter()
            .any(|edit| edit.range.contains(&(node.start_byte() - start)));
        let wanted = matches!(node.kind(), "identifier" | "field_expression") && !inside;
        if let Some(at) = sums.iter().position(|sum| wanted && sum.place == place) {
            let range = node.start_byte() - start..node.end_byte() - start;
            edits.push(Edit::replace(range, &parts[at][way - 1]));
        }
    }
    apply(file.text(body), &edits).unwrap_or_default()
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
    counted(file, outer).map(Walk::Counted)
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

/// The sums that the body makes, if it does nothing else but declare variables and step.
fn sums(
    subject: &Subject<'_>,
    body: Node<'_>,
    counter: Option<&str>,
) -> Result<Vec<Sum>, Option<String>> {
    let file = subject.file;
    let mut statements = vec![body];
    if body.kind() == "compound_statement" {
        let mut cursor = body.walk();
        statements = body
            .named_children(&mut cursor)
            .filter(|one| one.kind() != "comment")
            .collect();
    }
    let mut found: Vec<(Node<'_>, Node<'_>, bool)> = Vec::new();
    for statement in statements {
        match statement.kind() {
            "declaration" if !stores(statement) => {}
            "expression_statement" => {
                let inner = statement.named_child(0).ok_or(None)?;
                // The step of a `while` loop.
                if inner.kind() == "update_expression" {
                    let stepped = inner.child_by_field_name("argument");
                    if stepped.is_some_and(|one| one.kind() == "identifier") {
                        continue;
                    }
                    return Err(None);
                }
                let steps = inner
                    .child_by_field_name("left")
                    .is_some_and(|left| Some(file.text(left)) == counter);
                if !steps {
                    found.push(added(file, inner).ok_or(None)?);
                }
            }
            _ => return Err(None),
        }
    }
    if found.is_empty() || found.len() > MAX_SUMS {
        return Err(None);
    }
    let mut sums: Vec<Sum> = Vec::new();
    for (place, term, product) in &found {
        let own = file.squashed(*place);
        // A sum that a term, another sum or a declaration reads would be another one.
        let uses = |node: Node<'_>| {
            (descendants(node).into_iter())
                .any(|one| one.kind() == place.kind() && file.squashed(one) == own && one != *place)
        };
        let times = descendants(body)
            .into_iter()
            .filter(|one| one.kind() == place.kind() && file.squashed(*one) == own)
            .count();
        let both = descendants(place.parent().ok_or(None)?)
            .into_iter()
            .filter(|one| one.kind() == place.kind() && file.squashed(*one) == own)
            .count();
        if uses(*term) || times != both || stores(*term) && !only_steps(file, *term) {
            return Err(None);
        }
        let declared = subject.type_of(*place).filter(|kind| kind.is_float());
        let Some(declared) = declared else {
            return Err(Some(format!(
                "{own} is not known to be a floating-point number"
            )));
        };
        let kind = words(&declared.specifiers)
            .filter(|word| matches!(*word, "float" | "double" | "long"))
            .collect::<Vec<_>>()
            .join(" ");
        sums.push(Sum {
            place: own,
            kind,
            product: *product,
        });
    }
    Ok(sums)
}

/// The place, the term and whether it is a factor, of `s += e`, `s -= e`, `s *= e`, `s = s + e`.
fn added<'a>(file: &SourceFile, node: Node<'a>) -> Option<(Node<'a>, Node<'a>, bool)> {
    let left =
        (node.kind() == "assignment_expression").then(|| node.child_by_field_name("left"))??;
    let right = node.child_by_field_name("right")?;
    if !matches!(left.kind(), "identifier" | "field_expression") {
        return None;
    }
    match file.operator(node) {
        "+=" | "-=" => Some((left, right, false)),
        "*=" => Some((left, right, true)),
        "=" => {
            let sum = bare(right);
            let one = sum.child_by_field_name("left")?;
            let two = sum.child_by_field_name("right")?;
            let own = file.squashed(left);
            let product = file.operator(sum) == "*";
            match file.operator(sum) {
                "+" | "*" if file.squashed(one) == own => Some((left, two, product)),
                "+" | "*" if file.squashed(two) == own => Some((left, one, product)),
                "-" if file.squashed(one) == own => Some((left, two, false)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether code assigns to anything.
fn stores(code: Node<'_>) -> bool {
    descendants(code).into_iter().any(|one| {
        matches!(
            one.kind(),
            "assignment_expression" | "update_expression" | "lambda_expression" | "ERROR"
        )
    })
}

/// Whether all that an expression changes are pointers or indices that it steps: `*a++`.
fn only_steps(file: &SourceFile, code: Node<'_>) -> bool {
    descendants(code).into_iter().all(|one| match one.kind() {
        "update_expression" => one
            .child_by_field_name("argument")
            .is_some_and(|name| name.kind() == "identifier" && !file.text(name).is_empty()),
        "assignment_expression" | "lambda_expression" | "ERROR" => false,
        _ => true,
    })
}

#[cfg(test)]
mod tests {
    use crate::test_support::{refused, rewritten};

    const CAUSE: &str = "fp-latency-chain";

    #[test]
    fn indexed_sum_has_four_parts() {
        let text = "double f(const double *a, size_t n) {\n    double sum = 0;\n    for (size_t i = 0; i < n; i++)\n        sum += a[i] * a[i];\n    return sum;\n}\n";
        let after = rewritten(CAUSE, "a.c", text, 4);
        assert!(
            after.contains("size_t i = 0;\n        while (i + 3 < n) {"),
            "{after}"
        );
        assert!(
            after.contains("sum2 += a[i] * a[i];\n            i++;"),
            "{after}"
        );
        assert!(
            after.contains("for (; i < n; i++)\n            sum += a[i] * a[i];"),
            "{after}"
        );
        assert!(after.contains("sum = (sum + sum1) + (sum2 + sum3);"));
    }

    #[test]
    fn pointers_that_advance_and_counts_to_zero_are_taken() {
        let text = "typedef double real;\nreal f(const real *a, const real *b, int n) {\n    real acc = 0.0;\n    while (n--)\n        acc += *a++ * *b++;\n    return acc;\n}\n";
        let after = rewritten(CAUSE, "a.c", text, 5);
        assert!(
            after.contains("while (n >= 4) {") && after.contains("n -= 4;"),
            "{after}"
        );
        assert!(after.contains("acc3 += *a++ * *b++;"), "{after}");
        let text = "float f(const float *p, const float *end) {\n    float s = 1;\n    for (; p != end; ++p)\n        s = s * *p;\n    return s;\n}\n";
        let after = rewritten(CAUSE, "a.c", text, 4);
        assert!(
            after.contains("while (p < end && end - p > 3) {"),
            "{after}"
        );
        assert!(after.contains("float s1 = 1, s2 = 1, s3 = 1;"), "{after}");
    }

    #[test]
    fn several_sums_and_fields_have_parts_of_their_own() {
        let text = "struct t { double sum, sq; };\nvoid f(struct t *t, const double *a, int n) {\n    for (int i = 0; i < n; i++) {\n        t->sum += a[i];\n        t->sq += a[i] * a[i];\n    }\n}\n";
        let after = rewritten(CAUSE, "a.c", text, 4);
        assert!(
            after.contains("sum1 += a[i];\n        sq1 += a[i] * a[i];"),
            "{after}"
        );
        assert!(
            after.contains("t->sq = (t->sq + sq1) + (sq2 + sq3);"),
            "{after}"
        );
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
            "dsum = a[i] - dsum;",
            "{ dsum += a[i]; if (dsum > 3) break; }",
            "{ dsum += a[i]; other += dsum; }",
        ] {
            let text = format!(
                "double f(double *a, int n) {{\n    int sum = 0;\n    double dsum = 0, other = 0;\n    for (int i = 0; i < n; i++)\n        {body}\n    return dsum + sum;\n}}\n"
            );
            refused(CAUSE, "a.c", &text, 5);
        }
    }
}
