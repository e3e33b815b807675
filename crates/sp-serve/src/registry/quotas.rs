//! How much users and namespaces may store and publish.

use std::str::FromStr;

/// Limits; none by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quota {
    /// Total size of packages and context packs.
    pub bytes: Option<u64>,
    /// Number of packages.
    pub packages: Option<u64>,
    /// Versions per hour.
    pub publishes: Option<u64>,
}

/// The limits of each user and each namespace. They do not apply to admins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quotas {
    pub user: Quota,
    pub namespace: Quota,
}

/// A limit that a request would exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ExceededQuota {
    /// `user` or `namespace`.
    pub of: &'static str,
    pub limit: QuotaLimit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QuotaLimit {
    Bytes(u64),
    Packages(u64),
    PublishesPerHour(u64),
}

/// What a user or a namespace has, together with what would be added.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct QuotaUsage {
    pub bytes: u64,
    pub packages: u64,
    pub publishes: u64,
}

impl Quota {
    /// Returns the first limit that a usage exceeds.
    pub(crate) fn exceeded_by(&self, usage: &QuotaUsage) -> Option<QuotaLimit> {
        let exceeds = |limit: Option<u64>, used: u64| limit.filter(|limit| used > *limit);
        exceeds(self.publishes, usage.publishes)
            .map(QuotaLimit::PublishesPerHour)
            .or_else(|| exceeds(self.packages, usage.packages).map(QuotaLimit::Packages))
            .or_else(|| exceeds(self.bytes, usage.bytes).map(QuotaLimit::Bytes))
    }
}

impl FromStr for Quota {
    type Err = String;

    /// Parses `bytes=1GiB,packages=100,publishes=60`, or a part of it.
    fn from_str(text: &str) -> Result<Self, String> {
        let invalid =
            || "expected limits such as `bytes=1GiB,packages=100,publishes=60`".to_owned();
        let mut quota = Self::default();
        for part in text.split(',') {
            let (name, value) = part.split_once('=').ok_or_else(invalid)?;
            let value = parse_size(value).ok_or_else(invalid)?;
            let limit = match name {
                "bytes" => &mut quota.bytes,
                "packages" => &mut quota.packages,
                "publishes" => &mut quota.publishes,
                _ => return Err(invalid()),
            };
            if limit.replace(value).is_some() {
                return Err(invalid());
            }
        }
        Ok(quota)
    }
}

/// Parses a number with an optional unit.
fn parse_size(text: &str) -> Option<u64> {
    const UNITS: [(&str, u64); 4] = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("", 1)];
    UNITS.into_iter().find_map(|(unit, factor)| {
        let number = text.strip_suffix(unit)?;
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        number.parse::<u64>().ok().filter(|_| is_number)?.checked_mul(factor)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rg_105_quotas_are_parsed() {
        let quota = "bytes=2MiB,packages=3".parse();
        let expected = Quota { bytes: Some(2 << 20), packages: Some(3), publishes: None };
        assert_eq!(quota, Ok(expected));
        for invalid in
            ["", "bytes", "bytes=", "bytes=1TB", "files=1", "bytes=1,bytes=2", "bytes=-1"]
        {
            assert!(invalid.parse::<Quota>().is_err(), "{invalid}");
        }
    }
}
