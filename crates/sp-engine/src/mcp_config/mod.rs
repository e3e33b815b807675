//! `sp mcp install` and `sp mcp uninstall`: one entry in the settings of an agent, and nothing else of them.
//!
//! ```text
//! agent ──▶ its file ──▶ read ──▶ the entry that is there × the one that is wanted ──▶ text ──▶ disk
//! ```
//!
//! Every file is judged before any is written, and all are written in one transaction: either every agent
//! has the change, or none does.

mod agents;
mod file;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sp_formats::Report;
use sp_formats::output::{McpAgentChange, McpChange, McpServerAction};
use sp_formats::printable::printable;
use sp_formats::settings::{Entry, SettingsError};
use ureq::http::Uri;

use self::agents::agent;
pub use self::agents::{MCP_AGENTS, McpAgent};
use self::file::{SettingsDrafts, SettingsFile};
use crate::agents::expand;
use crate::config::Session;
use crate::context::{Context, Event};
use crate::error::{Error, Kind, Result};
use crate::home::Home;
use crate::http::is_here;
use crate::install::{Change, Mode, Replace};
use crate::sinks::{Scope, project_root};

/// The name that the server has where the user gives it none.
pub const DEFAULT_MCP_NAME: &str = "skillpack";

/// How often the files are read again because an agent wrote one meanwhile.
const MAX_ATTEMPTS: usize = 5;

const OVERTAKEN_HINT: &str = "nothing was changed: quit the agent, then run the command again";

/// Which entry of whose settings.
#[derive(Debug, Clone)]
pub struct McpTarget {
    /// The agents, as `--agent` names them.
    pub agents: Vec<String>,
    /// Whose settings: the user's, or the project's.
    pub scope: Scope,
    /// The name of the server.
    pub name: String,
    /// Whether it is done.
    pub mode: Mode,
}

/// How an agent gets to the server.
#[derive(Debug, Clone)]
pub enum McpServer {
    /// It starts `sp mcp`.
    Stdio {
        /// The program that is running.
        program: PathBuf,
        /// What follows `sp mcp`.
        args: Vec<String>,
    },
    /// It asks a server that runs.
    Http {
        /// Its address.
        url: String,
    },
}

/// A server as it stands in settings.
enum Server<'a> {
    Started { command: String, args: Vec<&'a str> },
    Reached { url: &'a str },
}

/// What is to become of the entry.
enum Wish<'a> {
    Set(&'a Server<'a>, Replace),
    Remove,
}

/// A file, and what it will be.
struct Planned {
    file: SettingsFile,
    action: McpServerAction,
    /// Its new text; none if nothing changes.
    after: Option<String>,
}

/// Adds the server to the settings of agents.
pub fn install_mcp(
    context: &Context<'_>,
    target: &McpTarget,
    server: &McpServer,
    replace: Replace,
) -> Result<McpChange> {
    let server = match server {
        McpServer::Stdio { program, args } => {
            let command = command_for(context, program, target.scope)?;
            Server::Started { command, args: std::iter::once("mcp").chain(args.iter().map(String::as_str)).collect() }
        }
        McpServer::Http { url } => Server::Reached { url: checked(context, url)? },
    };
    change(context, target, &Wish::Set(&server, replace))
}

/// Takes the server out of the settings of agents.
pub fn uninstall_mcp(context: &Context<'_>, target: &McpTarget) -> Result<McpChange> {
    change(context, target, &Wish::Remove)
}

fn change(context: &Context<'_>, target: &McpTarget, wish: &Wish<'_>) -> Result<McpChange> {
    let session = Session::begin(context)?;
    refuse_name(&target.name)?;
    let mut agents: Vec<&McpAgent> = Vec::new();
    for name in &target.agents {
        let agent = agent(name)?;
        if !agents.iter().any(|known| known.id == agent.id) {
            agents.push(agent);
        }
    }
    let request = Request { session: &session, agents: &agents, target, wish };
    let (mut planned, _) = request.plan_all()?;
    if planned.iter().any(|planned| planned.after.is_some())
        && let Some(home) = Home::open_for(context, &session.limits, target.mode)?
    {
        planned = request.apply(&home)?;
    }
    let changes = agents.iter().zip(&planned).map(|(agent, planned)| told(agent, target, wish, planned));
    Ok(McpChange {
        applied: target.mode == Mode::Apply,
        server: target.name.clone(),
        agents: changes.collect::<Result<_>>()?,
    })
}

/// What is to be done for which agents.
struct Request<'a> {
    session: &'a Session<'a>,
    agents: &'a [&'static McpAgent],
    target: &'a McpTarget,
    wish: &'a Wish<'a>,
}

