//! Which file a process works on, by its command line: children of one program (`cc1`, `as`) differ in nothing else.

/// The file of a process, once it runs its own program: empty where its command line names none, `None` where it is
/// not known yet.
pub fn of_process(pid: i32) -> Option<String> {
    let text = |file: &str| std::fs::read(format!("/proc/{pid}/{file}")).ok();
    let (line, comm) = (text("cmdline")?, text("comm")?);
    let words: Vec<String> = line
        .split(|byte| *byte == 0)
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect();
    let comm = String::from_utf8_lossy(&comm);
    named_by(&words, comm.trim_end())
}

/// The last part of the first argument that names a file, of a command that is the process's program: between `fork` and
/// `execve` it has the command line of its parent.
fn named_by(words: &[String], comm: &str) -> Option<String> {
    let (program, arguments) = words.split_first()?;
    let program = program.rsplit('/').next()?;
    if comm.is_empty() || !program.starts_with(comm) {
        return None;
    }
    let mut is_output = false;
    let file = arguments.iter().find(|word| {
        // What follows `-o` is made, not read.
        let skipped = std::mem::replace(&mut is_output, *word == "-o");
        !skipped && is_file(word)
    });
    let name = file.and_then(|file| file.rsplit('/').next());
    Some(name.unwrap_or_default().to_owned())
}

/// Whether a word looks like the name of a file: a stem and a short suffix.
fn is_file(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    let plain = |c: char| c.is_alphanumeric() || "._+-".contains(c);
    name.rsplit_once('.').is_some_and(|(stem, suffix)| {
        let letter = |c: char| c.is_ascii_alphabetic();
        !word.starts_with('-')
            && !stem.is_empty()
            && (1..=5).contains(&suffix.len())
            && suffix.starts_with(letter)
            && name.chars().all(plain)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(line: &str, comm: &str) -> Option<String> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        named_by(&words, comm)
    }

    #[test]
    fn source_of_a_compiler_is_its_file() {
        let line = "/usr/lib/gcc/12/cc1 -quiet -imultiarch x86_64-linux-gnu -D V=5.4 src/lvm.c -dumpbase lvm.c -o /tmp/x.s";
        assert_eq!(named(line, "cc1").as_deref(), Some("lvm.c"));
        assert_eq!(
            named("gcc -c -o lapi.o lapi.c", "gcc").as_deref(),
            Some("lapi.c")
        );
        assert_eq!(
            named("python3 -u job.py 3", "python3").as_deref(),
            Some("job.py")
        );
    }

    #[test]
    fn command_without_a_file_or_of_the_parent_has_none() {
        assert_eq!(named("sleep 1.5", "sleep").as_deref(), Some(""));
        assert_eq!(named("make -f rules.mk", "cc1"), None);
        assert_eq!(named("", ""), None);
    }
}
