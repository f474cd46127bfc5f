//! Fields that threads write side by side, each thread's on cache lines of its own.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::{Rewrite, Subject};
use crate::Dialect;
use crate::edit::Edit;
use crate::source_file::{SourceFile, descendants};

/// Bytes: a cache line, and the one that is fetched with it.
const SEPARATION_BYTES: u32 = 128;

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let fields: BTreeSet<&str> = descendants(subject.function)
        .into_iter()
        .filter(|node| node.kind() == "field_expression")
        .filter_map(|node| node.child_by_field_name("field"))
        .map(|field| subject.file.text(field))
        .collect();
    let mut found = Vec::new();
    for (index, file) in subject.sources.files.iter().enumerate() {
        if !file.source().contains("struct") && !file.source().contains("class") {
            continue;
        }
        for node in descendants(file.root()) {
            let Some(body) = node.child_by_field_name("body") else {
                continue;
            };
            let record = matches!(node.kind(), "struct_specifier" | "class_specifier");
            if record && written(subject, file, body, &fields) {
                found.push((index, node, body));
            }
        }
    }
    // Where several structures have such fields, the one of the file of the place that is an element.
    let elements: Vec<_> = found
        .iter()
        .filter(|(index, node, _)| is_element(subject, *index, *node))
        .collect();
    let [(index, node, body)] = elements[..] else {
        return Err("there is not exactly one structure whose fields its function writes and that is an element of \
                    an array or vector"
            .to_owned());
    };
    let file = &subject.sources.files[*index];
    let name = node
        .child_by_field_name("name")
        .map_or("the structure", |name| file.text(name));
    if file.text(*node).contains("alignas")
        || file.text(*node).contains("_Alignas")
        || file.text(*node).contains("packed")
    {
        return Err(format!("{name} has an alignment of its own"));
    }
    let edit = match (file.dialect, node.child_by_field_name("name")) {
        (Dialect::Cpp, Some(name)) => {
            Edit::insert(name.start_byte(), format!("alignas({SEPARATION_BYTES}) "))
        }
        // Memory of malloc is not aligned so far; a gap behind the fields needs no alignment.
        _ => {
            let last = body
                .named_child_count()
                .checked_sub(1)
                .and_then(|last| body.named_child(last as u32));
            let last = last.ok_or_else(|| format!("{name} has no fields"))?;
            let indent = file.indent(last);
            let gap = file.fresh_name("separation");
            Edit::insert(
                last.end_byte(),
                format!("\n{indent}char {gap}[{SEPARATION_BYTES}];"),
            )
        }
    };
    Ok(vec![Rewrite {
        title: format!("keep each {name} on cache lines of its own"),
        assumes: vec![format!("nothing depends on the size of {name}")],
        edits: vec![(*index, vec![edit])],
    }])
}

/// Whether the function writes fields of this structure.
fn written(
    subject: &Subject<'_>,
    file: &SourceFile,
    body: Node<'_>,
    fields: &BTreeSet<&str>,
) -> bool {
    let changed = subject.file.changed(subject.function);
    let calls = subject.file.text(subject.function);
    descendants(body)
        .into_iter()
        .filter(|node| {
            node.kind() == "field_identifier"
                && node
                    .parent()
                    .is_some_and(|parent| parent.kind() != "function_declarator")
        })
        .map(|node| file.text(node))
        .any(|field| {
            let ends = [format!(".{field}"), format!("->{field}")];
            let assigned = changed
                .iter()
                .any(|one| ends.iter().any(|end| one.ends_with(end.as_str())));
            // Atomic variables are changed by calls.
            let atomic = calls.contains("atomic_")
                || calls.contains(&format!("{field}.fetch_"))
                || calls.contains(&format!("{field}.store"));
            fields.contains(field) && (assigned || atomic)
        })
}

/// Whether arrays or vectors of the structure exist: `struct name x[`, `vector<Name>`, `struct name *`.
fn is_element(subject: &Subject<'_>, index: usize, node: Node<'_>) -> bool {
    let file = &subject.sources.files[index];
    let Some(name) = node.child_by_field_name("name").map(|name| file.text(name)) else {
        return false;
    };
    subject.sources.files.iter().any(|file| {
        descendants(file.root())
            .into_iter()
            .any(|node| match node.kind() {
                "template_argument_list" => file
                    .squashed(node)
                    .split(['<', '>', ','])
                    .any(|one| one == name),
                "array_declarator" => {
                    let outer = crate::source_file::ancestors(node)
                        .find(|one| one.child_by_field_name("type").is_some());
                    let kind = outer.and_then(|outer| outer.child_by_field_name("type"));
                    kind.is_some_and(|kind| {
                        let text = file.squashed(kind);
                        text == name || text == format!("struct {name}")
                    })
                }
                _ => false,
            })
    })
}

#[cfg(test)]
mod tests {
    use crate::test_support::{refused, rewritten};

    const CAUSE: &str = "false-sharing";

    #[test]
    fn element_of_a_vector_is_aligned() {
        let text = "struct Tally {\n    long low = 0;\n};\nstruct W {\n    std::vector<Tally> all;\n    void f(int w) {\n        all[w].low++;\n    }\n};\n";
        let after = rewritten(CAUSE, "a.cc", text, 7);
        assert!(after.starts_with("struct alignas(128) Tally {\n"));
    }

    #[test]
    fn element_of_an_array_gets_a_gap() {
        let text = "struct part {\n    long lines;\n};\nstatic struct part parts[4];\nvoid f(struct part *p) {\n    p->lines++;\n}\n";
        let after = rewritten(CAUSE, "a.c", text, 6);
        assert!(after.contains("    long lines;\n    char separation[128];\n};"));
    }

    #[test]
    fn structures_that_are_not_elements_or_aligned_already_are_refused() {
        refused(
            CAUSE,
            "a.c",
            "struct part {\n    long lines;\n};\nvoid f(struct part *p) {\n    p->lines++;\n}\n",
            5,
        );
        let text = "struct alignas(64) Tally {\n    long low = 0;\n};\nTally all[3];\nvoid f(int w) {\n    all[w].low++;\n}\n";
        refused(CAUSE, "a.cc", text, 6);
    }
}
