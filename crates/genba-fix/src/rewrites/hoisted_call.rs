//! Calls whose result is the same in all iterations of a loop, made once before it.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::one_division::is_conditional;
use super::{Rewrite, Subject};
use crate::Dialect;
use crate::edit::Edit;
use crate::source_file::{SourceFile, bare, descendants, words};

/// Functions of numbers that read and write no memory that a program looks at (`errno` apart).
const OF_NUMBERS: [&str; 38] = [
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "copysign", "cos",
    "cosh", "erf", "erfc", "exp", "exp2", "expm1", "fabs", "floor", "fma", "fmax", "fmin", "fmod",
    "hypot", "ldexp", "lgamma", "log", "log10", "log1p", "log2", "pow", "round", "sin", "sinh",
    "sqrt", "tan", "tanh", "trunc",
];
/// Functions of the text that an argument points to.
const OF_TEXT: [&str; 2] = ["strlen", "wcslen"];
/// Functions that change no text.
const CHANGE_NOTHING: [&str; 20] = [
    "isalnum", "isalpha", "isblank", "iscntrl", "isdigit", "isgraph", "islower", "isprint",
    "ispunct", "isspace", "isupper", "isxdigit", "tolower", "toupper", "strlen", "strchr",
    "strcmp", "strncmp", "memcmp", "abs",
];

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let mut loops = subject.loops();
    loops.reverse();
    let mut reasons = BTreeSet::new();
    for outer in loops {
        let mut hoisted: Vec<Hoisted<'_>> = Vec::new();
        for call in calls_in(subject.file, outer) {
            match invariant(subject, outer, call) {
                Ok(assumes) => hoisted.push(Hoisted { call, assumes }),
                Err(reason) => {
                    reasons.insert(reason);
                }
            }
        }
        // A call among the arguments of another goes with it.
        let outermost = |one: &Hoisted<'_>| {
            !(hoisted.iter()).any(|other| {
                other.call != one.call && other.call.byte_range().contains(&one.call.start_byte())
            })
        };
        let calls: Vec<&Hoisted<'_>> = hoisted.iter().filter(|one| outermost(one)).collect();
        if !calls.is_empty() {
            return Ok(vec![hoist(subject, outer, &calls)]);
        }
    }
    match reasons.is_empty() {
        true => {
            Err("no loop at its lines calls a function that is known to have no effect".to_owned())
        }
        false => Err(reasons.into_iter().collect::<Vec<_>>().join("; ")),
    }
}

struct Hoisted<'a> {
    call: Node<'a>,
    assumes: Vec<String>,
}

/// A function's name without `std::` and the suffix of another precision.
fn plain_name(name: &str) -> &str {
    let name = name.rsplit("::").next().unwrap_or(name);
    match name.strip_suffix(['f', 'l']) {
        Some(base) if OF_NUMBERS.contains(&base) => base,
        _ => name,
    }
}

/// Calls of known functions in what a loop repeats.
fn calls_in<'a>(file: &SourceFile, outer: Node<'a>) -> Vec<Node<'a>> {
    let initializer = outer.child_by_field_name("initializer");
    let sequence = (outer.kind() == "for_range_loop")
        .then(|| outer.child_by_field_name("right"))
        .flatten();
    let once = |node: &Node<'_>| {
        [initializer, sequence]
            .iter()
            .flatten()
            .any(|part| part.byte_range().contains(&node.start_byte()))
    };
    descendants(outer)
        .into_iter()
        .filter(|node| node.kind() == "call_expression" && !once(node))
        .filter(|node| {
            let name = node
                .child_by_field_name("function")
                .map(|one| file.squashed(one));
            name.is_some_and(|name| {
                let name = plain_name(&name);
                OF_NUMBERS.contains(&name) || OF_TEXT.contains(&name)
            })
        })
        .collect()
}

