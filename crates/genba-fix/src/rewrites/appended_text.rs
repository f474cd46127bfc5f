//! Text that is appended at its end, which is kept, instead of looked for by each `strcat`.

use tree_sitter::Node;

use super::{Rewrite, Subject};
use crate::edit::Edit;
use crate::source_file::{SourceFile, ancestors, descendants, is_loop, words};

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let file = subject.file;
    let none = "no loop at its lines appends to a text by strcat";
    let mut reason = none.to_owned();
    for node in subject.nodes_by_place() {
        if !subject.is_at_place(node) {
            break;
        }
        let Some((to, _)) = appends(file, node) else {
            continue;
        };
        let outer = ancestors(node)
            .take_while(|one| *one != subject.function)
            .filter(|one| is_loop(*one) && !sets(file, *one, file.text(to)))
            .last();
        let Some(outer) = outer else { continue };
        match kept_end(subject, outer, file.text(to)) {
            Ok(rewrite) => return Ok(vec![rewrite]),
            Err(other) => reason = other,
        }
    }
    Err(reason)
}

/// What is appended to, and what is appended, of a statement `strcat(to, what);`.
fn appends<'a>(file: &SourceFile, node: Node<'a>) -> Option<(Node<'a>, Node<'a>)> {
    let function =
        (node.kind() == "call_expression").then(|| node.child_by_field_name("function"))??;
    let list = node.child_by_field_name("arguments")?;
    let statement = node.parent()?.kind() == "expression_statement";
    let (to, what) = list.named_child(0).zip(list.named_child(1))?;
    let plain =
        matches!(file.text(function), "strcat" | "std::strcat") && to.kind() == "identifier";
    (statement && plain).then_some((to, what))
}

/// Whether code sets a variable.
fn sets(file: &SourceFile, code: Node<'_>, name: &str) -> bool {
    file.changed(code).contains(name)
}

fn kept_end(subject: &Subject<'_>, outer: Node<'_>, name: &str) -> Result<Rewrite, String> {
    let file = subject.file;
    let listed = outer
        .parent()
        .is_some_and(|one| one.kind() == "compound_statement");
    if !listed {
        return Err("the loop stands in no list of statements".to_owned());
    }
    let end = file.fresh_name(&format!("{name}_end"));
    let mut edits = Vec::new();
    for node in descendants(outer) {
        if let Some((_, what)) = appends(file, node).filter(|(to, _)| file.text(*to) == name) {
            if words(file.text(what)).any(|word| word == name) {
                return Err(format!("{name} is appended to itself"));
            }
            edits.push(Edit::replace(
                node.byte_range(),
                format!("{end} = __builtin_stpcpy({end}, {})", file.text(what)),
            ));
        }
    }
    // Nobody else in the loop has the text.
    let uses = descendants(outer)
        .into_iter()
        .filter(|node| node.kind() == "identifier" && file.text(*node) == name)
        .count();
    if uses != edits.len() {
        return Err(format!("the loop uses {name} for more than strcat"));
    }
    let indent = file.indent(outer);
    edits.push(Edit::insert(
        outer.start_byte(),
        format!("char *{end} = {name} + __builtin_strlen({name});\n{indent}"),
    ));
    Ok(Rewrite {
        assumes: vec![format!(
            "no other pointer changes the text {name} in the loop"
        )],
        ..subject.rewrite(
            format!("keep the end of {name} instead of looking for it"),
            edits,
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::test_support::{refused, rewritten};

    const CAUSE: &str = "quadratic";

    #[test]
    fn end_of_the_text_is_kept() {
        let text = "void f(char *out, const char **w, int n) {\n    for (int i = 0; i < n; i++) {\n        strcat(out, w[i]);\n        strcat(out, \" \");\n    }\n}\n";
        let after = rewritten(CAUSE, "a.c", text, 3);
        assert!(
            after.contains("    char *out_end = out + __builtin_strlen(out);\n    for"),
            "{after}"
        );
        assert!(
            after.contains("out_end = __builtin_stpcpy(out_end, \" \");"),
            "{after}"
        );
    }

    #[test]
    fn other_uses_of_the_text_are_refused() {
        for other in [
            "out[0] = 'x';",
            "show(out);",
            "out = next(out);",
            "strcat(out, out);",
        ] {
            let text = format!(
                "void f(char *out, const char **w, int n) {{\n    for (int i = 0; i < n; i++) {{\n        strcat(out, w[i]);\n        {other}\n    }}\n}}\n"
            );
            refused(CAUSE, "a.c", &text, 3);
        }
    }
}
