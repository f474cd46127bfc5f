//! A checksum by a table of 256 words with eight bytes a step (M. Kounavis and F. Berry, "A systematic approach to building
//! high performance software-based CRC generators", ISCC 2005: slicing by eight).

use tree_sitter::Node;

use super::{Rewrite, Subject};
use crate::counted_loop::{Until, counted};
use crate::edit::Edit;
use crate::source_file::{DeclaredType, SourceFile, bare, words};

/// `crc = table[(crc ^ BYTE) & 255] ^ crc >> 8`
struct Step<'a> {
    /// The checksum: a variable or a field.
    crc: &'a str,
    node: Node<'a>,
    table: String,
    byte: Byte<'a>,
}

/// The byte of a step.
#[derive(Clone, Copy)]
enum Byte<'a> {
    /// `*p++`, or `*p` of a pointer that the loop steps.
    Pointer { pointer: &'a str, steps: bool },
    /// `data[i]`
    Index { array: &'a str, index: &'a str },
}

/// How the loop counts its bytes.
struct Count<'a> {
    /// Bytes that are left.
    left: String,
    /// Whether it tests after its step: `do … while (--n)`.
    after: bool,
    /// What a step of eight bytes advances.
    advance: String,
    /// What the loop does first, once.
    initializer: Option<&'a str>,
    /// Where that stands.
    head: Option<std::ops::Range<usize>>,
}

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let none =
        "no loop at its lines is a checksum that takes one byte at a time by a table of 256 words";
    let mut reason = none.to_owned();
    for outer in subject.loops() {
        let Some(step) = only_statement(outer).and_then(|one| step(subject.file, one)) else {
            continue;
        };
        let Some(count) = count(subject.file, outer, step.byte) else {
            reason = format!(
                "how many bytes the loop over {} has left is not known from its condition",
                step.table
            );
            continue;
        };
        let kind = subject.type_of(step.node);
        if !kind.as_ref().is_some_and(is_word) {
            return Err(format!("{} is not known to be a word of 32 bits", step.crc));
        }
        return Ok(vec![steps_of_eight(subject, outer, &step, &count)]);
    }
    Err(reason)
}

/// Whether a type is an unsigned word of 32 bits, or one of 64 that checksums of 32 are kept in.
fn is_word(kind: &DeclaredType) -> bool {
    let all: Vec<&str> = words(&kind.specifiers).collect();
    let has = |word: &str| all.contains(&word);
    let narrow = has("char") || has("short") || all.iter().any(|one| one.contains("64"));
    let long_long = all.iter().filter(|one| **one == "long").count() > 1;
    let named = [
        "uint32_t",
        "uint",
        "ulg",
        "u32",
        "uLong",
        "z_crc_t",
        "uint_fast32_t",
    ];
    kind.pointers == 0
        && !narrow
        && !long_long
        && (has("unsigned") || named.iter().any(|word| has(word)))
}

fn only_statement(outer: Node<'_>) -> Option<Node<'_>> {
    let mut body = outer.child_by_field_name("body")?;
    if body.kind() == "compound_statement" {
        let mut cursor = body.walk();
        let mut statements = body
            .named_children(&mut cursor)
            .filter(|one| one.kind() != "comment");
        let first = statements.next()?;
        // A step of the loop's own may follow.
        let rest: Vec<Node<'_>> = statements.collect();
        let steps = rest.iter().all(|one| {
            one.named_child(0)
                .is_some_and(|inner| inner.kind() == "update_expression")
        });
        if !steps {
            return None;
        }
        body = first;
    }
    body.named_child(0)
        .filter(|one| one.kind() == "assignment_expression")
}

/// Without parentheses and casts.
fn plain(mut node: Node<'_>) -> Node<'_> {
    loop {
        node = bare(node);
        let inner = match node.kind() {
            "cast_expression" => node.child_by_field_name("value"),
            "call_expression" => (node.child_by_field_name("function"))
                .filter(|one| one.kind() == "template_function")
                .and_then(|_| node.child_by_field_name("arguments")?.named_child(0)),
            _ => None,
        };
        match inner {
            Some(inner) => node = inner,
            None => return node,
        }
    }
}

/// Both sides of a binary expression.
fn sides<'a>(file: &SourceFile, node: Node<'a>, operator: &str) -> Option<[Node<'a>; 2]> {
    let node = plain(node);
    (node.kind() == "binary_expression" && file.operator(node) == operator).then_some(())?;
    let left = node.child_by_field_name("left")?;
    let right = node.child_by_field_name("right")?;
    Some([left, right])
}

/// The operands in the order in which `first` accepts the first.
fn in_order<'a>(both: [Node<'a>; 2], first: impl Fn(Node<'a>) -> bool) -> Option<[Node<'a>; 2]> {
    let [one, two] = both;
    match (first(one), first(two)) {
        (true, _) => Some([one, two]),
        (_, true) => Some([two, one]),
        _ => None,
    }
}