/// Whether a call has the same result in all iterations; what that assumes, or why not.
fn invariant(
    subject: &Subject<'_>,
    outer: Node<'_>,
    call: Node<'_>,
) -> Result<Vec<String>, String> {
    let file = subject.file;
    let shown = file.text(call);
    let arguments = call
        .child_by_field_name("arguments")
        .ok_or("a call without arguments")?;
    let function = call
        .child_by_field_name("function")
        .ok_or("a call without a name")?;
    let changed = file.changed(outer);
    let mut assumes = Vec::new();
    let mut in_memory = None;
    for node in descendants(arguments) {
        match node.kind() {
            "identifier" => {
                let name = file.text(node);
                let called = node
                    .parent()
                    .is_some_and(|parent| parent.kind() == "call_expression");
                if called {
                    continue;
                }
                if changed.iter().any(|one| {
                    one == name || words(one).next() == Some(name) && one.contains(['.', '>'])
                }) {
                    return Err(format!(
                        "{shown} depends on {name}, which changes in the loop"
                    ));
                }
                let constant = !name.contains(char::is_lowercase);
                let local = file.declared_type(subject.function, name).is_some();
                if !constant && !local && in_memory.is_none() {
                    in_memory = Some(name.to_owned());
                }
            }
            "field_expression" | "subscript_expression" | "pointer_expression" => {
                let text = file.squashed(node);
                if changed.contains(&text) {
                    return Err(format!(
                        "{shown} depends on {text}, which changes in the loop"
                    ));
                }
                in_memory = Some(text);
            }
            "call_expression" => {
                let name = node
                    .child_by_field_name("function")
                    .map(|one| file.squashed(one));
                let known = name.is_some_and(|name| OF_NUMBERS.contains(&plain_name(&name)));
                if !known {
                    return Err(format!(
                        "{shown} has a call among its arguments that may have an effect"
                    ));
                }
            }
            "assignment_expression" | "update_expression" | "lambda_expression" | "ERROR" => {
                return Err(format!("the arguments of {shown} have an effect"));
            }
            _ => {}
        }
    }
    let name = file.squashed(function);
    if OF_TEXT.contains(&plain_name(&name)) {
        assumes.extend(text_stays(subject, outer, call, arguments)?);
    } else if let Some(place) = in_memory {
        if let Some(other) = unknown_call(file, outer) {
            return Err(format!("{other}() may change {place}"));
        }
        if stores(file, outer).next().is_some() {
            assumes.push(format!("the stores of the loop do not change {place}"));
        }
    }
    Ok(assumes)
}

/// A call in the loop that may change memory.
fn unknown_call(file: &SourceFile, outer: Node<'_>) -> Option<String> {
    let known = |name: &String| {
        let name = plain_name(name);
        OF_NUMBERS.contains(&name) || CHANGE_NOTHING.contains(&name)
    };
    file.calls(outer).into_iter().find(|name| !known(name))
}

/// What the loop assigns to through a pointer or an index: base and place.
fn stores<'a>(file: &'a SourceFile, outer: Node<'a>) -> impl Iterator<Item = Node<'a>> {
    descendants(outer).into_iter().filter_map(move |node| {
        let target = match node.kind() {
            "assignment_expression" => node.child_by_field_name("left")?,
            "update_expression" => node.child_by_field_name("argument")?,
            _ => return None,
        };
        let target = bare(target);
        let memory = match target.kind() {
            "subscript_expression" | "field_expression" => true,
            "pointer_expression" => file.operator(target) == "*",
            // A reference may stand for what an array holds.
            _ => file.dialect == Dialect::Cpp && target.kind() == "identifier",
        };
        memory.then_some(node)
    })
}

