//! `sp mcp install` and `sp mcp uninstall`: adds or removes one server in the settings files of
//! agents. The rest of each file is left as it is.
//!
//! ```text
//! agents ──▶ settings files ──▶ existing entry × requested entry ──▶ new texts ──▶ one transaction
//! ```
//!
//! All files are checked before any is written, and all are written in one transaction: either
//! every agent gets the change, or none does.

mod agents;
mod settings_file;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sp_formats::Report;
use sp_formats::output::{McpAgentChange, McpChangeReport, McpServerAction, PlanStatus};
use sp_formats::printable::printable;
use sp_formats::settings::{SettingsError, SettingsKey};
use sp_formats::web_url::{PlainHttp, UrlPolicy, WebUrl, WebUrlError};

use self::agents::find_agent;
pub use self::agents::{MCP_AGENTS, McpAgent};
use self::settings_file::{SettingsDrafts, SettingsFile};
use crate::agent_selection::select_supported_agents;
use crate::agents::expand_env_path;
use crate::context::{Context, Event};
use crate::error::{Error, ErrorCode, Result};
use crate::home::LockedHome;
use crate::install::change::ChangeExecutor;
use crate::install::plan::ReplacePolicy;
use crate::plan_id::ApplyOptions;
use crate::session::Session;
use crate::sinks::{SinkScope, project_root};

/// The default name of the server.
pub const DEFAULT_MCP_NAME: &str = "skillpack";

/// How often the files are read again because an agent changed one in the meantime.
const MAX_ATTEMPTS: usize = 5;

const CONCURRENT_WRITE_HINT: &str =
    "quit the agent, then run the command again; nothing was changed";

/// The agents and the entry to change.
#[derive(Debug, Clone)]
pub struct McpConfigTarget {
    /// The IDs of the agents.
    pub agents: Vec<String>,
    /// The settings of the user, or of the project.
    pub scope: SinkScope,
    pub name: String,
    pub apply: ApplyOptions,
}

/// How an agent reaches the server.
#[derive(Debug, Clone)]
pub enum McpServer {
    /// The agent starts `sp mcp`.
    Stdio {
        /// The path of the running program.
        program: PathBuf,
        /// The arguments after `sp mcp`.
        args: Vec<String>,
    },
    /// The agent connects to a running server.
    Http { url: String },
}

/// A server as an entry in settings.
enum McpServerEntry<'a> {
    Stdio { command: String, args: Vec<&'a str> },
    Http { url: &'a str },
}

/// The change of the entry.
enum McpEntryChange<'a> {
    Set(&'a McpServerEntry<'a>, ReplacePolicy),
    Remove,
}

/// A settings file and its planned change.
struct PlannedSettings {
    file: SettingsFile,
    action: McpServerAction,
    /// The new text; none if nothing changes.
    new_text: Option<String>,
}

/// Adds the server to the settings of agents.
pub fn install_mcp(
    context: &Context<'_>,
    target: &McpConfigTarget,
    server: &McpServer,
    replace: ReplacePolicy,
) -> Result<McpChangeReport> {
    let server = match server {
        McpServer::Stdio { program, args } => {
            let command = command_for(context, program, target.scope)?;
            McpServerEntry::Stdio {
                command,
                args: std::iter::once("mcp").chain(args.iter().map(String::as_str)).collect(),
            }
        }
        McpServer::Http { url } => McpServerEntry::Http { url: validate_url(context, url)? },
    };
    change_servers(context, target, &McpEntryChange::Set(&server, replace))
}

/// Removes the server from the settings of agents.
pub fn uninstall_mcp(context: &Context<'_>, target: &McpConfigTarget) -> Result<McpChangeReport> {
    change_servers(context, target, &McpEntryChange::Remove)
}

