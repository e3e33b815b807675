//! The configuration `config.yaml`: sinks, raised limits, the package policy, and registries.
//!
//! Doc comments on fields are descriptions in the published JSON Schema.

use schemars::JsonSchema;
use sp_tree::{LIMIT_NAMES, Limits, PublicKey};

use crate::pack::rules::{SP_27, SP_28};
use crate::package::rules::PK_13;
use crate::printable::{mask_secrets, printable};
use crate::registry::RegistryPackageName;
use crate::report::Report;
use crate::rules::safety::SE_04;
use crate::suggest::nearest;
use crate::web_url::{PlainHttp, UrlPolicy};
use crate::yaml::{self, YamlNode, YamlValue};
use crate::yaml_mapping::{YamlMapping, YamlMappingSpec};

const CONFIG_KEYS: &[&str] = &["agents", "sinks", "limits", "packages", "registries"];
const REGISTRY_KEYS: &[&str] = &["url", "namespaces"];
const PACKAGE_KEYS: &[&str] = &["require-signed", "trusted-keys"];

/// Configuration of `sp`.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Config {
    /// The agents that `--agent all` stands for.
    #[schemars(with = "Option<Vec<String>>")]
    pub agents: Vec<String>,
    /// Additional agents, and absolute paths of their skills directories.
    #[schemars(with = "Option<crate::schema::SinkPathsSchema>")]
    pub sinks: Vec<(String, String)>,
    /// Limits that are raised, by name.
    #[schemars(with = "Option<crate::schema::LimitsSchema>")]
    pub limits: Vec<(String, u64)>,
    /// Policy for accepting packages.
    #[schemars(with = "Option<PackagePolicy>")]
    pub packages: PackagePolicy,
    /// Registries to search for packages, in this order.
    #[schemars(with = "Option<Vec<crate::schema::RegistryEntrySchema>>")]
    pub registries: Vec<RegistryConfig>,
}

/// A registry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RegistryConfig {
    pub url: String,
    /// The namespaces that are resolved only here. Empty for all that are not bound to another
    /// registry.
    pub namespaces: Vec<String>,
}

/// Policy for accepting packages.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PackagePolicy {
    /// Whether to reject unsigned packages.
    #[schemars(with = "Option<bool>")]
    pub require_signed: bool,
    /// Accept only packages signed with one of these keys. If empty, keys are trusted on first use.
    #[schemars(with = "Option<Vec<crate::schema::PublicKeySchema>>")]
    pub trusted_keys: Vec<PublicKey>,
}

/// Reads a configuration from the bytes of its file.
pub fn read_bytes(file: &str, bytes: &[u8], limits: &Limits) -> (Option<Config>, Report) {
    match std::str::from_utf8(bytes) {
        Ok(text) => read(file, text, limits),
        Err(error) => {
            let at = error.valid_up_to();
            let mut report = Report::new(file, String::from_utf8_lossy(&bytes[..at]));
            report.error(&SP_28, at..at, "invalid UTF-8").help("save it as UTF-8");
            (None, report)
        }
    }
}

/// Reads a configuration. It is `Some` exactly if the report has no error.
pub fn read(file: &str, text: &str, limits: &Limits) -> (Option<Config>, Report) {
    let mut report = Report::new(file, text);
    let root = match yaml::parse(text, limits) {
        Ok(root) => root,
        Err(error) => {
            let help = error.help();
            report.error(&SP_28, error.span, error.message).help(help);
            return (None, report);
        }
    };
    if root.is_null() {
        return (Some(Config::default()), report);
    }
    let config = read_config(&root, &mut report);
    report.sort();
    (config.filter(|_| report.is_usable()), report)
}

