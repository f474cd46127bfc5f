//! Size of a command's input, as far as its command line names it.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use genba_model::Workload;

/// Smaller files are options rather than input: scripts, patterns. Chosen: one page of memory.
const MIN_INPUT_BYTES: u64 = 4096;

/// Returns the size of the files that a command line names as arguments or redirects, each once;
/// `None` where it names none. Programs, scripts and files for output are not counted.
#[must_use]
pub(crate) fn size_of_named_files(workload: &Workload) -> Option<u64> {
    let words = match (&workload.shell, workload.command.first()) {
        (Some(_), Some(line)) => shlex::split(line)?,
        _ => workload.command.clone(),
    };
    let mut sizes: Vec<(String, u64)> = Vec::new();
    for word in named(&words) {
        let path = Path::new(&workload.directory).join(word);
        if let Some(bytes) = input_size(&path)
            && !sizes.iter().any(|one| one.0 == word)
        {
            sizes.push((word.to_owned(), bytes));
        }
    }
    let sum: u64 = sizes.iter().map(|one| one.1).sum();
    (sum >= MIN_INPUT_BYTES).then_some(sum)
}

/// Words of a command line that may name input: not the program, not what output goes to.
fn named(words: &[String]) -> Vec<&str> {
    let mut found = Vec::new();
    let mut output = false;
    for word in words.iter().skip(1) {
        let was_output = std::mem::replace(&mut output, word.ends_with('>'));
        if was_output || word.contains('>') {
            continue;
        }
        let value = match word.split_once('=') {
            Some((option, value)) if option.starts_with('-') => value,
            _ => word.trim_start_matches('<'),
        };
        if !value.is_empty() {
            found.push(value);
        }
    }
    found
}

/// Size of a regular file that is not a program.
fn input_size(path: &Path) -> Option<u64> {
    let about = std::fs::metadata(path).ok()?;
    let program = about.permissions().mode() & 0o111 != 0 && is_program(path);
    (about.is_file() && !program).then_some(about.len())
}

/// Whether an executable file is code: ELF, or a script with an interpreter's line.
fn is_program(path: &Path) -> bool {
    let mut head = [0u8; 4];
    let read = File::open(path).and_then(|mut file| file.read(&mut head));
    read.is_ok() && (head.starts_with(b"#!") || head.starts_with(b"\x7fELF"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn arguments_and_redirections_are_candidates_output_is_not() {
        let line = words("prog -x a.txt --in=b.txt <c.txt < d.txt >e.txt > f.txt 2> g.txt h.txt");
        let found = named(&line);
        for name in ["a.txt", "b.txt", "c.txt", "d.txt", "h.txt"] {
            assert!(found.contains(&name), "{name} in {found:?}");
        }
        for name in ["prog", "e.txt", "f.txt", "g.txt"] {
            assert!(!found.contains(&name), "{name} in {found:?}");
        }
    }

    #[test]
    fn size_is_that_of_existing_files_once() {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::write(directory.path().join("data"), vec![b'x'; 5000]).expect("a file");
        let workload = |line: &str| Workload {
            command: vec![line.to_owned()],
            shell: Some("sh".to_owned()),
            directory: directory.path().display().to_string(),
            name: None,
        };
        assert_eq!(
            size_of_named_files(&workload("cat data data missing > out")),
            Some(5000)
        );
        assert_eq!(size_of_named_files(&workload("cat missing")), None);
        assert_eq!(size_of_named_files(&workload("data")), None, "the program");
        assert_eq!(size_of_named_files(&workload("cat 'open")), None);
    }
}
