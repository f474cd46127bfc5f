//! Functions of Python and Ruby beside the native stack, on programs whose shares are known.

use std::path::Path;
use std::process::Command;

use crate::support::run_genba;

/// Three callers of the same work, six, three and one part of it, until so much CPU time is
/// used up; and a deep recursion above them.
const PYTHON: &str = "
import sys, time
sys.setrecursionlimit(20000)
def burn(n):
    s = 0
    for i in range(n): s += i * i % 7
    return s
def a(): burn(3000)
def b(): burn(1500)
def c(): burn(500)
def rec(n):
    if n: return rec(n - 1)
    while time.process_time() < float(sys.argv[2]):
        a(); b(); c()
rec(int(sys.argv[1]))
";

const RUBY: &str = "
def burn(n)
  s = 0; i = 0
  while i < n
    s += i * i % 7
    i += 1
  end
  s
end
def a() burn(3000) end
def b() burn(1500) end
def c() 1.times { burn(500) } end
def rec(n)
  return rec(n - 1) if n > 0
  while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < ARGV[1].to_f
    a; b; c
  end
end
rec(ARGV[0].to_i)
";

/// Most of its time is in a method written in C, called by a line of Ruby.
const RUBY_AND_C: &str = "
NUMBERS = Array.new(20_000) { |i| i * 7919 % 20_011 }
def burn
  NUMBERS.sort
end
def rec
  burn while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < ARGV[1].to_f
end
rec
";

/// The first of these programs whose version begins so.
fn interpreter(names: &[&str], version: &str) -> Option<String> {
    names.iter().find_map(|name| {
        let out = Command::new(name).arg("--version").output().ok()?;
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        text.starts_with(version).then(|| (*name).to_owned())
    })
}

/// CPU seconds of a program with a stack of so many frames. A stop takes as long as its stack is
/// deep, and stops keep within a share of the time: a deep one gets few in a second.
fn cpu_seconds(depth: &str) -> &'static str {
    if depth.len() > 3 { "5" } else { "1.5" }
}

/// Records a program with a stack of so many frames; the document of its script functions, or
/// why this cannot be had here.
fn recorded(
    program: &str,
    source: &str,
    file: &str,
    depth: &str,
) -> Result<serde_json::Value, String> {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join(file), source).expect("the program");
    let line = [
        "record",
        "--script",
        "-o",
        "x.data",
        "--",
        program,
        file,
        depth,
        cpu_seconds(depth),
    ];
    let (code, _, err) = run_genba(directory.path(), &line);
    if code == 4 || err.contains("no script stacks: sampling") || err.contains("perf_event_open") {
        return Err(err);
    }
    assert_eq!(code, 0, "{err}");
    let line = ["report", "-i", "x.data", "--by", "script", "--json"];
    let (code, out, err) = run_genba(directory.path(), &line);
    assert_eq!(code, 0, "{err}");
    let document: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(document["kind"], "script-profile");
    let flame = [
        "flame",
        "-i",
        "x.data",
        "--script",
        "--collapsed",
        "-o",
        "-",
    ];
    let (code, out, err) = run_genba(directory.path(), &flame);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("burn"), "{out}");
    Ok(document)
}

fn share(document: &serde_json::Value, function: &str, what: &str) -> f64 {
    let functions = document["functions"].as_array().expect("functions");
    functions
        .iter()
        .find(|f| f["function"] == function)
        .map_or(0.0, |f| f[what]["value"].as_f64().unwrap_or(0.0))
}

