//! Arrays and the bound of a loop in local variables, so that a compiler need not load them again and can
//! vectorise.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::{Rewrite, Subject};
use crate::Dialect;
use crate::declarations::own_variables;
use crate::edit::Edit;
use crate::source_file::{DeclaredType, bare, descendants, squash, words};

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
    let unknown = descendants(body)
        .into_iter()
        .find(|node| node.kind() == "call_expression" && !subject.is_pure_call(*node));
    if let Some(call) = unknown {
        return Err(format!(
            "the loop calls `{}`, which may change an array: copy the pointers and the bound into local variables where \
             you know that it does not",
            file.text(call)
        ));
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
    let numbers = numbers(subject, body, &changed);
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
                Dialect::Cpp => format!(
                    "auto *{restrict}{name} = {}{};\n",
                    array.text,
                    container(subject, array.uses[0]).unwrap_or_default()
                ),
            };
            before.push_str(&format!("{deeper}{declaration}"));
            edits.extend(
                array
                    .uses
                    .iter()
                    .map(|node| Edit::replace(node.byte_range(), name.clone())),
            );
        }
        let mut kept: Vec<(String, String)> = Vec::new();
        for node in &numbers {
            let text = file.squashed(*node);
            if kept.iter().all(|(one, _)| *one != text) {
                let base = words(&text).last().unwrap_or("number");
                let mut name = file.fresh_name(&format!("{}_here", base.trim_end_matches('_')));
                while kept.iter().any(|(_, other)| *other == name) {
                    name.push('_');
                }
                let kind = format!("__typeof__({text} + 0)");
                before.push_str(&format!("{deeper}const {kind} {name} = {text};\n"));
                kept.push((text.clone(), name));
            }
            let name = kept.iter().find(|(one, _)| *one == text);
            edits.extend(name.map(|(_, name)| Edit::replace(node.byte_range(), name.as_str())));
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
            Dialect::Cpp => container(subject, base).is_some(),
        };
        if !wanted || !subject.is_pure(base) {
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

/// How the elements of what is indexed are pointed to: the vectors and arrays of the library by `data()`, pointers that
/// are fields by themselves.
fn container(subject: &Subject<'_>, base: Node<'_>) -> Option<&'static str> {
    let kind = subject.type_of(base)?;
    let specifiers = squash(&kind.specifiers);
    let library = ["vector<", "array<", "span<"].iter().any(|name| {
        specifiers
            .trim_start_matches("const ")
            .trim_start_matches("std::")
            .starts_with(name)
    });
    match () {
        () if library && !specifiers.contains("vector<bool") => Some(".data()"),
        () if kind.pointers == 1 && !library && base.kind() == "field_expression" => Some(""),
        () => None,
    }
}

/// Numbers in memory that the loop reads and leaves as they are: fields, and references that are parameters.
fn numbers<'a>(subject: &Subject<'a>, body: Node<'a>, changed: &BTreeSet<String>) -> Vec<Node<'a>> {
    let file = subject.file;
    let own = own_variables(file, subject.function);
    descendants(body)
        .into_iter()
        .filter(|node| {
            let memory = match node.kind() {
                "field_expression" => !node.parent().is_some_and(|parent| {
                    // Not the array of an element, a method, or a part of a longer field.
                    matches!(
                        parent.kind(),
                        "subscript_expression" | "field_expression" | "call_expression"
                    )
                }),
                "identifier" => own.get(file.text(*node)).is_some_and(|one| one.refers),
                _ => false,
            };
            let stays = !changed.contains(&file.squashed(*node))
                && !words(file.text(*node)).any(|word| changed.contains(word));
            let number = subject
                .type_of(*node)
                .is_some_and(|kind| subject_number(&kind));
            memory && stays && number && subject.is_pure(*node)
        })
        .collect()
}

/// Whether a type is that of a number; a reference counts as a level.
fn subject_number(kind: &DeclaredType) -> bool {
    let plain = DeclaredType {
        pointers: 0,
        ..kind.clone()
    };
    kind.pointers <= 1 && (plain.is_integer() || plain.is_float())
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
    fn vectors_in_fields_and_numbers_in_memory_become_local() {
        let text = "struct Plane { std::vector<uint16_t> px; int w, h; };\nvoid f(Plane &dst, const Plane &src, const int &k) {\n    for (int i = 0; i < dst.w * dst.h; i++)\n        dst.px[i] = static_cast<uint16_t>(src.px[i] >> k);\n}\n";
        let after = all_rewritten(CAUSE, &[("a.cc", text)], 4)[0][0].clone();
        assert!(after.contains("auto *px_at = dst.px.data();"), "{after}");
        assert!(
            after.contains("const __typeof__(k + 0) k_here = k;"),
            "{after}"
        );
        assert!(
            after.contains("px_at[i] = static_cast<uint16_t>(px_at1[i] >> k_here);"),
            "{after}"
        );
    }

    #[test]
    fn calls_and_changing_arrays_are_refused() {
        let text = "void f(struct p *a, int n) {\n    for (int i = 0; i < n; i++)\n        a->px[i] = g(a);\n}\n";
        refused(CAUSE, "a.c", text, 3);
        let text = "void f(struct p *a, int n) {\n    for (int i = 0; i < n; i++, a++)\n        a->px[i] = 1;\n}\n";
        refused(CAUSE, "a.c", text, 3);
    }
}
