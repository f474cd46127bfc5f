//! A connection to either database, for SQL that both understand.
//!
//! Statements number their parameters `?1`, `?2`, …; nothing that users write is ever part of a
//! statement's text.

use crate::Result;

/// A parameter or a column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Integer(i64),
    Text(String),
    Bytes(Vec<u8>),
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        // PostgreSQL's texts cannot have NUL.
        Self::Text(value.replace('\0', "\u{fffd}"))
    }
}

impl From<&String> for Value {
    fn from(value: &String) -> Self {
        value.as_str().into()
    }
}

impl From<Vec<u8>> for Value {
    fn from(value: Vec<u8>) -> Self {
        Self::Bytes(value)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A row of an answer.
pub(crate) struct Row(pub(crate) Vec<Value>);

impl Row {
    /// An integer column.
    pub(crate) fn integer(&self, column: usize) -> Option<i64> {
        match self.0.get(column)? {
            Value::Integer(value) => Some(*value),
            _ => None,
        }
    }

    /// A text column.
    pub(crate) fn text(&self, column: usize) -> Option<String> {
        match self.0.get(column)? {
            Value::Text(value) => Some(value.clone()),
            _ => None,
        }
    }

    /// A column of bytes.
    pub(crate) fn bytes(&self, column: usize) -> Option<&[u8]> {
        match self.0.get(column)? {
            Value::Bytes(value) => Some(value),
            _ => None,
        }
    }
}

/// A connection to a database.
pub(crate) trait Engine: Send {
    /// Begins a transaction that will write: others that do so wait.
    fn begin(&mut self) -> Result<()>;
    /// Ends the transaction and keeps what it wrote.
    fn commit(&mut self) -> Result<()>;
    /// Ends the transaction and undoes what it wrote; does nothing outside of one.
    fn rollback(&mut self);
    /// Runs statements without parameters, separated by semicolons.
    fn batch(&mut self, sql: &str) -> Result<()>;
    /// Runs one statement and returns its rows.
    fn query(&mut self, sql: &str, parameters: &[Value]) -> Result<Vec<Row>>;
    /// The words of the engine in the table definitions, as pairs of placeholder and SQL.
    fn column_types(&self) -> &'static [(&'static str, &'static str)];
    /// Keeps other connections from migrating until the transaction ends.
    fn lock_migration(&mut self) -> Result<()>;
    /// Whether an error is a conflict with another transaction, so that this one is worth
    /// repeating.
    fn is_conflict(&self, error: &crate::Error) -> bool;
}
