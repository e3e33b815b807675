//! Arguments of `sp key`.

use std::path::PathBuf;

use clap::{Subcommand, ValueHint};

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Make a key
    New {
        /// Its name
        #[arg(default_value = "default")]
        name: String,
    },
    /// List your keys, and whom you trust
    List,
    /// Print the public half of a key, or write the private half into a file
    Export {
        /// The key
        #[arg(default_value = "default")]
        name: String,
        /// Write the private half into this file, which only you may read
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        private: Option<PathBuf>,
    },
    /// Take a private key that was made elsewhere
    Import {
        /// The file, in PEM
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// Its name
        #[arg(long, default_value = "default")]
        name: String,
    },
    /// Trust a key for a scope, or for a package that has none
    Trust {
        /// `@acme`, or the name of a package
        #[arg(required_unless_present = "rotation", requires = "key")]
        namespace: Option<String>,
        /// The public key
        key: Option<String>,
        /// Follow the statement by which an old key names its successor
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["namespace", "key"])]
        rotation: Option<PathBuf>,
    },
    /// Make a new key in the place of an old one
    Rotate {
        /// The key
        #[arg(default_value = "default")]
        name: String,
        /// Write a statement into this file, by which others can follow
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        statement: Option<PathBuf>,
    },
}
