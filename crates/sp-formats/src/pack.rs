//! Pack files, `packs/<name>.yaml`: which skills to select, and how their folders are named in a
//! sink.
//!
//! [`read`] returns a [`Pack`] only if there is no error; [`read_partial`] returns what could be
//! read, so that a check can continue. Selecting skills from a repository is part of `sp-engine`.
//! Doc comments on fields are descriptions in the published JSON Schema.
//!
//! ```
//! use sp_formats::pack;
//! use sp_tree::Limits;
//!
//! let text = "name: team\ninclude: [review/**]\ninstall:\n  prefix: t\n";
//! let (pack, report) = pack::read("packs/team.yaml", text, &Limits::default());
//! assert!(report.findings.is_empty());
//! assert_eq!(pack.expect("it has no errors").naming.prefix, "t");
//!
//! let (pack, report) = pack::read("packs/team.yaml", "name: team\n", &Limits::default());
//! assert!(pack.is_none());
//! assert_eq!(report.findings[0].message, "the pack does not select any skills");
//! ```

pub mod rules;

use std::ops::Range;

use schemars::JsonSchema;
use sp_tree::Limits;

use crate::git_repo::{GitRef, GitRepo};
use crate::naming::FolderNaming;
use crate::pack::rules::{SP_08, SP_10, SP_11, SP_13, SP_33};
use crate::pattern::Pattern;
use crate::report::Report;
use crate::yaml::{self, YamlNode, YamlValue};
use crate::yaml_mapping::{YamlMapping, YamlMappingSpec};

/// The default separator.
pub const DEFAULT_SEP: &str = "__";

const PACK_KEYS: &[&str] = &["name", "include", "exclude", "imports", "install"];
const IMPORT_KEYS: &[&str] = &["repo", "ref", "include", "exclude"];
const INSTALL_KEYS: &[&str] = &["prefix", "sep", "flatten"];

/// A pack: a selection of skills, and how to name their folders.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields, extend("anyOf" = [{ "required": ["include"] }, { "required": ["imports"] }]))]
pub struct Pack {
    /// Name of the pack.
    #[schemars(with = "crate::schema::TextSchema")]
    pub name: String,
    #[schemars(skip)]
    pub name_span: Range<usize>,
    /// Patterns that select local skills by ID.
    #[schemars(with = "Option<Vec<SpannedPattern>>")]
    pub include: Vec<SpannedPattern>,
    /// Patterns that remove skills from the selection, including imported ones.
    #[schemars(with = "Option<Vec<SpannedPattern>>")]
    pub exclude: Vec<SpannedPattern>,
    /// Skills from other repositories.
    #[schemars(with = "Option<Vec<PackImport>>")]
    pub imports: Vec<PackImport>,
    /// How to name the installed folders.
    #[schemars(with = "Option<FolderNaming>", rename = "install")]
    pub naming: FolderNaming,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpannedPattern {
    pub pattern: Pattern,
    pub span: Range<usize>,
}

/// Skills from another repository.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PackImport {
    /// Repository to import from.
    pub repo: GitRepo,
    #[schemars(skip)]
    pub span: Range<usize>,
    /// Tag, branch or commit to import. Defaults to the HEAD of the repository.
    #[schemars(rename = "ref")]
    pub git_ref: Option<GitRef>,
    #[schemars(skip)]
    pub ref_span: Option<Range<usize>>,
    /// Patterns that select skills of the repository by ID.
    #[schemars(length(min = 1))]
    pub include: Vec<SpannedPattern>,
    /// Patterns that remove skills from the selection of this import.
    #[schemars(with = "Option<Vec<SpannedPattern>>")]
    pub exclude: Vec<SpannedPattern>,
}

/// Reads a pack file. The pack is `Some` exactly if the report has no error.
pub fn read(file: &str, text: &str, limits: &Limits) -> (Option<Pack>, Report) {
    let (pack, report) = read_partial(file, text, limits);
    (pack.filter(|_| report.is_usable()), report)
}

/// Reads as much of a pack file as possible, so that the rest can be checked.
pub fn read_partial(file: &str, text: &str, limits: &Limits) -> (Option<Pack>, Report) {
    let mut report = Report::new(file, text);
    let root = match yaml::parse(text, limits) {
        Ok(root) => root,
        Err(error) => {
            let help = error.help();
            report.error(&SP_11, error.span, error.message).help(help);
            return (None, report);
        }
    };
    let pack = read_pack(&root, &mut report);
    report.sort();
    (pack, report)
}

