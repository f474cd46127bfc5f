//! Words that mean something else in another verb: `-i` is a recording where one is read and `--ignore-failure` where a command
//! is measured, `--input` a recording or a command's standard input. What fits the other meaning is refused, and the error
//! names what was meant.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use genba_case::Store;

use crate::exit_code::Failure;

/// The file that is the standard input of a command; not a recording, which the command would be given silently.
pub fn input_file(path: &str) -> Result<PathBuf, Failure> {
    let file = PathBuf::from(genba_run::bytes_of(path));
    if is_recording(&file) {
        return Err(Failure::usage(format!(
            "{path} is a recording, and --input names the standard input of the command here\n  to read the recording: \
             genba report -i {path}"
        )));
    }
    Ok(file)
}

/// Refuses a recording, a case, or a misplaced option of genba as the command to run.
pub fn refuse_recording(program: &str) -> Result<(), Failure> {
    if !is_program(program) {
        let line: Vec<String> = std::env::args_os()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        if let Some(sentence) = misplaced(program, &line) {
            return Err(Failure::usage(sentence));
        }
    }
    let path = PathBuf::from(genba_run::bytes_of(program));
    let what = match path.exists() {
        true if is_recording(&path) => "a recording",
        false if is_case(program) => "a case",
        _ => return Ok(()),
    };
    Err(Failure::usage(format!(
        "{program} is {what}, and a command to run is expected here\n  to read it: genba report -i {program}"
    )))
}

/// Whether a word that names no program names a case.
fn is_case(word: &str) -> bool {
    looks_like_id(word) && !is_program(word) && Store::open_root().find(word).is_ok()
}

fn looks_like_id(word: &str) -> bool {
    let hex = |c: char| matches!(c, '0'..='9' | 'a'..='f');
    word == "latest" || word.len() >= 4 && word.chars().all(hex)
}

fn is_program(word: &str) -> bool {
    let path = std::env::var_os("PATH");
    let word = genba_run::bytes_of(word);
    genba_run::resolve_program(&word, path.as_deref(), None).is_ok()
}

/// Whether a word can be the command that it was taken for: a program, a file, or a line for the shell.
pub fn may_be_command(word: &str) -> bool {
    word.contains(char::is_whitespace) || is_program(word) || Path::new(word).exists()
}

/// What a word that is not a program was meant as, by the command line.
fn misplaced(program: &str, line: &[String]) -> Option<String> {
    if program.starts_with('-') {
        return Some(format!(
            "{program} was taken for the program to run; options of genba stand before `--`, the command behind it"
        ));
    }
    let flags = line.iter().take_while(|word| *word != "--");
    let is_behind_flag =
        (flags.clone().zip(flags.skip(1))).any(|(flag, word)| flag == "-i" && word == program);
    let is_input = looks_like_id(program) || program.ends_with(".data");
    (is_behind_flag && is_input).then(|| {
        format!(
            "-i takes no value here (it is --ignore-failure), so {program} was taken for the program, and there is none of this \
             name\n  recordings and cases are read by other verbs: genba report -i {program}"
        )
    })
}

fn is_recording(file: &Path) -> bool {
    let mut magic = [0; 8];
    // A pipe would lose what is read here.
    let opened = file.is_file().then(|| std::fs::File::open(file));
    let read = opened.is_some_and(|file| {
        file.and_then(|mut file| file.read_exact(&mut magic))
            .is_ok()
    });
    read && &magic == b"PERFILE2"
}

