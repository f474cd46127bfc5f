//! History in a PostgreSQL database.

use postgres::error::SqlState;
use postgres::types::{ToSql, Type};
use postgres::{Client, Config, NoTls};
use std::collections::HashMap;
use std::ffi::OsString;
use std::time::Duration;

use crate::engine::{Engine, Row, Value};
use crate::{Error, Result};

/// Number of the advisory lock that is held while the schema is migrated: "gnbh".
const MIGRATION_LOCK: i64 = 0x676e_6268;

/// Where libpq's clients take a password from that is not in the URL, so that it is in no command line.
pub(crate) const PASSWORD_VARIABLE: &str = "PGPASSWORD";

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) struct PostgresEngine {
    client: Client,
    /// The server as it may be printed.
    server: String,
    statements: HashMap<String, postgres::Statement>,
}

impl PostgresEngine {
    pub(crate) fn open(url: &str, server: String) -> Result<Self> {
        let fail = |source| Error::Postgres {
            server: server.clone(),
            source,
        };
        let mut config: Config = url.parse().map_err(fail)?;
        add_password(&mut config, std::env::var_os(PASSWORD_VARIABLE));
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if config.get_application_name().is_none() {
            config.application_name("genba");
        }
        let mut client = config.connect(NoTls).map_err(fail)?;
        // Notices such as "relation exists" are of no use to the user.
        client
            .batch_execute("SET client_min_messages = warning")
            .map_err(fail)?;
        Ok(Self {
            client,
            server,
            statements: HashMap::new(),
        })
    }

    fn fail(&self) -> impl Fn(postgres::Error) -> Error + use<> {
        let server = self.server.clone();
        move |source| Error::Postgres {
            server: server.clone(),
            source,
        }
    }
}

impl Engine for PostgresEngine {
    fn begin(&mut self) -> Result<()> {
        self.batch("BEGIN")
    }

    fn commit(&mut self) -> Result<()> {
        self.batch("COMMIT")
    }

    fn rollback(&mut self) {
        // An error here means that the connection is gone, and with it the transaction.
        let _ = self.client.batch_execute("ROLLBACK");
    }

    fn batch(&mut self, sql: &str) -> Result<()> {
        self.client.batch_execute(sql).map_err(self.fail())
    }

    fn query(&mut self, sql: &str, parameters: &[Value]) -> Result<Vec<Row>> {
        let fail = self.fail();
        let statement = match self.statements.get(sql) {
            Some(statement) => statement.clone(),
            None => {
                let numbered = sql.replace('?', "$");
                let statement = self.client.prepare(&numbered).map_err(&fail)?;
                (self.statements).insert(sql.to_owned(), statement.clone());
                statement
            }
        };
        let parameters: Vec<&(dyn ToSql + Sync)> = parameters
            .iter()
            .map(|value| match value {
                Value::Null => &None::<Untyped> as &(dyn ToSql + Sync),
                Value::Integer(value) => value,
                Value::Text(value) => value,
                Value::Bytes(value) => value,
            })
            .collect();
        let rows = self.client.query(&statement, &parameters).map_err(&fail)?;
        rows.iter()
            .map(|row| {
                (row.columns().iter().enumerate())
                    .map(|(index, column)| from_postgres(row, index, column.type_()))
                    .collect::<Result<_, postgres::Error>>()
                    .map(Row)
                    .map_err(&fail)
            })
            .collect()
    }

    fn column_types(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("@id", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"),
            ("@integer", "BIGINT"),
            ("@bytes", "BYTEA"),
        ]
    }

    fn lock_migration(&mut self) -> Result<()> {
        self.batch(&format!("SELECT pg_advisory_xact_lock({MIGRATION_LOCK})"))
    }

    fn is_conflict(&self, error: &Error) -> bool {
        let Error::Postgres { source, .. } = error else {
            return false;
        };
        source.code().is_some_and(|code| {
            *code == SqlState::T_R_DEADLOCK_DETECTED || *code == SqlState::T_R_SERIALIZATION_FAILURE
        })
    }
}

/// Sets the password of the environment, unless the URL has one.
fn add_password(config: &mut Config, variable: Option<OsString>) {
    if let (None, Some(password)) = (config.get_password(), variable) {
        config.password(password.as_encoded_bytes());
    }
}

/// A NULL of whichever type the column has.
#[derive(Debug)]
struct Untyped;

impl ToSql for Untyped {
    fn to_sql(
        &self,
        _: &Type,
        _: &mut postgres::types::private::BytesMut,
    ) -> std::result::Result<postgres::types::IsNull, Box<dyn std::error::Error + Sync + Send>>
    {
        Ok(postgres::types::IsNull::Yes)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    postgres::types::to_sql_checked!();
}

fn from_postgres(
    row: &postgres::Row,
    index: usize,
    kind: &Type,
) -> std::result::Result<Value, postgres::Error> {
    Ok(match *kind {
        Type::INT8 => row.try_get::<_, Option<i64>>(index)?.into(),
        Type::INT4 => (row.try_get::<_, Option<i32>>(index)?)
            .map(i64::from)
            .into(),
        Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(index)?.into(),
        _ => (row.try_get::<_, Option<String>>(index)?).map_or(Value::Null, Value::Text),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn password_of_the_environment_is_taken_where_the_url_has_none() {
        for (url, expected) in [("postgres://u@h/d", "env"), ("postgres://u:own@h/d", "own")] {
            let mut config: Config = url.parse().expect("a URL");
            add_password(&mut config, Some("env".into()));
            assert_eq!(config.get_password(), Some(expected.as_bytes()));
        }
    }
}
