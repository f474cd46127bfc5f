//! The directory that an agent may measure in: which programs may be started, and which paths named.
//!
//! What is checked is what the agent asks for. A program that is started is not confined: it can do what its
//! user can do.

use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

/// Name of the directory of cases.
const CASES: &str = ".genba";

/// A request that leads outside of the directory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(pub String);

/// The directory that the server was started for, and the programs outside of it that may be started.
#[derive(Clone, Debug)]
pub struct Workspace {
    root: PathBuf,
    allowed: Vec<(String, Option<PathBuf>)>,
}

impl Workspace {
    /// The workspace of a directory; `allowed` are names of programs that are looked up in `PATH`.
    ///
    /// # Errors
    /// The directory does not exist, or its directory of cases lies elsewhere.
    pub fn open(root: &Path, allowed: &[String]) -> Result<Self, Refusal> {
        let unusable = |error| Refusal(format!("cannot use {}: {error}", root.display()));
        let root = root.canonicalize().map_err(unusable)?;
        if !root.is_dir() {
            return Err(Refusal(format!("{} is not a directory", root.display())));
        }
        let allowed = (allowed.iter())
            .map(|name| (name.clone(), in_path(name)))
            .collect();
        let workspace = Self { root, allowed };
        workspace.resolve(&workspace.cases(), "the directory of cases")?;
        Ok(workspace)
    }

    /// The directory, without symbolic links.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The directory of cases.
    #[must_use]
    pub fn cases(&self) -> PathBuf {
        self.root.join(CASES)
    }

    /// A working directory within this one; this one where none is given.
    ///
    /// # Errors
    /// It lies outside, or does not exist.
    pub fn directory(&self, given: Option<&str>) -> Result<PathBuf, Refusal> {
        let Some(given) = given else {
            return Ok(self.root.clone());
        };
        let found = self.resolve(&self.root.join(given), given)?;
        match found.is_dir() {
            true => Ok(found),
            false => Err(Refusal(format!("{given} is not a directory"))),
        }
    }

    /// A path within this directory, relative to `directory`.
    ///
    /// # Errors
    /// It leads outside.
    pub fn path(&self, given: &str, directory: &Path) -> Result<PathBuf, Refusal> {
        self.resolve(&directory.join(given), given)
    }

    /// Checks that a command may run in `directory`: its program and the paths among its arguments.
    ///
    /// # Errors
    /// There is none, or something in it lies outside.
    pub fn check_command(&self, words: &[String], directory: &Path) -> Result<(), Refusal> {
        let Some((program, arguments)) = words.split_first() else {
            return Err(Refusal(
                "the command is empty: give the program and its arguments as a list".to_owned(),
            ));
        };
        self.check_program(program, directory)?;
        for argument in arguments {
            for piece in path_like(argument) {
                self.path(piece, directory)?;
            }
        }
        Ok(())
    }

    fn check_program(&self, program: &str, directory: &Path) -> Result<(), Refusal> {
        // A command of one word is a line for the shell where it has such signs.
        let plain = |sign: char| sign.is_alphanumeric() || "._-+/{}@%,=:".contains(sign);
        if program.is_empty() || program.starts_with('-') || !program.chars().all(plain) {
            return Err(Refusal(format!(
                "no program is named {program:?}: give the program and its arguments as a list, not as a shell line"
            )));
        }
        if [".toml", ".yml", ".yaml"]
            .iter()
            .any(|end| program.ends_with(end))
        {
            return Err(Refusal(format!(
                "{program} is not a program: the commands of a suite are not checked, name them one by one"
            )));
        }
        if program.contains('/') {
            return match self.path(program, directory) {
                Ok(_) => Ok(()),
                Err(_) if self.is_allowed(&directory.join(program)) => Ok(()),
                Err(refusal) => Err(refusal),
            };
        }
        let allowed = self.allowed.iter().any(|(name, _)| name == program);
        let inside = in_path(program).is_some_and(|found| found.starts_with(&self.root));
        if allowed || inside {
            return Ok(());
        }
        Err(Refusal(format!(
            "{program} is not in {}, and may not be started: only programs in this directory may be, and those \
             named when the server is started (genba mcp --allow {program})",
            self.root.display()
        )))
    }

    /// Whether a path is, behind its links, an allowed program: as the interpreter of a virtual environment.
    fn is_allowed(&self, path: &Path) -> bool {
        let Ok(found) = path.canonicalize() else {
            return false;
        };
        (self.allowed.iter()).any(|(_, program)| program.as_ref() == Some(&found))
    }

