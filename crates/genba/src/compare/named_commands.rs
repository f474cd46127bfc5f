//! `[-n NAME] COMMAND…`: names and commands in any order, each name with its command.

use clap::{Arg, ArgAction, ArgMatches, Command, Error, FromArgMatches};

/// Commands with their names.
#[derive(Clone, Debug, Default)]
pub struct NamedCommands {
    /// Commands with their names, in the order of the command line.
    pub commands: Vec<(Option<String>, String)>,
    /// A name that belongs to no command.
    pub left_over: Option<String>,
}

const NAME: &str = "command_name";
const COMMAND: &str = "commands";

impl FromArgMatches for NamedCommands {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Ok(pair(
            &with_index(matches, NAME),
            &with_index(matches, COMMAND),
        ))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for NamedCommands {
    fn augment_args(command: Command) -> Command {
        command
            .arg(
                Arg::new(NAME)
                    .short('n')
                    .long("command-name")
                    .value_name("NAME")
                    .action(ArgAction::Append)
                    .help("Name of the command that follows, or of the commands in their order"),
            )
            .arg(
                Arg::new(COMMAND)
                    .value_name("COMMAND")
                    .action(ArgAction::Append)
                    .num_args(1..)
                    .help("Commands, one string each, or one suite (.toml, .yml); the first is the baseline"),
            )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// Values with their index on the command line.
fn with_index(matches: &ArgMatches, id: &str) -> Vec<(usize, String)> {
    let (Some(places), Some(values)) = (matches.indices_of(id), matches.get_many::<String>(id))
    else {
        return Vec::new();
    };
    places.zip(values.cloned()).collect()
}

/// Pairs names with commands. If every name directly precedes a command of its own, it names that
/// command (`A -n b B`); otherwise names are assigned in order, as in hyperfine (`-n a -n b A B`).
fn pair(names: &[(usize, String)], commands: &[(usize, String)]) -> NamedCommands {
    let next = |place: usize| commands.iter().position(|(at, _)| *at > place);
    let own: Option<Vec<usize>> = names
        .iter()
        .enumerate()
        .map(|(index, (place, _))| {
            let command = next(*place)?;
            let taken = names
                .get(index + 1)
                .is_some_and(|(other, _)| next(*other) == Some(command));
            (!taken).then_some(command)
        })
        .collect();
    let places = match own {
        Some(own) if names.len() != commands.len() => own,
        _ => (0..names.len()).collect(),
    };
    let mut result = NamedCommands {
        commands: commands
            .iter()
            .map(|(_, command)| (None, command.clone()))
            .collect(),
        left_over: None,
    };
    for ((_, name), place) in names.iter().zip(places) {
        match result.commands.get_mut(place) {
            Some(command) => command.0 = Some(name.clone()),
            None => result.left_over = Some(name.clone()),
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> (Vec<(String, String)>, Option<String>) {
        let command = <NamedCommands as clap::Args>::augment_args(Command::new("x"));
        let matches = command
            .try_get_matches_from([&["x"], words].concat())
            .unwrap();
        let found = NamedCommands::from_arg_matches(&matches).unwrap();
        let commands = found.commands.into_iter();
        (
            commands
                .map(|(name, command)| (name.unwrap_or_default(), command))
                .collect(),
            found.left_over,
        )
    }

    #[test]
    fn names_are_paired_with_commands_in_any_order() {
        let names = |words: &[&str]| -> Vec<String> {
            parse(words)
                .0
                .into_iter()
                .map(|(name, command)| format!("{name}={command}"))
                .collect()
        };
        assert_eq!(names(&["-n", "a", "A", "-n", "b", "B"]), ["a=A", "b=B"]);
        assert_eq!(names(&["-n", "a", "-n", "b", "A", "B"]), ["a=A", "b=B"]);
        assert_eq!(names(&["A", "B", "-n", "a", "-n", "b"]), ["a=A", "b=B"]);
        assert_eq!(names(&["A", "-n", "b", "B"]), ["=A", "b=B"]);
        assert_eq!(
            names(&["-n", "a", "A", "B", "-n", "c", "C"]),
            ["a=A", "=B", "c=C"]
        );
        assert_eq!(
            names(&["-n", "a", "-n", "b", "A", "B", "C"]),
            ["a=A", "b=B", "=C"]
        );
        assert_eq!(names(&["A", "B"]), ["=A", "=B"]);
        assert_eq!(parse(&["-n", "a", "-n", "b", "A"]).1, Some("b".to_owned()));
    }
}
