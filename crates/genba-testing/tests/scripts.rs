//! What the repository's own scripts do on machines that differ from the one at hand.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../scripts")
        .join(name)
}

fn run(command: &mut Command) -> Output {
    let output = command.output().expect("the command starts");
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// Makes a Debian source package of one file in `archive`.
fn source_package(archive: &Path, version: &str) {
    let tree = archive.join(format!("slowprog-{version}"));
    std::fs::create_dir_all(tree.join("debian/source")).expect("a directory");
    let write = |file: &str, text: String| {
        std::fs::write(tree.join(file), text).expect("a file");
    };
    write("main.c", "int main(void) { return 0; }\n".to_owned());
    write("debian/source/format", "3.0 (native)\n".to_owned());
    write(
        "debian/control",
        "Source: slowprog\nMaintainer: Nobody <nobody@example.org>\n\nPackage: slowprog\n\
         Architecture: any\nDescription: a test\n"
            .to_owned(),
    );
    write(
        "debian/changelog",
        format!(
            "slowprog ({version}) unstable; urgency=low\n\n  * A version.\n\n \
             -- Nobody <nobody@example.org>  Thu, 01 Jan 2026 00:00:00 +0000\n"
        ),
    );
    run(Command::new("dpkg-source")
        .arg("-b")
        .arg(&tree)
        .current_dir(archive));
    std::fs::remove_dir_all(tree).expect("removed");
}

#[test]
fn fetch_source_takes_the_next_older_version_when_the_newest_left_the_archive() {
    let test = "fetch_source_takes_the_next_older_version_when_the_newest_left_the_archive";
    for tool in ["apt-get", "dpkg-source", "dpkg-scansources"] {
        if !genba_testing::has(test, tool) {
            return;
        }
    }
    let directory = tempfile::tempdir().expect("a directory");
    let archive = directory.path().join("archive");
    std::fs::create_dir(&archive).expect("a directory");
    source_package(&archive, "1.2");
    source_package(&archive, "1.10");
    let index = run(Command::new("dpkg-scansources")
        .arg(".")
        .current_dir(&archive));
    std::fs::write(archive.join("Sources"), index.stdout).expect("an index");
    std::fs::remove_file(archive.join("slowprog_1.10.tar.xz")).expect("the newest goes");

    let etc = directory.path().join("etc");
    std::fs::create_dir(&etc).expect("a directory");
    let line = format!("deb [trusted=yes] copy:{} ./\n", archive.display());
    std::fs::write(etc.join("sources.list"), line).expect("a list");
    let out = directory.path().join("out");
    let fetched = run(Command::new(script("fetch-source"))
        .arg("slowprog")
        .arg(&out)
        .env("GENBA_APT_ETC", &etc));
    let printed = String::from_utf8_lossy(&fetched.stdout);
    let tree = Path::new(printed.lines().last().expect("a path"));
    assert!(tree.join("main.c").exists(), "{printed}");
    let changelog = std::fs::read_to_string(tree.join("debian/changelog")).expect("a file");
    assert!(changelog.starts_with("slowprog (1.2)"), "{changelog}");
    let messages = String::from_utf8_lossy(&fetched.stderr);
    assert!(
        messages.contains("slowprog 1.10 cannot be had"),
        "{messages}"
    );
}
