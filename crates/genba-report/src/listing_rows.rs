//! The rows of an annotated function: source lines, instructions, folds of cold instructions.

use std::collections::HashMap;

use genba_model::Annotation;

use crate::jump_arrows::{self, Arrow};

/// Which instructions to show.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    /// Fold instructions below this share of the function's samples, except those within
    /// [`CONTEXT_INSTRUCTIONS`] of one above it. `None` folds nothing.
    pub(crate) cold_below: Option<f64>,
    /// Columns for arrows.
    pub(crate) arrow_columns: usize,
    /// Maximum number of instructions: the hottest and those around them.
    pub(crate) most: usize,
}

/// Number of instructions shown before and after a hot one.
const CONTEXT_INSTRUCTIONS: usize = 3;
/// Minimum number of instructions of a fold.
const MIN_FOLDED_INSTRUCTIONS: usize = 5;

/// The content of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Content {
    /// A line of source; the file is named where it changes.
    Source {
        file: String,
        line: u32,
        text: Option<String>,
        /// The inlined function that the line belongs to.
        inlined: Option<String>,
        new_file: bool,
    },
    /// An instruction, by its index.
    Instruction(usize),
    /// Folded instructions: indices `from..to` and their share.
    Folded { from: usize, to: usize, share: f64 },
}

/// A row with the jump arrows in its margin.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) content: Content,
    pub(crate) gutter: String,
}

/// Returns the rows of an annotation.
pub(crate) fn rows(a: &Annotation, choice: Choice) -> Vec<Row> {
    let shown = shown(a, choice);
    let texts: HashMap<(&str, u32), &str> = a
        .source
        .iter()
        .map(|s| ((s.file.as_str(), s.line), s.text.as_str()))
        .collect();
    let mut contents: Vec<Content> = Vec::new();
    // The row of every instruction; for a folded one the row of its fold.
    let mut row_of = Vec::with_capacity(a.instructions.len());
    let mut at_file: Option<&str> = None;
    let mut at_line: Option<(&str, u32, Option<&str>)> = None;
    for (index, instruction) in a.instructions.iter().enumerate() {
        if !shown[index] {
            at_line = None;
            match contents.last_mut() {
                Some(Content::Folded { to, share, .. }) => {
                    *to = index + 1;
                    *share += instruction.share.value;
                }
                _ => contents.push(Content::Folded {
                    from: index,
                    to: index + 1,
                    share: instruction.share.value,
                }),
            }
        } else {
            if let (Some(file), Some(line)) = (instruction.file.as_deref(), instruction.line) {
                let here = (file, line, instruction.inlined.as_deref());
                if at_line != Some(here) {
                    contents.push(Content::Source {
                        file: file.to_owned(),
                        line,
                        text: texts.get(&(file, line)).map(|&t| t.to_owned()),
                        inlined: instruction.inlined.clone(),
                        new_file: at_file != Some(file),
                    });
                    at_file = Some(file);
                    at_line = Some(here);
                }
            }
            contents.push(Content::Instruction(index));
        }
        row_of.push(contents.len() - 1);
    }
    let arrows: Vec<Arrow> = a
        .jumps
        .iter()
        .filter_map(|jump| {
            let (from, to) = (jump.from as usize, jump.to as usize);
            let weight = [a.instructions.get(from)?, a.instructions.get(to)?]
                .iter()
                .map(|i| i.share.value)
                .sum();
            // An arrow with neither end visible says nothing.
            (shown[from] || shown[to]).then_some(Arrow {
                from: row_of[from],
                to: row_of[to],
                back: jump.back,
                weight,
            })
        })
        .collect();
    let open = |row: usize| matches!(contents.get(row), Some(Content::Instruction(_)));
    let gutters = jump_arrows::draw(contents.len(), &arrows, choice.arrow_columns, open);
    contents
        .into_iter()
        .zip(gutters)
        .map(|(content, gutter)| Row { content, gutter })
        .collect()
}