/// Whether a string's length stays the same in a loop.
fn text_stays(
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
    let constant = words(&declared.specifiers).any(|word| word == "const");
    if !constant && let Some(other) = unknown_call(file, outer) {
        return Err(format!("{other}() may change {name}"));
    }
    let mut assumes = Vec::new();
    if constant && let Some(other) = unknown_call(file, outer) {
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
        if base == name {
            let value = store.child_by_field_name("right");
            let plain = file.operator(store) == "=";
            if !plain || !value.is_some_and(|value| is_not_zero(file, value, outer, target)) {
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

fn hoist(subject: &Subject<'_>, outer: Node<'_>, calls: &[&Hoisted<'_>]) -> Rewrite {
    let file = subject.file;
    let indent = file.indent(outer);
    let mut before = String::new();
    let mut edits = Vec::new();
    let mut names: Vec<(String, String)> = Vec::new();
    let mut assumes: Vec<String> = Vec::new();
    for one in calls {
        let text = file.text(one.call);
        let known = names
            .iter()
            .find(|(call, _)| call == text)
            .map(|(_, name)| name.clone());
        let name = known.unwrap_or_else(|| {
            let function = one.call.child_by_field_name("function");
            let function = function.map(|one| file.squashed(one)).unwrap_or_default();
            let plain = plain_name(&function);
            let base = match plain {
                "strlen" | "wcslen" => "length".to_owned(),
                plain => format!("{plain}_once"),
            };
            let mut name = file.fresh_name(&base);
            while names.iter().any(|(_, used)| *used == name) {
                name.push('_');
            }
            let kind = match (file.dialect, plain) {
                (Dialect::Cpp, _) => "auto".to_owned(),
                (Dialect::C, "strlen" | "wcslen") => "size_t".to_owned(),
                (Dialect::C, _) => file.type_of(text),
            };
            before.push_str(&format!("const {kind} {name} = {text};\n{indent}"));
            names.push((text.to_owned(), name.clone()));
            name
        });
        edits.push(Edit::replace(one.call.byte_range(), name));
        for assumption in &one.assumes {
            if !assumes.contains(assumption) {
                assumes.push(assumption.clone());
            }
        }
    }
    let listed = outer
        .parent()
        .is_some_and(|parent| parent.kind() == "compound_statement");
    match listed {
        true => edits.push(Edit::insert(outer.start_byte(), before)),
        false => {
            edits.push(Edit::insert(
                outer.start_byte(),
                format!("{{\n{indent}{before}"),
            ));
            edits.push(Edit::insert(outer.end_byte(), format!("\n{indent}}}")));
        }
    }
    let texts: Vec<&str> = names.iter().map(|(call, _)| call.as_str()).collect();
    let title = format!("call {} once before the loop", texts.join(" and "));
    Rewrite {
        assumes,
        ..subject.rewrite(title, edits)
    }
}

#[cfg(test)]
mod tests {
    use crate::test_support::{refused, rewritten};

    const CAUSE: &str = "loop-invariant-call";

    #[test]
    fn length_of_a_string_is_taken_before_the_loop() {
        let text = "void f(char *text) {\n    for (size_t i = 0; i < strlen(text); i++)\n        \
                    text[i] = (char)tolower(text[i]);\n}\n";
        let after = rewritten(CAUSE, "a.c", text, 2);
        assert!(after.contains(
            "    const size_t length = strlen(text);\n    for (size_t i = 0; i < length; i++)"
        ));
    }

    #[test]
    fn string_that_may_be_cut_in_the_loop_is_refused() {
        for store in ["text[i] = c", "*text = 0", "text[i]--", "cut(text)"] {
            let text = format!(
                "void f(char *text, char c) {{\n    for (int i = 0; i < strlen(text); i++)\n        {store};\n}}\n"
            );
            refused(CAUSE, "a.c", &text, 2);
        }
    }

    #[test]
    fn character_that_was_read_there_does_not_end_the_string() {
        let text = "void f(char *text) {\n    for (int i = 0; i < strlen(text); i++) {\n        char c = text[i];\n        text[i] = c == ' ' ? '-' : (char)c;\n    }\n}\n";
        rewritten(CAUSE, "a.c", text, 2);
        refused(
            CAUSE,
            "a.c",
            &text.replace("char c = text[i];", "char c = text[i + 1];"),
            2,
        );
        refused(
            CAUSE,
            "a.c",
            &text.replace("text[i];\n", "text[i];\n        c = next();\n"),
            2,
        );
    }

    #[test]
    fn pointer_that_advances_is_refused() {
        refused(
            CAUSE,
            "a.c",
            "void f(char *s) {\n    while (strlen(s) > 3)\n        s++;\n}\n",
            2,
        );
    }

    #[test]
    fn pointer_that_is_tested_before_is_refused() {
        let text = "int f(char *s) {\n    int i = 0;\n    while (s && i < strlen(s))\n        i += 2;\n    return i;\n}\n";
        refused(CAUSE, "a.c", text, 3);
    }

    #[test]
    fn calls_of_numbers_are_hoisted_in_cpp() {
        let text = "void f(std::vector<double> &v, const C &c, double e) {\n    for (double &p : v) p = p * std::pow(2.0, e) + std::exp(-c.g);\n}\n";
        let after = rewritten(CAUSE, "a.cc", text, 2);
        assert!(after.contains("    const auto pow_once = std::pow(2.0, e);\n    const auto exp_once = std::exp(-c.g);\n"));
        assert!(after.contains("p = p * pow_once + exp_once;"));
    }

    #[test]
    fn argument_that_changes_in_the_loop_is_refused() {
        let text = "void f(double *v, int n, double e) {\n    for (int i = 0; i < n; i++) {\n        v[i] = exp(e);\n        e += 1;\n    }\n}\n";
        refused(CAUSE, "a.c", text, 3);
        let text = "void f(double *v, int n) {\n    for (int i = 0; i < n; i++)\n        v[i] = exp(v[i]);\n}\n";
        refused(CAUSE, "a.c", text, 3);
    }

    #[test]
    fn field_that_an_unknown_call_may_change_is_refused() {
        let text = "void f(struct s *s, int n) {\n    for (int i = 0; i < n; i++)\n        s->v[i] = exp(s->e) + next(s);\n}\n";
        refused(CAUSE, "a.c", text, 3);
    }
}