fn check(document: &serde_json::Value, runtime: &str) {
    assert!(
        document["runtimes"][0]
            .as_str()
            .is_some_and(|r| r.starts_with(runtime)),
        "{document}"
    );
    let parts = ["a", "b", "c"].map(|f| share(document, f, "total"));
    let all: f64 = parts.iter().sum();
    let samples = document["samples"].as_u64().unwrap_or(0) as f64;
    assert!(samples > 20.0, "{samples} samples");
    // Four standard errors of a proportion; samples may weigh unequally: as if there were half.
    let error = 4.0 * (0.25 / (samples / 2.0)).sqrt();
    for (part, wanted) in parts.iter().zip([0.6, 0.3, 0.1]) {
        assert!(
            (part / all - wanted).abs() < error + 0.02,
            "{parts:?} of {all}, ± {error}"
        );
    }
    assert!(share(document, "rec", "total") > 0.5, "{document}");
}

/// The interpreters of CPython that are here, with their minor versions: in the search path, and those of pyenv.
fn pythons() -> Vec<(u32, String)> {
    let root = Command::new("pyenv").arg("root").output();
    let root = root.map_or(String::new(), |out| {
        String::from_utf8_lossy(&out.stdout).trim().to_owned()
    });
    let versions = std::fs::read_dir(Path::new(&root).join("versions"));
    let installed: Vec<String> = (versions.into_iter().flatten().flatten())
        .map(|entry| entry.path().join("bin/python3").display().to_string())
        .collect();
    let known = |minor: u32| {
        let mut names = vec![
            format!("/usr/bin/python3.{minor}"),
            format!("python3.{minor}"),
        ];
        names.extend(installed.iter().cloned());
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        Some((minor, interpreter(&names, &format!("Python 3.{minor}."))?))
    };
    (8..=14).filter_map(known).collect()
}

#[test]
fn python_functions_have_their_known_shares() {
    let test = "python_functions_have_their_known_shares";
    let found = pythons();
    if !found.iter().any(|(minor, _)| *minor == 11) {
        genba_testing::skip(test, "python3.11", "no CPython 3.11");
    }
    for (minor, python) in found {
        // Deep recursion takes the C stack before 3.11.
        let depths: &[&str] = if minor == 11 {
            &["3", "10000"]
        } else {
            &["300"]
        };
        for depth in depths {
            match recorded(&python, PYTHON, "known.py", depth) {
                Ok(document) => check(&document, &format!("CPython 3.{minor}")),
                Err(why) => genba_testing::skip(test, genba_testing::PERF_EVENT, &why),
            }
        }
    }
}

/// The interpreters of CRuby in the search path, with their versions.
fn rubies() -> Vec<(&'static str, String)> {
    let versions = ["2.7.", "3.0.", "3.1.", "3.2.", "3.3.", "3.4.", "4.0."];
    let known = |version: &'static str| {
        let own = format!("ruby{}", version.trim_end_matches('.'));
        let found = interpreter(&[&own, "ruby"], &format!("ruby {version}"))?;
        Some((version, found))
    };
    versions.into_iter().filter_map(known).collect()
}

#[test]
fn ruby_functions_have_their_known_shares() {
    let test = "ruby_functions_have_their_known_shares";
    let found = rubies();
    if found.is_empty() {
        genba_testing::skip(test, "ruby", "no CRuby 2.7 to 4.0");
    }
    for (version, ruby) in found {
        for depth in ["3", "7000"] {
            match recorded(&ruby, RUBY, "known.rb", depth) {
                Ok(document) => check(&document, &format!("CRuby {version}")),
                Err(why) => genba_testing::skip(test, genba_testing::PERF_EVENT, &why),
            }
        }
    }
}

#[test]
fn methods_of_ruby_written_in_c_are_named() {
    let test = "methods_of_ruby_written_in_c_are_named";
    let found = rubies();
    if found.is_empty() {
        genba_testing::skip(test, "ruby", "no CRuby 2.7 to 4.0");
    }
    for (version, ruby) in found {
        if version == "4.0." {
            continue;
        }
        let document = match recorded(&ruby, RUBY_AND_C, "ordered.rb", "3") {
            Ok(document) => document,
            Err(why) => {
                genba_testing::skip(test, genba_testing::PERF_EVENT, &why);
                continue;
            }
        };
        assert!(share(&document, "burn", "self") > 0.5, "{document}");
        let functions = document["functions"].as_array().expect("functions");
        let burn = functions.iter().find(|f| f["function"] == "burn");
        let native = burn.expect("found")["native"].as_array().expect("rows");
        // A library with symbols has the names of its C functions instead.
        let is_known = |row: &serde_json::Value| {
            let name = row["function"].as_str().unwrap_or_default();
            name == "sort (C)" || (!name.starts_with('[') && name.contains("sort"))
        };
        assert!(native.iter().any(is_known), "{native:?}");
    }
}

