//! Output that is not flushed after every line or record.

use super::{Rewrite, Subject};
use crate::edit::Edit;
use crate::source_file::{ancestors, descendants, is_loop};

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let file = subject.file;
    let mut edits = Vec::new();
    let mut what = "";
    for node in descendants(subject.function) {
        match node.kind() {
            "qualified_identifier" | "identifier"
                if matches!(file.text(node), "std::endl" | "endl") =>
            {
                let printed = node
                    .parent()
                    .is_some_and(|parent| file.operator(parent) == "<<");
                let whole = node
                    .parent()
                    .is_some_and(|one| one.kind() != "qualified_identifier");
                if printed && whole {
                    edits.push(Edit::replace(node.byte_range(), "'\\n'"));
                    what = "end lines without a flush";
                }
            }
            "call_expression" => {
                let name = node
                    .child_by_field_name("function")
                    .map(|one| file.text(one));
                let list = node.child_by_field_name("arguments");
                let statement = node
                    .parent()
                    .filter(|one| one.kind() == "expression_statement");
                let all = list.is_some_and(|list| {
                    matches!(file.squashed(list).as_str(), "(NULL)" | "(0)" | "(stdout)")
                });
                let repeated = ancestors(node).any(is_loop);
                if let (Some("fflush"), Some(statement), false, true) =
                    (name, statement, all, repeated)
                    && statement
                        .parent()
                        .is_some_and(|one| one.kind() == "compound_statement")
                {
                    edits.push(Edit::replace(file.whole_lines(statement), String::new()));
                    what = "leave out the flush in the loop";
                }
            }
            _ => {}
        }
    }
    if edits.is_empty() {
        return Err("its function ends no line with std::endl and flushes no file in a loop: where the calls \
                    are direct, a buffer needs a place that outlives the function"
            .to_owned());
    }
    Ok(vec![Rewrite {
        assumes: vec!["nobody waits for a line before the file is closed".to_owned()],
        ..subject.rewrite(what, edits)
    }])
}

#[cfg(test)]
mod tests {
    use crate::test_support::{refused, rewritten};

    #[test]
    fn lines_end_without_a_flush() {
        let text = "void f(std::ostream &out, int n) {\n    for (int i = 0; i < n; i++)\n        out << i << std::endl;\n}\n";
        let after = rewritten("excess-syscalls", "a.cc", text, 3);
        assert!(after.contains("out << i << '\\n';"));
    }

    #[test]
    fn direct_calls_and_flushes_of_everything_are_refused() {
        refused(
            "excess-syscalls",
            "a.c",
            "void f(int d, char *p) {\n    write(d, p, 1);\n}\n",
            2,
        );
        let text = "void f(void) {\n    for (;;) {\n        fflush(stdout);\n    }\n}\n";
        refused("excess-syscalls", "a.c", text, 3);
    }
}
