//! Arrays and the bound of a loop in local variables, so that a compiler need not load them again and can
//! vectorise.

use tree_sitter::Node;

use super::{Rewrite, Subject};
use crate::Dialect;
use crate::edit::Edit;
use crate::source_file::{SourceFile, bare, descendants, words};

/// An array that the loop indexes.
struct Array<'a> {
    text: String,
    uses: Vec<Node<'a>>,
    stored: bool,
}

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let file = subject.file;
    let none =
        "no loop at its lines counts up to a bound and indexes arrays that are fields or vectors";
    let outer = subject
        .loops()
        .into_iter()
        .find(|node| node.kind() == "for_statement")
        .ok_or(none)?;
    let condition = outer
        .child_by_field_name("condition")
        .map(bare)
        .ok_or(none)?;
    let body = outer.child_by_field_name("body").ok_or(none)?;
    if file.operator(condition) != "<" {
        return Err(none.to_owned());
    }
    let bound = condition.child_by_field_name("right").ok_or(none)?;
    if let Some(call) = file.calls(body).into_iter().next() {
        return Err(format!("the loop calls {call}, which may change an array"));
    }
    let arrays = arrays(subject, body);
    if arrays.is_empty() {
        return Err(none.to_owned());
    }
    let changed = file.changed(outer);
    let stays =
        |text: &str| !words(text).any(|word| changed.contains(word)) && !changed.contains(text);
    let bound_text = file.text(bound);
    let bound_stays = stays(&file.squashed(bound));
    if !bound_stays || !arrays.iter().all(|array| stays(&array.text)) {
        return Err("the bound or an array changes in the loop".to_owned());
    }
    let stored = arrays
        .iter()
        .filter(|one| one.stored)
        .map(|one| one.text.as_str())
        .next();
    let mut found = Vec::new();
    for restricted in [false, true] {
        let mut edits = Vec::new();
        let indent = file.indent(outer);
        let deeper = format!("{indent}    ");
        let mut before = String::new();
        let count = file.fresh_name("count");
        let local = !matches!(bound.kind(), "identifier" | "number_literal");
        if local {
            before.push_str(&format!(
                "{deeper}const {} {count} = {bound_text};\n",
                file.type_of(bound_text)
            ));
            edits.push(Edit::replace(bound.byte_range(), count));
        }
        for (number, array) in arrays.iter().enumerate() {
            let base = words(&array.text)
                .last()
                .unwrap_or("array")
                .trim_end_matches('_')
                .to_owned();
            let mut name = file.fresh_name(&format!("{base}_at"));
            if arrays[..number]
                .iter()
                .any(|other| words(&other.text).last() == words(&array.text).last())
            {
                name = file.fresh_name(&format!("{base}_at{number}"));
            }
            let restrict = if restricted { "__restrict " } else { "" };
            let declaration = match file.dialect {
                Dialect::C => format!(
                    "__typeof__(&{}[0]) {restrict}{name} = {};\n",
                    array.text, array.text
                ),
                Dialect::Cpp => format!("auto *{restrict}{name} = {}.data();\n", array.text),
            };
            before.push_str(&format!("{deeper}{declaration}"));
            edits.extend(
                array
                    .uses
                    .iter()
                    .map(|node| Edit::replace(node.byte_range(), name.clone())),
            );
        }
        edits.push(Edit::insert(
            outer.start_byte(),
            format!("{{\n{before}{deeper}"),
        ));
        edits.push(Edit::insert(outer.end_byte(), format!("\n{indent}}}")));
        let texts: Vec<&str> = arrays.iter().map(|one| one.text.as_str()).collect();
        let mut assumes: Vec<String> = stored
            .map(|one| format!("the elements of {one} are none of these pointers and bounds"))
            .into_iter()
            .collect();
        if restricted {
            assumes.push(format!("{} do not overlap", texts.join(", ")));
        }
        let with = if restricted {
            "local pointers without overlap (restrict)"
        } else {
            "local pointers"
        };
        found.push(Rewrite {
            assumes,
            ..subject.rewrite(format!("walk {} by {with}", texts.join(", ")), edits)
        });
    }
    Ok(found)
}