fn change_servers(
    context: &Context<'_>,
    target: &McpConfigTarget,
    change: &McpEntryChange<'_>,
) -> Result<McpChangeReport> {
    let session = Session::begin(context)?;
    validate_name(&target.name)?;
    let mut agents: Vec<&McpAgent> = Vec::new();
    let is_supported = |name: &str| find_agent(name).is_ok();
    for name in &select_supported_agents(context, &target.agents, &is_supported)? {
        let agent = find_agent(name)?;
        if !agents.iter().any(|known| known.id == agent.id) {
            agents.push(agent);
        }
    }
    let request = McpConfigRequest { session: &session, agents: &agents, target, change };
    // Without a change, no home directory is created.
    let (planned, _) = request.plan_all()?;
    let is_changed = planned.iter().any(|planned| planned.new_text.is_some());
    let home = if is_changed {
        LockedHome::open_unless_dry_run(context, &session.limits, target.apply.mode)?
    } else {
        None
    };
    let (planned, status) = request.execute(home.as_ref())?;
    let changes = agents
        .iter()
        .zip(&planned)
        .map(|(agent, planned)| agent_change(agent, target, change, planned));
    Ok(McpChangeReport {
        status,
        server: target.name.clone(),
        agents: changes.collect::<Result<_>>()?,
    })
}

/// A change for several agents.
struct McpConfigRequest<'a> {
    session: &'a Session<'a>,
    agents: &'a [&'static McpAgent],
    target: &'a McpConfigTarget,
    change: &'a McpEntryChange<'a>,
}

impl McpConfigRequest<'_> {
    /// Reads the files and plans the change of each.
    fn plan_all(&self) -> Result<(Vec<PlannedSettings>, SettingsDrafts)> {
        let mut drafts = SettingsDrafts::default();
        let mut all = Vec::new();
        for agent in self.agents {
            let planned = plan_agent(self.session, agent, self.target, self.change, &drafts)?;
            if let Some(text) = &planned.new_text {
                drafts.put(&planned.file, text);
            }
            all.push(planned);
        }
        Ok((all, drafts))
    }

    /// Plans and writes all files atomically. If an agent changed one in the meantime, starts over.
    fn execute(&self, home: Option<&LockedHome<'_>>) -> Result<(Vec<PlannedSettings>, PlanStatus)> {
        let context = self.session.context;
        let change = ChangeExecutor { session: self.session, home, options: self.target.apply };
        let mut attempts = 1;
        loop {
            let (planned, drafts) = self.plan_all()?;
            match change.execute_files(drafts.into_plans(context, self.target.scope)?) {
                Ok(status) => return Ok((planned, status)),
                Err(error) if !error.is_concurrent_change() => return Err(error),
                Err(error) if attempts == MAX_ATTEMPTS => {
                    return Err(Error { hints: vec![CONCURRENT_WRITE_HINT.into()], ..error });
                }
                Err(_) => attempts += 1,
            }
        }
    }
}

fn plan_agent(
    session: &Session<'_>,
    agent: &McpAgent,
    target: &McpConfigTarget,
    change: &McpEntryChange<'_>,
    drafts: &SettingsDrafts,
) -> Result<PlannedSettings> {
    let context = session.context;
    let file = SettingsFile::read(session, &settings_path(context, agent, target.scope)?, drafts)?;
    let entry = SettingsKey { table: agent.table, key: &target.name };
    let failed = |error| settings_error(context, &file, error);
    let old = agent.format.get_entry(file.text(), entry, &session.limits).map_err(failed)?;
    let (action, new_text) = match (change, &old) {
        (McpEntryChange::Remove, None) => (McpServerAction::Keep, None),
        (McpEntryChange::Remove, Some(old)) => {
            refuse_foreign(context, &file, &target.name, old)?;
            let new_text =
                agent.format.without_entry(file.text(), entry, &session.limits).map_err(failed)?;
            (McpServerAction::Remove, new_text)
        }
        (McpEntryChange::Set(server, replace), old) => {
            let new = agent.entry(server)?;
            let action = match old {
                None => McpServerAction::Add,
                Some(old) if contains_entry(old, &new) => McpServerAction::Keep,
                Some(_) if *replace == ReplacePolicy::Allow => McpServerAction::Replace,
                Some(old) => return Err(name_conflict_error(context, &file, &target.name, old)),
            };
            let new_text = || {
                agent.format.with_entry(file.text(), entry, &new, &session.limits).map_err(failed)
            };
            (action, if action == McpServerAction::Keep { None } else { Some(new_text()?) })
        }
    };
    if new_text.is_some() {
        file.refuse_read_only(context)?;
    }
    Ok(PlannedSettings { file, action, new_text })
}

