//! Fields that are used together, side by side at the beginning of their structure.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::{Rewrite, Subject};
use crate::edit::Edit;
use crate::source_file::{SourceFile, descendants};

/// Fewest fields that are grouped.
const MIN_FIELDS: usize = 2;

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let file = subject.file;
    let used: BTreeSet<&str> = descendants(subject.function)
        .into_iter()
        .filter(|node| node.kind() == "field_expression" || node.kind() == "identifier")
        .filter_map(|node| match node.kind() {
            "field_expression" => node.child_by_field_name("field"),
            // Members of the own class.
            _ => Some(node),
        })
        .map(|field| file.text(field))
        .collect();
    let mut best: Option<(usize, Node<'_>, usize)> = None;
    for (index, one) in subject.sources.files.iter().enumerate() {
        for node in descendants(one.root()) {
            let record = matches!(node.kind(), "struct_specifier" | "class_specifier");
            let Some(body) = node.child_by_field_name("body").filter(|_| record) else {
                continue;
            };
            let hits = fields(body)
                .iter()
                .filter(|field| names(one, **field).iter().any(|name| used.contains(name)))
                .count();
            if hits >= MIN_FIELDS && best.is_none_or(|(_, _, most)| hits > most) {
                best = Some((index, node, hits));
            }
        }
    }
    let (index, record, _) =
        best.ok_or("no structure in the sources has two of the fields that its function uses")?;
    let home = &subject.sources.files[index];
    let name = record
        .child_by_field_name("name")
        .map(|name| home.text(name))
        .ok_or("the structure has no name")?;
    let body = record
        .child_by_field_name("body")
        .ok_or("the structure has no body")?;
    refuse_fixed_layout(subject, home, record, name)?;
    let all = fields(body);
    // Without anything between them that has a meaning of its own.
    let (first, last) = all
        .first()
        .zip(all.last())
        .ok_or("the structure has no fields")?;
    let mut cursor = body.walk();
    let foreign = body.named_children(&mut cursor).any(|node| {
        node.start_byte() > first.start_byte()
            && node.end_byte() < last.end_byte()
            && !all.contains(&node)
    });
    if foreign {
        return Err(format!(
            "something else stands between the fields of {name}"
        ));
    }
    let dependent = all.iter().any(|field| {
        let value = field.child_by_field_name("default_value");
        value.is_some_and(|value| {
            descendants(value)
                .iter()
                .any(|node| node.kind() == "identifier")
        })
    });
    if dependent {
        return Err(format!(
            "the fields of {name} are initialised from other names"
        ));
    }
    let hot = |field: &&Node<'_>| names(home, **field).iter().any(|name| used.contains(name));
    let order: Vec<&Node<'_>> = all
        .iter()
        .filter(hot)
        .chain(all.iter().filter(|field| !hot(field)))
        .collect();
    if order.iter().zip(&all).all(|(one, two)| **one == *two) {
        return Err(format!(
            "the fields of {name} that its function uses stand side by side already"
        ));
    }
    // Each place gets another field's text.
    let edits = order
        .iter()
        .zip(&all)
        .filter(|(new, old)| ***new != **old)
        .map(|(new, old)| Edit::replace(old.byte_range(), home.text(**new)))
        .collect();
    Ok(vec![Rewrite {
        title: format!("put the fields of {name} that are used together first"),
        assumes: vec![format!(
            "no file and no other program depends on the order of the fields of {name}"
        )],
        edits: vec![(index, edits)],
    }])
}

/// Declarations of fields, without functions.
fn fields(body: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = body.walk();
    body.named_children(&mut cursor)
        .filter(|node| node.kind() == "field_declaration")
        .filter(|node| {
            !descendants(*node).iter().any(|one| {
                one.kind() == "function_declarator" || one.kind() == "storage_class_specifier"
            })
        })
        .collect()
}

/// Names that a declaration declares.
fn names<'a>(file: &'a SourceFile, field: Node<'_>) -> Vec<&'a str> {
    let mut cursor = field.walk();
    let mut names = Vec::new();
    for declarator in field.children_by_field_name("declarator", &mut cursor) {
        let identifiers = descendants(declarator)
            .into_iter()
            .filter(|node| node.kind() == "field_identifier");
        names.extend(identifiers.map(|node| file.text(node)));
    }
    names
}

/// Layouts that something relies on: positional initialisers, packed structures, bit fields, offsets.
fn refuse_fixed_layout(
    subject: &Subject<'_>,
    home: &SourceFile,
    record: Node<'_>,
    name: &str,
) -> Result<(), String> {
    let text = home.text(record);
    let special = ["packed", "union", "#", "alignas", "_Alignas"];
    if special.iter().any(|word| text.contains(word))
        || descendants(record)
            .iter()
            .any(|node| node.kind() == "bitfield_clause")
    {
        return Err(format!("{name} has a layout of its own"));
    }
    let kinds = [name.to_owned(), format!("struct {name}")];
    for file in &subject.sources.files {
        if !file.source().contains(name) {
            continue;
        }
        if file.source().contains("offsetof") || file.source().contains("pragma pack") {
            return Err(format!("{} speaks of the layout of structures", file.path));
        }
        for node in descendants(file.root()) {
            let kind = node
                .child_by_field_name("type")
                .map(|kind| file.squashed(kind));
            if !kind.is_some_and(|kind| {
                kinds.contains(&kind) || kinds.iter().any(|one| kind == format!("const {one}"))
            }) {
                continue;
            }
            let positional = descendants(node).into_iter().any(|list| {
                list.kind() == "initializer_list"
                    && list.named_child(0).is_some_and(|value| {
                        let first = value.kind();
                        first != "initializer_pair"
                            && !(list.named_child_count() == 1 && file.text(value) == "0")
                    })
            });
            if positional {
                return Err(format!("{} initialises {name} by position", file.path));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::test_support::{refused, rewritten};

    const CAUSE: &str = "field-order";
    const FLOW: &str = "struct flow {\n    int key;\n    char name[72];\n    long packets, dropped;\n    char label[56];\n    long bytes;\n};\n";

    #[test]
    fn used_fields_come_first() {
        let text = format!(
            "{FLOW}void f(struct flow *f) {{\n    f->packets++;\n    f->bytes += f->key;\n}}\n"
        );
        let after = rewritten(CAUSE, "a.c", &text, 9);
        assert!(after.starts_with("struct flow {\n    int key;\n    long packets, dropped;\n    long bytes;\n    char name[72];\n    char label[56];\n};\n"), "{after}");
    }

    #[test]
    fn fixed_layouts_are_refused() {
        let code = "void f(struct flow *f) {\n    f->packets++;\n    f->bytes++;\n}\n";
        refused(
            CAUSE,
            "a.c",
            &format!("{FLOW}struct flow one = {{1, \"x\"}};\n{code}"),
            10,
        );
        refused(
            CAUSE,
            "a.c",
            &format!("{FLOW}int at = offsetof(struct flow, bytes);\n{code}"),
            10,
        );
        let packed = FLOW.replace("};", "} __attribute__((packed));");
        refused(CAUSE, "a.c", &format!("{packed}{code}"), 9);
        refused(
            CAUSE,
            "a.c",
            "struct p { int x; int y; };\nvoid f(struct p *p) {\n    p->x = p->y;\n}\n",
            3,
        );
    }
}
