//! Whether a loop leaves the length of a string as it is. Pure.

use tree_sitter::Node;

use super::Subject;
use super::hoisted_call::{stores, unknown_call};
use super::one_division::is_conditional;
use crate::effects::plain_name;
use crate::source_file::{SourceFile, ancestors, bare, descendants, words};

/// Whether a string's length stays the same in a loop.
pub(super) fn text_stays(
    subject: &Subject<'_>,
    outer: Node<'_>,
    call: Node<'_>,
    arguments: Node<'_>,
) -> Result<Vec<String>, String> {
    let file = subject.file;
    let string = arguments
        .named_child(0)
        .map(bare)
        .ok_or("a call without arguments")?;
    let name = file.text(string);
    let declared = match string.kind() {
        "identifier" => file.declared_type(subject.function, name),
        _ => None,
    };
    let Some(declared) = declared else {
        return Err(format!(
            "{name} is neither a parameter nor a local variable"
        ));
    };
    // A null pointer may be tested before the call.
    let condition = outer.child_by_field_name("condition");
    let tested = condition.is_some_and(|condition| {
        condition.byte_range().contains(&call.start_byte()) && !is_conditional(call, condition)
    });
    if !tested {
        return Err(format!("{} is not always evaluated", file.text(call)));
    }
    let read_only = words(&declared.specifiers).any(|word| word == "const");
    if !read_only && let Some(other) = unknown_call(subject, outer) {
        return Err(format!("{other}() may change {name}"));
    }
    let mut assumes = Vec::new();
    if read_only && let Some(other) = unknown_call(subject, outer) {
        assumes.push(format!("{other}() does not change the string {name}"));
    }
    for store in stores(file, outer) {
        let target = store
            .child_by_field_name("left")
            .or_else(|| store.child_by_field_name("argument"));
        let Some(target) = target.map(bare) else {
            continue;
        };
        let base = base_name(file, target);
        if base == name || points_into(subject, outer, base, name) {
            let value = store.child_by_field_name("right");
            let stays = match file.operator(store) {
                "=" => value.is_some_and(|value| is_not_zero(file, value, outer, target)),
                "|=" => value
                    .and_then(|value| constant(file, value))
                    .is_some_and(|by| by != 0),
                "+=" => stays_in_range(file, store, target, 1),
                "-=" => stays_in_range(file, store, target, -1),
                _ => false,
            };
            if !stays {
                return Err(format!("the loop stores into {name} what may be its end"));
            }
        } else if target.kind() != "identifier" {
            let text = format!("{base} does not point into the string {name}");
            if !assumes.contains(&text) {
                assumes.push(text);
            }
        }
    }
    Ok(assumes)
}

/// The variable at the bottom of an expression for a place in memory.
fn base_name<'a>(file: &'a SourceFile, mut node: Node<'_>) -> &'a str {
    while let Some(inner) = node.child_by_field_name("argument") {
        node = bare(inner);
    }
    file.text(node)
}

/// Whether a value stored into a string that has not ended cannot be its end.
fn is_not_zero(file: &SourceFile, value: Node<'_>, outer: Node<'_>, target: Node<'_>) -> bool {
    let value = bare(value);
    match value.kind() {
        "char_literal" => !matches!(file.text(value), "'\\0'" | "'\\x00'" | "'\\000'" | "'\\x0'"),
        "cast_expression" => value
            .child_by_field_name("value")
            .is_some_and(|inner| is_not_zero(file, inner, outer, target)),
        "conditional_expression" => ["consequence", "alternative"].iter().all(|arm| {
            value
                .child_by_field_name(arm)
                .is_some_and(|inner| is_not_zero(file, inner, outer, target))
        }),
        "call_expression" => {
            let name = value
                .child_by_field_name("function")
                .map(|one| file.squashed(one));
            name.is_some_and(|name| matches!(plain_name(&name), "tolower" | "toupper"))
        }
        "identifier" => holds(file, file.text(value), outer, target),
        _ => false,
    }
}

