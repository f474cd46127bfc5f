//! `--param N=64..65536`, or the one `{NAME}` of a command. Pure.

use std::time::Duration;

use genba_units::parse_positive_number;

use super::{SizeLimits, Sizes};

/// The first size where none is given.
const FIRST_SIZE: u64 = 64;
/// The largest where none is given.
const LARGEST_SIZE: u64 = 1 << 40;
/// Largest number of sizes that are given one by one.
const MAX_SIZES: usize = 100;

/// Parses `NAME=FROM..TO`, `NAME=FROM..`, or `NAME=A,B,C`.
///
/// # Errors
/// A sentence for the user: no name, a size that is not a whole number of at least 2, ends the wrong way
/// round, sizes given twice.
pub fn parse(text: &str, runs: usize, budget: Duration) -> Result<(String, Sizes), String> {
    let wrong = |what: &str| {
        format!("invalid parameter {text:?}: {what}; write NAME=64..65536 or NAME=100,200,400")
    };
    let (name, values) = text.split_once('=').ok_or_else(|| wrong("no ="))?;
    if name.is_empty() || !name.chars().all(is_of_name) {
        return Err(wrong("the name has letters, digits and _ only"));
    }
    let size = |text: &str| {
        let number = parse_positive_number(text).map_err(|error| wrong(&error))?;
        match number >= 2.0 && number <= LARGEST_SIZE as f64 && number.fract() == 0.0 {
            true => Ok(number as u64),
            false => Err(wrong(&format!("{text:?} is not a whole number from 2 on"))),
        }
    };
    let sizes = match values.split_once("..") {
        Some((from, to)) => {
            let from = size(from)?;
            let to = if to.is_empty() {
                LARGEST_SIZE
            } else {
                size(to)?
            };
            if to <= from {
                return Err(wrong("the second size is not above the first"));
            }
            Sizes::Chosen(SizeLimits {
                from,
                to,
                runs,
                budget,
            })
        }
        None => {
            let mut sizes: Vec<u64> = values.split(',').map(size).collect::<Result<_, _>>()?;
            let count = sizes.len();
            sizes.sort_unstable();
            sizes.dedup();
            if sizes.len() < count || count > MAX_SIZES {
                return Err(wrong("sizes are given twice, or too many"));
            }
            Sizes::Given(sizes)
        }
    };
    Ok((name.to_owned(), sizes))
}

/// Returns the one name in braces of the command's words, with sizes of all magnitudes.
///
/// # Errors
/// A sentence for the user: none, or several.
pub fn of_command<'a>(
    words: impl Iterator<Item = &'a str>,
    runs: usize,
    budget: Duration,
) -> Result<(String, Sizes), String> {
    let mut names: Vec<&str> = words.flat_map(names_in).collect();
    names.sort_unstable();
    names.dedup();
    match names.as_slice() {
        [name] => Ok((
            (*name).to_owned(),
            Sizes::Chosen(SizeLimits {
                from: FIRST_SIZE,
                to: LARGEST_SIZE,
                runs,
                budget,
            }),
        )),
        [] => Err(
            "the command has no size: write {N} where the size of the input stands, for example: \
             -- sh -c 'seq {N} | sort -R'"
                .to_owned(),
        ),
        several => Err(format!(
            "the command has several parameters ({}): say which by --param NAME=64..65536",
            several.join(", ")
        )),
    }
}

/// Names in braces: `{N}`, but not `{}` or `{ print }`.
fn names_in(word: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = word;
    while let Some((_, tail)) = rest.split_once('{') {
        if let Some((name, _)) = tail.split_once('}')
            && name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.chars().all(is_of_name)
        {
            names.push(name);
        }
        rest = tail;
    }
    names
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BUDGET: Duration = Duration::from_secs(60);

    fn chosen(from: u64, to: u64) -> Sizes {
        Sizes::Chosen(SizeLimits {
            from,
            to,
            runs: 20,
            budget: BUDGET,
        })
    }

    #[test]
    fn ranges_and_lists_are_parsed() {
        let parse = |text| parse(text, 20, BUDGET);
        assert_eq!(
            parse("N=64..65536"),
            Ok(("N".to_owned(), chosen(64, 65536)))
        );
        assert_eq!(
            parse("N=8.."),
            Ok(("N".to_owned(), chosen(8, LARGEST_SIZE)))
        );
        assert_eq!(
            parse("SIZE=400,100,200"),
            Ok(("SIZE".to_owned(), Sizes::Given(vec![100, 200, 400])))
        );
        for text in [
            "N", "=1", "N=", "N=5..3", "N=1.5", "N=1..9", "N=2,2", "a b=2", "N=x",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_one_name_in_braces_is_the_size() {
        let of = |words: &[&str]| of_command(words.iter().copied(), 20, BUDGET);
        assert_eq!(
            of(&["sh", "-c", "seq {N} | awk '{ print }'"]).expect("N").0,
            "N"
        );
        assert!(of(&["prog", "{N}", "{N}"]).is_ok());
        assert!(of(&["prog", "{}"]).unwrap_err().contains("{N}"));
        assert!(of(&["prog", "{N}", "{M}"]).unwrap_err().contains("M, N"));
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(text in any::<String>()) {
            let _ = parse(&text, 20, BUDGET);
            let _ = of_command(std::iter::once(text.as_str()), 20, BUDGET);
        }
    }
}
