//! What a path asks for. Pure.

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// The list of cases.
    List,
    /// The script of the pages.
    Script,
    /// The page of a case.
    Case(String),
    /// Functions and flame graph of a case.
    Explorer(String),
    /// The figures of the explorer, as JSON.
    Profile(String),
    /// The code of a function of a case, by its index in the profile.
    Function(String, u32),
    /// The state of a case, as a server-sent event.
    Events(String),
    /// Two cases side by side.
    Compare(String, String),
}

impl Route {
    /// The route of a path behind the token, with its query.
    pub fn of(path: &str, query: Option<&str>) -> Option<Self> {
        let parts: Vec<&str> = path.split('/').collect();
        match parts[..] {
            [""] => Some(Self::List),
            ["app.js"] => Some(Self::Script),
            ["compare"] => {
                let query = query?;
                Some(Self::Compare(value(query, "a")?, value(query, "b")?))
            }
            ["case", case] => Some(Self::Case(id(case)?)),
            ["case", case, "explore"] => Some(Self::Explorer(id(case)?)),
            ["case", case, "profile.json"] => Some(Self::Profile(id(case)?)),
            ["case", case, "function", index] => Some(Self::Function(id(case)?, number(index)?)),
            ["case", case, "events"] => Some(Self::Events(id(case)?)),
            _ => None,
        }
    }
}

/// An id of a case: nothing else becomes part of a path on disk.
fn id(text: &str) -> Option<String> {
    let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    ((2..=32).contains(&text.len()) && text.bytes().all(hex)).then(|| text.to_owned())
}

/// An index: digits, and few.
fn number(text: &str) -> Option<u32> {
    let digits = (1..=7).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// The id that a query has under this name.
fn value(query: &str, name: &str) -> Option<String> {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .find(|(key, _)| *key == name)
        .and_then(|(_, value)| id(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn paths_have_routes() {
        assert_eq!(Route::of("", None), Some(Route::List));
        assert_eq!(
            Route::of("case/7f3a", Some("x")),
            Some(Route::Case("7f3a".to_owned()))
        );
        assert_eq!(
            Route::of("case/7f3a/events", None),
            Some(Route::Events("7f3a".to_owned()))
        );
        assert_eq!(
            Route::of("case/7f3a/function/12", None),
            Some(Route::Function("7f3a".to_owned(), 12))
        );
        for index in ["", "+1", "-1", "1x", "99999999", "0x1"] {
            assert_eq!(
                Route::of(&format!("case/7f3a/function/{index}"), None),
                None
            );
        }
        let two = Route::Compare("7f3a".to_owned(), "81c0".to_owned());
        assert_eq!(Route::of("compare", Some("a=7f3a&b=81c0")), Some(two));
    }

    #[test]
    fn nothing_but_an_id_reaches_the_store() {
        for path in [
            "case/..",
            "case/../../etc/passwd",
            "case/%2e%2e",
            "case/7f3a/../x",
            "case//",
            "case/latest",
            "case/7F3A",
            "../",
            "case/7f3a/",
            "case.html",
            "app.js/x",
            "case/7f3a\0",
        ] {
            assert_eq!(Route::of(path, None), None, "{path}");
        }
        for query in [None, Some("a=7f3a"), Some("a=../x&b=81c0"), Some("")] {
            assert_eq!(Route::of("compare", query), None, "{query:?}");
        }
    }

    proptest! {
        #[test]
        fn any_path_is_a_route_or_none(path in ".{0,80}", query in ".{0,80}") {
            if let Some(Route::Case(id)) = Route::of(&path, Some(&query)) {
                prop_assert!(id.bytes().all(|byte| byte.is_ascii_hexdigit()));
            }
        }
    }
}
