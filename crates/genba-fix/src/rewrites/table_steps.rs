//! A checksum by a table of 256 words with eight bytes a step (M. Kounavis and F. Berry, "A systematic approach to building
//! high performance software-based CRC generators", ISCC 2005: slicing by eight).

use tree_sitter::Node;

use super::{Rewrite, Subject};
use crate::edit::Edit;
use crate::source_file::{SourceFile, bare, is_loop, squash, words};

/// `crc = table[(crc ^ *data++) & 255] ^ crc >> 8`
struct Step<'a> {
    crc: &'a str,
    table: String,
    data: &'a str,
}

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let file = subject.file;
    let none =
        "no loop at its lines is a checksum that takes one byte at a time by a table of 256 words";
    for outer in subject.loops() {
        let Some(step) = only_statement(outer).and_then(|one| step(file, one)) else {
            continue;
        };
        let Some(count) = count(file, outer) else {
            continue;
        };
        let kind = file
            .declared_type(subject.function, step.crc)
            .map(|one| one.specifiers);
        let narrow = kind.as_deref().is_some_and(|kind| {
            words(kind).any(|word| {
                matches!(
                    word,
                    "uint32_t" | "uint" | "unsigned" | "ulg" | "u32" | "uLong" | "z_crc_t"
                )
            })
        });
        if !narrow {
            return Err(format!("{} is not known to be a word of 32 bits", step.crc));
        }
        return Ok(vec![steps_of_eight(subject, outer, &step, count)]);
    }
    Err(none.to_owned())
}

