//! Commands and lookups that talk to a registry: `sp login`, `logout`, `publish`, `yank`, `search`,
//! `info`, and the packages that `sp pkg install` can choose from.
//!
//! [`KnownRegistries`] verifies what registries return about versions. The HTTP client is
//! [`crate::registry`].

mod info;
mod known_registries;
mod login;
mod package_path;
mod publish;
mod publishers;
mod search;
mod trusted_client;
mod yank;

pub(super) use self::info::info;
pub(super) use self::known_registries::{AvailablePackage, AvailableVersion, KnownRegistries};
pub use self::login::{LoginRequest, RegistryHistoryPolicy, login, logout};
pub use self::publish::{PublishCredentials, PublishRequest, PublishVisibility, publish};
pub use self::publishers::{
    PublisherAction, PublisherChangeRequest, TrustedIdentity, change_publishers,
};
pub use self::search::search;
pub use self::yank::{YankAction, YankRequest, yank};
