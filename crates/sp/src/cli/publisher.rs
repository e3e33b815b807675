//! Arguments of `sp publisher`.

use clap::{ArgGroup, Args, Subcommand};

use super::RegistryArg;

#[derive(Debug, Subcommand)]
pub(crate) enum PublisherCommand {
    /// List the CI jobs that can publish a package
    List {
        /// Package, such as `@team/name`
        package: String,
        #[command(flatten)]
        registry: RegistryArg,
    },
    /// Let a CI job publish a package
    ///
    /// If the package does not exist, the job can publish it within 30 days.
    Add(Box<PublisherAddArgs>),
    /// Delete a trusted publisher
    Remove {
        /// Package, such as `@team/name`
        package: String,
        /// ID of the publisher, which `sp publisher list` prints
        id: i64,
        #[command(flatten)]
        registry: RegistryArg,
    },
    /// Let only trusted publishers publish a package
    Require {
        /// Package, such as `@team/name`
        package: String,
        /// Let members publish with their tokens again
        #[arg(long)]
        undo: bool,
        #[command(flatten)]
        registry: RegistryArg,
    },
}

#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("kind").args(["github", "gitlab", "issuer"]).required(true),
    override_usage = "sp publisher add [OPTIONS] <PACKAGE>"
)]
pub(crate) struct PublisherAddArgs {
    /// Package, such as `@team/name`
    pub package: String,
    /// Repository on GitHub
    #[arg(long, value_name = "OWNER/NAME", requires = "owner_id", requires = "workflow")]
    pub github: Option<String>,
    /// ID of the owner of the repository
    ///
    /// `gh api users/<owner> --jq .id` prints it.
    #[arg(long, value_name = "ID", requires = "github")]
    pub owner_id: Option<String>,
    /// File of the workflow, such as `release.yml`
    #[arg(long, value_name = "FILE", requires = "github")]
    pub workflow: Option<String>,
    /// Project on gitlab.com
    #[arg(long, value_name = "GROUP/NAME", requires = "group_id")]
    pub gitlab: Option<String>,
    /// ID of the group of the project
    #[arg(long, value_name = "ID", requires = "gitlab")]
    pub group_id: Option<String>,
    /// File with the configuration of the pipeline
    #[arg(long, value_name = "FILE", default_value = ".gitlab-ci.yml", hide_short_help = true)]
    pub ci_file: String,
    /// Deployment environment of the job [default: any]
    #[arg(long, value_name = "NAME", conflicts_with = "issuer", hide_short_help = true)]
    pub environment: Option<String>,
    /// Issuer of identity tokens, if it is another one
    #[arg(long, value_name = "URL", requires = "claims")]
    pub issuer: Option<String>,
    /// Claim that identity tokens must have; can be repeated
    #[arg(long = "claim", value_name = "CLAIM=VALUE", value_parser = parse_claim)]
    pub claims: Vec<(String, String)>,
    /// Audience of identity tokens [default: host of the registry]
    #[arg(long, value_name = "TEXT", hide_short_help = true)]
    pub audience: Option<String>,
    #[command(flatten)]
    pub registry: RegistryArg,
}

fn parse_claim(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').filter(|(name, value)| !name.is_empty() && !value.is_empty());
    parts
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .ok_or_else(|| "expected a claim such as `sub=job-12`".into())
}