fn read_config(root: &YamlNode, report: &mut Report) -> Option<Config> {
    let fields = YamlMapping::of(
        root,
        YamlMappingSpec { name: "the config", check: &SP_28 },
        CONFIG_KEYS,
        report,
    )?;
    let mut config = Config { agents: read_agents(&fields, report), ..Config::default() };
    for (key, node) in mapping_pairs(&fields, "sinks", report) {
        config.sinks.extend(read_sink(key, node, report));
    }
    for (key, node) in mapping_pairs(&fields, "limits", report) {
        config.limits.extend(read_limit(key, node, report));
    }
    config.packages = read_package_policy(&fields, report);
    config.registries = read_registries(&fields, report);
    Some(config)
}

/// Reads the names of the default agents. Whether an agent exists is known when it is used.
fn read_agents(fields: &YamlMapping<'_>, report: &mut Report) -> Vec<String> {
    let nodes = match fields.get("agents") {
        Some(YamlNode { value: YamlValue::Seq(items), .. }) => items.as_slice(),
        Some(node) if !node.is_null() => {
            let message = format!("`agents` must be a list, not {}", node.kind());
            report
                .error(&SP_28, node.span.clone(), message)
                .help("write the names of agents: `agents: [claude, codex]`");
            return Vec::new();
        }
        _ => return Vec::new(),
    };
    let mut agents = Vec::new();
    for node in nodes {
        match node.text() {
            Some(name) => agents.push(name.to_owned()),
            None => {
                let message = format!("the name of an agent must be text, not {}", node.kind());
                report
                    .error(&SP_28, node.span.clone(), message)
                    .help("write the names of agents: `agents: [claude, codex]`");
            }
        }
    }
    agents
}

/// Reads a sink and its path.
fn read_sink(key: &YamlNode, node: &YamlNode, report: &mut Report) -> Option<(String, String)> {
    let name = key.text().unwrap_or_default();
    match node.text() {
        Some(path) if is_absolute(path) => return Some((name.into(), path.into())),
        Some(_) => {
            let message = format!("the path of the agent `{}` must be absolute", printable(name));
            report
                .error(&SP_27, node.span.clone(), message)
                .help("start the path with `/` or `~/`");
        }
        None => {
            let message =
                format!("the agent `{}` must have a path, not {}", printable(name), node.kind());
            report.error(&SP_27, node.span.clone(), message).help("write `<agent>: ~/<directory>`");
        }
    }
    None
}

/// Reads the name of a limit and its value.
fn read_limit(key: &YamlNode, node: &YamlNode, report: &mut Report) -> Option<(String, u64)> {
    let name = key.text().unwrap_or_default();
    if !LIMIT_NAMES.contains(&name) {
        let help = match nearest(name, LIMIT_NAMES.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("available limits: {}", LIMIT_NAMES.join(", ")),
        };
        let message = format!("unknown limit `{}`", printable(name));
        report.error(&SE_04, key.span.clone(), message).help(help);
    }
    let value = node.text().and_then(|text| text.parse().ok());
    if value.is_none() {
        let message = format!("the limit `{}` must be a whole number", printable(name));
        report.error(&SE_04, node.span.clone(), message).help("use digits only, such as `10000`");
    }
    value.map(|value| (name.into(), value))
}

fn read_registries(fields: &YamlMapping<'_>, report: &mut Report) -> Vec<RegistryConfig> {
    let items = match fields.get("registries") {
        Some(YamlNode { value: YamlValue::Seq(items), .. }) => items,
        Some(node) if !node.is_null() => {
            report
                .error(
                    &SP_28,
                    node.span.clone(),
                    format!("`registries` must be a list, not {}", node.kind()),
                )
                .help("write each URL on its own line, starting with `- `");
            return Vec::new();
        }
        _ => return Vec::new(),
    };
    items.iter().filter_map(|item| read_registry(item, report)).collect()
}

