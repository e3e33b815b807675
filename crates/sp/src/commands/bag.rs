//! `sp bag`

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use sp_engine::bag::{self, GetRequest, RunRequest, Save, Steps, Upgrade};
use sp_engine::{Context, Error, Kind, Replace, Result};
use sp_formats::output::{
    BagChange, BagDependencies, BagDigest, BagList, BagRun, FolderAction, ParameterItem, ParameterOrigin,
};
use sp_formats::printable::{printable, printable_text};

use super::{check, count, mode};
use crate::cli::{Bag, BagSource, Format, Options};
use crate::terminal::{ADDED, CHANGED, DIM, REMOVED, STRONG, Terminal, WARNING, table};

pub(super) fn run(context: &Context<'_>, options: &Options, command: &Bag, terminal: &Terminal) -> Result<ExitCode> {
    let root = options.root.as_deref();
    match command {
        Bag::Init { dir, entrypoint, steps_done } => {
            let dir = dir.as_deref().or(root);
            let report = bag::init(context, dir, entrypoint.as_deref(), steps(*steps_done))?;
            change(context, &report, "ready: `sp bag get <skill> --source <source>` installs more", terminal)?;
        }
        Bag::Get { names, source, keep_query, version, upgrade, replace, steps_done, dry_run } => {
            let request = GetRequest {
                names: names.clone(),
                source: source.clone(),
                keep_query: keep_query.clone(),
                version: version.clone(),
                upgrade: if *upgrade { Upgrade::Yes } else { Upgrade::No },
                replace: if *replace { Replace::Allow } else { Replace::Refuse },
                steps: steps(*steps_done),
                root: options.root.clone(),
                mode: mode(*dry_run),
            };
            change(context, &bag::get(context, &request)?, "", terminal)?;
        }
        Bag::Sync { dry_run } => change(context, &bag::sync(context, root, mode(*dry_run))?, "", terminal)?,
        Bag::Remove { names, dry_run } => {
            change(context, &bag::remove(context, root, names, mode(*dry_run))?, "", terminal)?;
        }
        Bag::Source(BagSource::Init) => change(context, &bag::source_init(context, root)?, "", terminal)?,
        Bag::Deps => deps(&bag::deps(context, root)?, terminal)?,
        Bag::Check(check) => return check_bag(context, options, check, terminal),
        Bag::Enter => enter(&bag::enter(context, root)?, terminal)?,
        Bag::Run { identifier, set, save } => return ready(context, root, (identifier, set, *save), terminal),
        Bag::Params { skill, explain, set } => params(context, root, (skill, set, *explain), terminal)?,
        Bag::List => list(&bag::list(context, root)?, terminal)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn steps(done: bool) -> Steps {
    if done { Steps::Done } else { Steps::Unknown }
}

/// The workspace, where no path is given.
fn check_bag(
    context: &Context<'_>,
    options: &Options,
    given: &crate::cli::Check,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let paths = match given.paths.is_empty() {
        true => vec![bag::find_root(context, options.root.as_deref())?],
        false => given.paths.clone(),
    };
    let mut mended = 0;
    if given.fix && !given.dry_run {
        // What is missing is made; what is wrong in a file is mended after it.
        let root = paths.first().map(std::path::PathBuf::as_path);
        let request = check::request(options, &crate::cli::Check { paths: paths.clone(), ..given.clone() });
        let before = sp_engine::check(context, &request)?.findings();
        match bag::repair(context, root) {
            // What stands in the way is what the check tells.
            Err(error) if error.kind == Kind::Data => {}
            repaired => repaired?,
        }
        mended = before.saturating_sub(sp_engine::check(context, &request)?.findings());
    }
    check::run_after(context, options, &crate::cli::Check { paths, ..given.clone() }, (mended, terminal))
}

fn change(context: &Context<'_>, report: &BagChange, next: &str, terminal: &Terminal) -> Result<()> {
    terminal.print(report, |out| {
        for skill in &report.skills {
            let (style, sign) = match skill.action {
                FolderAction::Add => (ADDED, '+'),
                FolderAction::Update => (CHANGED, '~'),
                FolderAction::Remove => (REMOVED, '-'),
                FolderAction::Keep => (DIM, ' '),
            };
            let from = skill.source.as_ref().map(|source| format!("  {DIM}{}{DIM:#}", printable(source)));
            writeln!(out, "{style}{sign}{style:#} {}{}", printable(&skill.name), from.unwrap_or_default())?;
        }
        report.files.iter().try_for_each(|file| writeln!(out, "{ADDED}+{ADDED:#} {}", printable(file)))?;
        if terminal.format == Format::Plain {
            return Ok(());
        }
        for kept in &report.kept {
            writeln!(out, "\nkept the old `{}` in {}", printable(&kept.folder), context.show(&kept.kept_at))?;
        }
        let changed = report.skills.iter().filter(|skill| skill.action != FolderAction::Keep).count();
        if !report.applied {
            let would = if changed > 0 || report.catalog_changed { "would change" } else { "nothing would change" };
            return writeln!(
                out,
                "\n{STRONG}{would}{STRONG:#} · {} · {}",
                context.show(&report.root),
                count(changed, "skill")
            );
        }
        let catalog = if report.catalog_changed { "catalog written" } else { "catalog unchanged" };
        writeln!(
            out,
            "\n{STRONG}done{STRONG:#} · {} · {} changed · {catalog}",
            context.show(&report.root),
            count(changed, "skill")
        )?;
        if next.is_empty() { Ok(()) } else { writeln!(out, "{next}") }
    })
}

fn list(list: &BagList, terminal: &Terminal) -> Result<()> {
    terminal.print(list, |out| {
        if terminal.format == Format::Plain {
            return list.skills.iter().try_for_each(|skill| writeln!(out, "{}", printable(&skill.name)));
        }
        let rows = list.skills.iter().map(|skill| {
            let source = skill.source.clone().unwrap_or_else(|| "your own".into());
            let version =
                skill.version.clone().or_else(|| skill.commit.as_ref().map(|commit| commit.chars().take(12).collect()));
            let edited = if skill.edited && skill.source.is_some() { "edited" } else { "" };
            vec![skill.name.clone(), source, version.unwrap_or_default(), edited.into(), skill.description.clone()]
        });
        write!(out, "{}", table(&["skill", "source", "version", "", "description"], rows.collect(), terminal.width()))
    })
}

/// A tree from those that nobody needs: context files first, then skills.
fn deps(deps: &BagDependencies, terminal: &Terminal) -> Result<()> {
    terminal.print(deps, |out| {
        let is_skill = |name: &str| deps.skills.iter().any(|skill| skill == name);
        let needed = |name: &str| deps.dependencies.iter().any(|one| one.name == name);
        let mut roots: Vec<&str> =
            deps.dependencies.iter().map(|one| one.by.as_str()).filter(|by| !is_skill(by)).collect();
        roots.dedup();
        roots.extend(deps.skills.iter().map(String::as_str).filter(|name| !needed(name)));
        // Skills that need each other in a circle have no root of their own.
        let lost = deps.conflicts.is_empty() && roots.is_empty();
        roots.extend(deps.skills.iter().map(String::as_str).filter(|_| lost));
        for root in roots {
            writeln!(out, "{STRONG}{}{STRONG:#}", printable(root))?;
            branches(deps, root, &mut vec![root], "", out)?;
        }
        deps.conflicts
            .iter()
            .try_for_each(|conflict| writeln!(out, "{WARNING}conflict:{WARNING:#} {}", printable(conflict)))
    })
}

fn branches<'a>(
    deps: &'a BagDependencies,
    of: &str,
    path: &mut Vec<&'a str>,
    indent: &str,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let needs: Vec<_> = deps.dependencies.iter().filter(|one| one.by == of).collect();
    for (at, one) in needs.iter().enumerate() {
        let (branch, below) = if at + 1 == needs.len() { ("└─", "   ") } else { ("├─", "│  ") };
        let circle = path.contains(&one.name.as_str());
        let place = match (one.present, one.required) {
            _ if circle => "needs itself",
            (true, _) => "here",
            (false, true) => "missing",
            (false, false) => "missing, optional",
        };
        let from = [one.source.clone(), one.version.clone()].into_iter().flatten().collect::<Vec<_>>().join(" at ");
        let from = if from.is_empty() { String::new() } else { format!("  {DIM}{}{DIM:#}", printable(&from)) };
        writeln!(out, "{indent}{branch} {}  {place}{from}", printable(&one.name))?;
        if !circle {
            path.push(&one.name);
            branches(deps, &one.name, path, &format!("{indent}{below}"), out)?;
            path.pop();
        }
    }
    Ok(())
}

fn enter(digest: &BagDigest, terminal: &Terminal) -> Result<()> {
    terminal.print(digest, |out| {
        let version = digest.version.as_deref().unwrap_or("of an unknown version");
        writeln!(out, "SkillBag {version}")?;
        let contexts = if digest.contexts.is_empty() { "none".into() } else { digest.contexts.join(", ") };
        writeln!(out, "context: {contexts}\n\nskills:")?;
        digest
            .skills
            .iter()
            .try_for_each(|skill| writeln!(out, "  {}: {}", skill.name, printable(&skill.description)))?;
        if !digest.always.is_empty() {
            writeln!(out, "\nalways run:")?;
            for name in &digest.always {
                let tags = digest.skills.iter().find(|skill| skill.name == *name).map(|skill| skill.tags.join(" #"));
                writeln!(out, "  {name}  #{}", printable(&tags.unwrap_or_default()))?;
            }
        }
        if !digest.missing.is_empty() {
            writeln!(out, "\nmissing: {}", digest.missing.join(", "))?;
        }
        Ok(())
    })
}

fn ready(
    context: &Context<'_>,
    root: Option<&Path>,
    (identifier, set, save): (&str, &[(String, String)], bool),
    terminal: &Terminal,
) -> Result<ExitCode> {
    let request = RunRequest {
        identifier: identifier.into(),
        set: set.to_vec(),
        save: if save { Save::Yes } else { Save::No },
        root: root.map(Into::into),
    };
    let run = bag::run(context, &request)?;
    terminal.print(&run, |out| print_run(&run, out))?;
    match run.missing.is_empty() {
        true => Ok(ExitCode::SUCCESS),
        false => Err(missing(&run)),
    }
}

fn missing(run: &BagRun) -> Error {
    let names = run.missing.join("`, `");
    Error::new(Kind::Request, format!("`{}` needs a value for `{names}`", run.skill.name)).hint(format!(
        "give it with `--set {}=<value>`, or below `Parameters` in `USER_CONTEXT.md` or `CONTEXT.md`",
        run.missing[0]
    ))
}

fn print_run(run: &BagRun, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "# {}\n", run.skill.name)?;
    if !run.parameters.is_empty() {
        writeln!(out, "## Values\n")?;
        for parameter in &run.parameters {
            let value = parameter.from.as_ref().map_or("(not given)".into(), |from| shown(&from.value));
            writeln!(out, "- {}: {}", printable(&parameter.name), printable(&value))?;
        }
        writeln!(out)?;
    }
    writeln!(out, "{}", printable_text(&run.skill.instructions))?;
    for companion in &run.companions {
        writeln!(out, "\n# {} (runs with it)\n\n{}", companion.name, printable_text(&companion.instructions))?;
    }
    Ok(())
}