fn number(file: &SourceFile, node: Node<'_>) -> Option<u64> {
    let text = file
        .text(plain(node))
        .trim_end_matches(['u', 'U', 'l', 'L']);
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

fn step<'a>(file: &'a SourceFile, assignment: Node<'a>) -> Option<Step<'a>> {
    let left = assignment
        .child_by_field_name("left")
        .filter(|one| matches!(one.kind(), "identifier" | "field_expression"))?;
    if file.operator(assignment) != "=" {
        return None;
    }
    let own = file.squashed(left);
    let is_crc = |node: Node<'_>| file.squashed(plain(node)) == own;
    let both = sides(file, assignment.child_by_field_name("right")?, "^")?;
    let [look_up, shifted] = in_order(both, |one| plain(one).kind() == "subscript_expression")?;
    let [value, by] = sides(file, shifted, ">>")?;
    if !is_crc(value) || number(file, by) != Some(8) {
        return None;
    }
    let look_up = plain(look_up);
    let table = look_up.child_by_field_name("argument")?;
    let index = index_of(look_up)?;
    let mixed = low_byte(file, index)?;
    let [_, byte] = in_order(sides(file, mixed, "^")?, |one| {
        is_crc(one) || low_byte(file, one).is_some_and(is_crc)
    })?;
    let table_is_place = matches!(table.kind(), "identifier" | "field_expression");
    table_is_place.then_some(())?;
    Some(Step {
        crc: file.text(left),
        node: left,
        table: file.squashed(table),
        byte: byte_of(file, byte)?,
    })
}

/// The index of an element.
fn index_of(element: Node<'_>) -> Option<Node<'_>> {
    let argument = element.child_by_field_name("argument")?;
    let mut cursor = element.walk();
    let last = element
        .named_children(&mut cursor)
        .filter(|one| *one != argument && one.kind() != "comment")
        .last()?;
    match last.kind() {
        "subscript_argument_list" => last.named_child(0),
        _ => Some(last),
    }
}

/// `x & 255`, `(unsigned char)x`, or `(x & 255) ^ y` as it stands: what the low byte is taken of.
fn low_byte<'a>(file: &SourceFile, node: Node<'a>) -> Option<Node<'a>> {
    let node = bare(node);
    if let Some(both) = sides(file, node, "&") {
        let [_, value] = in_order(both, |one| number(file, one) == Some(255))?;
        return Some(value);
    }
    let kind = match node.kind() {
        "cast_expression" => file.squashed(node.child_by_field_name("type")?),
        "call_expression" => file.squashed(node.child_by_field_name("function")?),
        // Both operands are bytes: the mask is on the checksum's side.
        "binary_expression" if file.operator(node) == "^" => {
            let [one, two] = sides(file, node, "^")?;
            let masked = [one, two]
                .iter()
                .any(|side| low_byte(file, *side).is_some());
            return masked.then_some(node);
        }
        _ => return None,
    };
    let byte = ["unsigned char", "uint8_t", "u8", "Byte", "uchar", "uch"];
    byte.iter()
        .any(|one| {
            kind == *one
                || kind.ends_with(&format!("<{one}>"))
                || kind.ends_with(&format!("::{one}>"))
        })
        .then(|| plain(node))
}

fn byte_of<'a>(file: &'a SourceFile, node: Node<'a>) -> Option<Byte<'a>> {
    let node = plain(low_byte(file, node).unwrap_or(node));
    match node.kind() {
        "pointer_expression" if file.operator(node) == "*" => {
            let inner = bare(node.child_by_field_name("argument")?);
            let pointer = match inner.kind() {
                "update_expression" => inner.child_by_field_name("argument")?,
                _ => inner,
            };
            let fits = pointer.kind() == "identifier" && !file.text(inner).starts_with(['+', '-']);
            fits.then(|| Byte::Pointer {
                pointer: file.text(pointer),
                steps: inner != pointer,
            })
        }
        "subscript_expression" => {
            let array = node.child_by_field_name("argument")?;
            let index = bare(index_of(node)?);
            let fits = array.kind() == "identifier" && index.kind() == "identifier";
            fits.then(|| Byte::Index {
                array: file.text(array),
                index: file.text(index),
            })
        }
        _ => None,
    }
}