/// Reads a URL, or a URL with the namespaces that are bound to it.
fn read_registry(item: &YamlNode, report: &mut Report) -> Option<RegistryConfig> {
    if let Some(url) = item.text() {
        return read_registry_url(url, item, report)
            .map(|url| RegistryConfig { url, namespaces: Vec::new() });
    }
    let fields = YamlMapping::of(
        item,
        YamlMappingSpec { name: "a registry", check: &SP_28 },
        REGISTRY_KEYS,
        report,
    )?;
    let Some(node) = fields.get("url") else {
        report.error(&SP_28, item.span.clone(), "`url` is missing").help("add `url: https://…`");
        return None;
    };
    let url = read_registry_url(node.text().unwrap_or_default(), node, report)?;
    let namespaces = read_namespaces(&fields, report)?;
    Some(RegistryConfig { url, namespaces })
}

/// Returns `None` if the member is not a list. Invalid names in it are left out.
fn read_namespaces(fields: &YamlMapping<'_>, report: &mut Report) -> Option<Vec<String>> {
    let nodes = match fields.get("namespaces") {
        Some(YamlNode { value: YamlValue::Seq(items), .. }) => items.as_slice(),
        Some(node) if !node.is_null() => {
            let message = format!("`namespaces` must be a list, not {}", node.kind());
            report.error(&SP_28, node.span.clone(), message).help("write `namespaces: [team]`");
            return None;
        }
        _ => &[],
    };
    let mut namespaces = Vec::new();
    for node in nodes {
        let text = node.text().unwrap_or_default().trim_start_matches('@');
        match RegistryPackageName::new(text, "name") {
            Ok(_) => namespaces.push(text.to_owned()),
            Err(why) => {
                report
                    .error(&SP_28, node.span.clone(), why.to_string())
                    .help("use a name without `@`, such as `team`");
            }
        }
    }
    Some(namespaces)
}

fn read_registry_url(text: &str, node: &YamlNode, report: &mut Report) -> Option<String> {
    const POLICY: UrlPolicy =
        UrlPolicy { userinfo: false, query: false, http: PlainHttp::Anywhere };
    if POLICY.check(text).is_ok_and(|url| text.starts_with(url.scheme())) {
        return Some(text.trim_end_matches('/').to_owned());
    }
    let message = format!("invalid registry URL `{}`", printable(&mask_secrets(text)));
    report
        .error(&SP_28, node.span.clone(), message)
        .help("use an `https://` URL without user or token; `sp login` stores tokens");
    None
}

fn read_package_policy(fields: &YamlMapping<'_>, report: &mut Report) -> PackagePolicy {
    let mut policy = PackagePolicy::default();
    let Some(node) = fields.get("packages").filter(|node| !node.is_null()) else { return policy };
    let Some(fields) = YamlMapping::of(
        node,
        YamlMappingSpec { name: "`packages`", check: &SP_28 },
        PACKAGE_KEYS,
        report,
    ) else {
        return policy;
    };
    if let Some(node) = fields.get("require-signed") {
        match node.as_bool() {
            Some(truth) => policy.require_signed = truth,
            None => {
                report
                    .error(&PK_13, node.span.clone(), "`require-signed` must be `true` or `false`")
                    .help("write `require-signed: true`");
            }
        }
    }
    policy.trusted_keys = read_trusted_keys(&fields, report);
    policy
}

fn read_trusted_keys(fields: &YamlMapping<'_>, report: &mut Report) -> Vec<PublicKey> {
    let items = match fields.get("trusted-keys") {
        Some(YamlNode { value: YamlValue::Seq(items), .. }) => items.as_slice(),
        Some(node) if !node.is_null() => {
            let message = format!("`trusted-keys` must be a list, not {}", node.kind());
            report
                .error(&PK_13, node.span.clone(), message)
                .help("write each key on its own line, starting with `- `");
            &[]
        }
        _ => &[],
    };
    let mut keys = Vec::new();
    for item in items {
        match PublicKey::from_hex(item.text().unwrap_or_default()) {
            Ok(key) => keys.push(key),
            Err(why) => {
                let message = format!("invalid public key: {why}");
                report
                    .error(&PK_13, item.span.clone(), message)
                    .help("run `sp key export` to print a public key");
            }
        }
    }
    keys
}

fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || path.starts_with("~/") || path == "~"
}

fn mapping_pairs<'a>(
    fields: &YamlMapping<'a>,
    key: &str,
    report: &mut Report,
) -> &'a [(YamlNode, YamlNode)] {
    match fields.get(key) {
        Some(YamlNode { value: YamlValue::Map(pairs), .. }) => pairs,
        Some(node) if !node.is_null() => {
            report
                .error(
                    &SP_28,
                    node.span.clone(),
                    format!("`{key}` must be a mapping, not {}", node.kind()),
                )
                .help(format!("write `{key}:`, followed by indented lines `<name>: <value>`"));
            &[]
        }
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sp_27_sinks_and_limits_are_read() {
        let text = "sinks:\n  codex: ~/.codex/skills\n  mine: /srv/skills\nlimits:\n  skill-entries: 20000\n";
        let (config, _) = read("config.yaml", text, &Limits::default());
        let config = config.unwrap();
        assert_eq!(config.sinks[1], ("mine".into(), "/srv/skills".into()));
        assert_eq!(config.limits, [("skill-entries".into(), 20_000)]);
        assert_eq!(read("config.yaml", "", &Limits::default()).0, Some(Config::default()));
    }

    #[test]
    fn pk_13_config_sets_the_package_policy() {
        let key = "ea4a6c63e29c520abef5507b132ec5f9954776aebebe7b92421eea691446d22c";
        let text = format!("packages:\n  require-signed: true\n  trusted-keys: [{key}]\n");
        let policy = read("config.yaml", &text, &Limits::default()).0.unwrap().packages;
        assert!(policy.require_signed && policy.trusted_keys[0].hex() == key);
        let invalid = "packages: {require-signed: maybe, trusted-keys: [abc], trust: 1}\n";
        let (config, report) = read("config.yaml", invalid, &Limits::default());
        assert_eq!((config, report.findings.len()), (None, 3));
    }

    #[test]
    fn config_lists_registries() {
        let text = "registries:\n  - https://a.example/\n  - url: http://localhost:1\n    namespaces: [acme, '@tools']\n";
        let registries = read("config.yaml", text, &Limits::default()).0.unwrap().registries;
        assert_eq!(
            registries[0],
            RegistryConfig { url: "https://a.example".into(), namespaces: Vec::new() }
        );
        assert_eq!(registries[1].namespaces, ["acme", "tools"]);
        let invalid = "registries:\n  - ftp://a\n  - https://me:secret@a.example\n  - {namespaces: [a]}\n  - \
                     {url: https://a, namespaces: [A]}\n  - {url: https://a, namespaces: x, more: 1}\n";
        let (config, report) = read("config.yaml", invalid, &Limits::default());
        assert_eq!((config, report.findings.len()), (None, 6));
        assert!(report.findings.iter().all(|finding| !finding.message.contains("secret")));
    }

    #[test]
    fn sp_28_mistakes_in_the_config_are_reported_at_their_position() {
        let text = "sink: {}\nlimits: {skill-entires: 1, depth: many}\nsinks: {x: [1]}\n";
        let (config, report) = read("config.yaml", text, &Limits::default());
        assert_eq!(config, None);
        let expected = [
            ("config.yaml:1:1", "SP-28", "`sink`"),
            ("config.yaml:2:10", "SE-04", "`skill-entires`"),
            ("config.yaml:2:35", "SE-04", "`depth`"),
            ("config.yaml:3:12", "SP-27", "`x`"),
        ];
        assert_eq!(report.findings.len(), expected.len());
        for (finding, (location, rule_id, quoted)) in report.findings.iter().zip(expected) {
            let actual = (report.format_location(finding), finding.check.id);
            assert_eq!(actual, (location.to_owned(), rule_id));
            assert!(finding.message.contains(quoted), "{}", finding.message);
        }
    }
}
