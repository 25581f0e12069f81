//! TLS to PostgreSQL: rustls behind the two traits that its client wants.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use substrate_core::DbError;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;

/// Trusts the servers whose certificates these authorities signed.
#[derive(Clone)]
pub(super) struct Authorities(Arc<ClientConfig>);

impl std::fmt::Debug for Authorities {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Authorities")
    }
}

impl Authorities {
    /// From certificates as PEM. Those that can't be read are left out, as system stores have some.
    pub(super) fn read(pem: &str) -> Result<Self, DbError> {
        let mut roots = RootCertStore::empty();
        let certificates = CertificateDer::pem_slice_iter(pem.as_bytes()).filter_map(Result::ok);
        let (n_used, _) = roots.add_parsable_certificates(certificates);
        let wrong = |detail: &str| DbError::Other { detail: detail.to_owned() };
        if n_used == 0 {
            return Err(wrong("there is no certificate of an authority to trust"));
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong(&error.to_string()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self(Arc::new(config)))
    }
}

impl<S> MakeTlsConnect<S> for Authorities
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Secured<S>;
    type TlsConnect = Connector;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> Result<Connector, io::Error> {
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        Ok(Connector { name, config: Arc::clone(&self.0) })
    }
}

/// One handshake.
pub(super) struct Connector {
    name: ServerName<'static>,
    config: Arc<ClientConfig>,
}

impl<S> TlsConnect<S> for Connector
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Secured<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Secured<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            TlsConnector::from(self.config).connect(self.name, stream).await.map(Secured)
        })
    }
}

/// A connection after its handshake.
pub(super) struct Secured<S>(tokio_rustls::client::TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Secured<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Secured<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Secured<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use crate::db::{Backend as _, Postgres, migrate};

    fn certificate() -> (String, String) {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        (made.cert.pem(), made.signing_key.serialize_pem())
    }

    fn error(server: &Postgres) -> String {
        match server.connect() {
            Ok(_) => "connected".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_database_that_wants_tls_gets_it_and_only_a_trusted_one_is_used() {
        let (pem, key) = certificate();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let _running = substrate_testkit::Postgres::start_tls(port, &pem, &key);
        let url = format!("postgres://hub@localhost:{port}/postgres?hostaddr=127.0.0.1");
        let secure = Postgres::new(&format!("{url}&sslmode=require"), 1).unwrap();
        assert!(error(&secure).contains("no authority to trust"));
        let other = secure.clone().trusting(&certificate().0).unwrap();
        assert_ne!(error(&other), "connected");
        let trusted = secure.trusting(&pem).unwrap();
        migrate(trusted.connect().unwrap().as_mut()).unwrap();
        // The server takes nothing in plain text.
        assert_ne!(error(&Postgres::new(&url, 1).unwrap()), "connected");
        // Another machine is never spoken to in plain text, whatever the address says.
        let far = Postgres::new("postgres://hub@192.0.2.1/x?sslmode=disable", 1).unwrap();
        assert!(error(&far).contains("needs TLS"));
    }
}
