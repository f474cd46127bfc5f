//! Where a history is: `sqlite:FILE` or `postgres://…`.

use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// Name of the default file in the directory of cases.
const DEFAULT_FILE: &str = "history.sqlite";

/// The place of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// An SQLite file.
    Sqlite(PathBuf),
    /// The URL of a PostgreSQL database.
    Postgres(String),
}

impl Location {
    /// The location that a text names; an empty text is the default file in `directory`, that of cases.
    ///
    /// # Errors
    /// The text has neither form.
    pub fn parse(text: &str, directory: &Path) -> Result<Self> {
        if text.is_empty() {
            return Ok(Self::Sqlite(directory.join(DEFAULT_FILE)));
        }
        if let Some(file) = text.strip_prefix("sqlite:")
            && !file.is_empty()
        {
            return Ok(Self::Sqlite(PathBuf::from(file)));
        }
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self::Postgres(text.to_owned()));
        }
        Err(Error::Location(without_password(text)))
    }

    /// The location as it may be printed: a URL without its password.
    #[must_use]
    pub fn display(&self) -> String {
        match self {
            Self::Sqlite(file) => file.display().to_string(),
            Self::Postgres(url) => without_password(url),
        }
    }
}

/// A URL with `…` for its password, which may stand before the host or among the parameters.
fn without_password(url: &str) -> String {
    let mut text = url.to_owned();
    if let Some(start) = text.find("://").map(|at| at + 3) {
        let end = text[start..]
            .find(['/', '?'])
            .map_or(text.len(), |at| start + at);
        if let Some(at) = text[start..end].rfind('@').map(|at| start + at)
            && let Some(colon) = text[start..at].find(':').map(|colon| start + colon)
        {
            text.replace_range(colon + 1..at, "…");
        }
    }
    if let Some(start) = text.find("password=").map(|at| at + "password=".len()) {
        let end = text[start..].find('&').map_or(text.len(), |at| start + at);
        text.replace_range(start..end, "…");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_and_the_default_are_parsed() {
        let here = Path::new("/p/.genba");
        let parse = |text| Location::parse(text, here);
        assert_eq!(
            parse("").unwrap(),
            Location::Sqlite("/p/.genba/history.sqlite".into())
        );
        assert_eq!(
            parse("sqlite:a b.db").unwrap(),
            Location::Sqlite("a b.db".into())
        );
        let url = "postgres://u:secret@h/db?x=1";
        assert_eq!(parse(url).unwrap(), Location::Postgres(url.into()));
        for wrong in ["sqlite:", "mysql://x", "history.sqlite", "postgres"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn passwords_are_not_displayed() {
        for url in [
            "postgres://u:sec@ret@h/db",
            "postgres://u:secret@h",
            "postgresql:///db?host=/run&password=secret&user=u",
        ] {
            let shown = Location::Postgres(url.to_owned()).display();
            assert!(!shown.contains("sec"), "{shown}");
            assert!(shown.contains('…'), "{shown}");
        }
        let error = Location::parse("mysql://u:secret@h", Path::new(".")).unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
