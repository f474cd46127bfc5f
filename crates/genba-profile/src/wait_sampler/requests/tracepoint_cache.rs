//! A file of the user with the numbers of tracepoints that were searched for: they are the same as long as the kernel
//! is.

use std::fs;
use std::path::{Path, PathBuf};

use super::tracepoint_search::Found;

/// Longest file that is read, bytes.
const MAX_BYTES: u64 = 16 << 10;
/// The kernel's build id and its like.
const KERNEL: &str = "/sys/kernel/notes";

/// The numbers that were stored for this kernel after a search for these calls.
pub fn load(calls: &[i64]) -> Option<Found> {
    let path = file()?;
    let size = fs::metadata(&path).ok()?.len();
    let text = (size <= MAX_BYTES).then(|| fs::read_to_string(path))?;
    parse(&text.ok()?, &head(calls)?)
}

/// Stores what was found; where that cannot be done it is searched for again.
pub fn store(calls: &[i64], found: &Found) {
    if let (Some(path), Some(head)) = (file(), head(calls)) {
        let _ = write(&path, &text_of(found, &head));
    }
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory)?;
    // Another genba may read it now.
    let part = path.with_extension(std::process::id().to_string());
    fs::write(&part, text)?;
    fs::rename(&part, path).inspect_err(|_| {
        let _ = fs::remove_file(&part);
    })
}

fn file() -> Option<PathBuf> {
    let absolute = |name| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(cache.join("genba/tracepoints"))
}

/// The version of the search: what an earlier one did not find is searched for again.
const SEARCH: u32 = 2;

/// The kernel, the search, and what was searched for: what is not in the rest was not found.
fn head(calls: &[i64]) -> Option<String> {
    let notes = fs::read(KERNEL).ok().filter(|notes| !notes.is_empty())?;
    let notes: String = notes.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(format!("{notes} search {SEARCH} {calls:?}"))
}

/// A line for kernel and search, then one for each call: its number, those of its beginning and its end.
fn text_of(found: &Found, head: &str) -> String {
    let mut lines: Vec<String> = found
        .iter()
        .map(|(call, (entry, exit))| format!("{call} {entry} {exit}\n"))
        .collect();
    lines.sort();
    format!("{head}\n{}", lines.concat())
}

fn parse(text: &str, head: &str) -> Option<Found> {
    let (first, rest) = text.split_once('\n')?;
    let call = |line: &str| {
        let mut words = line.split(' ');
        let call: i64 = words.next()?.parse().ok()?;
        let mut id = || words.next()?.parse::<u16>().ok().map(u64::from);
        Some((call, (id()?, id()?)))
    };
    (first == head).then(|| rest.lines().map(call).collect())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_those_of_the_same_kernel() {
        let found = Found::from([(0, (842, 841)), (232, (1069, 1068))]);
        let text = text_of(&found, "00ff");
        assert_eq!(parse(&text, "00ff"), Some(found));
        assert_eq!(parse(&text, "00fe"), None);
        assert_eq!(parse("00ff\n0 842\n", "00ff"), None);
        assert_eq!(parse("00ff\n0 842 70000\n", "00ff"), None);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new/file");
        write(&path, &text).unwrap();
        assert_eq!(fs::read_to_string(path).unwrap(), text);
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "(\\PC{0,20}\n){0,5}") {
            let _ = parse(&text, "");
        }
    }
}
