//! Git repositories, read through the local `git` program.
//!
//! A bare, partial, shallow cache a repository; trees and bytes with `cat-file`,
//! never a checkout, so no hook, filter or attribute of the remote has a place to run. Only
//! what is selected is fetched: the trees first, then the blobs of the chosen skills at once.

mod blobs;
mod cache;
mod command;
mod fetch;
mod history;
mod object_dir;
mod process;
mod raw_tree;
mod tree;

pub(crate) use blobs::{GitListing, read_blobs};
pub(crate) use cache::{CheckoutOpener, GitCheckout};
pub(crate) use command::is_tracked;
pub(crate) use history::read_history;
