//! The hub on PostgreSQL, 15 or newer.
//!
//! Each connection has a thread of the pool and a small runtime of its own, so that a transaction reads the same as on SQLite.
//! There is no `LISTEN`, no advisory lock and no serial: any pooler and any managed server will do.

use std::collections::HashMap;
use std::error::Error;
use std::time::Duration;

use bytes::BytesMut;
use substrate_core::{Db, DbError, Param, Row};
use tokio::runtime::Runtime;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Config, NoTls, Statement};

use super::tls::Authorities;
use super::{Backend, Connection, refuse_zero_bytes};
use crate::keys::is_loopback;

/// How long a statement may take, and how long a connection may take to open.
const STATEMENT: Duration = Duration::from_secs(10);

/// A server, and who we are there.
#[derive(Clone, Debug)]
pub struct Postgres {
    config: Config,
    n_connections: usize,
    authorities: Option<Authorities>,
}

impl Postgres {
    /// `postgres://user:password@host/database`. A server on another machine needs TLS, and so [`Postgres::trusting`].
    pub fn new(url: &str, n_connections: usize) -> Result<Self, DbError> {
        let mut config: Config = url.parse().map_err(|error: tokio_postgres::Error| {
            // The text of the error may quote the address, which has a password.
            let detail = error.source().map_or_else(String::new, ToString::to_string);
            DbError::Other {
                detail: format!("the address of the database can't be read: {detail}"),
            }
        })?;
        config.connect_timeout(STATEMENT).application_name("substrate-hub");
        Ok(Self { config, n_connections, authorities: None })
    }

    /// With the certificates, as PEM, of the authorities that its server may be signed by.
    pub fn trusting(mut self, pem: &str) -> Result<Self, DbError> {
        self.authorities = Some(Authorities::read(pem)?);
        Ok(self)
    }

    /// Whether the server is on this machine, where others can't listen to the connection.
    fn is_near(&self) -> bool {
        self.config.get_hosts().iter().all(|host| match host {
            Host::Unix(_) => true,
            Host::Tcp(name) => is_loopback(name),
        })
    }

    async fn client(&self) -> Result<Client, DbError> {
        if self.is_near() && self.config.get_ssl_mode() != SslMode::Require {
            let (client, connection) = self.config.connect(NoTls).await.map_err(db_error)?;
            drop(tokio::spawn(connection));
            return Ok(client);
        }
        let authorities = self.authorities.clone().ok_or_else(|| DbError::Other {
            detail: "a database on another machine needs TLS, and no authority to trust is known"
                .to_owned(),
        })?;
        let mut config = self.config.clone();
        config.ssl_mode(SslMode::Require);
        let (client, connection) = config.connect(authorities).await.map_err(db_error)?;
        drop(tokio::spawn(connection));
        Ok(client)
    }
}

impl Backend for Postgres {
    fn n_connections(&self) -> usize {
        self.n_connections
    }

    fn connect(&self) -> Result<Box<dyn Connection>, DbError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| DbError::Io { detail: error.to_string() })?;
        let client = runtime.block_on(self.client())?;
        let mut server = Server { runtime, client, statements: HashMap::new(), broken: false };
        let limit = STATEMENT.as_millis();
        server.batch(&format!("set statement_timeout = {limit}; set lock_timeout = {limit}"))?;
        server.clock()?;
        Ok(Box::new(server))
    }
}

struct Server {
    runtime: Runtime,
    client: Client,
    statements: HashMap<String, Statement>,
    broken: bool,
}

impl Server {
    /// The database's own clock under the name that our SQL has for it. Two hubs may define it at once, and one of them
    /// fails then.
    fn clock(&mut self) -> Result<(), DbError> {
        const KNOWN: &str = "select count(*) from pg_proc where proname = 'now_ms'";
        const DEFINE: &str =
            "create or replace function now_ms() returns bigint language sql stable as
            'select (extract(epoch from statement_timestamp()) * 1000)::bigint'";
        for _ in 0..3 {
            let rows = self.rows(KNOWN, &[])?;
            if rows.first().is_some_and(|row| row.get::<_, i64>(0) > 0) {
                return Ok(());
            }
            let _another_hub_was_first = self.batch(DEFINE);
        }
        Err(DbError::Other { detail: "the function `now_ms` can't be created".to_owned() })
    }

    fn batch(&mut self, sql: &str) -> Result<(), DbError> {
        let done = self.runtime.block_on(async {
            tokio::time::timeout(STATEMENT * 2, self.client.batch_execute(sql)).await
        });
        self.checked(done)
    }

    /// Notes when the connection is of no use any more.
    fn checked<T>(
        &mut self,
        done: Result<Result<T, tokio_postgres::Error>, tokio::time::error::Elapsed>,
    ) -> Result<T, DbError> {
        let Ok(done) = done else {
            self.broken = true;
            return Err(DbError::Io { detail: "the database does not answer".to_owned() });
        };
        done.map_err(|error| {
            // After a failover, the old server may live on and only read.
            let read_only = error.code() == Some(&SqlState::READ_ONLY_SQL_TRANSACTION);
            self.broken |= error.code().is_none() || read_only || self.client.is_closed();
            db_error(error)
        })
    }

