//! TLS of the HTTP interface: the certificate and its key, which are read again on demand.

use crate::file::{self, FileError};
use core::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};

/// Why the certificate of the HTTP interface cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// See [`FileError`](crate::FileError).
    #[error("TLS: {0}")]
    File(#[from] FileError),
    /// Name a file with a certificate, followed by those that signed it.
    #[error("TLS: {path} has no certificate in the PEM format (-----BEGIN CERTIFICATE-----)")]
    NoCertificate {
        /// The file.
        path: PathBuf,
    },
    /// Name a file with the key of the certificate.
    #[error("TLS: {path} has no key in the PEM format (-----BEGIN PRIVATE KEY-----)")]
    NoKey {
        /// The file.
        path: PathBuf,
    },
    /// Name a certificate and its key.
    #[error(
        "TLS: the certificate {path} cannot be used: {source}; check that api.tls_key is its key"
    )]
    Unusable {
        /// The file of the certificate.
        path: PathBuf,
        /// What is wrong with it.
        source: rustls::Error,
    },
}

/// The certificate that is presented. Clones share it.
#[derive(Clone)]
pub(crate) struct Tls(Arc<Shared>);

struct Shared {
    cert: PathBuf,
    key: PathBuf,
    acceptor: RwLock<TlsAcceptor>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tls").field(&self.0.cert).finish()
    }
}

impl Tls {
    /// Reads a certificate and its key.
    pub(crate) fn open(cert: &Path, key: &Path) -> Result<Tls, TlsError> {
        let acceptor = RwLock::new(read(cert, key)?);
        Ok(Tls(Arc::new(Shared {
            cert: cert.to_owned(),
            key: key.to_owned(),
            acceptor,
        })))
    }

    /// Reads the files again, for connections from now on. On an error the certificate stays.
    pub(crate) fn reload(&self) -> Result<(), TlsError> {
        let acceptor = read(&self.0.cert, &self.0.key)?;
        let shared = self.0.acceptor.write();
        *shared.unwrap_or_else(PoisonError::into_inner) = acceptor;
        Ok(())
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        let shared = self.0.acceptor.read();
        shared.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn read(cert: &Path, key: &Path) -> Result<TlsAcceptor, TlsError> {
    let (text, _) = file::read_settings(cert)?;
    let no_certificate = || TlsError::NoCertificate {
        path: cert.to_owned(),
    };
    let chain = CertificateDer::pem_slice_iter(text.as_bytes()).collect::<Result<Vec<_>, _>>();
    let chain = chain.map_err(|_| no_certificate())?;
    if chain.is_empty() {
        return Err(no_certificate());
    }
    let secret = file::read_secret(key)?;
    let secret = PrivateKeyDer::from_pem_slice(secret.as_bytes());
    let secret = secret.map_err(|_| TlsError::NoKey {
        path: key.to_owned(),
    })?;
    let unusable = |source| TlsError::Unusable {
        path: cert.to_owned(),
        source,
    };
    let provider = Arc::new(ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(unusable)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
