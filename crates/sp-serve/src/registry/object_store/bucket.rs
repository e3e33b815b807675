//! The address of a bucket, and the settings to reach it.

use std::fmt;
use std::str::FromStr;

use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey, S3ConditionalPut};
use object_store::{BackoffConfig, RetryConfig};
use thiserror::Error;

use super::s3_http::S3Connector;
use super::storage_health::REQUEST_TIMEOUT;

const VARIABLE_PREFIX: &str = "AWS_";
const MAX_RETRIES: usize = 3;

/// A bucket and the prefix of all keys: `s3://bucket/prefix`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketUrl {
    bucket: String,
    /// Without slashes at either end; may be empty.
    prefix: String,
}

#[derive(Debug, Error)]
#[error("invalid object store URL; expected `s3://bucket` or `s3://bucket/prefix`")]
pub struct BucketUrlError;

impl FromStr for BucketUrl {
    type Err = BucketUrlError;

    fn from_str(text: &str) -> Result<Self, BucketUrlError> {
        let rest = text.strip_prefix("s3://").ok_or(BucketUrlError)?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        let is_name = |text: &str| {
            !matches!(text, "" | "." | "..")
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        };
        if is_name(bucket) && (prefix.is_empty() || prefix.split('/').all(is_name)) {
            Ok(Self { bucket: bucket.into(), prefix: prefix.into() })
        } else {
            Err(BucketUrlError)
        }
    }
}

impl fmt::Display for BucketUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "s3://{}", self.bucket)?;
        if self.prefix.is_empty() { Ok(()) } else { write!(out, "/{}", self.prefix) }
    }
}

impl BucketUrl {
    pub(super) fn key(&self, name: &str) -> object_store::path::Path {
        if self.prefix.is_empty() { name.into() } else { format!("{}/{name}", self.prefix).into() }
    }

    /// The URL of a key, for messages.
    pub(super) fn url_of(&self, key: &object_store::path::Path) -> String {
        format!("s3://{}/{key}", self.bucket)
    }
}

/// A bucket, and the variables `AWS_…` of the environment. `Debug` leaves them out, since they
/// contain credentials.
#[derive(Clone)]
pub struct BucketSettings {
    pub url: BucketUrl,
    pub variables: Vec<(String, String)>,
}

impl fmt::Debug for BucketSettings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.url, out)
    }
}

impl BucketSettings {
    /// Selects the variables that concern the bucket.
    pub fn new<'a>(
        url: BucketUrl,
        environment: impl IntoIterator<Item = (&'a String, &'a String)>,
    ) -> Self {
        let is_used = |(name, value): &(&String, &String)| {
            name.starts_with(VARIABLE_PREFIX) && !value.is_empty()
        };
        let variables = environment.into_iter().filter(is_used);
        let variables = variables.map(|(name, value)| (name.clone(), value.clone())).collect();
        Self { url, variables }
    }

    fn variable(&self, name: &str) -> Option<&str> {
        self.variables.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn connect(&self) -> Result<AmazonS3, Box<dyn std::error::Error + Send + Sync>> {
        let endpoint =
            self.variable("AWS_ENDPOINT_URL_S3").or_else(|| self.variable("AWS_ENDPOINT_URL"));
        let allows_http =
            self.variable("AWS_ALLOW_HTTP").is_some_and(|text| text.eq_ignore_ascii_case("true"));
        if endpoint.is_some_and(|url| !url.starts_with("https://")) && !allows_http {
            return Err(
                "the endpoint is not an `https` URL, and `AWS_ALLOW_HTTP` is not set".into()
            );
        }
        let known = self.variables.iter().filter_map(|(name, value)| {
            Some((name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>().ok()?, value))
        });
        let builder = known
            .fold(AmazonS3Builder::new(), |builder, (key, value)| builder.with_config(key, value));
        let built = builder
            .with_bucket_name(&self.url.bucket)
            .with_http_connector(S3Connector::new()?)
            .with_retry(retry_config())
            // Nothing may depend on what some storages do not implement.
            .with_conditional_put(S3ConditionalPut::Disabled)
            .with_disable_bulk_delete(true)
            .build()?;
        Ok(built)
    }
}

fn retry_config() -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig::default(),
        max_retries: MAX_RETRIES,
        retry_timeout: REQUEST_TIMEOUT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rg_76_bucket_urls_have_a_bucket_and_a_plain_prefix() {
        for (text, shown, key) in [
            ("s3://bucket", "s3://bucket", "objects"),
            ("s3://bucket/", "s3://bucket", "objects"),
            ("s3://my.bucket-1/a/b_c/", "s3://my.bucket-1/a/b_c", "a/b_c/objects"),
        ] {
            let url: BucketUrl = text.parse().unwrap();
            assert_eq!(
                (url.to_string(), url.key("objects").to_string()),
                (shown.into(), key.into())
            );
        }
        for text in [
            "",
            "bucket",
            "s3:/bucket",
            "s3://",
            "s3:///a",
            "S3://bucket",
            "https://bucket",
            "s3://b//a",
            "s3://b/../a",
            "s3://b/a//",
            "s3://b/a b",
            "s3://b/ä",
            "s3://k:s@b/a",
            "s3://b/a?x=1",
        ] {
            assert!(text.parse::<BucketUrl>().is_err(), "{text}");
        }
    }

    #[test]
    fn rg_76_plain_http_must_be_allowed_and_credentials_are_not_shown() {
        let settings = |variables: &[(&str, &str)]| BucketSettings {
            url: "s3://bucket".parse().unwrap(),
            variables: variables.iter().map(|(n, v)| ((*n).into(), (*v).into())).collect(),
        };
        let keys = [("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "hush")];
        let http = ("AWS_ENDPOINT_URL", "http://127.0.0.1:1");
        let refused = settings(&[keys[0], keys[1], http]).connect().unwrap_err();
        assert!(refused.to_string().contains("AWS_ALLOW_HTTP"), "{refused}");
        let allowed = settings(&[keys[0], keys[1], http, ("AWS_ALLOW_HTTP", "true")]);
        assert!(allowed.connect().is_ok());
        assert!(!format!("{allowed:?}").contains("hush"));
        assert!(settings(&[keys[0]]).connect().is_err());
    }
}
