//! `std::accumulate` of floating-point numbers with four accumulators instead of one.

use super::accumulators::WAYS;
use super::{Rewrite, Subject};
use crate::edit::Edit;

/// `std::accumulate(begin, end, 0.0)`: a function in its place that adds up in parts.
pub(super) fn accumulate_call(subject: &Subject<'_>) -> Option<Rewrite> {
    let file = subject.file;
    for node in subject.nodes_by_place() {
        let name = (node.kind() == "call_expression" && subject.is_at_place(node))
            .then(|| node.child_by_field_name("function"))
            .flatten()
            .map(|one| file.squashed(one));
        if !matches!(name.as_deref(), Some("std::accumulate" | "accumulate")) {
            continue;
        }
        let list = node.child_by_field_name("arguments")?;
        let start = list.named_child(2)?;
        let float = subject.type_of(start).is_some_and(|kind| kind.is_float());
        if list.named_child_count() != 3 || !float {
            continue;
        }
        let text = format!(
            "[](auto at, const auto end, auto sum) {{\n\
             {indent}    decltype(sum) sum1 = 0, sum2 = 0, sum3 = 0;\n\
             {indent}    for (; end - at >= {WAYS}; at += {WAYS})\n\
             {indent}        sum += at[0], sum1 += at[1], sum2 += at[2], sum3 += at[3];\n\
             {indent}    for (; at != end; ++at)\n\
             {indent}        sum += *at;\n\
             {indent}    return (sum + sum1) + (sum2 + sum3);\n{indent}}}{arguments}",
            indent = file.indent(node),
            arguments = file.text(list),
        );
        return Some(Rewrite {
            assumes: vec![
                "the last bits of the sum may differ: its terms are added in another order"
                    .to_owned(),
            ],
            ..subject.rewrite(
                format!("add up in {WAYS} parts instead of by std::accumulate"),
                vec![Edit::replace(node.byte_range(), text)],
            )
        });
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::test_support::{refused, rewritten};

    const CAUSE: &str = "fp-latency-chain";

    #[test]
    fn accumulate_adds_up_in_parts() {
        let text = "double f(const std::vector<double> &v) {\n    return std::accumulate(v.begin(), v.end(), 0.0);\n}\n";
        let after = rewritten(CAUSE, "a.cc", text, 2);
        assert!(
            after.contains("return (sum + sum1) + (sum2 + sum3);\n    }(v.begin(), v.end(), 0.0);"),
            "{after}"
        );
        refused(CAUSE, "a.cc", &text.replace("0.0", "0"), 2);
    }
}
