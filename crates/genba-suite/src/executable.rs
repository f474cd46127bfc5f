//! `--executables`: the interpreters that snippets run in, as benchmark_driver's `-e` has them.

use crate::SuiteError;

/// An interpreter with its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executable {
    /// Name in tables.
    pub name: String,
    /// Program and options.
    pub command: Vec<String>,
}

/// Reads `NAME::COMMAND` or `COMMAND`, several of them separated by semicolons; commands are
/// split into words as a shell does.
///
/// # Errors
/// An empty name or command, a quote that is not closed.
pub fn parse_executables(text: &str) -> Result<Vec<Executable>, SuiteError> {
    let wrong = |message: &str| SuiteError::Executable {
        text: text.to_owned(),
        message: message.to_owned(),
    };
    let one = |text: &str| {
        let (name, command) = text.split_once("::").unwrap_or((text, text));
        let command = shlex::split(command).ok_or_else(|| wrong("a quote is not closed"))?;
        if command.is_empty() {
            return Err(wrong(
                "write an interpreter, or NAME::INTERPRETER with options",
            ));
        }
        crate::field_checks::name(name).map_err(|message| wrong(&message))?;
        Ok(Executable {
            name: name.trim().to_owned(),
            command,
        })
    };
    let parts = text.split(';').filter(|part| !part.trim().is_empty());
    let executables = parts.map(one).collect::<Result<Vec<_>, _>>()?;
    if executables.is_empty() {
        return Err(wrong(
            "write an interpreter, or NAME::INTERPRETER with options",
        ));
    }
    Ok(executables)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn executables_have_the_syntax_of_benchmark_driver() {
        let executables = parse_executables("ruby3.1; yjit::ruby3.1 --yjit -W'0 1';").expect("two");
        assert_eq!(executables[0].name, "ruby3.1");
        assert_eq!(executables[0].command, ["ruby3.1"]);
        assert_eq!(executables[1].name, "yjit");
        assert_eq!(executables[1].command, ["ruby3.1", "--yjit", "-W0 1"]);
        for wrong in ["", " ; ", "a::", "::ruby", "a::'ruby"] {
            assert!(parse_executables(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_text_gives_executables_or_an_error(text in "[a:;' \\\\]{0,30}") {
            if let Ok(executables) = parse_executables(&text) {
                prop_assert!(executables.iter().all(|one| !one.command.is_empty()));
            }
        }
    }
}
