//! The hub's database: core's narrow [`Db`], on SQLite or PostgreSQL.
//!
//! One schema and one SQL text serve both. Three things differ, and each backend brings them: how a connection is made, how a
//! transaction begins, and `now_ms()`, which is the database's clock and the only one that decides anything.

mod pool;
mod postgres;
mod schema;
mod sqlite;
mod tls;

#[cfg(test)]
mod contract;

pub use pool::Pool;
pub use postgres::Postgres;
#[cfg(test)]
pub(crate) use sqlite::File;
pub use sqlite::{Clock, Sqlite};

use substrate_core::{Db, DbError, Param};

/// A kind of database, and where it is.
pub trait Backend: Send + Sync + 'static {
    /// How many connections may work at once.
    fn n_connections(&self) -> usize;

    fn connect(&self) -> Result<Box<dyn Connection>, DbError>;
}

impl Backend for Box<dyn Backend> {
    fn n_connections(&self) -> usize {
        self.as_ref().n_connections()
    }

    fn connect(&self) -> Result<Box<dyn Connection>, DbError> {
        self.as_ref().connect()
    }
}

/// One connection. Statements run between `begin` and `commit`.
pub trait Connection: Send {
    fn begin(&mut self) -> Result<(), DbError>;
    fn commit(&mut self) -> Result<(), DbError>;
    fn roll_back(&mut self);
    fn db(&mut self) -> &mut dyn Db;
    /// Whether it must be made again.
    fn is_broken(&self) -> bool;
}

/// Runs `body` in a transaction. Another transaction may be in its way, so `body` may run several times.
pub fn transact<T>(
    connection: &mut dyn Connection,
    body: &mut dyn FnMut(&mut dyn Db) -> Result<T, DbError>,
) -> Result<T, DbError> {
    const TRIES: u32 = 8;
    for n in 1.. {
        connection.begin()?;
        let done = body(connection.db()).and_then(|value| connection.commit().map(|()| value));
        match done {
            Err(DbError::Busy) if n < TRIES && !connection.is_broken() => {
                connection.roll_back();
                std::thread::sleep(std::time::Duration::from_millis(u64::from(n * n)));
            }
            Err(error) => {
                connection.roll_back();
                return Err(error);
            }
            Ok(value) => return Ok(value),
        }
    }
    unreachable!("the last try returns")
}

/// Brings the schema up to date. Any number of hubs may do this at once, and each step happens once.
pub fn migrate(connection: &mut dyn Connection) -> Result<(), DbError> {
    schema::migrate(connection)
}

/// PostgreSQL refuses a zero byte in a text, and SQLite cuts there: neither gets one.
fn refuse_zero_bytes(params: &[Param<'_>]) -> Result<(), DbError> {
    let zero = |param: &Param<'_>| matches!(param, Param::Text(text) if text.contains('\0'));
    match params.iter().any(zero) {
        true => Err(DbError::Other { detail: "a text with a zero byte".to_owned() }),
        false => Ok(()),
    }
}