fn agent_change(
    agent: &McpAgent,
    target: &McpConfigTarget,
    change: &McpEntryChange<'_>,
    planned: &PlannedSettings,
) -> Result<McpAgentChange> {
    let entry = match change {
        McpEntryChange::Remove => None,
        McpEntryChange::Set(server, _) => Some(entry_text(agent, target, server)?),
    };
    let next = (planned.action != McpServerAction::Keep).then(|| match change {
        McpEntryChange::Set(..) => agent.next_step.to_owned(),
        McpEntryChange::Remove => format!("restart {} if it is running", agent.name),
    });
    Ok(McpAgentChange {
        agent: agent.id.into(),
        name: agent.name.into(),
        file: planned.file.path.clone(),
        real_file: planned.file.link_target().map(Into::into),
        new_file: planned.new_text.is_some() && planned.file.is_new(),
        action: planned.action,
        entry,
        next,
    })
}

/// Returns a settings file that has only the entry of a server.
fn entry_text(
    agent: &McpAgent,
    target: &McpConfigTarget,
    server: &McpServerEntry<'_>,
) -> Result<String> {
    let key = SettingsKey { table: agent.table, key: &target.name };
    let limits = sp_tree::Limits::default();
    agent
        .format
        .with_entry("", key, &agent.entry(server)?, &limits)
        .map_err(|e| Error::new(ErrorCode::Internal, "cannot serialize the entry").because(e))
}

/// Returns the settings file of an agent.
fn settings_path(context: &Context<'_>, agent: &McpAgent, scope: SinkScope) -> Result<PathBuf> {
    let user = if cfg!(target_os = "macos") && !agent.user_paths_macos.is_empty() {
        agent.user_paths_macos
    } else {
        agent.user_paths
    };
    let paths: Vec<PathBuf> = match scope {
        SinkScope::Global => user.iter().map(|path| expand_env_path(context, path)).collect(),
        SinkScope::Project => {
            agent.project_paths.iter().map(|path| project_root(context).join(path)).collect()
        }
    };
    let there = paths.iter().find(|path| path.symlink_metadata().is_ok());
    there.or(paths.first()).cloned().ok_or_else(|| {
        let (has_not, way) = match scope {
            SinkScope::Global => ("user", "add `--scope project`"),
            SinkScope::Project => ("project", "omit `--scope project`"),
        };
        Error::new(
            ErrorCode::AgentHasNoSettings,
            format!("{} has no {has_not} settings file for MCP servers", agent.name),
        )
        .hint(way)
    })
}

/// Returns whether the old entry has all members of the new one. Members that the user added do not
/// make it a different server.
fn contains_entry(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            new.iter().all(|(key, value)| old.get(key) == Some(value))
        }
        _ => old == new,
    }
}

fn name_conflict_error(
    context: &Context<'_>,
    file: &SettingsFile,
    name: &str,
    old: &Value,
) -> Error {
    let path = context.display_path(&file.path);
    Error::new(
        ErrorCode::ForeignServer,
        format!("`{path}` already has a different server named `{name}`"),
    )
    .because(describe_entry(old))
    .hint("add `--force` to replace it, or choose another name with `--name`")
}

/// Describes an entry without arguments, variables and headers, which may contain secrets.
fn describe_entry(entry: &Value) -> String {
    let text = |key: &str| entry.get(key).and_then(Value::as_str);
    let address = ["url", "serverUrl", "httpUrl"]
        .into_iter()
        .find_map(text)
        .and_then(|url| WebUrl::parse(url).ok());
    match (text("command"), address.as_ref().map(WebUrl::host)) {
        (Some(command), _) => {
            format!(
                "the existing server runs `{}`, possibly with different arguments",
                printable(command)
            )
        }
        (None, Some(host)) => format!("the existing server is at `{}`", printable(host)),
        (None, None) => "`sp` did not write the existing entry".into(),
    }
}

/// The members of an entry for an HTTP server that `sp` writes.
const OWN_URL_ENTRY_KEYS: [&str; 8] =
    ["url", "serverUrl", "httpUrl", "type", "tools", "enabled", "disabled", "source"];

