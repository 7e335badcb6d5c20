//! Settings of the HTTP interface.

use super::ConfigError;
use core::time::Duration;
use serde::Deserialize;
use std::path::PathBuf;
use utoipa::ToSchema;

/// Settings of the HTTP interface. The address is the setting `http` at the top.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RawApi {
    /// File with the tokens that clients may use, one per line: a role (`read`, `operate` or `admin`) and the token; a
    /// token alone has the role `admin`. Required if HTTP is served beyond this machine. Only its owner may read it.
    #[schema(value_type = Option<String>)]
    pub token_file: Option<PathBuf>,
    /// File with the certificate that is presented by TLS, in the PEM format, followed by those that signed it. Requires
    /// `tls_key`, and an `http` that is no Unix socket. HTTP without TLS is then no longer served. SIGHUP reads it again.
    #[schema(value_type = Option<String>)]
    pub tls_cert: Option<PathBuf>,
    /// File with the key of the certificate, in the PEM format. Only its owner may read it.
    #[schema(value_type = Option<String>)]
    pub tls_key: Option<PathBuf>,
    /// Time limit for the handshake of TLS, for sending the head of a request, for sending its body, and for reading the
    /// answer, each; also for an idle connection.
    #[serde(default, with = "humantime_serde::option")]
    #[schema(value_type = Option<String>)]
    pub timeout: Option<Duration>,
    /// Greatest number of connections. At the limit the one that has been idle for longest is closed. All agents of a
    /// process together use at most half of its file descriptors.
    pub connections_max: Option<u32>,
    /// Greatest number of open event streams.
    pub streams_max: Option<u32>,
}

/// Checked settings of the HTTP interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiConfig {
    /// File with the tokens that clients may use.
    pub token_file: Option<PathBuf>,
    /// File with the certificate of the HTTP interface; without one there is no TLS.
    pub tls_cert: Option<PathBuf>,
    /// File with the key of that certificate.
    pub tls_key: Option<PathBuf>,
    /// Time limit for each part of an exchange, and for an idle connection.
    pub timeout: Duration,
    /// Greatest number of connections.
    pub connections_max: usize,
    /// Greatest number of open event streams.
    pub streams_max: usize,
}

impl Default for ApiConfig {
    fn default() -> Self {
        ApiConfig {
            token_file: None,
            tls_cert: None,
            tls_key: None,
            timeout: Duration::from_secs(30),
            connections_max: 256,
            streams_max: 128,
        }
    }
}

impl RawApi {
    /// Uses these settings where they are given, otherwise those of `file`.
    pub(super) fn over(self, file: RawApi) -> RawApi {
        RawApi {
            token_file: self.token_file.or(file.token_file),
            tls_cert: self.tls_cert.or(file.tls_cert),
            tls_key: self.tls_key.or(file.tls_key),
            timeout: self.timeout.or(file.timeout),
            connections_max: self.connections_max.or(file.connections_max),
            streams_max: self.streams_max.or(file.streams_max),
        }
    }

    /// Checks them.
    pub(super) fn check(self) -> Result<ApiConfig, ConfigError> {
        let default = ApiConfig::default();
        let timeout = self.timeout.unwrap_or(default.timeout);
        if !(Duration::from_millis(100)..=Duration::from_secs(3600)).contains(&timeout) {
            return Err(ConfigError::Value {
                key: "api.timeout",
                value: format!("{timeout:?}"),
                expected: "write 100ms to 1h, as in 30s".to_owned(),
            });
        }
        let alone = match (&self.tls_cert, &self.tls_key) {
            (Some(cert), None) => Some(("api.tls_cert", cert, "name its key, too (api.tls_key)")),
            (None, Some(key)) => Some((
                "api.tls_key",
                key,
                "name its certificate, too (api.tls_cert)",
            )),
            _ => None,
        };
        if let Some((key, path, expected)) = alone {
            return Err(ConfigError::Value {
                key,
                value: path.display().to_string(),
                expected: expected.to_owned(),
            });
        }
        let count = |key, given: Option<u32>, default: usize| match given {
            None => Ok(default),
            Some(n @ 1..=65_536) => Ok(n as usize),
            Some(n) => Err(ConfigError::Value {
                key,
                value: n.to_string(),
                expected: "write 1 to 65536".to_owned(),
            }),
        };
        Ok(ApiConfig {
            token_file: self.token_file,
            tls_cert: self.tls_cert,
            tls_key: self.tls_key,
            timeout,
            connections_max: count(
                "api.connections_max",
                self.connections_max,
                default.connections_max,
            )?,
            streams_max: count("api.streams_max", self.streams_max, default.streams_max)?,
        })
    }
}
