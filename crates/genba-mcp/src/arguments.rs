//! The arguments of tools: their schema, which an agent reads, and their values.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::Refusal;

/// Arguments of a call. Which of them a tool takes is in its table.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Arguments {
    pub command: Option<Vec<String>>,
    pub commands: Option<Vec<NamedCommand>>,
    pub case: Option<String>,
    pub finding: Option<u32>,
    pub check: Option<Vec<String>>,
    pub upper_bound: Option<bool>,
    pub function: Option<String>,
    pub place: Option<String>,
    pub metric: Option<String>,
    pub patch: Option<String>,
    pub presets: Option<Vec<String>>,
    pub build: Option<Vec<String>>,
    pub clean: Option<Vec<String>>,
    pub search: Option<Search>,
    pub parameter: Option<String>,
    pub values: Option<Vec<String>>,
    pub good: Option<String>,
    pub bad: Option<String>,
    pub items: Option<Vec<String>>,
    pub file: Option<String>,
    pub compare_output: Option<bool>,
    pub ignore_failure: Option<bool>,
    pub budget_seconds: Option<f64>,
    pub directory: Option<String>,
    pub max_tokens: Option<usize>,
    pub time_limit_seconds: Option<f64>,
}

/// A command with a name.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedCommand {
    pub name: String,
    pub command: Vec<String>,
}

/// What `bisect` searches.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Search {
    Range,
    Git,
    Set,
    Source,
}

/// Arguments that every tool takes.
const COMMON: [&str; 3] = ["directory", "max_tokens", "time_limit_seconds"];

/// The JSON schema of a tool that takes these arguments.
pub fn schema(required: &[&str], optional: &[&str]) -> Map<String, Value> {
    let named = required.iter().chain(optional).chain(&COMMON);
    let properties: Map<String, Value> = named
        .map(|&name| (name.to_owned(), property(name)))
        .collect();
    let schema = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

fn property(name: &str) -> Value {
    let words = |description: &str| json!({"type": "array", "items": {"type": "string"}, "description": description});
    let text = |description: &str| json!({"type": "string", "description": description});
    let number = |description: &str| json!({"type": "number", "description": description});
    let truth = |description: &str| json!({"type": "boolean", "description": description});
    match name {
        "command" => words(
            "Program and arguments as a list, as [\"./prog\", \"--size\", \"100\"]; not a shell line.",
        ),
        "commands" => json!({
            "type": "array",
            "description": "The commands, the baseline first.",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "command": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["name", "command"],
                "additionalProperties": false,
            },
        }),
        "case" => {
            text("Id of a case, as other tools print it (default: the newest investigation).")
        }
        "finding" => {
            json!({"type": "integer", "minimum": 1, "description": "Number of the finding (default 1)."})
        }
        "check" => {
            words("The project's own tests as a list, run in the copy, as [\"make\", \"test\"].")
        }
        "upper_bound" => {
            truth("Measure what would be gained if the cause were free (default false).")
        }
        "function" => text("Function: its name, FILE:LINE, or an address."),
        "place" => text("A function, a line of the hottest file, or FILE:LINE."),
        "metric" => text(
            "Metric that decides: wall (default), user, cpu, max_rss, or exact-instructions (counted, no noise; not for bench).",
        ),
        "patch" => {
            text("The patch as a unified diff (diff -u, git diff), relative to `directory`.")
        }
        "presets" => words("Names of presets to try as well, as -O3, LTO, jemalloc."),
        "build" => words("Build command as a list, run in copies of `directory`, as [\"make\"]."),
        "clean" => words(
            "Command that removes an earlier build, as [\"make\", \"clean\"]; without it a tree that is built already does not show the effect of code layout.",
        ),
        "search" => json!({
            "type": "string",
            "enum": ["range", "git", "set", "source"],
            "description": "range: the value of a parameter; git: a commit; set: elements of a set; source: regions of a C or C++ file.",
        }),
        "parameter" => text("range: name of the parameter, written {NAME} in the command."),
        "values" => words("range: the values in order, or one LOW..HIGH of whole numbers."),
        "good" => text("git: a commit before the change."),
        "bad" => text("git: a commit with the change (default HEAD)."),
        "items" => {
            words("set: the elements; {ITEMS} in the command is replaced by the enabled ones.")
        }
        "file" => text("source: the file; {FILE} in the command is replaced by a copy."),
        "compare_output" => truth(
            "Refuse a verdict where a command prints something else than the first (default true).",
        ),
        "ignore_failure" => {
            truth("Measure although the command exits with an error (default false).")
        }
        "budget_seconds" => number("Time for measured runs, seconds."),
        "directory" => text("Working directory, relative to the server's (default: that)."),
        "max_tokens" => {
            json!({"type": "integer", "description": "Longest answer in tokens (default 2000)."})
        }
        "time_limit_seconds" => number("The call is ended after this time, seconds (default 600)."),
        _ => json!({}),
    }
}