    /// The id of a case, or `latest`. All files of a case that is named lie in its directory.
    ///
    /// # Errors
    /// It cannot be an id, or the case has links that lead outside.
    pub fn case<'a>(&self, id: &'a str) -> Result<&'a str, Refusal> {
        if id == "latest" {
            return Ok(id);
        }
        let is_id = (2..=32).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_id {
            return Err(Refusal(format!("{id:?} is not the id of a case")));
        }
        // A file of this name would be taken instead of the case.
        if self.root.join(id).exists() {
            return Err(Refusal(format!(
                "{id} is the name of a file in {}: give more of the case's id",
                self.root.display()
            )));
        }
        Ok(id)
    }

    /// Checks that no link in the directory of a case leads outside.
    ///
    /// # Errors
    /// One does.
    pub fn check_case_files(&self, directory: &Path) -> Result<(), Refusal> {
        let shown = directory.display().to_string();
        let directory = self.resolve(directory, &shown)?;
        for entry in std::fs::read_dir(&directory)
            .into_iter()
            .flatten()
            .flatten()
        {
            let path = entry.path();
            self.resolve(&path, &path.display().to_string())?;
        }
        Ok(())
    }

    /// Checks that the Git repository of a directory is within this one.
    ///
    /// # Errors
    /// There is none, or it lies outside.
    pub fn check_repository(&self, directory: &Path) -> Result<(), Refusal> {
        let inside = directory
            .ancestors()
            .take_while(|one| one.starts_with(&self.root));
        let Some(found) = inside.map(|one| one.join(".git")).find(|git| git.exists()) else {
            return Err(Refusal(format!(
                "there is no Git repository in {}",
                self.root.display()
            )));
        };
        self.resolve(&found, ".git")?;
        // The file of a work tree names the directory of its repository.
        if found.is_file() {
            let text = std::fs::read_to_string(&found).unwrap_or_default();
            let named = text.trim().strip_prefix("gitdir:").unwrap_or("/").trim();
            self.path(named, found.parent().unwrap_or(&self.root))?;
        }
        Ok(())
    }

    /// The path without links and `..`, of which the end may not exist yet.
    fn resolve(&self, path: &Path, shown: &str) -> Result<PathBuf, Refusal> {
        let outside = || {
            Refusal(format!(
                "{shown} is outside of {}: nothing is run or read there",
                self.root.display()
            ))
        };
        let mut existing = path.to_owned();
        let mut missing = Vec::new();
        let found = loop {
            match existing.canonicalize() {
                Ok(found) => break found,
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                // No name is that long, and no file has files below it.
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::InvalidFilename | ErrorKind::NotADirectory
                    ) => {}
                Err(_) => return Err(outside()),
            }
            // A link whose target does not exist.
            if existing.symlink_metadata().is_ok() {
                return Err(outside());
            }
            match existing.components().next_back() {
                Some(Component::Normal(name)) => missing.push(name.to_owned()),
                // What does not exist may become a link.
                _ => return Err(outside()),
            }
            existing.pop();
        };
        if !found.starts_with(&self.root) {
            return Err(outside());
        }
        Ok(found.join(missing.into_iter().rev().collect::<PathBuf>()))
    }
}

/// The file of a program that is looked up in `PATH`, without links.
fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|directory| directory.join(name))
        .find_map(|candidate| candidate.canonicalize().ok().filter(|file| file.is_file()))
}