fn read_pack(root: &YamlNode, report: &mut Report) -> Option<Pack> {
    let fields = YamlMapping::of(root, pack_mapping("a pack"), PACK_KEYS, report)?;
    let name = match fields.text("name", report) {
        Some((name, span)) if !name.trim().is_empty() => Some((name, span)),
        Some((_, span)) => {
            report.error(&SP_11, span, "the name is empty").help("write `name: <pack-name>`");
            None
        }
        None => {
            if fields.get("name").is_none_or(YamlNode::is_null) {
                fields.report_missing("name", "add `name: <pack-name>`", report);
            }
            None
        }
    };
    let include = read_patterns(&fields, "include", report);
    let exclude = read_patterns(&fields, "exclude", report);
    let imports = read_imports(&fields, report);
    if include.is_empty() && imports.is_empty() && report.is_usable() {
        report
            .error(&SP_11, 0..0, "the pack does not select any skills")
            .help("add `include:` with a list of patterns, or `imports:`");
    }
    // Mistakes in `install` are reported even without a name.
    let (text, span) = name.clone().unwrap_or_default();
    let naming = read_naming(&fields, &text, &span, report);
    let ((name, name_span), naming) = (name?, naming?);
    Some(Pack { name, name_span, include, exclude, imports, naming })
}

fn read_imports(fields: &YamlMapping<'_>, report: &mut Report) -> Vec<PackImport> {
    let items = fields.list("imports", report);
    items.iter().filter_map(|item| read_import(item, report)).collect()
}

fn read_import(node: &YamlNode, report: &mut Report) -> Option<PackImport> {
    let fields = YamlMapping::of(node, pack_mapping("an import"), IMPORT_KEYS, report)?;
    let repo = read_repo(&fields, report);
    let git_ref = read_git_ref(&fields, report);
    let include = read_patterns(&fields, "include", report);
    if include.is_empty() && fields.list_is_empty("include") {
        let help = "add `include:` with a list of patterns; `\"**\"` selects all skills";
        fields.report_missing("include", help, report);
    }
    let exclude = read_patterns(&fields, "exclude", report);
    // An import with an invalid ref is dropped, so that a missing ref is not reported as well.
    let ((repo, span), git_ref) = (repo?, git_ref?);
    let (git_ref, ref_span) = git_ref.unzip();
    Some(PackImport { repo, span, git_ref, ref_span, include, exclude })
}

/// Reads the repository of an import, and its span.
fn read_repo(fields: &YamlMapping<'_>, report: &mut Report) -> Option<(GitRepo, Range<usize>)> {
    let Some((text, span)) = fields.text("repo", report) else {
        if fields.get("repo").is_none_or(YamlNode::is_null) {
            let help = "add `repo: <git URL, shorthand or path>`";
            fields.report_missing("repo", help, report);
        }
        return None;
    };
    match GitRepo::new(&text) {
        Ok(repo) => Some((repo, span)),
        Err(error) => {
            report.error(&SP_08, span, format!("invalid repository: {error}")).help(error.hint());
            None
        }
    }
}

/// Reads the optional ref of an import, and its span. Returns `None` if it is invalid.
fn read_git_ref(
    fields: &YamlMapping<'_>,
    report: &mut Report,
) -> Option<Option<(GitRef, Range<usize>)>> {
    let Some((text, span)) = fields.text("ref", report) else {
        return fields.get("ref").is_none_or(YamlNode::is_null).then_some(None);
    };
    match GitRef::new(&text) {
        Ok(git_ref) => Some(Some((git_ref, span))),
        Err(error) => {
            report
                .error(&SP_10, span, format!("invalid ref: {error}"))
                .help("use a tag, branch or commit");
            None
        }
    }
}

fn read_naming(
    fields: &YamlMapping<'_>,
    name: &str,
    name_span: &Range<usize>,
    report: &mut Report,
) -> Option<FolderNaming> {
    let mut naming = FolderNaming { prefix: name.into(), sep: DEFAULT_SEP.into(), flatten: false };
    let mut prefix_span = name_span.clone();
    if let Some(node) = fields.get("install").filter(|node| !node.is_null()) {
        let install = YamlMapping::of(node, pack_mapping("`install`"), INSTALL_KEYS, report)?;
        if let Some((text, span)) = install.text("prefix", report) {
            naming.prefix = text;
            prefix_span = span;
        }
        if let Some((text, span)) = install.text("sep", report) {
            check_folder_part("separator", &text, &span, report);
            naming.sep = text;
        }
        if let Some(node) = install.get("flatten").filter(|node| !node.is_null()) {
            match node.as_bool() {
                Some(flatten) => naming.flatten = flatten,
                None => report_invalid_flatten(node, report),
            }
        }
    }
    check_folder_part("prefix", &naming.prefix, &prefix_span, report);
    if naming.prefix.starts_with(['.', ' ']) {
        report
            .error(&SP_13, prefix_span, "the prefix must not start with a dot or a space")
            .help("start the prefix with a letter or digit");
    }
    Some(naming)
}