impl Request<'_> {
    /// Reads the files and decides what each will hold.
    fn plan_all(&self) -> Result<(Vec<Planned>, SettingsDrafts)> {
        let mut drafts = SettingsDrafts::default();
        let mut all = Vec::new();
        for agent in self.agents {
            let planned = plan(self.session, agent, self.target, self.wish, &drafts)?;
            if let Some(text) = &planned.after {
                drafts.put(&planned.file, text);
            }
            all.push(planned);
        }
        Ok((all, drafts))
    }

    /// Writes what a fresh plan says, all of it or nothing, and plans again if an agent wrote meanwhile.
    fn apply(&self, home: &Home<'_>) -> Result<Vec<Planned>> {
        let context = self.session.context;
        let change = Change { session: self.session, home: Some(home), terms: self.target.mode.into() };
        let mut attempts = 1;
        loop {
            let (planned, drafts) = self.plan_all()?;
            match change.make_files(drafts.plans(context, self.target.scope)?) {
                Ok(()) => return Ok(planned),
                Err(error) if !error.is_overtaken() => return Err(error),
                Err(error) if attempts == MAX_ATTEMPTS => {
                    return Err(Error { hints: vec![OVERTAKEN_HINT.into()], ..error });
                }
                Err(_) => attempts += 1,
            }
        }
    }
}

fn plan(
    session: &Session<'_>,
    agent: &McpAgent,
    target: &McpTarget,
    wish: &Wish<'_>,
    drafts: &SettingsDrafts,
) -> Result<Planned> {
    let context = session.context;
    let file = SettingsFile::read(session, &settings_path(context, agent, target.scope)?, drafts)?;
    let entry = Entry { table: agent.table, key: &target.name };
    let failed = |error| broken(context, &file, error);
    let old = agent.form.entry(file.text(), entry, &session.limits).map_err(failed)?;
    let (action, after) = match (wish, &old) {
        (Wish::Remove, None) => (McpServerAction::Keep, None),
        (Wish::Remove, Some(old)) => {
            refuse_foreign(context, &file, &target.name, old)?;
            let after = agent.form.without_entry(file.text(), entry, &session.limits).map_err(failed)?;
            (McpServerAction::Remove, after)
        }
        (Wish::Set(server, replace), old) => {
            let new = agent.entry(server)?;
            let action = match old {
                None => McpServerAction::Add,
                Some(old) if holds(old, &new) => McpServerAction::Keep,
                Some(_) if *replace == Replace::Allow => McpServerAction::Replace,
                Some(old) => return Err(conflict(context, &file, &target.name, old)),
            };
            let after = || agent.form.with_entry(file.text(), entry, &new, &session.limits).map_err(failed);
            (action, if action == McpServerAction::Keep { None } else { Some(after()?) })
        }
    };
    if after.is_some() {
        file.refuse_read_only(context)?;
    }
    Ok(Planned { file, action, after })
}

fn told(agent: &McpAgent, target: &McpTarget, wish: &Wish<'_>, planned: &Planned) -> Result<McpAgentChange> {
    let entry = match wish {
        Wish::Remove => None,
        Wish::Set(server, _) => {
            let entry = Entry { table: agent.table, key: &target.name };
            let text = agent.form.with_entry("", entry, &agent.entry(server)?, &sp_tree::Limits::default());
            Some(text.map_err(|e| Error::new(Kind::Data, "the entry cannot be written").because(e))?)
        }
    };
    let next = (planned.action != McpServerAction::Keep).then(|| match wish {
        Wish::Set(..) => agent.next.to_owned(),
        Wish::Remove => format!("start {} anew if it is running", agent.name),
    });
    Ok(McpAgentChange {
        agent: agent.id.into(),
        name: agent.name.into(),
        file: planned.file.path.clone(),
        real_file: planned.file.real().map(Into::into),
        new_file: planned.after.is_some() && planned.file.is_new(),
        action: planned.action,
        entry,
        next,
    })
}

/// Where an agent keeps its servers.
fn settings_path(context: &Context<'_>, agent: &McpAgent, scope: Scope) -> Result<PathBuf> {
    let user = if cfg!(target_os = "macos") && !agent.user_mac.is_empty() { agent.user_mac } else { agent.user };
    let paths: Vec<PathBuf> = match scope {
        Scope::Global => user.iter().map(|path| expand(context, path)).collect(),
        Scope::Project => agent.project.iter().map(|path| project_root(context).join(path)).collect(),
    };
    let there = paths.iter().find(|path| path.symlink_metadata().is_ok());
    there.or(paths.first()).cloned().ok_or_else(|| {
        let (has_not, way) = match scope {
            Scope::Global => ("for all projects", "add `--scope project`"),
            Scope::Project => ("in a project", "leave out `--scope project`"),
        };
        Error::new(Kind::Request, format!("{} has no settings {has_not} that list MCP servers", agent.name)).hint(way)
    })
}

/// Whether an entry says all that another says; what a user added to it is no other server.
fn holds(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => new.iter().all(|(key, value)| old.get(key) == Some(value)),
        _ => old == new,
    }
}

fn conflict(context: &Context<'_>, file: &SettingsFile, name: &str, old: &Value) -> Error {
    let shown = context.show(&file.path);
    Error::new(Kind::Request, format!("`{shown}` has another server called `{name}`"))
        .because(about(old))
        .hint("nothing was changed: add `--replace` to put this one in its place, or give this one another `--name`")
}

