//! `{name}` in commands.
//!
//! `{name}` is replaced by a variable; `{{` and `}}` are braces; `${name}` is left to the
//! shell. A name that is not a variable is an error, as is a lone brace, so that no typing
//! mistake reaches a shell.

use std::collections::BTreeMap;

/// Longest text that a template may come to, bytes. Variables hold no templates, so that the
/// text grows once only.
pub const MAX_EXPANDED: usize = 1 << 20;

/// Fills a template in.
///
/// # Errors
/// What is wrong, as a sentence.
pub fn expand(template: &str, variables: &BTreeMap<String, String>) -> Result<String, String> {
    let mut result = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        result.push_str(&rest[..at]);
        let shell = rest[..at].ends_with('$');
        let (brace, tail) = rest[at..].split_at(1);
        if let Some(after) = tail.strip_prefix(brace) {
            result.push_str(brace);
            rest = after;
            continue;
        }
        let name = match (brace, tail.split_once('}')) {
            ("{", Some((name, after))) => {
                rest = after;
                name
            }
            _ => {
                return Err(format!(
                    "a lone {brace} in {template:?}: write {brace}{brace} for a brace"
                ));
            }
        };
        if shell {
            result.push_str(&format!("{{{name}}}"));
        } else {
            let value = variables
                .get(name)
                .ok_or_else(|| unknown(name, variables))?;
            result.push_str(value);
        }
        if result.len() > MAX_EXPANDED {
            return Err(format!("a text of more than {MAX_EXPANDED} bytes"));
        }
    }
    result.push_str(rest);
    Ok(result)
}

fn unknown(name: &str, variables: &BTreeMap<String, String>) -> String {
    let known: Vec<_> = variables.keys().map(|key| format!("{{{key}}}")).collect();
    format!(
        "{{{name}}} is not a variable here ({} are); write {{{{ and }}}} for braces, ${{{name}}} \
         for the shell's variable",
        known.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fill(template: &str) -> Result<String, String> {
        let variables = [("a", "1"), ("long_name", "{a}")];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        expand(template, &variables.into())
    }

    #[test]
    fn variables_are_replaced_and_braces_and_shell_variables_kept() {
        assert_eq!(fill("x{a}y{a}"), Ok("x1y1".into()));
        assert_eq!(fill("{long_name}"), Ok("{a}".into()), "filled in once only");
        assert_eq!(fill("awk '{{print}}'"), Ok("awk '{print}'".into()));
        assert_eq!(fill("${HOME}/{a}"), Ok("${HOME}/1".into()));
        assert_eq!(fill("${{"), Ok("${".into()));
        for wrong in ["{b}", "{", "}", "{a", "a}", "{}", "awk '{print}'"] {
            assert!(fill(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn without_braces_nothing_changes(text in "[^{}]{0,100}") {
            prop_assert_eq!(fill(&text), Ok(text));
        }
        #[test]
        fn doubled_braces_give_back_the_text(text in "[ab{}]{0,60}") {
            let doubled = text.replace('{', "{{").replace('}', "}}");
            prop_assert_eq!(fill(&doubled), Ok(text));
        }
        #[test]
        fn any_text_is_filled_in_or_refused(text in "[ab$é{}]{0,60}") {
            let _ = fill(&text);
        }
    }
}
