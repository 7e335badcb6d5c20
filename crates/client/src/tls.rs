//! TLS to an agent: which certificates are trusted.

use std::io;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};

/// Why certificates to trust cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// Name the certificate of the agent, or of the authority that signed it.
    #[error("an https:// address needs the certificate to trust: --tls-ca FILE")]
    Missing,
    /// Name a file of certificates in the PEM format.
    #[error("the certificate to trust is not in the PEM format (-----BEGIN CERTIFICATE-----)")]
    NotPem,
    /// Name another certificate.
    #[error("the certificate to trust cannot be used: {0}")]
    Unusable(#[from] rustls::Error),
}

/// The certificates that a client trusts.
#[derive(Clone)]
pub(crate) struct Trust(TlsConnector);

impl Trust {
    pub(crate) fn new(pem: &[u8]) -> Result<Trust, TrustError> {
        let mut roots = RootCertStore::empty();
        for cert in CertificateDer::pem_slice_iter(pem) {
            roots.add(cert.map_err(|_| TrustError::NotPem)?)?;
        }
        if roots.is_empty() {
            return Err(TrustError::NotPem);
        }
        let provider = Arc::new(ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Trust(TlsConnector::from(Arc::new(config))))
    }

    /// Speaks TLS over `tcp` with the agent that has a certificate for `host`.
    pub(crate) async fn connect(
        &self,
        host: &str,
        tcp: TcpStream,
    ) -> io::Result<TlsStream<TcpStream>> {
        let name = ServerName::try_from(host.to_owned());
        let name = name.map_err(|e| io::Error::new(io::ErrorKind::InvalidInput, e))?;
        self.0.connect(name, tcp).await
    }
}

/// Whether a connection failed because TLS refused the other side, or it refused TLS.
pub(crate) fn is_refusal(error: &io::Error) -> bool {
    let inner = error.get_ref();
    inner.is_some_and(|inner| inner.is::<rustls::Error>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_certificates_can_be_trusted() {
        for bad in [
            "",
            "hello",
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        ] {
            assert!(Trust::new(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
