//! Alignment of two lists of instructions by their text. Pure.

/// Maximum length of lists that are aligned entirely; longer ones are aligned at their ends only.
const MAX_INSTRUCTIONS: usize = 3_000;

/// Returns pairs of indices in order: corresponding instructions, and those of one side only.
pub(super) fn align(before: &[String], after: &[String]) -> Vec<(Option<usize>, Option<usize>)> {
    let prefix = before
        .iter()
        .zip(after)
        .take_while(|(one, two)| one == two)
        .count();
    let suffix = (before[prefix..].iter().rev())
        .zip(after[prefix..].iter().rev())
        .take_while(|(one, two)| one == two)
        .count();
    let (from, to) = (before.len() - suffix, after.len() - suffix);
    let mut pairs: Vec<_> = (0..prefix)
        .map(|index| (Some(index), Some(index)))
        .collect();
    let middle = common(&before[prefix..from], &after[prefix..to]);
    let (mut one, mut two) = (prefix, prefix);
    for (left, right) in middle {
        let (left, right) = (left + prefix, right + prefix);
        pairs.extend((one..left).map(|index| (Some(index), None)));
        pairs.extend((two..right).map(|index| (None, Some(index))));
        pairs.push((Some(left), Some(right)));
        (one, two) = (left + 1, right + 1);
    }
    pairs.extend((one..from).map(|index| (Some(index), None)));
    pairs.extend((two..to).map(|index| (None, Some(index))));
    pairs.extend((0..suffix).map(|index| (Some(from + index), Some(to + index))));
    pairs
}

/// Returns the longest common subsequence, by dynamic programming over its lengths.
fn common(before: &[String], after: &[String]) -> Vec<(usize, usize)> {
    if before.is_empty() || after.is_empty() || before.len().max(after.len()) > MAX_INSTRUCTIONS {
        return Vec::new();
    }
    let width = after.len() + 1;
    let mut lengths = vec![0_u16; (before.len() + 1) * width];
    for one in (0..before.len()).rev() {
        for two in (0..after.len()).rev() {
            lengths[one * width + two] = if before[one] == after[two] {
                lengths[(one + 1) * width + two + 1] + 1
            } else {
                lengths[(one + 1) * width + two].max(lengths[one * width + two + 1])
            };
        }
    }
    let (mut one, mut two) = (0, 0);
    let mut pairs = Vec::new();
    while one < before.len() && two < after.len() {
        if before[one] == after[two] {
            pairs.push((one, two));
            (one, two) = (one + 1, two + 1);
        } else if lengths[(one + 1) * width + two] >= lengths[one * width + two + 1] {
            one += 1;
        } else {
            two += 1;
        }
    }
    pairs
}

/// Returns the text of an instruction without absolute addresses.
pub(super) fn bare(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("0x").or_else(|| long_number(rest)) {
        out.push_str(&rest[..start]);
        let tail = &rest[start..];
        let digits = tail.strip_prefix("0x").unwrap_or(tail);
        let skipped = tail.len() - digits.len();
        let length = digits.bytes().take_while(u8::is_ascii_hexdigit).count();
        // Small constants are part of the instruction.
        if length <= 3 {
            out.push_str(&tail[..skipped + length]);
        } else {
            out.push('…');
        }
        rest = &tail[(skipped + length).max(1).min(tail.len())..];
    }
    out.push_str(rest);
    out
}

/// Returns where a number of more than three hexadecimal digits begins, as in `jne 12a4`.
fn long_number(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    (0..bytes.len()).find(|&start| {
        let fresh = start == 0 || !word(bytes[start - 1]);
        let length = bytes[start..]
            .iter()
            .take_while(|byte| byte.is_ascii_hexdigit())
            .count();
        let ends = bytes
            .get(start + length)
            .is_none_or(|byte| !word(*byte) || *byte == b'h');
        fresh && bytes[start].is_ascii_digit() && length > 3 && ends
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses_are_removed_and_constants_retained() {
        assert_eq!(bare("jne 0x12a4"), "jne …");
        assert_eq!(bare("mov rax, [rip+0x2f004]"), "mov rax, [rip+…]");
        assert_eq!(bare("add rax, 0x18"), "add rax, 0x18");
        assert_eq!(bare("call 401136 <step>"), "call … <step>");
        assert_eq!(bare("xor eax, eax"), "xor eax, eax");
        assert_eq!(bare("0x"), "0x");
    }

    proptest! {
        #[test]
        fn alignment_has_every_instruction_once_in_order(
            before in prop::collection::vec("[a-c]", 0..25),
            after in prop::collection::vec("[a-c]", 0..25),
        ) {
            let pairs = align(&before, &after);
            let left: Vec<usize> = pairs.iter().filter_map(|pair| pair.0).collect();
            let right: Vec<usize> = pairs.iter().filter_map(|pair| pair.1).collect();
            prop_assert_eq!(left, (0..before.len()).collect::<Vec<_>>());
            prop_assert_eq!(right, (0..after.len()).collect::<Vec<_>>());
            for pair in pairs {
                if let (Some(one), Some(two)) = pair {
                    prop_assert_eq!(&before[one], &after[two]);
                }
            }
        }

        #[test]
        fn hostile_text_does_not_panic(text in "\\PC{0,40}") {
            bare(&text);
        }
    }
}
