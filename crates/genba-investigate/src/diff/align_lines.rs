//! Which source lines of two builds correspond. Pure.
//!
//! Builds of two commits lie in different directories, and lines move when others are inserted
//! above them. Files correspond if they have the same path, or else the most components at its end
//! in common; lines of two such files by aligning their text, or by number where a text is unknown.

use std::collections::{BTreeMap, BTreeSet};

use super::align_instructions::align;

/// File and number of a line.
pub(super) type Place = (String, u32);

/// Lines in order, with their text where it is known.
pub(super) type Lines<'a> = Vec<(&'a Place, Option<&'a str>)>;

/// Pairs of corresponding lines, and lines of one side only.
pub(super) fn pairs<'a>(
    before: &Lines<'a>,
    after: &Lines<'a>,
) -> Vec<(Option<&'a Place>, Option<&'a Place>)> {
    let (mut left, mut right) = (by_file(before), by_file(after));
    let mut found = Vec::new();
    for (one, two) in corresponding(&left, &right) {
        let lines = left.remove(one).zip(right.remove(two));
        found.extend(lines.iter().flat_map(|(one, two)| of_file(one, two)));
    }
    let only_before = left.values().flatten().map(|one| (Some(one.0), None));
    let only_after = right.values().flatten().map(|two| (None, Some(two.0)));
    found.extend(only_before.chain(only_after));
    found
}

type Files<'a> = BTreeMap<&'a str, Lines<'a>>;

fn by_file<'a>(lines: &Lines<'a>) -> Files<'a> {
    let mut files = Files::new();
    for &(place, text) in lines {
        files.entry(&place.0).or_default().push((place, text));
    }
    files
}

/// Pairs of files: of the same path, then those whose paths end most alike, on both sides.
fn corresponding<'a>(before: &Files<'a>, after: &Files<'a>) -> Vec<(&'a str, &'a str)> {
    let (left, right): (BTreeSet<&str>, BTreeSet<&str>) = (
        before.keys().copied().collect(),
        after.keys().copied().collect(),
    );
    let same = left.intersection(&right).copied();
    let mut found: Vec<(&str, &str)> = same.map(|one| (one, one)).collect();
    let others: Vec<&str> = right.difference(&left).copied().collect();
    let moved: Vec<&str> = left.difference(&right).copied().collect();
    for &one in &moved {
        let two = most_alike(one, &others);
        if let Some(two) = two.filter(|two| most_alike(two, &moved) == Some(one)) {
            found.push((one, two));
        }
    }
    found
}

/// The one path that has more components at its end in common with `path` than all others.
fn most_alike<'a>(path: &str, others: &[&'a str]) -> Option<&'a str> {
    let common = |other: &str| {
        let parts = path.rsplit('/').zip(other.rsplit('/'));
        parts.take_while(|(one, two)| one == two).count()
    };
    let most = others.iter().map(|other| common(other)).max()?;
    let mut best = others.iter().filter(|other| common(other) == most);
    let one = best.next().filter(|_| most > 0);
    one.filter(|_| best.next().is_none()).copied()
}

fn of_file<'a>(
    before: &Lines<'a>,
    after: &Lines<'a>,
) -> Vec<(Option<&'a Place>, Option<&'a Place>)> {
    let texts = |lines: &Lines<'a>| -> Option<Vec<String>> {
        (lines.iter())
            .map(|one| Some(one.1?.trim().to_owned()))
            .collect()
    };
    if let (Some(one), Some(two)) = (texts(before), texts(after)) {
        let aligned = align(&one, &two).into_iter();
        return aligned
            .map(|(one, two)| (one.map(|at| before[at].0), two.map(|at| after[at].0)))
            .collect();
    }
    let number = |lines: &Lines<'a>| -> BTreeMap<u32, &'a Place> {
        lines.iter().map(|one| (one.0.1, one.0)).collect()
    };
    let (one, two) = (number(before), number(after));
    let all: BTreeSet<&u32> = one.keys().chain(two.keys()).collect();
    all.into_iter()
        .map(|line| (one.get(line).copied(), two.get(line).copied()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(file: &str, lines: &[u32]) -> Vec<Place> {
        lines.iter().map(|line| (file.to_owned(), *line)).collect()
    }

    fn with<'a>(places: &'a [Place], texts: &[&'a str]) -> Lines<'a> {
        (places.iter().enumerate())
            .map(|(at, place)| (place, texts.get(at).copied()))
            .collect()
    }

    fn numbers(pairs: &[(Option<&Place>, Option<&Place>)]) -> Vec<(u32, u32)> {
        let line = |place: Option<&Place>| place.map_or(0, |place| place.1);
        pairs
            .iter()
            .map(|(one, two)| (line(*one), line(*two)))
            .collect()
    }

    #[test]
    fn lines_below_an_insertion_correspond_in_another_directory() {
        let before = places("/cache/aaa/src/p.c", &[3, 4, 5]);
        let after = places("/cache/bbb/src/p.c", &[3, 4, 5, 6]);
        let found = pairs(
            &with(&before, &["f(x);", "  g(x);", "h(x);"]),
            &with(&after, &["f(x);", "check(x);", "g(x);", "h(x);"]),
        );
        assert_eq!(numbers(&found), [(3, 3), (0, 4), (4, 5), (5, 6)]);
    }

    #[test]
    fn lines_without_text_correspond_by_number() {
        let (before, after) = (places("p.c", &[3, 4]), places("p.c", &[4, 5]));
        let found = pairs(&with(&before, &["f();"]), &with(&after, &["g();", "h();"]));
        assert_eq!(numbers(&found), [(3, 0), (4, 4), (0, 5)]);
    }

    #[test]
    fn files_correspond_by_the_end_of_their_paths_where_that_is_clear() {
        let of = |files: &[&str]| -> Vec<Place> {
            files.iter().map(|file| ((*file).to_owned(), 1)).collect()
        };
        let before = of(&["/a/lib/util.c", "/a/src/util.c", "/a/x.c"]);
        let after = of(&["/b/lib/util.c", "/b/src/util.c", "/b/y.c"]);
        let found = pairs(&with(&before, &[]), &with(&after, &[]));
        let both = found
            .iter()
            .filter_map(|(one, two)| Some((&one.as_ref()?.0, &two.as_ref()?.0)));
        let both: Vec<_> = both.collect();
        assert_eq!(both.len(), 2);
        assert!(both.iter().all(|(one, two)| one[2..] == two[2..]));
        let before = of(&["/a/util.c"]);
        let after = of(&["/b/one/util.c", "/b/two/util.c"]);
        let found = pairs(&with(&before, &[]), &with(&after, &[]));
        assert_eq!(found.len(), 3, "which of them is not known");
    }
}