/// What of an argument may be a path: the whole, what stands behind `=`, `:`, `,` and `@`, and the value of an option
/// of one letter (`-I../include`). A piece without a slash is one as well: it may be a link.
fn path_like(argument: &str) -> impl Iterator<Item = &str> {
    let pieces = argument.split(['=', ':', ',', '@']).chain([argument]);
    pieces
        .flat_map(|piece| {
            let of_option = (piece.strip_prefix('-'))
                .filter(|rest| !rest.starts_with('-'))
                .and_then(|rest| rest.char_indices().nth(1).map(|(index, _)| &rest[index..]));
            match piece.starts_with('-') {
                true => [of_option, None],
                false => [Some(piece), None],
            }
        })
        .flatten()
        .filter(|piece| !piece.is_empty() && !matches!(*piece, "/dev/null" | "/dev/zero"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn workspace(allowed: &[&str]) -> (tempfile::TempDir, Workspace) {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path().join("project");
        std::fs::create_dir_all(root.join("sub")).expect("made");
        std::fs::write(root.join("prog"), "").expect("written");
        std::fs::write(directory.path().join("secret"), "").expect("written");
        let allowed: Vec<String> = allowed.iter().map(|&name| name.to_owned()).collect();
        let workspace = Workspace::open(&root, &allowed).expect("it exists");
        (directory, workspace)
    }

    fn check(workspace: &Workspace, words: &[&str]) -> Result<(), Refusal> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        workspace.check_command(&words, workspace.root())
    }

    #[test]
    fn programs_in_the_directory_are_started_and_no_others() {
        let (_directory, workspace) = workspace(&["make"]);
        for good in ["./prog", "sub/../prog", "./not-built-yet", "make"] {
            assert!(check(&workspace, &[good]).is_ok(), "{good}");
        }
        let inside = workspace.root().join("prog");
        assert!(check(&workspace, &[inside.to_str().expect("UTF-8")]).is_ok());
        for bad in [
            "sh",
            "/bin/sh",
            "../secret",
            "sub/../../secret",
            "./prog 1",
            "",
            "no/../../x",
        ] {
            assert!(check(&workspace, &[bad]).is_err(), "{bad}");
        }
        assert!(check(&workspace, &[]).is_err());
    }

    #[test]
    fn arguments_that_lead_outside_are_refused() {
        let (_directory, workspace) = workspace(&[]);
        for good in [
            "input",
            "sub/new",
            "-O2",
            "--level=9",
            "1/2",
            "a:b",
            "--out=/dev/null",
            "{N}",
            "3.5",
        ] {
            assert!(check(&workspace, &["./prog", good]).is_ok(), "{good}");
        }
        for bad in [
            "/etc/passwd",
            "../secret",
            "--input=/etc/passwd",
            "-I../x",
            "-I/usr/include",
            "sub:../secret",
        ] {
            assert!(check(&workspace, &["./prog", bad]).is_err(), "{bad}");
        }
    }

    #[test]
    fn links_that_lead_outside_are_refused_even_before_their_target_exists() {
        let (directory, workspace) = workspace(&[]);
        let root = workspace.root();
        symlink(directory.path().join("secret"), root.join("out")).expect("a link");
        symlink("/nowhere/at/all", root.join("dangling")).expect("a link");
        symlink("prog", root.join("in")).expect("a link");
        symlink(directory.path(), root.join("up")).expect("a link");
        for bad in [
            "out",
            "./out",
            "dangling",
            "up/secret",
            "up/project/../secret",
            "--in=out",
        ] {
            assert!(check(&workspace, &["./prog", bad]).is_err(), "{bad}");
        }
        assert!(check(&workspace, &["./out"]).is_err());
        assert!(check(&workspace, &["./in", "in", "up/project/prog"]).is_ok());
        assert!(workspace.directory(Some("up")).is_err());
        assert!(workspace.directory(Some("sub")).is_ok());
        assert!(workspace.directory(Some("/")).is_err());
    }

    #[test]
    fn link_to_an_allowed_program_is_started() {
        let (_directory, workspace) = workspace(&["sh"]);
        symlink("/bin/sh", workspace.root().join("shell")).expect("a link");
        symlink("/bin/cat", workspace.root().join("cat")).expect("a link");
        assert!(check(&workspace, &["./shell"]).is_ok());
        assert!(check(&workspace, &["./cat"]).is_err());
    }

    #[test]
    fn only_ids_name_cases_and_their_files_stay_inside() {
        let (directory, workspace) = workspace(&[]);
        assert_eq!(workspace.case("latest"), Ok("latest"));
        assert_eq!(workspace.case("7f3a"), Ok("7f3a"));
        for bad in [
            "../7f3a",
            "perf.data",
            "",
            "/etc/passwd",
            "--json",
            "7f3a/../..",
        ] {
            assert!(workspace.case(bad).is_err(), "{bad}");
        }
        std::fs::write(workspace.root().join("abcd"), "").expect("written");
        assert!(workspace.case("abcd").is_err());
        let case = workspace.cases().join("7f3a");
        std::fs::create_dir_all(&case).expect("made");
        assert!(workspace.check_case_files(&case).is_ok());
        symlink(directory.path().join("secret"), case.join("case.html")).expect("a link");
        assert!(workspace.check_case_files(&case).is_err());
    }

    #[test]
    fn cases_that_lie_elsewhere_are_refused_at_the_start() {
        let (directory, workspace) = workspace(&[]);
        symlink(directory.path(), workspace.cases()).expect("a link");
        assert!(Workspace::open(workspace.root(), &[]).is_err());
    }
}