fn report_invalid_flatten(node: &YamlNode, report: &mut Report) {
    let intended = match node.text().unwrap_or_default().to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "y" => Some("true"),
        "false" | "no" | "off" | "n" => Some("false"),
        _ => None,
    };
    let finding = report
        .error(&SP_13, node.span.clone(), "`flatten` must be `true` or `false`")
        .help("write `flatten: true` or `flatten: false`, without quotes");
    if let Some(intended) = intended {
        finding.fix(node.span.clone(), intended);
    }
}

/// Checks that a prefix or separator contains nothing that ends a file name.
fn check_folder_part(what: &str, text: &str, span: &Range<usize>, report: &mut Report) {
    let bad = text.chars().find(|c| {
        matches!(c, '/' | '\\' | ':' | '<' | '>' | '"' | '|' | '?' | '*') || c.is_control()
    });
    if let Some(c) = bad {
        let shown = crate::printable::printable(c.encode_utf8(&mut [0; 4])).into_owned();
        report
            .error(&SP_13, span.clone(), format!("the {what} must not contain `{shown}`"))
            .help("choose a different `install.prefix` or `install.sep`");
    }
}

const fn pack_mapping(name: &'static str) -> YamlMappingSpec {
    YamlMappingSpec { name, check: &SP_11 }
}

/// Reads a list of patterns.
pub(crate) fn read_patterns(
    fields: &YamlMapping<'_>,
    key: &str,
    report: &mut Report,
) -> Vec<SpannedPattern> {
    let items = fields.list(key, report);
    items.iter().filter_map(|item| read_pattern(key, item, report)).collect()
}

fn read_pattern(key: &str, node: &YamlNode, report: &mut Report) -> Option<SpannedPattern> {
    let text = match &node.value {
        YamlValue::Scalar { text, plain: false } => text.as_str(),
        _ => match node.text() {
            Some(text) => text,
            None => {
                report
                    .error(
                        &SP_11,
                        node.span.clone(),
                        format!("an item of `{key}` must be a pattern, not {}", node.kind()),
                    )
                    .help("write a pattern such as `- general/**`, or with quotes `- \"**/x\"`");
                return None;
            }
        },
    };
    match Pattern::new(text) {
        Ok(pattern) => Some(SpannedPattern { pattern, span: node.span.clone() }),
        Err(error) => {
            let hint = error.hint(text);
            let too_much = leading_slash_span(node, text, report);
            let finding = report.error(&SP_33, node.span.clone(), error.to_string()).help(hint);
            if let Some(too_much) = too_much {
                finding.fix(too_much, "");
            }
            None
        }
    }
}

/// The span of the `/` or `./` at the start of a pattern, if it is written literally.
fn leading_slash_span(node: &YamlNode, text: &str, report: &Report) -> Option<Range<usize>> {
    let rest = text.trim_start_matches('/');
    let rest = if rest.len() < text.len() { rest } else { text.trim_start_matches("./") };
    let too_much = &text[..text.len() - rest.len()];
    let written = report.text.get(node.span.clone())?;
    let start = node.span.start + written.len() - written.trim_start_matches(['"', '\'']).len();
    let found = report.text.get(start..start + too_much.len()) == Some(too_much);
    // Without quotes, the rest must still be read as text.
    let quoted = start > node.span.start;
    let reads_so =
        quoted || yaml::parse(rest, &Limits::default()).is_ok_and(|node| node.text() == Some(rest));
    (found && reads_so && !too_much.is_empty() && !rest.is_empty())
        .then(|| start..start + too_much.len())
}

