//! What happens once an answer was written to the client: mail counts as seen then, and not before.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::model::{JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::{IntoTransport, Transport};

use super::pipe::Ready;

/// What to do after the answers to open requests.
#[derive(Clone, Default)]
pub(super) struct Receipts {
    open: Arc<Mutex<HashMap<RequestId, Ready>>>,
}

impl Receipts {
    /// Runs `then` once the answer to the request was written.
    pub(super) fn expect(&self, request: RequestId, then: Ready) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).insert(request, then);
    }

    fn take(&self, request: &RequestId) -> Option<Ready> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(request)
    }

    /// A transport that notices which answers were written.
    pub(super) fn over<T, E, A>(
        &self,
        inner: T,
    ) -> Noticing<impl Transport<RoleServer, Error = E> + use<T, E, A>>
    where
        T: IntoTransport<RoleServer, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        Noticing { inner: inner.into_transport(), receipts: self.clone() }
    }
}

pub(super) struct Noticing<T> {
    inner: T,
    receipts: Receipts,
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Noticing<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let then = match &item {
            JsonRpcMessage::Response(answer) => self.receipts.take(&answer.id),
            JsonRpcMessage::Error(answer) => {
                // An error tells nothing of the output.
                let _dropped = answer.id.as_ref().and_then(|id| self.receipts.take(id));
                None
            }
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        let sending = self.inner.send(item);
        async move {
            sending.await?;
            if let Some(then) = then {
                // If it fails, the mail is told once more.
                let _at_least_once = then.run().await;
            }
            Ok(())
        }
    }

    fn receive(&mut self) -> impl Future<Output = Option<RxJsonRpcMessage<RoleServer>>> + Send {
        self.inner.receive()
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}