/// Returns the disassembly with operands aligned: `mov    rax, rsi`.
pub(crate) fn aligned(text: &str) -> String {
    match text.trim().split_once(' ') {
        Some((mnemonic, operands)) => format!("{mnemonic:<6} {}", operands.trim_start()),
        None => text.trim().to_owned(),
    }
}

/// Returns for every instruction whether it is shown.
pub(crate) fn shown(a: &Annotation, choice: Choice) -> Vec<bool> {
    let number = a.instructions.len();
    let mut shown = vec![false; number];
    let mut show_around = |index: usize| {
        let from = index.saturating_sub(CONTEXT_INSTRUCTIONS);
        shown[from..(index + CONTEXT_INSTRUCTIONS + 1).min(number)].fill(true);
    };
    let hot = |index: usize| {
        let least = choice.cold_below.unwrap_or(0.0);
        a.instructions[index].share.value >= least
    };
    if number > choice.most {
        let seen = |i: usize| a.instructions[i].share.value > 0.0;
        let mut order: Vec<usize> = (0..number).filter(|&i| hot(i) && seen(i)).collect();
        order.sort_by(|&x, &y| {
            let share = |i: usize| a.instructions[i].share.value;
            share(y).total_cmp(&share(x))
        });
        // Each needs space for its context.
        order.truncate(choice.most / (2 * CONTEXT_INSTRUCTIONS + 1));
        order.into_iter().for_each(&mut show_around);
    } else if choice.cold_below.is_some() {
        (0..number).filter(|&i| hot(i)).for_each(&mut show_around);
    } else {
        return vec![true; number];
    }
    // A fold of few instructions saves nothing.
    let mut start = 0;
    while start < number {
        let end = (start..number)
            .find(|&i| shown[i] != shown[start])
            .unwrap_or(number);
        if !shown[start] && end - start < MIN_FOLDED_INSTRUCTIONS {
            shown[start..end].fill(true);
        }
        start = end;
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_fixtures;

    const ALL: Choice = Choice {
        cold_below: None,
        arrow_columns: 4,
        most: 1000,
    };

    fn instructions(rows: &[Row]) -> usize {
        rows.iter()
            .map(|row| match row.content {
                Content::Instruction(_) => 1,
                Content::Folded { from, to, .. } => to - from,
                Content::Source { .. } => 0,
            })
            .sum()
    }

    #[test]
    fn every_instruction_is_shown_or_in_a_fold() {
        for annotation in test_fixtures::investigation().annotations {
            for cold in [None, Some(0.0), Some(0.01), Some(2.0)] {
                for most in [0, 8, 1000] {
                    let choice = Choice {
                        cold_below: cold,
                        most,
                        ..ALL
                    };
                    let rows = rows(&annotation, choice);
                    assert_eq!(instructions(&rows), annotation.instructions.len());
                }
            }
        }
    }

    /// Files from elsewhere may name instructions and loops that do not exist.
    #[test]
    fn jumps_to_missing_instructions_are_ignored() {
        let mut annotation = test_fixtures::annotation();
        for (from, to) in [(0, u32::MAX), (u32::MAX, 0), (5, 5), (36, 37)] {
            annotation.jumps.push(genba_model::JumpArrow {
                from,
                to,
                back: from % 2 == 0,
            });
        }
        annotation.instructions[3].loop_index = Some(u32::MAX);
        annotation.instructions[4].share.value = f64::NAN;
        let rows = rows(&annotation, ALL);
        assert_eq!(instructions(&rows), annotation.instructions.len());
    }

    #[test]
    fn source_lines_precede_their_instructions() {
        let annotation = &test_fixtures::investigation().annotations[0];
        let rows = rows(annotation, ALL);
        let mut line = None;
        for row in rows {
            match row.content {
                Content::Source { line: at, .. } => line = Some(at),
                Content::Instruction(index) => {
                    assert_eq!(annotation.instructions[index].line, line);
                }
                Content::Folded { .. } => {}
            }
        }
    }
}