fn shown(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), Into::into)
}

fn params(
    context: &Context<'_>,
    root: Option<&Path>,
    (skill, set, explain): (&str, &[(String, String)], bool),
    terminal: &Terminal,
) -> Result<()> {
    let list = bag::params(context, root, skill, set)?;
    terminal.print(&list, |out| {
        if list.parameters.is_empty() {
            return writeln!(out, "`{}` asks for nothing", printable(skill));
        }
        list.parameters.iter().try_for_each(|parameter| print_parameter(parameter, explain, out))
    })
}

fn print_parameter(parameter: &ParameterItem, explain: bool, out: &mut dyn Write) -> std::io::Result<()> {
    let value = parameter.from.as_ref().map(|from| shown(&from.value));
    let value = value.unwrap_or_else(|| if parameter.required { "missing".into() } else { "not given".into() });
    writeln!(out, "{STRONG}{}{STRONG:#}: {}", printable(&parameter.name), printable(&value))?;
    if !explain {
        return Ok(());
    }
    let place = |origin: &ParameterOrigin| match origin.line {
        Some(line) => format!("{}:{line} ({})", printable(&origin.file), origin.level),
        None => format!("{} ({})", printable(&origin.file), origin.level),
    };
    if let Some(from) = &parameter.from {
        writeln!(out, "  from {}", place(from))?;
    }
    for beaten in &parameter.overrode {
        writeln!(out, "  over {} from {}", printable(&shown(&beaten.value)), place(beaten))?;
    }
    for blocked in &parameter.kept_out {
        let by = blocked.prohibited_by.as_deref().unwrap_or_default();
        writeln!(
            out,
            "  not {} from {}: prohibited in {}",
            printable(&shown(&blocked.value)),
            place(blocked),
            printable(by)
        )?;
    }
    Ok(())
}
