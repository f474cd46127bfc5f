//! Lists of CPUs, as `taskset -c` and sysfs write them: `0,2-3`.

use std::collections::BTreeSet;

/// Highest CPU number that is accepted, so that a range cannot ask for all memory.
const MAX_CPU: usize = 1 << 16;

/// Parses `0,2-3` to CPU numbers, ascending, each once.
///
/// # Errors
/// Anything else, as a sentence.
pub fn parse_cpu_list(text: &str) -> Result<Vec<usize>, String> {
    let invalid = || format!("invalid CPU list {text:?}: write numbers and ranges, as in 0,2-3");
    let mut cpus = BTreeSet::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: usize = first.trim().parse().map_err(|_| invalid())?;
        let last: usize = last.trim().parse().map_err(|_| invalid())?;
        if first > last || last > MAX_CPU {
            return Err(invalid());
        }
        cpus.extend(first..=last);
    }
    Ok(cpus.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_numbers_are_parsed_in_ascending_order() {
        assert_eq!(parse_cpu_list("2-3,0"), Ok(vec![0, 2, 3]));
        assert_eq!(parse_cpu_list("0-1,1\n"), Ok(vec![0, 1]));
    }

    #[test]
    fn invalid_lists_are_refused_with_an_example() {
        for text in ["", "3-1", "0,", "-1", "x", "0-99999999"] {
            let error = parse_cpu_list(text).unwrap_err();
            assert!(error.ends_with("as in 0,2-3"), "{error}");
        }
    }
}
