//! Calls whose result is the same in all iterations of a loop, made once before it.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::string_stays::text_stays;
use super::{Rewrite, Subject};
use crate::Dialect;
use crate::edit::Edit;
use crate::effects::{Effect, OF_NUMBERS, plain_name, without_precision};
use crate::source_file::{SourceFile, bare, descendants, words};

/// Functions of the text that an argument points to.
pub(super) const OF_TEXT: [&str; 2] = ["strlen", "wcslen"];
/// Functions that change no memory that exists before the call, or that a program reads.
const LEAVE_MEMORY: [&str; 12] = [
    "malloc", "calloc", "strdup", "printf", "fprintf", "puts", "fputs", "putchar", "putc",
    "fwrite", "exit", "abort",
];

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let mut loops = subject.loops();
    loops.reverse();
    let mut reasons = BTreeSet::new();
    for outer in loops {
        let mut hoisted: Vec<Hoisted<'_>> = Vec::new();
        for call in calls_in(subject, outer) {
            match invariant(subject, outer, call) {
                Ok(Invariant {
                    assumes,
                    when_needed,
                }) => hoisted.push(Hoisted {
                    call,
                    assumes,
                    when_needed,
                }),
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
            Err("no loop at its lines calls a function that is known to have no effect: where you know that one has \
                 none, call it before the loop"
                .to_owned())
        }
        false => Err(reasons.into_iter().collect::<Vec<_>>().join("; ")),
    }
}

struct Hoisted<'a> {
    call: Node<'a>,
    assumes: Vec<String>,
    when_needed: bool,
}

/// Calls in what a loop repeats, of functions that are known to change nothing.
fn calls_in<'a>(subject: &Subject<'a>, outer: Node<'a>) -> Vec<Node<'a>> {
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
        .filter(|node| worth_keeping(subject, *node))
        .collect()
}

/// Whether a call is one of a function of numbers or text, or of a function of the sources that changes nothing.
pub(super) fn worth_keeping(subject: &Subject<'_>, call: Node<'_>) -> bool {
    let Some(function) = call.child_by_field_name("function") else {
        return false;
    };
    let whole = subject.file.squashed(function);
    let name = plain_name(&whole);
    let own = subject.effects.of_defined(name);
    match own {
        Some(effect) => effect < Effect::Changes,
        None => OF_NUMBERS.contains(&without_precision(name)) || OF_TEXT.contains(&name),
    }
}

/// How a call's result is kept.
struct Invariant {
    assumes: Vec<String>,
    /// It is called where it is needed first, since it reads memory that may not be there before.
    when_needed: bool,
}

/// Whether a call has the same result in all iterations; what that assumes, or why not.
fn invariant(subject: &Subject<'_>, outer: Node<'_>, call: Node<'_>) -> Result<Invariant, String> {
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
    let name = file.squashed(function);
    let effect = subject.effects.of_defined(plain_name(&name));
    // A function of the sources that reads memory: which, is not said by its arguments.
    let mut in_memory =
        (effect == Some(Effect::Reads)).then(|| format!("what {} reads", plain_name(&name)));
    // Of a member function the object is an operand, too.
    let object = function.child_by_field_name("argument");
    let operands = object.into_iter().chain([arguments]);
    for node in operands.flat_map(descendants) {
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
            "call_expression" if !subject.is_pure_call(node) => {
                return Err(format!(
                    "{shown} has a call among its arguments that may have an effect"
                ));
            }
            "assignment_expression" | "update_expression" | "lambda_expression" | "ERROR" => {
                return Err(format!("the arguments of {shown} have an effect"));
            }
            _ => {}
        }
    }
    let own = effect.is_some();
    if !own && OF_TEXT.contains(&plain_name(&name)) {
        assumes.extend(text_stays(subject, outer, call, arguments)?);
    } else if let Some(place) = in_memory {
        if let Some(other) = unknown_call(subject, outer) {
            return Err(format!("{other}() may change {place}"));
        }
        if stores(file, outer).next().is_some() {
            assumes.push(format!("the stores of the loop do not change {place}"));
        }
    }
    Ok(Invariant {
        assumes,
        when_needed: own && effect != Some(Effect::Nothing),
    })
}

/// A call in the loop that may change memory.
pub(super) fn unknown_call(subject: &Subject<'_>, code: Node<'_>) -> Option<String> {
    let file = subject.file;
    descendants(code)
        .into_iter()
        .filter(|node| node.kind() == "call_expression" && !subject.is_pure_call(*node))
        .filter_map(|node| node.child_by_field_name("function"))
        .map(|function| file.squashed(function))
        .find(|name| !LEAVE_MEMORY.contains(&plain_name(name)))
}

/// What the loop assigns to through a pointer or an index: base and place.
pub(super) fn stores<'a>(file: &'a SourceFile, outer: Node<'a>) -> impl Iterator<Item = Node<'a>> {
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

/// Variables for a result that is computed when it is needed first.
pub(super) fn kept(file: &SourceFile, call: &str, name: &str, indent: &str) -> String {
    let (start, known) = match file.dialect {
        Dialect::C => ("", "int"),
        Dialect::Cpp => ("{}", "bool"),
    };
    format!("__typeof__({call}) {name}{start};\n{indent}{known} {name}_known = 0;\n{indent}")
}

/// The result where it is known, else the call, which is then remembered.
pub(super) fn when_needed(call: &str, name: &str) -> String {
    format!("({name}_known ? {name} : ({name}_known = 1, {name} = {call}))")
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
            let plain = without_precision(plain_name(&function));
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
            before.push_str(&match one.when_needed {
                true => kept(file, text, &name, indent),
                false => format!("const {kind} {name} = {text};\n{indent}"),
            });
            names.push((text.to_owned(), name.clone()));
            name
        });
        let use_of = match one.when_needed {
            true => when_needed(text, &name),
            false => name,
        };
        edits.push(Edit::replace(one.call.byte_range(), use_of));
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
    let when = match calls.iter().any(|one| one.when_needed) {
        true => "in the loop",
        false => "before the loop",
    };
    let title = format!("call {} once {when}", texts.join(" and "));
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
    fn function_of_the_sources_without_effect_is_called_when_it_is_needed() {
        let rate = "static double rate(const struct c *c) { double r = 0; for (int i = 0; i < c->n; i++) r += c->v[i]; return r; }\n";
        let text = format!(
            "{rate}double f(const struct c *c, const double *v, int n) {{\n    double s = 0;\n    for (int i = 0; i < n; i++)\n        s += v[i] * rate(c);\n    return s;\n}}\n"
        );
        let after = rewritten(CAUSE, "a.c", &text, 5);
        assert!(
            after.contains(
                "    __typeof__(rate(c)) rate_once;\n    int rate_once_known = 0;\n    for"
            ),
            "{after}"
        );
        assert!(after.contains("s += v[i] * (rate_once_known ? rate_once : (rate_once_known = 1, rate_once = rate(c)));"), "{after}");
        refused(
            CAUSE,
            "a.c",
            &text.replace("double r = 0;", "double r = 0; calls++;"),
            5,
        );
        refused(CAUSE, "a.c", &text.replace("rate(c);\n", "rate(c++);\n"), 5);
    }

    #[test]
    fn field_that_an_unknown_call_may_change_is_refused() {
        let text = "void f(struct s *s, int n) {\n    for (int i = 0; i < n; i++)\n        s->v[i] = exp(s->e) + next(s);\n}\n";
        refused(CAUSE, "a.c", text, 3);
    }
}
