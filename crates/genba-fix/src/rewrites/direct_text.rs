//! Text of numbers without the C library's formatted output: the directives that stand in the format as code, the library
//! where there is little room.

use tree_sitter::Node;

use super::{Rewrite, Subject};
use crate::Dialect;
use crate::edit::Edit;
use crate::source_file::SourceFile;

/// Most bytes of a formatted number: 20 digits, a sign, a point and nine places.
const MAX_NUMBER: usize = 32;
/// Widest field that is written directly.
const MAX_WIDTH: usize = 24;
/// Longest text that is formatted into a buffer on the stack before it is written.
const MAX_STACK: usize = 1024;

/// What the generated functions call.
const HELPERS: &str = include_str!("direct_text.c");

/// A directive of a format.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Directive {
    Text(String),
    /// Signed or not, with its C type, width and pad.
    Number {
        kind: &'static str,
        signed: bool,
        width: usize,
        pad: char,
    },
    Hexadecimal {
        kind: &'static str,
        width: usize,
        pad: char,
        upper: bool,
    },
    Letter,
    String,
    Places(usize),
}

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let file = subject.file;
    let mut reason =
        "no call of snprintf, sprintf, printf or fprintf with a literal format stands at its lines"
            .to_owned();
    if file.source().contains("direct_number(") {
        return Err("its file has a function direct_number already".to_owned());
    }
    subject.without_locale()?;
    let mut functions = String::new();
    let mut edits: Vec<Edit> = Vec::new();
    for node in subject.nodes_by_place() {
        if node.kind() != "call_expression" || !subject.is_at_place(node) {
            continue;
        }
        match direct(file, node, &format!("format_text{}", edits.len())) {
            Ok((function, edit)) => {
                functions.push_str(&function);
                edits.push(edit);
            }
            Err(Some(other)) => reason = other,
            Err(None) => {}
        }
    }
    if edits.is_empty() {
        return Err(reason);
    }
    edits.push(Edit::insert(
        subject.before_code(),
        format!("{HELPERS}{functions}"),
    ));
    Ok(vec![Rewrite {
        assumes: vec![
            "floating-point numbers are rounded to the nearest, the rounding of a new process"
                .to_owned(),
            "no text that is put in is longer than 2 GB".to_owned(),
        ],
        ..subject.rewrite(
            "write numbers and text directly instead of by a format",
            edits,
        )
    }])
}

/// The function that does what a call does, and the edit of the call.
fn direct(file: &SourceFile, call: Node<'_>, name: &str) -> Result<(String, Edit), Option<String>> {
    let function = call.child_by_field_name("function").ok_or(None)?;
    let list = call.child_by_field_name("arguments").ok_or(None)?;
    let mut cursor = list.walk();
    let arguments: Vec<Node<'_>> = list
        .named_children(&mut cursor)
        .filter(|one| one.kind() != "comment")
        .collect();
    let plain = file.text(function).trim_start_matches("std::").to_owned();
    let before = match plain.as_str() {
        "snprintf" => 2,
        "sprintf" | "fprintf" => 1,
        "printf" => 0,
        _ => return Err(None),
    };
    let format = arguments
        .get(before)
        .filter(|one| one.kind() == "string_literal")
        .ok_or(None)?;
    let literal = file.text(*format);
    let directives = directives(&literal[1..literal.len() - 1])?;
    let values = &arguments[before + 1..];
    let wanted = directives
        .iter()
        .filter(|one| !matches!(one, Directive::Text(_)))
        .count();
    if wanted != values.len() {
        return Err(None);
    }
    if wanted == 0 {
        return Err(Some(format!("the format of {plain} has no value")));
    }
    let text = generated(&plain, name, literal, &directives, file.dialect);
    let passed: Vec<&str> = arguments[..before]
        .iter()
        .chain(values)
        .map(|one| file.text(*one))
        .collect();
    if text.1 > MAX_STACK && before != 2 {
        return Err(Some("its text may be long".to_owned()));
    }
    let cast = passed.join(", ");
    Ok((
        text.0,
        Edit::replace(call.byte_range(), format!("{name}({cast})")),
    ))
}

/// The directives of a format as written between quotes.
fn directives(format: &str) -> Result<Vec<Directive>, Option<String>> {
    let mut found = Vec::new();
    let mut text = String::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            text.push('%');
            rest = after;
            continue;
        }
        if !text.is_empty() {
            found.push(Directive::Text(std::mem::take(&mut text)));
        }
        let (one, after) = directive(rest).ok_or_else(|| {
            let shown: String = rest.chars().take(6).collect();
            Some(format!("the directive %{shown} is not written directly"))
        })?;
        found.push(one);
        rest = after;
    }
    text.push_str(rest);
    if !text.is_empty() {
        found.push(Directive::Text(text));
    }
    Ok(found)
}

