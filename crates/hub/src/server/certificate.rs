//! The hub's certificate. Machines pin its fingerprint, so it needs no authority and no name.

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use thiserror::Error;

use crate::keys::{Fingerprint, sha256};

#[derive(Debug, Error)]
pub enum CertificateError {
    #[error("the certificate could not be made")]
    Make(#[from] rcgen::Error),
    #[error("the certificate or its key can't be read: {0}")]
    Read(String),
    #[error("the certificate can't be used")]
    Use(#[from] rustls::Error),
}

/// A certificate with its key, as PEM.
#[derive(Clone)]
pub struct Certificate {
    pub chain: String,
    pub key: String,
}

impl std::fmt::Debug for Certificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Certificate")
    }
}

impl Certificate {
    /// A new one, signed by itself.
    pub fn make() -> Result<Self, CertificateError> {
        let made = rcgen::generate_simple_self_signed(vec!["substrate-hub".to_owned()])?;
        Ok(Self { chain: made.cert.pem(), key: made.signing_key.serialize_pem() })
    }

    fn chain(&self) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
        CertificateDer::pem_slice_iter(self.chain.as_bytes())
            .collect::<Result<_, _>>()
            .map_err(|error| CertificateError::Read(error.to_string()))
    }

    /// What machines compare.
    pub fn fingerprint(&self) -> Result<Fingerprint, CertificateError> {
        let chain = self.chain()?;
        let first =
            chain.first().ok_or_else(|| CertificateError::Read("it is empty".to_owned()))?;
        Ok(sha256(first))
    }

    pub(super) fn config(&self) -> Result<Arc<ServerConfig>, CertificateError> {
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes())
            .map_err(|error| CertificateError::Read(error.to_string()))?;
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_no_client_auth()
            .with_single_cert(self.chain()?, key)?;
        Ok(Arc::new(config))
    }
}