/// The arguments of a call of a tool.
///
/// # Errors
/// One is missing, of another type, or not one of this tool.
pub fn parse(
    given: Map<String, Value>,
    required: &[&str],
    optional: &[&str],
) -> Result<Arguments, Refusal> {
    let taken = [required, optional, &COMMON].concat();
    // A misspelt name is often that of the argument that is missing.
    if let Some(name) = given.keys().find(|name| !taken.contains(&name.as_str())) {
        let shown: String = name.chars().take(40).collect();
        let names = taken.join("`, `");
        return Err(Refusal(format!(
            "there is no argument `{shown}`; this tool takes `{names}`"
        )));
    }
    for name in required {
        if !given.contains_key(*name) {
            return Err(Refusal(format!("the argument `{name}` is missing")));
        }
    }
    // One by one, so that the error can say which.
    for (name, value) in &given {
        let alone = Map::from_iter([(name.clone(), value.clone())]);
        serde_json::from_value::<Arguments>(Value::Object(alone))
            .map_err(|error| Refusal(format!("the argument `{name}`: {error}")))?;
    }
    serde_json::from_value(Value::Object(given)).map_err(|error| Refusal(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(map) => map,
            _ => Map::new(),
        }
    }

    #[test]
    fn arguments_of_other_tools_and_wrong_types_are_refused() {
        let parsed = |value| parse(given(value), &["command"], &["metric"]);
        assert!(parsed(json!({"command": ["./x"], "max_tokens": 500})).is_ok());
        assert!(parsed(json!({"metric": "wall"})).is_err());
        assert!(parsed(json!({"command": ["./x"], "patch": ""})).is_err());
        assert!(parsed(json!({"command": "./x"})).is_err());
    }

    #[test]
    fn refusal_names_the_argument() {
        let why = |value| {
            parse(given(value), &["command"], &["metric"])
                .unwrap_err()
                .0
        };
        assert!(
            why(json!({"comand": ["./x"]}))
                .contains("no argument `comand`; this tool takes `command`")
        );
        assert!(why(json!({"metric": "wall"})).contains("`command` is missing"));
        assert!(why(json!({"command": "./x"})).starts_with("the argument `command`: invalid type"));
    }

    #[test]
    fn every_argument_has_a_description() {
        let all = [
            "command",
            "commands",
            "case",
            "finding",
            "check",
            "upper_bound",
            "function",
            "place",
            "metric",
            "patch",
            "presets",
            "build",
            "clean",
            "search",
            "parameter",
            "values",
            "good",
            "bad",
            "items",
            "file",
            "compare_output",
            "ignore_failure",
            "budget_seconds",
        ];
        let schema = schema(&all, &[]);
        for (name, property) in schema["properties"].as_object().expect("an object") {
            assert!(property["description"].is_string(), "{name}");
        }
    }
}