/// An error about an unknown option says what the option means in other verbs, and what does the same as one of perf's.
pub fn with_tip(mut error: clap::Error, verb: Option<&Command>) -> clap::Error {
    if error.kind() == ErrorKind::InvalidSubcommand {
        let name = match error.get(ContextKind::InvalidSubcommand) {
            Some(ContextValue::String(name)) => name.clone(),
            _ => return error,
        };
        if let Some(tip) = verb_of_perf(&name) {
            error.remove(ContextKind::SuggestedSubcommand);
            error.insert(
                ContextKind::Suggested,
                ContextValue::StyledStrs(vec![tip.into()]),
            );
        }
        return error;
    }
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let option = option.clone();
    if let Some(ContextValue::String(similar)) = error.get(ContextKind::SuggestedArg)
        && verb.is_some_and(|verb| is_hidden(verb, similar))
    {
        error.remove(ContextKind::SuggestedArg);
    }
    let name = verb.map_or("", Command::get_name);
    let has =
        |id: &str| verb.is_some_and(|verb| verb.get_arguments().any(|one| one.get_id() == id));
    let takes_command = verb.is_some_and(|verb| {
        let mut arguments = verb.get_positionals();
        arguments.any(|one| one.get_id() == "command" || one.get_id() == "commands")
    });
    let tip = match (option.as_str(), takes_command) {
        ("-i", true) => "recordings and cases are read by other verbs: genba report -i FILE|CASE",
        ("--ignore-failure", _) => {
            "--ignore-failure is for verbs that measure a command: bench, gate, stat, count, investigate, try, sweep, ablate"
        }
        ("-a" | "--all-cpus" | "-C" | "--cpu", true) => {
            "processes are watched here, not whole CPUs: give a command or -p PID; whole CPUs are recorded by genba record -a, and counted by genba stat -a"
        }
        ("-s" | "--sort", false) if is_report(verb) => {
            "perf's --sort is --by here: function (sym), line (srcline), module (dso), thread (tid), process (comm, pid)"
        }
        ("--stdio" | "--tui" | "--no-children" | "--children", false) => {
            "leave it out: genba writes text, with self and total time beside each other"
        }
        ("-n" | "--show-nr-samples", false) if is_report(verb) => {
            "leave it out: --json has the numbers of samples"
        }
        ("-i" | "--input", false) => {
            "give recordings and cases as arguments, or see --help of this verb"
        }
        ("--seconds", true) if has("pid") && has("timeout") => {
            "the time is limited by --timeout here, as in --timeout 30s"
        }
        (option, _) => match flag_of_perf(name, option) {
            Some(tip) => tip,
            None => return error,
        },
    };
    error.remove(ContextKind::SuggestedArg);
    let tip = ContextValue::StyledStrs(vec![tip.into()]);
    error.insert(ContextKind::Suggested, tip);
    error
}

/// Whether an option is one that no help shows.
fn is_hidden(verb: &Command, option: &str) -> bool {
    let mut options = verb.get_arguments();
    let long = option.trim_start_matches("--");
    options.any(|one| one.is_hide_set() && one.get_long() == Some(long))
}

fn is_report(verb: Option<&Command>) -> bool {
    verb.is_some_and(|verb| verb.get_name() == "report")
}

/// What does the same as an option of perf's verb of the same name.
fn flag_of_perf(verb: &str, option: &str) -> Option<&'static str> {
    Some(match (verb, option) {
        ("stat", "-x" | "--field-separator") => "counters for a program to read: --json",
        ("stat", "-B" | "--big-num") => "leave it out: large numbers have separators and units",
        ("stat", "-v" | "--verbose") => {
            "leave it out: what was not counted is noted with the reason"
        }
        ("record" | "stat" | "top", "-t" | "--tid") => {
            "threads are watched with their process: give -p PID"
        }
        ("record" | "top", "--all-user" | "-K" | "--hide_kernel_symbols") => {
            "user code alone is sampled by a modifier of the event: -e cycles:u, -e cpu-clock:u"
        }
        ("record", "--all-kernel") | ("top", "-U" | "--hide_user_symbols") => {
            "the kernel alone is sampled by a modifier of the event: -e cycles:k, -e cpu-clock:k"
        }
        ("record", "-W" | "--weight" | "--phys-data") => {
            "latencies of loads are recorded by --data"
        }
        ("record", "-b" | "--branch-any" | "-j" | "--branch-filter") => {
            "jumps and calls are counted exactly by genba count"
        }
        ("record", "-T" | "--timestamp" | "-P" | "--period" | "-s" | "--stat") => {
            "leave it out: samples have their time, thread and period"
        }
        ("record", "-z" | "--compression-level") => "leave it out: recordings are not compressed",
        ("report", "-g" | "-G" | "--call-graph" | "--inverted") => {
            "callers and callees of a function: --calls FUNCTION; all stacks: genba flame"
        }
        ("annotate", "-s" | "--symbol") => {
            "give the function as an argument: genba annotate FUNCTION"
        }
        ("annotate", "-l" | "--print-line") => {
            "leave it out: instructions are shown under their lines"
        }
        _ => return None,
    })
}