/// The newest case's functions, as `report --by script` reads them.
fn of_newest(directory: &Path) -> serde_json::Value {
    let (code, out, err) = run_genba(
        directory,
        &["report", "-i", "latest", "--by", "script", "--json"],
    );
    assert_eq!(code, 0, "{err}");
    serde_json::from_str(&out).expect("JSON")
}

#[test]
fn investigation_stores_script_functions() {
    let names = ["/usr/bin/python3.11", "python3.11", "python3"];
    let Some(python) = interpreter(&names, "Python 3.11.") else {
        genba_testing::skip(
            "investigation_stores_script_functions",
            "python3.11",
            "no CPython 3.11",
        );
        return;
    };
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    std::fs::write(at.join("known.py"), PYTHON).expect("the program");
    let line = [
        "investigate",
        "--no-count",
        // Several runs: of one that had to wait for a processor no sample may be of the script.
        "--budget",
        "4",
        "--limit",
        "10min",
        "--",
        &python,
        "known.py",
        "3",
        // It is run many times.
        "0.5",
    ];
    let (code, screen, err) = run_genba(at, &line);
    assert_eq!(code, 0, "{err}");
    if screen.contains("no script") || screen.contains("no samples") {
        genba_testing::skip(
            "investigation_stores_script_functions",
            genba_testing::PERF_EVENT,
            &screen,
        );
        return;
    }
    assert!(screen.contains("functions of CPython 3.11."), "{screen}");
    let here = of_newest(at);
    check(&here, "CPython 3.11.");

    let (code, exported, err) = run_genba(at, &["case", "export", "--format", "json", "latest"]);
    assert_eq!(code, 0, "{err}");
    let elsewhere = tempfile::tempdir().expect("another directory");
    std::fs::write(elsewhere.path().join("case.json"), exported).expect("the document");
    let (code, _, err) = run_genba(elsewhere.path(), &["case", "import", "case.json"]);
    assert_eq!(code, 0, "{err}");
    let there = of_newest(elsewhere.path());
    assert_eq!(there["functions"], here["functions"]);
    let flame = [
        "flame",
        "-i",
        "latest",
        "--script",
        "--collapsed",
        "-o",
        "-",
    ];
    let (code, out, err) = run_genba(elsewhere.path(), &flame);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("burn"), "{out}");
}

#[test]
fn investigation_of_a_process_keeps_the_notes_on_its_script() {
    let test = "investigation_of_a_process_keeps_the_notes_on_its_script";
    let names = ["/usr/bin/python3.11", "python3.11", "python3"];
    let Some(python) = interpreter(&names, "Python 3.11.") else {
        genba_testing::skip(test, "python3.11", "no CPython 3.11");
        return;
    };
    // Each thread ends about when its first sample would be due.
    let threads = "
import threading
def work():
    s = 0
    for i in range(60000): s += i * i
while True:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
";
    let mut child = Command::new(python)
        .args(["-c", threads])
        .spawn()
        .expect("it starts");
    let directory = tempfile::tempdir().expect("a directory");
    let pid = child.id().to_string();
    let line = ["investigate", "--json", "--seconds", "3", "-p", &pid];
    let (code, out, err) = run_genba(directory.path(), &line);
    child.kill().expect("it still runs");
    child.wait().expect("it ends");
    if code == 4 {
        genba_testing::skip(test, genba_testing::PERF_EVENT, &err);
        return;
    }
    assert_eq!(code, 0, "{err}");
    let document: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    let notes = document["notes"].to_string();
    assert!(notes.contains("no script stack"), "{notes}");
}