/// Reports what is valid but not recommended. Installing does not report it.
pub fn report_advisories(pack: &Pack, report: &mut Report) {
    for import in pack.imports.iter().filter(|import| import.git_ref.is_none()) {
        report
            .warning(
                &SP_10,
                import.span.clone(),
                format!("the import of `{}` does not specify a `ref`", import.repo),
            )
            .help("add `ref: <tag or commit>` to get the same skills on every machine");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_valid(text: &str) -> Pack {
        let (pack, report) = read("packs/x.yaml", text, &Limits::default());
        pack.unwrap_or_else(|| panic!("{:?}", report.findings))
    }

    /// Returns each finding as `line:column rule-id message; help`.
    fn read_invalid(text: &str) -> Vec<String> {
        let (pack, report) = read("packs/x.yaml", text, &Limits::default());
        assert_eq!(pack, None, "{text}");
        let format_finding = |finding: &crate::Finding| {
            let position = report.format_location(finding).replace("packs/x.yaml:", "");
            match &finding.help {
                Some(help) => {
                    format!("{position} {} {}; {help}", finding.check.id, finding.message)
                }
                None => format!("{position} {} {}", finding.check.id, finding.message),
            }
        };
        report.findings.iter().map(format_finding).collect()
    }

    #[test]
    fn sp_11_complete_example_is_read() {
        let pack = read_valid(concat!(
            "name: group-x\ninclude:\n  - general/**\n  - coding/dotnet/**\n\nexclude:\n  - \"**/experimental/**\"\n\n",
            "imports:\n  - repo: github.com/acme/shared-skills\n    ref: v1.3.0\n    include:\n      - \"**/pr-review\"\n",
            "      - \"**/deploy/**\"\n    exclude:\n      - \"**/deprecated/**\"\n\ninstall:\n  prefix: group-x\n  sep: \"__\"\n",
        ));
        assert_eq!(pack.name, "group-x");
        assert_eq!(pack.include.len(), 2);
        assert_eq!(pack.imports[0].repo.url, "https://github.com/acme/shared-skills.git");
        assert_eq!(pack.imports[0].git_ref.as_ref().unwrap().as_str(), "v1.3.0");
        assert_eq!(pack.imports[0].exclude[0].pattern.as_str(), "**/deprecated/**");
        assert_eq!(
            pack.naming,
            FolderNaming { prefix: "group-x".into(), sep: "__".into(), flatten: false }
        );
    }

    #[test]
    fn sp_13_naming_has_defaults_and_prefix_may_be_empty() {
        let naming = read_valid("name: p\ninclude: [a]\n").naming;
        assert_eq!(naming, FolderNaming { prefix: "p".into(), sep: "__".into(), flatten: false });
        let naming =
            read_valid("name: p\ninclude: [a]\ninstall: {prefix: \"\", flatten: true}\n").naming;
        assert_eq!(naming, FolderNaming { prefix: String::new(), sep: "__".into(), flatten: true });
    }

    #[test]
    fn sp_11_every_problem_is_reported_at_once_with_its_position() {
        assert_eq!(
            read_invalid(
                "nam: x\ninclde:\n  - a/\nimports:\n  - ref: -x\n    include: []\n  - repo: ext::x\n    include: [/a]\n"
            ),
            [
                "1:1 SP-11 unknown key `nam`; did you mean `name`?",
                "1:1 SP-11 `name` is missing; add `name: <pack-name>`",
                "2:1 SP-11 unknown key `inclde`; did you mean `include`?",
                "5:5 SP-11 `repo` is missing; add `repo: <git URL, shorthand or path>`",
                "5:5 SP-11 `include` is missing; add `include:` with a list of patterns; `\"**\"` \
                 selects all skills",
                "5:10 SP-10 invalid ref: it starts with `-`; use a tag, branch or commit",
                "7:11 SP-08 invalid repository: it makes git run a helper program (`ext::`); use \
                 `https://…`, `ssh://…`, `github.com/<org>/<repo>`, or a path",
                "8:15 SP-33 a pattern must not start with `/`; use `a`: IDs are relative",
            ]
        );
    }

    #[test]
    fn sp_11_pack_that_selects_nothing_is_an_error() {
        assert!(read_invalid("name: x\n")[0].contains("the pack does not select any skills"));
        assert!(
            read_invalid("name: x\ninclude: []\n")[0]
                .contains("the pack does not select any skills")
        );
        assert!(read_invalid("")[0].contains("a pack is empty"));
        assert!(
            read_invalid("name: x\ninclude: a\n")[0].contains("`include` must be a list, not text")
        );
    }

    #[test]
    fn sp_13_path_separators_in_prefix_and_sep_are_rejected() {
        assert!(
            read_invalid("name: x\ninclude: [a]\ninstall: {prefix: ../x}\n")[0]
                .starts_with("3:19 SP-13")
        );
        assert!(
            read_invalid("name: x\ninclude: [a]\ninstall: {sep: /}\n")[0].starts_with("3:16 SP-13")
        );
        assert!(read_invalid("name: a/b\ninclude: [a]\n")[0].starts_with("1:7 SP-13"));
        assert!(
            read_invalid("name: x\ninclude: [a]\ninstall: {flatten: yes}\n")[0]
                .contains("`flatten` must be `true` or `false`")
        );
    }
}