/// How a loop counts, in the forms that say how many bytes are left.
fn count<'a>(file: &'a SourceFile, outer: Node<'a>, byte: Byte<'a>) -> Option<Count<'a>> {
    if outer.kind() == "do_statement" {
        let Byte::Pointer {
            pointer,
            steps: true,
        } = byte
        else {
            return None;
        };
        let condition = file.squashed(bare(outer.child_by_field_name("condition")?));
        let name = words(&condition).next()?.to_owned();
        let forms = ["", "!=0", ">0"].map(|end| format!("--{name}{end}"));
        return forms.contains(&condition).then(|| Count {
            advance: format!("{name} -= 8, {pointer} += 8"),
            left: name,
            after: true,
            initializer: None,
            head: None,
        });
    }
    let one = counted(file, outer)?;
    let (left, advance) = match (&one.until, byte) {
        (
            Until::Zero { variable },
            Byte::Pointer {
                pointer,
                steps: true,
            },
        ) => (
            (*variable).to_owned(),
            format!("{variable} -= 8, {pointer} += 8"),
        ),
        (
            Until::End {
                variable,
                end,
                inclusive: false,
            },
            Byte::Index { index: stepped, .. }
            | Byte::Pointer {
                pointer: stepped,
                steps: false,
            },
        ) if *variable == stepped && bare(*end).kind() != "call_expression" => {
            let end = file.text(*end);
            // Before the distance, which has no sign where both have none.
            (
                format!("{variable} < {end} && {end} - {variable}"),
                format!("{variable} += 8"),
            )
        }
        _ => return None,
    };
    let initializer = outer.child_by_field_name("initializer");
    Some(Count {
        left,
        after: false,
        advance,
        initializer: one.initializer.filter(|text| !text.is_empty()),
        head: initializer.map(|one| one.byte_range()),
    })
}

fn steps_of_eight(
    subject: &Subject<'_>,
    outer: Node<'_>,
    step: &Step<'_>,
    count: &Count<'_>,
) -> Rewrite {
    let file = subject.file;
    let Step {
        crc, table, byte, ..
    } = step;
    let tables = file.fresh_name("eight_tables");
    let (t, i, low, high) = (
        file.fresh_name("table_number"),
        file.fresh_name("entry"),
        file.fresh_name("low_word"),
        file.fresh_name("high_word"),
    );
    let indent = file.indent(outer);
    let byte_at = |at: usize| {
        let place = match byte {
            Byte::Pointer { pointer, .. } => format!("{pointer}[{at}]"),
            Byte::Index { array, index } if at == 0 => format!("{array}[{index}]"),
            Byte::Index { array, index } => format!("{array}[{index} + {at}]"),
        };
        match at % 4 {
            0 => format!("(unsigned){place}"),
            place_in_word => format!("(unsigned){place} << {}", place_in_word * 8),
        }
    };
    let word = |from: usize| {
        (from..from + 4)
            .map(byte_at)
            .collect::<Vec<_>>()
            .join(" | ")
    };
    let look_up = |number: usize, word: &str, shift: usize| {
        let shifted = if shift == 0 {
            word.to_owned()
        } else {
            format!("{word} >> {shift}")
        };
        format!("{tables}[{number}][{shifted} & 255]")
    };
    let taken: Vec<String> = (0..8)
        .map(|at| look_up(7 - at, if at < 4 { &low } else { &high }, at % 4 * 8))
        .collect();
    // A loop that tests after its step needs one byte left.
    let least = if count.after { "> 8" } else { ">= 8" };
    let (left, advance) = (&count.left, &count.advance);
    // What the loop does first comes before both loops; its variable is of both.
    let first = match count.initializer {
        Some(initializer) => format!("{initializer};\n{indent}"),
        None => String::new(),
    };
    // After `if (…)` or `else` both loops are one statement.
    let alone = outer
        .parent()
        .is_some_and(|one| one.kind() != "compound_statement");
    let (open, close) = match alone || count.initializer.is_some() {
        true => ("{\n", "\n}"),
        false => ("", ""),
    };
    let text = format!(
        "{open}{first}if ({left} {least}) {{\n\
         {indent}    static unsigned {tables}[8][256];\n\
         {indent}    unsigned {t}, {i}, {low}, {high};\n\
         {indent}    if ({tables}[0][255] != (unsigned){table}[255])\n\
         {indent}        for ({t} = 0; {t} < 8; {t}++)\n\
         {indent}            for ({i} = 0; {i} < 256; {i}++)\n\
         {indent}                {tables}[{t}][{i}] = {t} == 0 ? (unsigned){table}[{i}]\n\
         {indent}                    : {tables}[{t} - 1][{i}] >> 8 ^ (unsigned){table}[{tables}[{t} - 1][{i}] & 255];\n\
         {indent}    for (; {left} {least}; {advance}) {{\n\
         {indent}        {low} = (unsigned){crc} ^ ({});\n\
         {indent}        {high} = {};\n\
         {indent}        {crc} = {};\n\
         {indent}    }}\n{indent}}}\n{indent}",
        word(0),
        word(4),
        taken.join(" ^ "),
    );
    let data = match byte {
        Byte::Pointer { pointer, .. } => pointer,
        Byte::Index { array, .. } => array,
    };
    let mut edits = vec![
        Edit::insert(outer.start_byte(), text),
        Edit::insert(outer.end_byte(), close),
    ];
    if let Some(head) = &count.head {
        // A declaration's semicolon is its own.
        let declares = file.source()[head.clone()].ends_with(';');
        edits.push(Edit::replace(head.clone(), if declares { ";" } else { "" }));
    }
    Rewrite {
        assumes: vec![
            format!("{table} does not change once it is used, in particular its last word"),
            "one thread at a time begins".to_owned(),
            format!("{data} has unsigned bytes, and {crc} has no bit above the 32 lowest"),
        ],
        ..subject.rewrite(
            format!("take eight bytes a step by tables made of {table}"),
            edits,
        )
    }
}