/// What does the same as a subcommand of perf.
fn verb_of_perf(name: &str) -> Option<&'static str> {
    Some(match name {
        "script" => "perf script's text: genba export --format perf-script",
        "list" => {
            "events: genba stat -e help names those that are known; perf's and the kernel's names work"
        }
        "mem" => "loads and what they cost: genba record --data, genba report --by data",
        "sched" | "lock" | "trace" => "what threads wait for, locks and system calls: genba wait",
        "perf" => "verbs stand directly behind genba: genba record, genba report, genba stat",
        "run" | "profile" => "measure, profile and explain a command: genba investigate -- COMMAND",
        "dump" => "where a process's threads stand: genba wait -p PID --seconds 1",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_option_is_not_suggested() {
        let hidden = |hide: bool| {
            let key = clap::Arg::new("key").long("plan-key").hide(hide);
            let verb = Command::new("campaign").arg(key);
            let root = Command::new("genba").subcommand(verb.clone());
            let line = ["genba", "campaign", "--plan-keys"];
            let error = root.try_get_matches_from(line).unwrap_err();
            with_tip(error, Some(&verb)).to_string()
        };
        assert!(hidden(false).contains("'--plan-key'"));
        assert!(!hidden(true).contains("'--plan-key'"), "{}", hidden(true));
    }

    #[test]
    fn options_and_verbs_of_perf_are_answered_with_those_of_genba() {
        let report = Command::new("report").arg(clap::Arg::new("from"));
        let said = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            let root = Command::new("genba").subcommand(report.clone());
            let error = root.try_get_matches_from(words).unwrap_err();
            with_tip(error, Some(&report)).to_string()
        };
        assert!(said("genba report --sort=comm").contains("--by here"));
        assert!(said("genba report --stdio").contains("leave it out"));
        assert!(said("genba script").contains("genba export --format perf-script"));
        assert_eq!(said("genba list").matches("tip:").count(), 1);
        assert!(!said("genba nothing").contains("tip"));
    }

    #[test]
    fn options_of_perf_that_a_verb_lacks_are_answered_with_what_does_the_same() {
        let arg = |id: &'static str| clap::Arg::new(id).long(id);
        let record = Command::new("record")
            .args([arg("pid"), arg("timeout"), arg("all-cpus")])
            .arg(clap::Arg::new("command"));
        let said = |line: &str| {
            let root = Command::new("genba").subcommand(record.clone());
            let error = root.try_get_matches_from(line.split(' ')).unwrap_err();
            with_tip(error, Some(&record)).to_string()
        };
        for (line, tip) in [
            ("genba record --pid=1 --seconds 1", "--timeout 30s"),
            ("genba record -t 1", "give -p PID"),
            ("genba record --all-user", "-e cycles:u"),
        ] {
            let said = said(line);
            assert!(said.contains(tip), "{said}");
            assert_eq!(said.matches("tip:").count(), 1, "{said}");
        }
    }

    #[test]
    fn option_in_the_place_of_the_program_is_named() {
        let line = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<String>>();
        let found = misplaced("-p", &line("genba investigate -- -p 1"));
        assert!(found.unwrap().contains("stand before `--`"));
        let found = misplaced("1234", &line("genba try -i 1234 -- a.data"));
        assert!(found.unwrap().contains("--ignore-failure"));
        assert!(misplaced("a.data", &line("genba bench -i a.data")).is_some());
        assert_eq!(misplaced("prog", &line("genba try -i prog")), None);
        assert_eq!(misplaced("1234", &line("genba try -i -- 1234")), None);
        assert_eq!(misplaced("prog", &line("genba bench prog -i other")), None);
    }
}