    fn rows(
        &mut self,
        sql: &str,
        params: &[Param<'_>],
    ) -> Result<Vec<tokio_postgres::Row>, DbError> {
        refuse_zero_bytes(params)?;
        let statement = match self.statements.get(sql) {
            Some(statement) => statement.clone(),
            None => {
                let made = self.runtime.block_on(async {
                    tokio::time::timeout(STATEMENT * 2, self.client.prepare(sql)).await
                });
                let made = self.checked(made)?;
                self.statements.insert(sql.to_owned(), made.clone());
                made
            }
        };
        let bound: Vec<Bound<'_>> = params.iter().copied().map(Bound).collect();
        let bound: Vec<&(dyn ToSql + Sync)> = bound.iter().map(|it| it as _).collect();
        let done = self.runtime.block_on(async {
            tokio::time::timeout(STATEMENT * 2, self.client.query(&statement, &bound)).await
        });
        self.checked(done)
    }

    fn changed(&mut self, sql: &str, params: &[Param<'_>]) -> Result<usize, DbError> {
        refuse_zero_bytes(params)?;
        if params.is_empty() && !self.statements.contains_key(sql) {
            self.batch(sql)?;
            return Ok(0);
        }
        if !self.statements.contains_key(sql) {
            let made = self.runtime.block_on(async {
                tokio::time::timeout(STATEMENT * 2, self.client.prepare(sql)).await
            });
            let made = self.checked(made)?;
            self.statements.insert(sql.to_owned(), made);
        }
        let statement = self.statements[sql].clone();
        let bound: Vec<Bound<'_>> = params.iter().copied().map(Bound).collect();
        let bound: Vec<&(dyn ToSql + Sync)> = bound.iter().map(|it| it as _).collect();
        let done = self.runtime.block_on(async {
            tokio::time::timeout(STATEMENT * 2, self.client.execute(&statement, &bound)).await
        });
        Ok(usize::try_from(self.checked(done)?).unwrap_or(usize::MAX))
    }
}

impl Connection for Server {
    fn begin(&mut self) -> Result<(), DbError> {
        self.batch("begin")
    }

    fn commit(&mut self) -> Result<(), DbError> {
        self.batch("commit")
    }

    fn roll_back(&mut self) {
        if !self.broken && self.batch("rollback").is_err() {
            self.broken = true;
        }
    }

    fn db(&mut self) -> &mut dyn Db {
        self
    }

    fn is_broken(&self) -> bool {
        self.broken
    }
}

impl Db for Server {
    fn execute(&mut self, sql: &str, params: &[Param<'_>]) -> Result<usize, DbError> {
        self.changed(sql, params)
    }

    fn query(
        &mut self,
        sql: &str,
        params: &[Param<'_>],
        each: &mut dyn FnMut(&dyn Row) -> Result<(), DbError>,
    ) -> Result<(), DbError> {
        self.rows(sql, params)?.iter().try_for_each(|row| each(&ServerRow(row)))
    }

    fn size_bytes(&mut self) -> Result<i64, DbError> {
        let rows = self.rows("select pg_database_size(current_database())", &[])?;
        rows.first().map_or(Ok(0), |row| ServerRow(row).int(0))
    }
}

#[derive(Debug)]
struct Bound<'a>(Param<'a>);

impl ToSql for Bound<'_> {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self.0 {
            Param::Null => Ok(IsNull::Yes),
            Param::Int(number) if *ty == Type::INT4 => i32::try_from(number)?.to_sql(ty, out),
            Param::Int(number) => number.to_sql(ty, out),
            Param::Text(text) => text.to_sql(ty, out),
            Param::Blob(bytes) => bytes.to_sql(ty, out),
        }
    }

    fn accepts(ty: &Type) -> bool {
        [Type::INT8, Type::INT4, Type::TEXT, Type::BYTEA].contains(ty)
    }

    to_sql_checked!();
}

struct ServerRow<'a>(&'a tokio_postgres::Row);

macro_rules! getters {
    ($($name:ident: $type:ty),+) => {
        $(fn $name(&self, column: usize) -> Result<$type, DbError> {
            self.0.try_get::<_, $type>(column).map_err(db_error)
        })+
    };
}

impl Row for ServerRow<'_> {
    getters!(int: i64, text: String, opt_int: Option<i64>, opt_text: Option<String>, blob: Vec<u8>,
             opt_blob: Option<Vec<u8>>);
}

#[expect(clippy::needless_pass_by_value, reason = "it stands in `map_err`")]
fn db_error(error: tokio_postgres::Error) -> DbError {
    let detail = error.as_db_error().map_or_else(|| error.to_string(), |e| e.message().to_owned());
    let Some(code) = error.code() else { return DbError::Io { detail } };
    match *code {
        SqlState::T_R_SERIALIZATION_FAILURE
        | SqlState::T_R_DEADLOCK_DETECTED
        | SqlState::LOCK_NOT_AVAILABLE => DbError::Busy,
        SqlState::DISK_FULL => DbError::Full,
        SqlState::READ_ONLY_SQL_TRANSACTION => DbError::ReadOnly,
        SqlState::ADMIN_SHUTDOWN | SqlState::CRASH_SHUTDOWN | SqlState::CANNOT_CONNECT_NOW => {
            DbError::Io { detail }
        }
        _ => DbError::Other { detail },
    }
}
