//! The Skillpacks format: repositories, pack files, and `config.yaml`.

use sp_formats::pack::rules::RULES;

use super::format::{Form, Format, Specificity};
use super::pack::PACKS;
use super::{config, pack, repository};

pub(super) const SKILLPACKS: Format = Format {
    rules: RULES,
    counted: Some(PACKS),
    targets: &["a pack file", "a directory with `skills/` or `packs/`"],
    forms: &[
        Form {
            specificity: Specificity::File,
            matches: config::is_config,
            check: config::check_config,
        },
        Form {
            specificity: Specificity::File,
            matches: pack::is_pack,
            check: pack::check_pack_file,
        },
        Form {
            specificity: Specificity::Collection,
            matches: |target| repository::is_repository_target(target),
            check: repository::check_repository,
        },
    ],
    files_in: None,
};