/// A directive without its `%`, and what follows it.
fn directive(text: &str) -> Option<(Directive, &str)> {
    let pad = if text.starts_with('0') { '0' } else { ' ' };
    let text = text.trim_start_matches('0');
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let width: usize = if digits == 0 {
        0
    } else {
        text[..digits].parse().ok()?
    };
    if width > MAX_WIDTH {
        return None;
    }
    let text = &text[digits..];
    if let Some(rest) = text.strip_prefix('.') {
        let places = rest.chars().next()?.to_digit(10)? as usize;
        let rest = rest[1..].strip_prefix('f')?;
        return (width == 0).then_some((Directive::Places(places), rest));
    }
    let lengths = [("ll", 2), ("l", 1), ("z", 3), ("hh", 4), ("h", 5)];
    let (length, rest) = (lengths.iter())
        .find_map(|(prefix, length)| text.strip_prefix(prefix).map(|rest| (*length, rest)))
        .unwrap_or((0, text));
    let letter = rest.chars().next()?;
    let rest = &rest[letter.len_utf8()..];
    let kind = |signed| {
        Some(match (length, signed) {
            (0, true) => "int",
            (0, false) => "unsigned",
            (1, true) => "long",
            (1, false) => "unsigned long",
            (2, true) => "long long",
            (2, false) => "unsigned long long",
            (3, false) => "size_t",
            _ => return None,
        })
    };
    Some(match letter {
        'd' | 'i' => (
            Directive::Number {
                kind: kind(true)?,
                signed: true,
                width,
                pad,
            },
            rest,
        ),
        'u' => (
            Directive::Number {
                kind: kind(false)?,
                signed: false,
                width,
                pad,
            },
            rest,
        ),
        'x' | 'X' => (
            Directive::Hexadecimal {
                kind: kind(false)?,
                width,
                pad,
                upper: letter == 'X',
            },
            rest,
        ),
        'c' if width == 0 && length == 0 => (Directive::Letter, rest),
        's' if width == 0 && length == 0 => (Directive::String, rest),
        'f' if width == 0 && length == 0 => (Directive::Places(6), rest),
        _ => return None,
    })
}

/// Bytes of a text with escapes, at most.
fn bytes(text: &str) -> usize {
    text.len()
}

