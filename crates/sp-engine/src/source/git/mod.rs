//! Git repositories, read with the installed `git` program.
//!
//! Each repository has a bare, partial, shallow clone in the cache. Trees and blobs are read with
//! `git cat-file` and never checked out, so no hook, filter or attribute of the remote can run.
//! Only selected content is fetched: first all trees of a commit, then the blobs of the selected
//! skills in one batch.
//!
//! [`CheckoutOpener`] turns imports into [`GitCheckout`]s: commits whose trees are in the cache.
//! Nothing outside this module starts a git process.

mod blobs;
mod cache;
mod command;
mod fetch;
mod health;
mod history;
mod import_error;
mod object_dir;
mod opener;
mod process;
mod raw_tree;
mod remote_refs;
mod tree;

pub(crate) use blobs::{GitListing, read_blobs};
pub(crate) use cache::GitCheckout;
pub(crate) use command::is_tracked;
pub(crate) use health::{CachedRepositoryHealth, cached_repository_health, git_version};
pub(crate) use history::read_history;
pub(crate) use opener::{CheckoutOpener, GitPage, RefTip};
pub(crate) use remote_refs::{RefKind, RemoteRefs, is_gone};
