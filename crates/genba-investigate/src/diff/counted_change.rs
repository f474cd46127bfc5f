//! The instructions of two builds, counted: which functions execute more, and which line of each most.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use genba_count::Transfers;
use genba_model::{CountedDetail, InstructionChange};
use genba_run::{Cancel, CommandSpec, Launcher};

use super::align_lines::{Lines, Place, pairs};
use crate::execution_counts::{self, CountPlan};
use crate::{InvestigateError, Progress};

/// Functions whose lines are looked for.
const MAX_FUNCTIONS: usize = 20;
/// Longest source file that is read, bytes.
const MAX_FILE: u64 = 16 << 20;

/// Counts the instructions of a base and of a change, one run each, whether or not they fail.
///
/// # Errors
/// When no engine can serve, a command cannot be started, or the counts are of no function.
pub fn counted_change(
    base: &CommandSpec,
    change: &CommandSpec,
    cancel: &Cancel,
    progress: &mut dyn Progress,
) -> Result<InstructionChange, InvestigateError> {
    let plan = CountPlan {
        engine: None,
        transfers: Transfers::None,
        children: true,
        native: false,
        ignore_failure: true,
        observe: false,
    };
    let mut launcher = Launcher::new()?;
    let mut count =
        |spec: &CommandSpec| execution_counts::count(&mut launcher, spec, &plan, cancel, progress);
    let (base, change) = (count(base)?.raw, count(change)?.raw);
    let mut counted = genba_attribution::instruction_change(&base, &change)?;
    let detail = genba_attribution::counted_detail;
    set_grown_lines(&mut counted, &detail(&base), &detail(&change));
    Ok(counted)
}

/// Replaces the first line of functions that have grown by the line that grew most. Lines correspond by
/// their text, where the sources of both builds are there, else by number.
fn set_grown_lines(counted: &mut InstructionChange, base: &CountedDetail, change: &CountedDetail) {
    let mut sources = Sources::default();
    let grown = counted
        .functions
        .iter_mut()
        .filter(|one| one.change > one.base);
    for one in grown.take(MAX_FUNCTIONS) {
        let (before, after) = (lines(base, &one.function), lines(change, &one.function));
        if let Some(((file, line), growth)) = most_grown(&before, &after, &mut sources)
            && growth > 0
        {
            (one.file, one.line) = (Some(file), Some(line));
        }
    }
}

/// Instructions executed of a function, by line.
fn lines(of: &CountedDetail, function: &str) -> BTreeMap<Place, u64> {
    let mut lines = BTreeMap::new();
    let named = of.functions.iter().filter(|one| one.name == function);
    for site in named.flat_map(|one| &one.sites) {
        let file = site.file.and_then(|file| of.files.get(file as usize));
        if let Some(place) = file.cloned().zip(site.line) {
            let sum: &mut u64 = lines.entry(place).or_default();
            *sum = sum.saturating_add(site.count);
        }
    }
    lines
}

fn most_grown(
    before: &BTreeMap<Place, u64>,
    after: &BTreeMap<Place, u64>,
    sources: &mut Sources,
) -> Option<(Place, u64)> {
    let mut with_text = |places: &BTreeMap<Place, u64>| -> Vec<Option<String>> {
        places.keys().map(|place| sources.line(place)).collect()
    };
    let (old_text, new_text) = (with_text(before), with_text(after));
    let one: Lines<'_> = before
        .keys()
        .zip(old_text.iter().map(Option::as_deref))
        .collect();
    let two: Lines<'_> = after
        .keys()
        .zip(new_text.iter().map(Option::as_deref))
        .collect();
    pairs(&one, &two)
        .into_iter()
        .filter_map(|(old, new)| {
            let new = new?;
            let old = old
                .and_then(|old| before.get(old))
                .copied()
                .unwrap_or_default();
            Some((new.clone(), after.get(new)?.saturating_sub(old)))
        })
        .max_by(|a, b| a.1.cmp(&b.1).then_with(|| b.0.cmp(&a.0)))
}

/// Source files, each read once.
#[derive(Default)]
struct Sources(HashMap<String, Vec<String>>);

impl Sources {
    fn line(&mut self, (file, line): &Place) -> Option<String> {
        let lines = self.0.entry(file.clone()).or_insert_with(|| {
            let path = Path::new(file);
            let fits = path
                .metadata()
                .is_ok_and(|found| found.is_file() && found.len() <= MAX_FILE);
            let text = fits
                .then(|| std::fs::read(path).ok())
                .flatten()
                .unwrap_or_default();
            String::from_utf8_lossy(&text)
                .lines()
                .map(str::to_owned)
                .collect()
        });
        lines.get((*line as usize).checked_sub(1)?).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(file: &str, lines: &[(u32, u64)]) -> BTreeMap<Place, u64> {
        let lines = lines.iter();
        lines
            .map(|(line, count)| ((file.to_owned(), *line), *count))
            .collect()
    }

    #[test]
    fn the_line_that_grew_is_found_below_inserted_ones() {
        let here = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let directory = here.path().join(name);
            std::fs::create_dir(&directory).unwrap();
            let path = directory.join("a.c");
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let old = write("old", "first\nsecond\nthird\n");
        let new = write("new", "// more\n// of it\nfirst\nsecond\nthird\n");
        let before = counts(&old, &[(1, 500), (2, 20), (3, 400)]);
        let after = counts(&new, &[(3, 500), (4, 90), (5, 400)]);
        let found = most_grown(&before, &after, &mut Sources::default());
        assert_eq!(found, Some(((new.clone(), 4), 70)));
        // A line that is new has all of its instructions more.
        let added = counts(&new, &[(2, 300), (3, 500), (4, 20), (5, 400)]);
        let found = most_grown(&before, &added, &mut Sources::default());
        assert_eq!(found, Some(((new, 2), 300)));
    }

    #[test]
    fn without_sources_lines_correspond_by_number() {
        let before = counts("/gone/x.c", &[(7, 10), (8, 10)]);
        let after = counts("/gone/x.c", &[(7, 10), (8, 30)]);
        let found = most_grown(&before, &after, &mut Sources::default());
        assert_eq!(found, Some((("/gone/x.c".to_owned(), 8), 20)));
        assert_eq!(
            most_grown(&before, &BTreeMap::new(), &mut Sources::default()),
            None
        );
    }
}