/// A function that does what a call of `plain` does, and the most bytes of its text apart from strings.
fn generated(
    plain: &str,
    name: &str,
    literal: &str,
    directives: &[Directive],
    dialect: Dialect,
) -> (String, usize) {
    let (mut parameters, mut values, mut code, mut lengths) =
        (Vec::new(), Vec::new(), String::new(), String::new());
    let mut most = 1;
    for directive in directives {
        let value = format!("v{}", parameters.len());
        match directive {
            Directive::Text(text) => {
                most += bytes(text);
                code.push_str(&format!("    memcpy(at, \"{text}\", sizeof \"{text}\" - 1), at += sizeof \"{text}\" - 1;\n"));
                continue;
            }
            Directive::Number {
                kind,
                signed,
                width,
                pad,
            } => {
                parameters.push(format!("{kind} {value}"));
                let (size, negative) = match signed {
                    true => (
                        format!(
                            "{value} < 0 ? 0 - (unsigned long long){value} : (unsigned long long){value}"
                        ),
                        format!("{value} < 0"),
                    ),
                    false => (value.clone(), "0".to_owned()),
                };
                code.push_str(&format!(
                    "    at = direct_number(at, {size}, {negative}, {width}, '{pad}');\n"
                ));
            }
            Directive::Hexadecimal {
                kind,
                width,
                pad,
                upper,
            } => {
                parameters.push(format!("{kind} {value}"));
                let letters = if *upper {
                    "0123456789ABCDEF"
                } else {
                    "0123456789abcdef"
                };
                code.push_str(&format!(
                    "    at = direct_hexadecimal(at, {value}, {width}, '{pad}', \"{letters}\");\n"
                ));
            }
            Directive::Letter => {
                parameters.push(format!("int {value}"));
                code.push_str(&format!("    *at++ = (char){value};\n"));
            }
            Directive::String => {
                parameters.push(format!("const char *{value}"));
                lengths.push_str(&format!("    const size_t n{value} = strlen({value});\n"));
                code.push_str(&format!(
                    "    memcpy(at, {value}, n{value}), at += n{value};\n"
                ));
            }
            Directive::Places(places) => {
                parameters.push(format!("double {value}"));
                code.push_str(&format!(
                    "    if (!(at = direct_places(at, {value}, {places})))\n        goto general;\n"
                ));
            }
        }
        most += MAX_NUMBER;
        values.push(value);
    }
    let strings: String = (values.iter().zip(&parameters))
        .filter(|(_, parameter)| parameter.starts_with("const char"))
        .map(|(value, _)| format!(" + n{value}"))
        .collect();
    let general = code.contains("goto general");
    let all = values.join(", ");
    let own = parameters.join(", ");
    let _ = dialect;
    let text = match plain {
        "snprintf" | "sprintf" => {
            let (room, guard, call) = match plain {
                "snprintf" => (
                    ", size_t room",
                    format!(
                        "    if (room < {most}{strings})\n        return snprintf(to, room, {literal}, {all});\n"
                    ),
                    format!("snprintf(to, room, {literal}, {all})"),
                ),
                _ => ("", String::new(), format!("sprintf(to, {literal}, {all})")),
            };
            let end = if general {
                format!("general:\n    return {call};\n")
            } else {
                String::new()
            };
            format!(
                "static inline __attribute__((unused)) int {name}(char *to{room}, {own})\n{{\n    char *at = to;\n{lengths}{guard}{code}    *at = 0;\n    return (int)(at - to);\n{end}}}\n\n"
            )
        }
        _ => {
            let (stream, call) = match plain {
                "fprintf" => ("FILE *out, ", format!("fprintf(out, {literal}, {all})")),
                _ => ("", format!("printf({literal}, {all})")),
            };
            let out = if plain == "fprintf" { "out" } else { "stdout" };
            let guard = match strings.is_empty() {
                true => String::new(),
                false => {
                    format!("    if ({most}{strings} > {MAX_STACK})\n        return {call};\n")
                }
            };
            let end = if general {
                format!("general:\n    return {call};\n")
            } else {
                String::new()
            };
            format!(
                "static inline __attribute__((unused)) int {name}({stream}{own})\n{{\n    char text[{MAX_STACK}];\n    char *at = text;\n    size_t length;\n{lengths}{guard}{code}    length = (size_t)(at - text);\n    return fwrite(text, 1, length, {out}) == length ? (int)length : -1;\n{end}}}\n\n"
            )
        }
    };
    (text, most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{refused, rewritten};

    const CAUSE: &str = "costly-conversion";

    #[test]
    fn format_becomes_code_with_the_library_behind_it() {
        let text = "int f(char *to, size_t room, const struct r *r) {\n    return snprintf(to, room, \"%u;%s;%.2f\\n\", r->a, r->s, r->c / 100.0);\n}\n";
        let after = rewritten(CAUSE, "a.c", text, 2);
        assert!(
            after.contains("return format_text0(to, room, r->a, r->s, r->c / 100.0);"),
            "{after}"
        );
        assert!(after.contains("static inline __attribute__((unused)) int format_text0(char *to, size_t room, unsigned v0, const char *v1, double v2)"));
        assert!(after.contains("return snprintf(to, room, \"%u;%s;%.2f\\n\", v0, v1, v2);"));
    }

    #[test]
    fn directives_are_read_with_width_and_length() {
        let one = |text| directive(text).map(|found| found.0);
        assert_eq!(
            one("02d"),
            Some(Directive::Number {
                kind: "int",
                signed: true,
                width: 2,
                pad: '0'
            })
        );
        assert_eq!(
            one("llu"),
            Some(Directive::Number {
                kind: "unsigned long long",
                signed: false,
                width: 0,
                pad: ' '
            })
        );
        assert_eq!(one(".3f;"), Some(Directive::Places(3)));
        for other in ["-5d", "*d", ".*f", "g", "5s", "+d", "Lf", "hd", "99d"] {
            assert_eq!(one(other), None, "{other}");
        }
    }

    #[test]
    fn other_formats_are_refused() {
        refused(
            CAUSE,
            "a.c",
            "int f(char *to, double d) {\n    return sprintf(to, \"%g\", d);\n}\n",
            2,
        );
        refused(
            CAUSE,
            "a.c",
            "int f(char *to, const char *format, double d) {\n    return sprintf(to, format, d);\n}\n",
            2,
        );
    }
}