/// Whether a variable of the loop only has the character that is stored over: it was before the end.
fn holds(file: &SourceFile, name: &str, outer: Node<'_>, target: Node<'_>) -> bool {
    let place = file.squashed(target);
    let mut loaded = false;
    for node in descendants(outer) {
        let named = |field| {
            node.child_by_field_name(field)
                .is_some_and(|one| file.text(one) == name)
        };
        match node.kind() {
            "init_declarator" if named("declarator") => {
                let mut value = node.child_by_field_name("value").map(bare);
                while let Some(cast) = value.filter(|one| one.kind() == "cast_expression") {
                    value = cast.child_by_field_name("value").map(bare);
                }
                loaded = value.is_some_and(|value| file.squashed(value) == place);
            }
            "assignment_expression" if named("left") => return false,
            "update_expression" | "pointer_expression" if named("argument") => return false,
            _ => {}
        }
    }
    loaded
}

/// Whether a pointer is one into the string: the function sets it from the string's name.
fn points_into(subject: &Subject<'_>, outer: Node<'_>, pointer: &str, name: &str) -> bool {
    let file = subject.file;
    let set = |node: Node<'_>, place: &str, value: &str| {
        let place = node.child_by_field_name(place);
        let value = node.child_by_field_name(value);
        place.is_some_and(|place| words(file.text(place)).last() == Some(pointer))
            && value.is_some_and(|value| words(file.text(value)).any(|word| word == name))
    };
    descendants(subject.function)
        .into_iter()
        .filter(|node| node.start_byte() < outer.end_byte())
        .any(|node| match node.kind() {
            "init_declarator" => set(node, "declarator", "value"),
            "assignment_expression" => set(node, "left", "right"),
            _ => false,
        })
}

/// The value of an expression of numbers and characters.
fn constant(file: &SourceFile, node: Node<'_>) -> Option<i64> {
    let node = bare(node);
    let text = file.text(node);
    match node.kind() {
        "number_literal" => text.parse().ok(),
        "char_literal" => {
            let inner = text.strip_prefix('\'')?.strip_suffix('\'')?;
            let mut letters = inner.chars();
            let letter = letters.next().filter(char::is_ascii)?;
            (letter != '\\' && letters.next().is_none()).then(|| i64::from(u32::from(letter)))
        }
        "binary_expression" => {
            let left = constant(file, node.child_by_field_name("left")?)?;
            let right = constant(file, node.child_by_field_name("right")?)?;
            match file.operator(node) {
                "+" => left.checked_add(right),
                "-" => left.checked_sub(right),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether `*p -= 'a' - 'A'` cannot store a zero, since it stands behind a test like `*p >= 'a' && *p <= 'z'`.
fn stays_in_range(file: &SourceFile, store: Node<'_>, target: Node<'_>, sign: i64) -> bool {
    let by = store
        .child_by_field_name("right")
        .and_then(|value| constant(file, value));
    let Some(by) = by.and_then(|by| by.checked_mul(sign)) else {
        return false;
    };
    let mut inner = store;
    for test in ancestors(store) {
        let arm = test.child_by_field_name("consequence") == Some(inner);
        inner = test;
        let condition = test.child_by_field_name("condition").map(bare);
        let (true, Some(condition)) = (arm && test.kind() == "if_statement", condition) else {
            continue;
        };
        let place = file.squashed(target);
        let limit = |operator: &str, offset: i64| {
            descendants(condition).into_iter().find_map(|one| {
                let left = one.child_by_field_name("left")?;
                let right = one.child_by_field_name("right")?;
                let fits = one.kind() == "binary_expression"
                    && file.operator(one) == operator
                    && file.squashed(bare(left)) == place;
                fits.then(|| constant(file, right))
                    .flatten()?
                    .checked_add(offset)
            })
        };
        let low = limit(">=", 0).or_else(|| limit(">", 1));
        let high = limit("<=", 0).or_else(|| limit("<", -1));
        let either = descendants(condition)
            .into_iter()
            .any(|one| file.operator(one) == "||" || file.operator(one) == "!");
        if let (Some(low), Some(high), false) = (low, high, either) {
            // Within the values of a byte, so that nothing wraps to zero.
            let (first, last) = (low + by, high + by);
            return first <= last && first > 0 && last <= 127
                || first < 0 && last < 0 && first >= -128;
        }
    }
    false
}