/// What an entry is, without what could be a secret: arguments, variables and headers may be.
fn about(entry: &Value) -> String {
    let said = |key: &str| entry.get(key).and_then(Value::as_str);
    let address = ["url", "serverUrl", "httpUrl"].into_iter().find_map(said).and_then(|url| url.parse::<Uri>().ok());
    match (said("command"), address.as_ref().and_then(Uri::host)) {
        (Some(command), _) => format!("it starts `{}`, perhaps with other arguments", printable(command)),
        (None, Some(host)) => format!("it is on `{}`", printable(host)),
        (None, None) => "it is no server that `sp` would write".into(),
    }
}

/// What `sp` writes where an agent asks a server at an address.
const OURS_BESIDE_AN_ADDRESS: [&str; 8] =
    ["url", "serverUrl", "httpUrl", "type", "tools", "enabled", "disabled", "source"];

/// A server that is started, and not by `sp mcp`, was not put there by `sp`.
fn refuse_foreign(context: &Context<'_>, file: &SettingsFile, name: &str, old: &Value) -> Result<()> {
    let program = old.get("command").and_then(Value::as_str).and_then(|command| Path::new(command).file_name());
    let first = old.get("args").and_then(|args| args.get(0)).and_then(Value::as_str);
    let is_started = program == Some("sp".as_ref()) && first == Some("mcp");
    // An address with more than `sp` writes beside it, such as somebody's headers, is somebody's own.
    let is_ours = |key: &String| OURS_BESIDE_AN_ADDRESS.contains(&key.as_str());
    let is_address = old.get("command").is_none() && old.as_object().is_some_and(|old| old.keys().all(is_ours));
    if is_started || is_address {
        return Ok(());
    }
    let message = format!("`{name}` in `{}` is not a server of Skillpack", context.show(&file.path));
    Err(Error::new(Kind::Request, message)
        .because(about(old))
        .hint("nothing was changed: take it out by hand, if you mean it"))
}

fn broken(context: &Context<'_>, file: &SettingsFile, error: SettingsError) -> Error {
    let place = Report::new(context.show(&file.path), file.text()).place_of(error.span.start);
    let hint = format!("nothing was changed: {}", error.help);
    Error::new(Kind::Data, format!("`{place}` cannot be understood")).because(error).hint(hint)
}

/// Every agent takes such a name, and it needs no quotes anywhere.
fn refuse_name(name: &str) -> Result<()> {
    const LONGEST: usize = 64;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    match !name.is_empty() && name.len() <= LONGEST && name.bytes().all(plain) {
        true => Ok(()),
        false => Err(Error::new(Kind::Usage, format!("`{name}` is no name for a server"))
            .hint(format!("use letters, digits, `-` and `_`, {LONGEST} at the most"))),
    }
}

/// An address that may stand in a file which others read.
fn checked<'u>(context: &Context<'_>, url: &'u str) -> Result<&'u str> {
    let example = "name one such as `http://127.0.0.1:8080/mcp`";
    let wrong = |why: &str, hint: &str| {
        Error::new(Kind::Usage, "this is no address for a server").because(why.to_owned()).hint(hint)
    };
    let uri: Uri = url.parse().map_err(|_| wrong("it cannot be read", example))?;
    let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
        return Err(wrong("it has no scheme or no host", example));
    };
    if authority.as_str().contains('@') {
        return Err(wrong("it has credentials in it", "take them out: they would stand in a file"));
    }
    if uri.query().is_some() || url.contains('#') {
        return Err(wrong("it has a query or a fragment", "remove it: it would be written to a settings file"));
    }
    match scheme {
        "https" => {}
        "http" if is_here(authority.host()) => {}
        "http" => context.tell(Event::Warning(
            "what is said over http can be read by everybody on the way; use https beyond this machine".into(),
        )),
        _ => return Err(wrong("it is neither http nor https", example)),
    }
    Ok(url)
}

/// What starts this program: `sp`, if that is what the shell would start, else where it is.
fn command_for(context: &Context<'_>, program: &Path, scope: Scope) -> Result<String> {
    let real = |path: &Path| path.canonicalize().ok();
    let path = context.env.get("PATH").map(String::as_str).unwrap_or_default();
    let places = path.split(':').map(Path::new).filter(|dir| dir.is_absolute()).map(|dir| dir.join("sp"));
    let first = places
        .into_iter()
        .find(|place| place.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0));
    if first.is_some_and(|first| real(&first).is_some() && real(&first) == real(program)) {
        return Ok("sp".into());
    }
    if scope == Scope::Project {
        context.tell(Event::Hint(format!(
            "`sp` is not on your PATH, so the project's file names `{}`, which others may not have",
            context.show(program)
        )));
    }
    program
        .to_str()
        .map(Into::into)
        .ok_or_else(|| Error::new(Kind::Request, "the path of this program is not UTF-8").hint("put `sp` on your PATH"))
}