fn only_statement(outer: Node<'_>) -> Option<Node<'_>> {
    let mut body = outer.child_by_field_name("body")?;
    if body.kind() == "compound_statement" {
        if body.named_child_count() != 1 {
            return None;
        }
        body = body.named_child(0)?;
    }
    body.named_child(0)
        .filter(|one| one.kind() == "assignment_expression")
}

fn step<'a>(file: &'a SourceFile, assignment: Node<'a>) -> Option<Step<'a>> {
    let left = assignment
        .child_by_field_name("left")
        .filter(|one| one.kind() == "identifier")?;
    let right = bare(assignment.child_by_field_name("right")?);
    let crc = file.text(left);
    if file.operator(assignment) != "="
        || right.kind() != "binary_expression"
        || file.operator(right) != "^"
    {
        return None;
    }
    let sides = ["left", "right"].map(|side| right.child_by_field_name(side).map(bare));
    let [Some(one), Some(two)] = sides else {
        return None;
    };
    let (look_up, rest) = if one.kind() == "subscript_expression" {
        (one, two)
    } else {
        (two, one)
    };
    let shifted = [format!("{crc}>>8"), format!("({crc}>>8)")].contains(&file.squashed(rest));
    if look_up.kind() != "subscript_expression" || !shifted {
        return None;
    }
    let table = file.squashed(look_up.child_by_field_name("argument")?);
    let index = file
        .squashed(look_up)
        .strip_prefix(table.as_str())?
        .to_owned();
    let data = words(file.text(look_up))
        .find(|word| *word != crc && index.contains(&format!("*{word}++")))?;
    let byte = format!("*{data}++");
    let forms = [
        format!("{crc}^{byte}"),
        format!("{byte}^{crc}"),
        format!("{crc}^({byte})"),
        format!("(int){crc}^({byte})"),
    ];
    let fits = forms.iter().any(|form| {
        ["255", "0xff", "0xFF", "0xffu", "255u"].iter().any(|mask| {
            let form = squash(&format!("[({form})&{mask}]"));
            form == index
        })
    });
    let plain = words(&table).count() == 1;
    (fits && plain).then_some(Step { crc, table, data })
}

/// What the loop counts down: the variable, and whether it is tested after the step (`do … while (--n)`).
fn count<'a>(file: &'a SourceFile, outer: Node<'a>) -> Option<&'a str> {
    let condition = bare(outer.child_by_field_name("condition")?);
    let name = words(file.text(condition)).next()?;
    let squashed = file.squashed(condition);
    let is = |forms: &[String]| forms.contains(&squashed);
    let counts_in_condition = is(&[
        format!("{name}--"),
        format!("{name}-->0"),
        format!("{name}--!=0"),
    ]);
    let fits = match outer.kind() {
        "while_statement" => counts_in_condition,
        "do_statement" => is(&[
            format!("--{name}"),
            format!("--{name}!=0"),
            format!("--{name}>0"),
        ]),
        "for_statement" => {
            let update = outer
                .child_by_field_name("update")
                .map(|one| file.squashed(one));
            let none = outer.child_by_field_name("initializer").is_none();
            let down = update.is_some_and(|one| {
                [
                    format!("{name}--"),
                    format!("--{name}"),
                    format!("{name}-=1"),
                ]
                .contains(&one)
            });
            none && down && is(&[name.to_owned(), format!("{name}>0"), format!("{name}!=0")])
        }
        _ => false,
    };
    (fits && is_loop(outer)).then_some(name)
}

fn steps_of_eight(subject: &Subject<'_>, outer: Node<'_>, step: &Step<'_>, count: &str) -> Rewrite {
    let file = subject.file;
    let Step { crc, table, data } = step;
    let tables = file.fresh_name("eight_tables");
    let (t, i, low, high) = (
        file.fresh_name("table_number"),
        file.fresh_name("entry"),
        file.fresh_name("low_word"),
        file.fresh_name("high_word"),
    );
    let indent = file.indent(outer);
    let byte = |at: usize| {
        format!(
            "(unsigned){data}[{at}]{}",
            if at.is_multiple_of(4) {
                String::new()
            } else {
                format!(" << {}", at % 4 * 8)
            }
        )
    };
    let word = |from: usize| (from..from + 4).map(byte).collect::<Vec<_>>().join(" | ");
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
    let least = if outer.kind() == "do_statement" {
        "> 8"
    } else {
        ">= 8"
    };
    // After `if (…)` or `else` both loops are one statement.
    let alone = outer
        .parent()
        .is_some_and(|one| one.kind() != "compound_statement");
    let (open, close) = if alone { ("{\n", "\n}") } else { ("", "") };
    let text = format!(
        "{open}if ({count} {least}) {{\n\
         {indent}    static unsigned {tables}[8][256];\n\
         {indent}    unsigned {t}, {i}, {low}, {high};\n\
         {indent}    if ({tables}[0][255] != (unsigned){table}[255])\n\
         {indent}        for ({t} = 0; {t} < 8; {t}++)\n\
         {indent}            for ({i} = 0; {i} < 256; {i}++)\n\
         {indent}                {tables}[{t}][{i}] = {t} == 0 ? (unsigned){table}[{i}]\n\
         {indent}                    : {tables}[{t} - 1][{i}] >> 8 ^ (unsigned){table}[{tables}[{t} - 1][{i}] & 255];\n\
         {indent}    for (; {count} {least}; {count} -= 8, {data} += 8) {{\n\
         {indent}        {low} = (unsigned){crc} ^ ({});\n\
         {indent}        {high} = {};\n\
         {indent}        {crc} = {};\n\
         {indent}    }}\n{indent}}}\n{indent}",
        word(0),
        word(4),
        taken.join(" ^ "),
    );
    Rewrite {
        assumes: vec![
            format!("{table} does not change once it is used, in particular its last word"),
            "one thread at a time begins".to_owned(),
            format!("{data} points to unsigned bytes, and {crc} has no bit above the 32 lowest"),
        ],
        ..subject.rewrite(
            format!("take eight bytes a step by tables made of {table}"),
            vec![
                Edit::insert(outer.start_byte(), text),
                Edit::insert(outer.end_byte(), close),
            ],
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
