//! The machine's end with sockets: drives a [`Link`] over TLS. The host talks to it through two channels.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::ClientConfig;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::keys::{Fingerprint, sha256};
use crate::link::{Link, Ms, Output};
use crate::server;
use crate::wire::{AgentStatus, Ask, Envelope, Stored, Uid};

const PATIENCE: Duration = Duration::from_secs(10);

/// Where the hubs are. They are tried in turn.
#[derive(Clone, Debug)]
pub struct Target {
    /// `host:port` each.
    pub addresses: Vec<String>,
    /// Plain text, which is for loopback only.
    pub plain: bool,
    pub fingerprint: Fingerprint,
}

/// What the host wants of the link.
#[derive(Debug)]
pub enum Wish {
    Leave,
    Submit(Box<Envelope>),
    Stored(Vec<Stored>),
    Status(AgentStatus),
    Gone(Uid),
    Ask { id: u64, what: Ask, patience_ms: u64 },
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// Runs until the host drops its end of `wishes`. What the link does by itself stays here; the rest goes to `events`.
pub async fn drive(
    target: Target,
    make: impl FnOnce(Ms) -> Link,
    mut wishes: UnboundedReceiver<Wish>,
    events: UnboundedSender<Output>,
) {
    let begun = Instant::now();
    let now = || u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    let mut link = make(now());
    let mut stream: Option<Box<dyn Stream>> = None;
    let mut n_dialed = 0;
    let mut chunk = vec![0; 16 << 10];
    loop {
        link.tick(now());
        while let Some(output) = link.next_output() {
            match output {
                Output::Dial => {
                    let address = target.addresses.get(n_dialed % target.addresses.len().max(1));
                    n_dialed += 1;
                    match connect(&target, address.map_or("", String::as_str)).await {
                        Ok(connected) => {
                            stream = Some(connected);
                            link.dialed(now());
                        }
                        Err(error) => link.cut(now(), &error.to_string()),
                    }
                }
                Output::Send(bytes) => {
                    let Some(open) = &mut stream else { continue };
                    if let Err(error) = write(open.as_mut(), &bytes).await {
                        stream = None;
                        link.cut(now(), &error.to_string());
                    }
                }
                Output::HangUp => stream = None,
                other => {
                    if events.send(other).is_err() {
                        return;
                    }
                }
            }
        }
        let wait = link.wake_at().map_or(1_000, |at| at.saturating_sub(now()).min(60_000));
        tokio::select! {
            wish = wishes.recv() => match wish {
                Some(wish) => obey(&mut link, now(), wish),
                None => return,
            },
            read = read(&mut stream, &mut chunk) => match read {
                Ok(n) => link.bytes(now(), &chunk[..n]),
                Err(error) => {
                    stream = None;
                    link.cut(now(), &error.to_string());
                }
            },
            () = tokio::time::sleep(Duration::from_millis(wait)) => {}
        }
    }
}

fn obey(link: &mut Link, now: Ms, wish: Wish) {
    match wish {
        Wish::Leave => link.leave(),
        Wish::Submit(envelope) => link.submit(now, *envelope),
        Wish::Stored(items) => link.stored(items),
        Wish::Status(status) => link.status(now, status),
        Wish::Gone(agent) => link.gone(now, &agent),
        Wish::Ask { id, what, patience_ms } => link.ask(now, id, what, now + patience_ms),
    }
}

async fn connect(target: &Target, address: &str) -> io::Result<Box<dyn Stream>> {
    let opened = async {
        let tcp = TcpStream::connect(address).await?;
        tcp.set_nodelay(true)?;
        if target.plain {
            let mut stream = tcp;
            server::ask(&mut stream, address).await?;
            return Ok::<Box<dyn Stream>, io::Error>(Box::new(stream));
        }
        let mut stream = secured(target.fingerprint, tcp).await?;
        server::ask(&mut stream, address).await?;
        Ok(Box::new(stream))
    };
    timeout(PATIENCE, opened).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// Whether a hub is well: it answers, and has its database.
pub async fn health(target: &Target) -> io::Result<bool> {
    let address = target.addresses.first().map_or("", String::as_str);
    let asked = async {
        let tcp = TcpStream::connect(address).await?;
        let mut stream: Box<dyn Stream> = if target.plain {
            Box::new(tcp)
        } else {
            Box::new(secured(target.fingerprint, tcp).await?)
        };
        server::get(stream.as_mut(), "/health", address).await
    };
    timeout(PATIENCE, asked).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

async fn secured(fingerprint: Fingerprint, tcp: TcpStream) -> io::Result<TlsStream<TcpStream>> {
    let name = ServerName::try_from("substrate-hub").map_err(io::Error::other)?;
    TlsConnector::from(pinned(fingerprint)?).connect(name, tcp).await
}

async fn write(stream: &mut dyn Stream, bytes: &[u8]) -> io::Result<()> {
    let written = async {
        stream.write_all(bytes).await?;
        stream.flush().await
    };
    timeout(PATIENCE, written).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

async fn read(stream: &mut Option<Box<dyn Stream>>, chunk: &mut [u8]) -> io::Result<usize> {
    let Some(stream) = stream else { return std::future::pending().await };
    match stream.read(chunk).await? {
        0 => Err(io::Error::other("the hub closed the connection")),
        n => Ok(n),
    }
}

/// TLS that trusts one certificate and nothing else.
pub(crate) fn pinned(fingerprint: Fingerprint) -> io::Result<Arc<ClientConfig>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = Pinned { fingerprint, provider: Arc::clone(&provider) };
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(io::Error::other)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(Arc::new(config))
}

#[derive(Debug)]
struct Pinned {
    fingerprint: Fingerprint,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if sha256(end_entity) == self.fingerprint {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(rustls::Error::General(
                "the hub shows another certificate than the invitation named".to_owned(),
            ))
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