#[cfg(test)]
mod tests {
    use crate::test_support::{refused, rewritten};

    const CAUSE: &str = "integer-latency-chain";

    #[test]
    fn loops_over_bytes_get_steps_of_eight() {
        let text = "uint32_t f(uint32_t crc, const uint8_t *p, size_t n) {\n    for (; n; n--)\n        crc = table[(crc ^ *p++) & 255] ^ crc >> 8;\n    return crc;\n}\n";
        let after = rewritten(CAUSE, "a.c", text, 3);
        assert!(
            after.contains("for (; n >= 8; n -= 8, p += 8) {"),
            "{after}"
        );
        assert!(
            after
                .contains("eight_tables[7][low_word & 255] ^ eight_tables[6][low_word >> 8 & 255]")
        );
        let text = "ulg f(const uch *s, unsigned n) {\n    register ulg c = 1;\n    if (n) do {\n        c = crc_32_tab[((int)c ^ (*s++)) & 0xff] ^ (c >> 8);\n    } while (--n);\n    return c;\n}\n";
        let after = rewritten(CAUSE, "a.c", text, 4);
        assert!(
            after.contains("if (n) {\nif (n > 8) {") && after.contains("while (--n);\n}"),
            "{after}"
        );
    }

    #[test]
    fn indices_members_casts_and_ends_are_understood() {
        let text = "class C { std::uint32_t state_; std::array<std::uint32_t, 256> table_; };\nvoid C::f(const uint8_t *data, size_t size) {\n    for (size_t i = 0; i < size; ++i)\n        state_ = (state_ >> 8) ^ table_[(state_ ^ data[i]) & 0xFFu];\n}\n";
        let after = rewritten(CAUSE, "a.cc", text, 4);
        assert!(
            after.contains("size_t i = 0;\n    if (i < size && size - i >= 8) {"),
            "{after}"
        );
        assert!(after.contains("(unsigned)data[i + 5] << 8"), "{after}");
        assert!(after.contains("for (; i < size; ++i)"), "{after}");
        let text = "typedef unsigned int word;\nword f(word crc, const unsigned char *p, const unsigned char *end) {\n    while (p < end) {\n        crc = (crc >> 8) ^ t[(unsigned char)(crc ^ *p)];\n        p++;\n    }\n    return crc;\n}\n";
        let after = rewritten(CAUSE, "a.c", text, 4);
        assert!(
            after.contains("for (; p < end && end - p >= 8; p += 8) {"),
            "{after}"
        );
    }

    #[test]
    fn other_tables_and_words_are_refused() {
        for (kind, step) in [
            ("uint64_t", "crc = table[(crc ^ *p++) & 255] ^ crc >> 8;"),
            ("uint32_t", "crc = table[(crc ^ *p++) & 15] ^ crc >> 8;"),
            ("uint32_t", "crc = table[(crc ^ *p++) & 255] ^ crc << 8;"),
            (
                "uint32_t",
                "crc = table[(crc >> 24 ^ *p++) & 255] ^ crc << 8;",
            ),
        ] {
            refused(
                CAUSE,
                "a.c",
                &format!(
                    "{kind} f({kind} crc, const uint8_t *p, size_t n) {{\n    for (; n; n--)\n        {step}\n    return crc;\n}}\n"
                ),
                3,
            );
        }
    }
}
