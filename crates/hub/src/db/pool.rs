//! A few threads with a connection each. The hub's tasks hand them transactions and wait for the outcome.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use substrate_core::{Db, DbError};
use tokio::sync::oneshot;

use super::{Backend, Connection, transact};

type Job = Box<dyn FnOnce(&mut Worker) + Send>;

/// The connections of a hub.
#[derive(Clone)]
pub struct Pool {
    jobs: Sender<Job>,
}

struct Worker {
    backend: Arc<dyn Backend>,
    connection: Option<Box<dyn Connection>>,
}

impl Pool {
    /// Starts the threads. They end with the pool. Connections are made when they are needed, and made again when they
    /// break.
    pub fn start(backend: impl Backend) -> Result<Self, DbError> {
        let backend: Arc<dyn Backend> = Arc::new(backend);
        let (jobs, queue) = channel::<Job>();
        let queue = Arc::new(Mutex::new(queue));
        for _ in 0..backend.n_connections() {
            let mut worker = Worker { backend: Arc::clone(&backend), connection: None };
            let queue = Arc::clone(&queue);
            std::thread::Builder::new()
                .name("hub-database".to_owned())
                .spawn(move || {
                    while let Some(job) = next(&queue) {
                        job(&mut worker);
                    }
                })
                .map_err(|error| DbError::Io { detail: error.to_string() })?;
        }
        Ok(Self { jobs })
    }

    /// Runs `body` in a transaction, on one of the threads. It may run several times.
    pub async fn run<T: Send + 'static>(
        &self,
        mut body: impl FnMut(&mut dyn Db) -> Result<T, DbError> + Send + 'static,
    ) -> Result<T, DbError> {
        let (reply, answered) = oneshot::channel();
        let job: Job = Box::new(move |worker| {
            let _caller_is_gone = reply.send(worker.run(&mut body));
        });
        let ended = || DbError::Other { detail: "the hub is stopping".to_owned() };
        self.jobs.send(job).map_err(|_| ended())?;
        answered.await.map_err(|_| ended())?
    }
}

impl Worker {
    fn run<T>(
        &mut self,
        body: &mut dyn FnMut(&mut dyn Db) -> Result<T, DbError>,
    ) -> Result<T, DbError> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.backend.connect().inspect_err(|_| {
                // A database that is away is not asked by every frame of every machine.
                std::thread::sleep(Duration::from_millis(100));
            })?,
        };
        let done = transact(connection.as_mut(), body);
        if !connection.is_broken() {
            self.connection = Some(connection);
        }
        done
    }
}

fn next(queue: &Mutex<Receiver<Job>>) -> Option<Job> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}
