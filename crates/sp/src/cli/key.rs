//! Arguments of `sp key`.

use std::path::PathBuf;

use clap::{Subcommand, ValueHint};

use super::PlanArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Create a signing key
    New {
        /// Name of the key
        #[arg(default_value = "default")]
        name: String,
        #[command(flatten)]
        plan: PlanArgs,
    },
    /// List signing keys and trusted keys
    List,
    /// Print a public key, or export the private key to a file
    Export {
        /// Name of the key
        #[arg(default_value = "default")]
        name: String,
        /// Write the private key to this file, readable only by you
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        private: Option<PathBuf>,
        #[command(flatten)]
        plan: PlanArgs,
    },
    /// Import a private key
    Import {
        /// PEM file with the private key
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// Name of the key
        #[arg(long, default_value = "default")]
        name: String,
        #[command(flatten)]
        plan: PlanArgs,
    },
    /// Trust a public key for a scope or a package
    Trust {
        /// A scope such as `@acme`, or the name of a package without a scope
        #[arg(required_unless_present = "rotation", requires = "key")]
        namespace: Option<String>,
        /// The public key
        key: Option<String>,
        /// Trust the new key in a rotation statement that the old key signed
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["namespace", "key"])]
        rotation: Option<PathBuf>,
        #[command(flatten)]
        plan: PlanArgs,
    },
    /// Replace a signing key with a new one
    Rotate {
        /// Name of the key
        #[arg(default_value = "default")]
        name: String,
        /// Write a rotation statement, with which others can trust the new key
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        statement: Option<PathBuf>,
        #[command(flatten)]
        plan: PlanArgs,
    },
}
