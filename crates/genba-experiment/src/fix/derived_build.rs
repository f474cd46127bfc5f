//! The build of a small program, derived from its debug information: compilers record their options there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use genba_fix::Dialect;
use genba_symbols::{Binary, CompileUnit, is_toolchain_file};
use tempfile::TempDir;

/// Most translation units of a program whose build is derived.
const MAX_UNITS: usize = 12;
/// Most files beside them that are copied: headers.
const MAX_FILES: usize = 400;
/// Most symbols that are asked for their translation unit.
const MAX_SYMBOLS: usize = 100_000;
/// Name of the program in the copy.
const PROGRAM: &str = "genba-fix-program";

/// A build that was derived.
pub struct DerivedBuild {
    /// A directory with copies of the sources; it vanishes with this value.
    pub sources: TempDir,
    /// The user's directory that they are of.
    pub root: PathBuf,
    /// Shell command.
    pub command: String,
    /// The built program relative to the directory.
    pub program: &'static str,
}

/// Derives the build of a program of few translation units that all lie in directories below one.
///
/// # Errors
/// Why it cannot be derived, as a clause.
pub fn derived_build(program: &Path) -> Result<DerivedBuild, String> {
    let shown = program.display();
    let binary = Binary::open(program).map_err(|error| format!("{shown}: {error}"))?;
    let mut units: BTreeMap<PathBuf, CompileUnit> = BTreeMap::new();
    for symbol in binary.symbols().take(MAX_SYMBOLS) {
        let Some(unit) = binary.compile_unit_at(symbol.address) else {
            continue;
        };
        let Some(name) = &unit.name else { continue };
        let path = match &unit.directory {
            Some(directory) => Path::new(directory).join(name),
            None => PathBuf::from(name),
        };
        if !is_toolchain_file(&path.to_string_lossy()) {
            units.insert(path, unit);
        }
        if units.len() > MAX_UNITS {
            return Err(format!(
                "{shown} has more than {MAX_UNITS} translation units"
            ));
        }
    }
    // Start files of the C library are there, but not their sources.
    units.retain(|path, _| path.is_file());
    let root = root_of(units.keys()).ok_or_else(|| {
        format!("the sources of {shown} are not known: it was built without -g, or they have moved")
    })?;
    let mut commands = Vec::new();
    let mut objects = Vec::new();
    let mut linker = "gcc";
    for (number, (path, unit)) in units.iter().enumerate() {
        let name = path.strip_prefix(&root).unwrap_or(path);
        let compiler = match Dialect::of_name(&path.to_string_lossy(), Dialect::C) {
            Some(Dialect::C) => "gcc",
            Some(Dialect::Cpp) => "g++",
            None => return Err(format!("{} is not C or C++", path.display())),
        };
        if compiler == "g++" {
            linker = compiler;
        }
        let options = options_of(unit.producer.as_deref().unwrap_or_default())
            .ok_or_else(|| format!("the compiler of {} recorded no options", path.display()))?;
        let object = format!("genba-fix-{number}.o");
        let quoted = quote(&name.to_string_lossy());
        commands.push(format!("{compiler} {options} -c -o {object} {quoted}"));
        objects.push(object);
    }
    let objects = objects.join(" ");
    commands.push(format!("{linker} -pthread -o {PROGRAM} {objects} -lm"));
    let sources = tempfile::Builder::new()
        .prefix("genba-fix-")
        .tempdir()
        .map_err(|error| format!("no directory for the sources can be created: {error}"))?;
    let mut left = MAX_FILES;
    copy_sources(&root, sources.path(), &mut left)
        .map_err(|error| format!("the sources cannot be copied: {error}"))?;
    Ok(DerivedBuild {
        sources,
        root,
        command: commands.join(" && "),
        program: PROGRAM,
    })
}

/// The directory that holds all files.
fn root_of<'a>(mut paths: impl Iterator<Item = &'a PathBuf>) -> Option<PathBuf> {
    let mut root = paths.next()?.parent()?.to_owned();
    for path in paths {
        while !path.starts_with(&root) {
            root = root.parent()?.to_owned();
        }
    }
    // Not the whole file system.
    root.parent().is_some().then_some(root)
}

/// The options of a producer string of GCC: what follows its version.
fn options_of(producer: &str) -> Option<String> {
    let start = producer.find(" -")?;
    producer.starts_with("GNU ").then_some(())?;
    let options = producer[start..].split_whitespace();
    let wanted = options.filter(|option| {
        option.starts_with('-')
            && option.chars().all(|c| c.is_ascii_alphanumeric() || "-_=+.,".contains(c))
            // Options of the compiler proper that the driver makes of others.
            && !option.starts_with("-fasynchronous")
    });
    Some(wanted.collect::<Vec<_>>().join(" "))
}

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Copies C and C++ files and what they may include, with their directories.
fn copy_sources(from: &Path, to: &Path, left: &mut usize) -> std::io::Result<()> {
    for entry in fs::read_dir(from)?.flatten() {
        let kind = entry.file_type()?;
        let target = to.join(entry.file_name());
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if kind.is_dir() && !name.starts_with('.') && *left > 0 {
            fs::create_dir(&target)?;
            copy_sources(&entry.path(), &target, left)?;
            // An empty directory says nothing.
            let _ = fs::remove_dir(&target);
        } else if kind.is_file() && is_source(&name) && *left > 0 {
            *left -= 1;
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}

fn is_source(name: &str) -> bool {
    Dialect::of_name(name, Dialect::C).is_some()
        || [".inc", ".def", ".tcc"]
            .iter()
            .any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_those_behind_the_version() {
        let options = |text| options_of(text);
        assert_eq!(
            options("GNU C11 12.2.0 -mtune=generic -march=x86-64 -g -O2 -std=gnu11").as_deref(),
            Some("-mtune=generic -march=x86-64 -g -O2 -std=gnu11")
        );
        assert_eq!(options("clang version 14.0.6"), None);
        let hostile = options("GNU C11 1 -O2 -o;rm x -fplugin=$(x) `y`").expect("options");
        assert_eq!(hostile, "-O2");
    }

    #[test]
    fn root_is_the_directory_that_holds_all() {
        let root =
            |paths: &[&str]| root_of(paths.iter().map(PathBuf::from).collect::<Vec<_>>().iter());
        assert_eq!(root(&["/a/b/x.c"]), Some("/a/b".into()));
        assert_eq!(root(&["/a/b/x.c", "/a/c/y.c"]), Some("/a".into()));
        assert_eq!(root(&["/a/x.c", "/b/y.c"]), None);
        assert_eq!(root(&[]), None);
    }
}
