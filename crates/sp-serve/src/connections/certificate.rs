//! The certificate of a server, which is loaded again when its files change.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use sp_tree::{Digest, read_limited};
use thiserror::Error;

const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// How often the files are read.
const RELOAD_INTERVAL: Duration = Duration::from_secs(5);

/// A certificate chain and its private key, in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// The message names the file.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct CertificateError(String);

pub(crate) struct ServerCertificate {
    files: TlsFiles,
    provider: Arc<CryptoProvider>,
    current: RwLock<LoadedCertificate>,
}

struct LoadedCertificate {
    /// Of both files.
    digest: Digest,
    key: Arc<CertifiedKey>,
}

impl ServerCertificate {
    pub(crate) fn load(files: &TlsFiles) -> Result<Self, CertificateError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let current = RwLock::new(LoadedCertificate::read(files, &provider)?);
        Ok(Self { files: files.clone(), provider, current })
    }

    /// The configuration of a server that uses the current certificate.
    pub(crate) fn server_config(self: &Arc<Self>) -> Result<Arc<ServerConfig>, rustls::Error> {
        let mut config = ServerConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(self) as _);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }

    /// Loads the certificate whenever its files have changed. If they are invalid, the previous
    /// certificate stays in use. Reports each change and each new error.
    pub(crate) async fn reload_periodically(
        self: Arc<Self>,
        report: impl Fn(Result<(), CertificateError>) + Send,
    ) {
        let mut last_error = None;
        loop {
            tokio::time::sleep(RELOAD_INTERVAL).await;
            let certificate = Arc::clone(&self);
            let reloaded = tokio::task::spawn_blocking(move || certificate.reload()).await;
            let Ok(reloaded) = reloaded else { continue };
            let error = reloaded.as_ref().err().map(|error| error.0.clone());
            match reloaded {
                Ok(true) => report(Ok(())),
                Err(new) if error != last_error => report(Err(new)),
                _ => {}
            }
            last_error = error;
        }
    }

    /// Returns whether the certificate has changed.
    fn reload(&self) -> Result<bool, CertificateError> {
        let loaded = LoadedCertificate::read(&self.files, &self.provider)?;
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let has_changed = current.digest != loaded.digest;
        *current = loaded;
        Ok(has_changed)
    }
}

impl LoadedCertificate {
    fn read(files: &TlsFiles, provider: &CryptoProvider) -> Result<Self, CertificateError> {
        let (chain, key) = (read_file(&files.certificate)?, read_file(&files.key)?);
        let digest = Digest::of(&[chain.as_slice(), &key].concat());
        let invalid = |file: &Path, why: &dyn fmt::Display| {
            CertificateError(format!("invalid PEM file `{}`: {why}", file.display()))
        };
        let certificates: Vec<_> = CertificateDer::pem_slice_iter(&chain)
            .collect::<Result<_, _>>()
            .map_err(|e| invalid(&files.certificate, &e))?;
        if certificates.is_empty() {
            return Err(invalid(&files.certificate, &"it contains no certificate"));
        }
        // The error may quote the key.
        let key = PrivateKeyDer::from_pem_slice(&key)
            .map_err(|_| invalid(&files.key, &"it contains no private key"))?;
        let key = provider
            .key_provider
            .load_private_key(key)
            .map_err(|_| invalid(&files.key, &"the private key is not supported"))?;
        let key = CertifiedKey::new(certificates, key);
        match key.keys_match() {
            Ok(()) | Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::Unknown)) => {}
            Err(_) => return Err(invalid(&files.key, &"it is not the key of the certificate")),
        }
        Ok(Self { digest, key: Arc::new(key) })
    }
}

fn read_file(path: &Path) -> Result<Vec<u8>, CertificateError> {
    read_limited(path, MAX_FILE_BYTES).map_err(|error| {
        CertificateError(format!("cannot read `{}`: {}", path.display(), error.source))
    })
}

impl fmt::Debug for ServerCertificate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.files, out)
    }
}

impl ResolvesServerCert for ServerCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        Some(Arc::clone(&current.key))
    }
}