#[test]
fn membership_test_on_a_list_is_a_finding_at_its_line() {
    let test = "membership_test_on_a_list_is_a_finding_at_its_line";
    let names = ["/usr/bin/python3.11", "python3.11", "python3"];
    let Some(python) = interpreter(&names, "Python 3.11.") else {
        genba_testing::skip(test, "python3.11", "no CPython 3.11");
        return;
    };
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    let source = "def unique(words):
    seen = []
    for word in words:
        if word not in seen:
            seen.append(word)
    return seen
print(len(unique([str(i * 7919 % 1000) for i in range(8000)])))
";
    std::fs::write(at.join("unique.py"), source).expect("the program");
    let line = [
        "investigate",
        "--no-proof",
        "--budget",
        "1",
        "--limit",
        "10min",
        "--json",
        "--",
        &python,
        "unique.py",
    ];
    let (code, out, err) = run_genba(at, &line);
    assert_eq!(code, 0, "{err}");
    let document: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    let functions = &document["profile"]["functions"];
    let counted = functions
        .as_array()
        .is_some_and(|all| all.iter().any(|one| one["calls"].is_u64()));
    if document["script"].is_null() || !counted {
        genba_testing::skip(
            test,
            genba_testing::PERF_EVENT,
            &document["notes"].to_string(),
        );
        return;
    }
    let first = &document["findings"][0];
    assert_eq!(first["cause"], "quadratic", "{}", document["findings"]);
    assert_eq!(
        (&first["site"]["line"], &first["site"]["function"]),
        (&4.into(), &"unique".into())
    );
    assert!(
        first["example"].to_string().contains("seen[w] = True"),
        "{first}"
    );
    assert!(
        first["predicted_speedup"]["value"].as_f64() > Some(1.5),
        "{first}"
    );
    // Nothing is said of the interpreter's own functions.
    assert_eq!(
        document["places"][0]["kind"], "script-line",
        "{}",
        document["places"]
    );
    assert!(
        !document["findings"].to_string().contains("no-symbols"),
        "{}",
        document["findings"]
    );
}

#[test]
fn unsupported_interpreter_version_is_noted_once() {
    // Not a CPython of any version, but one that says which it is, where 3.11 does.
    let source = "
unsigned int Py_Version = 0x030f00f0;
char _PyRuntime[4096], PyCode_Type[512];
int main(void) { volatile long n = 0; while (n < 300000000) n++; return 0; }
";
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    std::fs::write(at.join("python.c"), source).expect("the program");
    let gcc = Command::new("gcc")
        .args(["-O0", "-rdynamic", "-o", "python3.15", "python.c"])
        .current_dir(at)
        .status();
    if !gcc.is_ok_and(|status| status.success()) {
        genba_testing::skip(
            "unsupported_interpreter_version_is_noted_once",
            "gcc",
            "no gcc",
        );
        return;
    }
    let line = ["record", "--script", "-o", "x.data", "--", "./python3.15"];
    let (code, _, err) = run_genba(at, &line);
    if code == 4 || err.contains("no script stacks: ") {
        genba_testing::skip(
            "unsupported_interpreter_version_is_noted_once",
            genba_testing::PERF_EVENT,
            &err,
        );
        return;
    }
    assert_eq!(code, 0, "{err}");
    let said = "CPython 3.15.0: its frames cannot be read";
    assert_eq!(err.matches(said).count(), 1, "{err}");
    let line = ["report", "-i", "x.data", "--by", "script", "--json"];
    let (_, out, _) = run_genba(at, &line);
    let document: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(document["functions"], serde_json::json!([]));
    assert_eq!(document["runtimes"], serde_json::json!([]));
    // The native frames are there.
    let (code, out, err) = run_genba(at, &["report", "-i", "x.data"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("main"), "{out}");
}
