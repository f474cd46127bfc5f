//! Flags whose value is optional (`--snapshot[=DURATION]`, `--json[=FILE]`) take it behind `=`. Users write it as the
//! next word: that is read as meant where it cannot be a program, and explained in the error elsewhere.

use std::any::TypeId;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};

/// The flag that names a history.
const HISTORY: &str = "--history";

/// The flags of a verb whose value is optional.
fn flags(verb: &Command) -> impl Iterator<Item = &Arg> {
    verb.get_arguments().filter(|arg| {
        let may_be_missing = arg
            .get_num_args()
            .is_some_and(|number| number.min_values() == 0);
        may_be_missing && arg.is_require_equals_set()
    })
}

/// Whether a word is this flag without a value.
fn is_flag(arg: &Arg, word: &str) -> bool {
    let long = word.strip_prefix("--");
    let short = word.strip_prefix('-');
    long.is_some_and(|long| arg.get_long() == Some(long))
        || short.is_some_and(|short| arg.get_short().is_some_and(|one| short == one.to_string()))
}

/// The same line with `--flag value` as `--flag=value`, where the word behind the first such flag was taken for the
/// command: what it would be as a value is for the parser to say. Not for flags whose value is any text or path.
pub fn attached(verb: &Command, matches: &ArgMatches, words: &[OsString]) -> Option<Vec<OsString>> {
    let any_text = [TypeId::of::<String>(), TypeId::of::<PathBuf>()];
    let positional = verb.get_positionals().next()?.get_id().as_str();
    let taken = matches.try_get_raw(positional).ok()??.next()?;
    flags(verb).find_map(|flag| {
        let given = matches.value_source(flag.get_id().as_str()) == Some(ValueSource::CommandLine);
        let kind = flag.get_value_parser().type_id();
        if !given || any_text.iter().any(|any| kind == *any) {
            return None;
        }
        let is_this = |word: &OsString| word.to_str().is_some_and(|word| is_flag(flag, word));
        let at = words.iter().position(is_this)?;
        (words.get(at + 1)?.as_os_str() == taken).then(|| joined(words, at))
    })
}

/// Beginnings of a history's location.
const LOCATIONS: [&str; 3] = ["sqlite:", "postgres://", "postgresql://"];

/// The same line with `--history STORE` as `--history=STORE`, where a verb has this flag with an optional value, or one below
/// it has: what begins like a location names no program. What stands behind `--` is the command's.
pub fn with_store(verb: &Command, words: Vec<OsString>) -> Vec<OsString> {
    let has = |verb: &Command| flags(verb).any(|flag| is_flag(flag, HISTORY));
    if !has(verb) && !verb.get_subcommands().any(has) {
        return words;
    }
    let own = words.iter().take_while(|word| *word != "--");
    let at = own.clone().zip(own.skip(1)).position(|(flag, value)| {
        let begins = |start| value.as_encoded_bytes().starts_with(start);
        flag == HISTORY && LOCATIONS.iter().any(|start| begins(start.as_bytes()))
    });
    match at {
        Some(at) => joined(&words, at),
        None => words,
    }
}

/// What to say of a command that contains `--history`: it was hardly meant for the program.
pub fn history_in_command(words: &[String]) -> Option<String> {
    let meant = |word: &&String| *word == HISTORY || word.starts_with("--history=");
    words.iter().skip(1).find(meant).map(|word| {
        format!("note: {word} stands behind `--` and is given to the command; genba's own stands before it: --history=STORE")
    })
}

/// The words with two of them as one, `flag=value`.
fn joined(words: &[OsString], at: usize) -> Vec<OsString> {
    let mut words = words.to_vec();
    let value = words.remove(at + 1);
    words[at].push("=");
    words[at].push(value);
    words
}

/// What to write, where a word that was not what it was taken for stands behind a flag with an optional value.
pub fn tip(verb: &Command, words: &[String], is_wrong: impl Fn(&str) -> bool) -> Option<String> {
    let own = words.iter().take_while(|word| *word != "--");
    own.clone().zip(own.skip(1)).find_map(|(word, next)| {
        let flag = flags(verb).find(|flag| is_flag(flag, word))?;
        let long = flag.get_long()?;
        (!next.starts_with('-') && is_wrong(next))
            .then(|| format!("as the value of --{long}: --{long}={next}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::value_parser;

    fn verb() -> Command {
        let optional = |name: &'static str| {
            Arg::new(name)
                .long(name)
                .num_args(0..=1)
                .require_equals(true)
        };
        let window = optional("snapshot").value_parser(value_parser!(u32));
        let window = window.default_missing_value("10");
        let document = optional("json").default_missing_value("-");
        let command = Arg::new("command").num_args(0..).trailing_var_arg(true);
        Command::new("record").args([window, document, command])
    }

    fn attached_line(line: &str) -> Option<String> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let matches = verb().try_get_matches_from(&words).expect("it parses");
        let words = attached(&verb(), &matches, &words)?;
        let words: Vec<String> = words
            .iter()
            .map(|word| word.to_string_lossy().into())
            .collect();
        Some(words.join(" "))
    }

    #[test]
    fn value_that_was_taken_for_the_command_is_attached() {
        assert_eq!(
            attached_line("record --snapshot 5 -- prog").as_deref(),
            Some("record --snapshot=5 -- prog")
        );
        assert_eq!(attached_line("record --snapshot=5 -- prog"), None);
        // The program's own.
        assert_eq!(attached_line("record prog --snapshot 5"), None);
        assert_eq!(attached_line("record --snapshot=3 prog --snapshot 5"), None);
        // Any word may be a file: the error has a tip instead.
        assert_eq!(attached_line("record --json out -- prog"), None);
    }

    #[test]
    fn store_behind_its_flag_is_attached_wherever_it_cannot_be_the_commands() {
        let history = Arg::new("history").long("history").num_args(0..=1);
        let record = Command::new("record").arg(history.require_equals(true));
        let line = |verb: &Command, line: &str| {
            let words = line.split(' ').map(OsString::from).collect();
            let words = with_store(verb, words);
            let words = words.iter().map(|word| word.to_str().expect("text"));
            words.collect::<Vec<&str>>().join(" ")
        };
        let above = Command::new("history").subcommand(record.clone());
        for (given, meant) in [
            ("a --history sqlite:x", "a --history=sqlite:x"),
            ("--history postgres://h/d a", "--history=postgres://h/d a"),
            ("--history -- a", "--history -- a"),
            ("--history ./a", "--history ./a"),
            ("-- a --history sqlite:x", "-- a --history sqlite:x"),
        ] {
            assert_eq!(line(&record, given), meant);
            assert_eq!(line(&above, given), meant);
        }
        let other = "a --history sqlite:x";
        assert_eq!(line(&verb(), other), other);
    }

    #[test]
    fn history_among_a_commands_words_is_remarked() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<String>>();
        let said = history_in_command(&words("./a --history sqlite:x")).expect("a note");
        assert!(said.contains("stands before it"), "{said}");
        assert_eq!(history_in_command(&words("./a -x")), None);
    }

    #[test]
    fn error_about_a_word_behind_such_a_flag_has_a_tip() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<String>>();
        let tip = |line, message: &str| tip(&verb(), &words(line), |word| message.contains(word));
        assert_eq!(
            tip(
                "record --json out.json -- prog",
                "out.json: not found in PATH"
            )
            .as_deref(),
            Some("as the value of --json: --json=out.json")
        );
        assert_eq!(tip("record --json out.json", "permission denied"), None);
        assert_eq!(
            tip("record -- --json out.json", "out.json: not found"),
            None
        );
    }
}
