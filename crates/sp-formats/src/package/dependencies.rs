//! The dependencies and conflicts of a package.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::json::{JsonKind, JsonValue};
use crate::package::rules::PK_05;
use crate::report::Report;

use super::manifest_fields::{
    ManifestFields, describe_value, invalid_name_message, truncate_for_message,
};
use super::name::{PackageName, VersionRange};

/// A package that another package depends on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageDependency {
    pub name: PackageName,
    pub range: VersionRange,
    pub optional: bool,
}

/// A dependency, and where its name is.
struct ReadDependency<'j> {
    dependency: PackageDependency,
    name: JsonValue<'j>,
}

/// Reads both forms: a list of objects, and a map from names to ranges.
pub(super) fn read_dependencies(
    fields: &ManifestFields<'_>,
    report: &mut Report,
) -> Vec<PackageDependency> {
    let mut dependencies = Vec::new();
    for (key, optional) in [("dependencies", false), ("optional_dependencies", true)] {
        let Some(value) = fields.get(key) else { continue };
        let default = DependencyDefault { optional };
        match value.kind() {
            JsonKind::Array => dependencies
                .extend(value.items().filter_map(|item| default.read_item(item, report))),
            JsonKind::Object => dependencies.extend(
                value
                    .members()
                    .filter_map(|(name, range)| default.read_range(name, Some(range), report)),
            ),
            other => {
                let message =
                    format!("`{key}` must be a list or an object, not {}", other.describe());
                report
                    .error(&PK_05, value.span(), message)
                    .help("write `[{\"name\": …, \"version_req\": …}]`");
            }
        }
    }
    report_duplicates(&dependencies, report);
    dependencies.into_iter().map(|read| read.dependency).collect()
}

fn report_duplicates(dependencies: &[ReadDependency<'_>], report: &mut Report) {
    let mut seen = HashSet::new();
    for ReadDependency { dependency, name } in dependencies {
        if !seen.insert(&dependency.name) {
            let message = format!("duplicate dependency `{}`", dependency.name);
            report
                .error(&PK_05, name.span(), message)
                .help("list each dependency once, with one range");
        }
    }
}

/// What a dependency is unless it states something else.
#[derive(Clone, Copy)]
struct DependencyDefault {
    optional: bool,
}

impl DependencyDefault {
    /// Reads an entry of a list.
    fn read_item<'j>(self, item: JsonValue<'j>, report: &mut Report) -> Option<ReadDependency<'j>> {
        let Some(name) = item.get("name") else {
            let message = match item.kind() {
                JsonKind::Object => "a dependency has no `name`".into(),
                other => format!("a dependency must be an object, not {}", other.describe()),
            };
            report
                .error(&PK_05, item.span(), message)
                .help("write `{\"name\": …, \"version_req\": …}`");
            return None;
        };
        let optional = read_optional_flag(item, report).unwrap_or(self.optional);
        Self { optional }.read_range(name, item.get("version_req"), report)
    }

    /// Reads a name and the range of its versions.
    fn read_range<'j>(
        self,
        name: JsonValue<'j>,
        range: Option<JsonValue<'j>>,
        report: &mut Report,
    ) -> Option<ReadDependency<'j>> {
        let package = read_package_name(name, report)?;
        let range = match range.filter(|range| !range.is_null()) {
            None => VersionRange::any(),
            Some(value) => read_version_range(value, report)?,
        };
        let dependency = PackageDependency { name: package, range, optional: self.optional };
        Some(ReadDependency { dependency, name })
    }
}

fn read_version_range(value: JsonValue<'_>, report: &mut Report) -> Option<VersionRange> {
    let Some(text) = value.text() else {
        let message = format!("a version range must be a string, not {}", value.kind().describe());
        report.error(&PK_05, value.span(), message).help("use a range such as `\"^1.2\"`");
        return None;
    };
    let range = VersionRange::new(&text);
    if !range.is_semver() {
        let message = format!("invalid version range `{}`", truncate_for_message(&text));
        report
            .warning(&PK_05, value.span(), message)
            .help("use a range such as `^1.2` or `>=1, <3`");
    }
    Some(range)
}

/// Reads the optional flag of a dependency.
fn read_optional_flag(item: JsonValue<'_>, report: &mut Report) -> Option<bool> {
    let value = item.get("optional").filter(|value| !value.is_null())?;
    let truth = value.as_bool();
    if truth.is_none() {
        let message =
            format!("`optional` must be `true` or `false`, not {}", describe_value(value));
        report.error(&PK_05, value.span(), message).help("write `\"optional\": true`");
    }
    truth
}

fn read_package_name(value: JsonValue<'_>, report: &mut Report) -> Option<PackageName> {
    let Some(text) = value.text() else {
        let message = format!("a package name must be a string, not {}", value.kind().describe());
        report.error(&PK_05, value.span(), message).help("put it in double quotes");
        return None;
    };
    match PackageName::new(&text) {
        Ok(name) => Some(name),
        Err(why) => {
            let message = invalid_name_message(&text, &why);
            report
                .error(&PK_05, value.span(), message)
                .help("use a name such as `my-project` or `@team/my-project`");
            None
        }
    }
}

pub(super) fn read_conflicts(fields: &ManifestFields<'_>, report: &mut Report) -> Vec<PackageName> {
    let Some(value) = fields.get("conflicts") else { return Vec::new() };
    if value.kind() != JsonKind::Array {
        let message =
            format!("`conflicts` must be a list of names, not {}", value.kind().describe());
        report.error(&PK_05, value.span(), message).help("write `[\"other-package\"]`");
    }
    value.items().filter_map(|item| read_package_name(item, report)).collect()
}