/// Refuses to remove an entry that `sp` did not write, such as one that starts another program.
fn refuse_foreign(
    context: &Context<'_>,
    file: &SettingsFile,
    name: &str,
    old: &Value,
) -> Result<()> {
    let program = old
        .get("command")
        .and_then(Value::as_str)
        .and_then(|command| Path::new(command).file_name());
    let first = old.get("args").and_then(|args| args.get(0)).and_then(Value::as_str);
    let is_started = program == Some("sp".as_ref()) && first == Some("mcp");
    // An HTTP entry with members that `sp` does not write, such as headers, belongs to the user.
    let is_ours = |key: &String| OWN_URL_ENTRY_KEYS.contains(&key.as_str());
    let is_address =
        old.get("command").is_none() && old.as_object().is_some_and(|old| old.keys().all(is_ours));
    if is_started || is_address {
        return Ok(());
    }
    let message =
        format!("`{name}` in `{}` is not a Skillpack server", context.display_path(&file.path));
    Err(Error::new(ErrorCode::ForeignServer, message)
        .because(describe_entry(old))
        .hint("remove it by hand if you do not need it"))
}

fn settings_error(context: &Context<'_>, file: &SettingsFile, error: SettingsError) -> Error {
    let position = Report::new(context.display_path(&file.path), file.text())
        .format_position(error.span.start);
    let hint = format!("{}; nothing was changed", error.help);
    Error::new(ErrorCode::InvalidSettings, format!("cannot parse `{position}`"))
        .because(error)
        .hint(hint)
}

/// Checks that every agent accepts the name, and that it needs no quotes in any format.
fn validate_name(name: &str) -> Result<()> {
    const MAX_NAME_LEN: usize = 64;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if name.is_empty() || name.len() > MAX_NAME_LEN || !name.bytes().all(plain) {
        return Err(Error::new(ErrorCode::InvalidName, format!("invalid server name `{name}`"))
            .hint(format!(
                "use only letters, digits, `-` and `_`, at most {MAX_NAME_LEN} characters"
            )));
    }
    Ok(())
}

/// Checks that a URL may be written to a file that others can read.
fn validate_url<'u>(context: &Context<'_>, url: &'u str) -> Result<&'u str> {
    const POLICY: UrlPolicy =
        UrlPolicy { userinfo: false, query: false, http: PlainHttp::Anywhere };
    let checked = POLICY.check(url).map_err(|why| {
        let hint = match why {
            WebUrlError::Userinfo | WebUrlError::Query => {
                "remove it, because the URL is written to a settings file"
            }
            _ => "use a URL such as `http://127.0.0.1:8080/mcp`",
        };
        Error::new(ErrorCode::InvalidUrl, "invalid server URL").because(why).hint(hint)
    })?;
    if !checked.is_https() && !checked.is_loopback() {
        context.emit(Event::Warning(
            "HTTP traffic is not encrypted; use HTTPS for servers on other machines".into(),
        ));
    }
    Ok(url)
}

/// Returns the command that starts this program: `sp` if the shell finds this program under that
/// name, else its path.
fn command_for(context: &Context<'_>, program: &Path, scope: SinkScope) -> Result<String> {
    let real = |path: &Path| path.canonicalize().ok();
    let path = context.env.get("PATH").map(String::as_str).unwrap_or_default();
    let candidates =
        path.split(':').map(Path::new).filter(|dir| dir.is_absolute()).map(|dir| dir.join("sp"));
    let first = candidates.into_iter().find(|candidate| {
        candidate
            .metadata()
            .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    });
    if first.is_some_and(|first| real(&first).is_some() && real(&first) == real(program)) {
        return Ok("sp".into());
    }
    if scope == SinkScope::Project {
        context.emit(Event::Hint(format!(
            "`sp` is not on your PATH, so the project settings contain the path `{}`, which may \
             not exist on other machines",
            context.display_path(program)
        )));
    }
    program.to_str().map(Into::into).ok_or_else(|| {
        Error::new(ErrorCode::Unsupported, "the path of this program is not valid UTF-8")
            .hint("add `sp` to your PATH")
    })
}