/// Arrays by their text: fields in C; vectors, by their declaration, in C++.
fn arrays<'a>(subject: &Subject<'a>, body: Node<'a>) -> Vec<Array<'a>> {
    let file = subject.file;
    let mut arrays: Vec<Array<'a>> = Vec::new();
    for node in descendants(body) {
        if node.kind() != "subscript_expression" {
            continue;
        }
        let Some(base) = node.child_by_field_name("argument") else {
            continue;
        };
        let text = file.squashed(base);
        let wanted = match file.dialect {
            Dialect::C => base.kind() == "field_expression",
            Dialect::Cpp => is_vector(file, base),
        };
        if !wanted || !file.is_pure(base) {
            continue;
        }
        let stored = node.parent().is_some_and(|parent| {
            parent.kind() == "assignment_expression"
                && parent.child_by_field_name("left") == Some(node)
        });
        match arrays.iter_mut().find(|one| one.text == text) {
            Some(one) => {
                one.uses.push(base);
                one.stored |= stored;
            }
            None => arrays.push(Array {
                text,
                uses: vec![base],
                stored,
            }),
        }
    }
    arrays
}

/// Whether a name is declared as a vector in the file.
fn is_vector(file: &SourceFile, base: Node<'_>) -> bool {
    let name = file.text(base);
    descendants(file.root()).into_iter().any(|node| {
        let kinds = ["field_declaration", "parameter_declaration", "declaration"];
        let kind = node
            .child_by_field_name("type")
            .filter(|_| kinds.contains(&node.kind()));
        kind.is_some_and(|kind| {
            file.text(kind).contains("vector<") && !file.text(kind).contains("vector<bool")
        }) && words(
            kind.and_then(|kind| file.source().get(kind.end_byte()..node.end_byte()))
                .unwrap_or_default(),
        )
        .any(|word| word == name)
    })
}

#[cfg(test)]
mod tests {
    use crate::test_support::{all_rewritten, refused};

    const CAUSE: &str = "missed-vectorisation";

    #[test]
    fn fields_and_bound_become_local() {
        let text = "void f(struct p *a, struct p *o) {\n    for (int i = 0; i < o->w * o->h; i++)\n        o->px[i] = a->px[i] >> 1;\n}\n";
        let after = all_rewritten(CAUSE, &[("a.c", text)], 3);
        assert!(
            after[0][0].contains("        const __typeof__(o->w * o->h) count = o->w * o->h;\n")
        );
        assert!(after[0][0].contains("i < count; i++)"));
        assert!(
            after[0][0].contains("px_at[i] = px_at1[i] >> 1;"),
            "{}",
            after[0][0]
        );
        assert!(after[1][0].contains("__typeof__(&o->px[0]) __restrict px_at = o->px;"));
    }

    #[test]
    fn vectors_become_pointers() {
        let text = "void f(const std::vector<float> &raw, std::vector<float> &out) {\n    for (size_t i = 0; i < raw.size(); i++)\n        out[i] = raw[i];\n}\n";
        let after = all_rewritten(CAUSE, &[("a.cc", text)], 3);
        assert!(after[1][0].contains("auto *__restrict out_at = out.data();"));
        assert!(after[0][0].contains("out_at[i] = raw_at[i];"));
    }

    #[test]
    fn calls_and_changing_arrays_are_refused() {
        let text = "void f(struct p *a, int n) {\n    for (int i = 0; i < n; i++)\n        a->px[i] = g(a);\n}\n";
        refused(CAUSE, "a.c", text, 3);
        let text = "void f(struct p *a, int n) {\n    for (int i = 0; i < n; i++, a++)\n        a->px[i] = 1;\n}\n";
        refused(CAUSE, "a.c", text, 3);
    }
}
