//! `sp pkg`

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anstyle::Style;
use sp_engine::pkg::{
    self, Acceptance, Answer, Approval, Compat, CreateRequest, Downgrade, ExportRequest, Incoming, InstallPackages,
    Material, NewKey, Optional, Overwrite, Packages, ReceiveRequest, SecretFrom, SendRequest, Unsigned, Until,
};
use sp_engine::{Context, Error, Kind, Result, SinkRequest};
use sp_formats::output::{
    ChangeKind, FolderAction, ItemChange, MemberChange, PackageChange, PackageDiff, PackageInfo, PackageItem,
    PackageList, PackageLog, PackageReceived, PackageVerification, PackagesStored,
};
use sp_formats::package::envelope::Form;
use sp_formats::printable::printable;

use super::{count, mode, scope_of, thousands};
use crate::cli::{self, EnvelopeForm, Format, Options, Pkg, PkgKind};
use crate::terminal::{ADDED, CHANGED, DIM, ERROR, REMOVED, STRONG, Terminal, WARNING, padded, table};

pub(super) fn run(mut context: Context<'_>, options: &Options, command: &Pkg, terminal: &Terminal) -> Result<ExitCode> {
    if let Some(most) = max_size(command) {
        context.limits.push(("package-bytes".into(), most));
    }
    let (context, root) = (&context, options.root.as_deref());
    match command {
        Pkg::Create(create) => created(context, &pkg::create(context, &request(options, create)?)?, terminal)?,
        Pkg::Import { files, trust } => {
            let request = Packages { files: files.clone(), accepted: accepted(trust) };
            imported(&pkg::import(context, &request)?, terminal)?;
        }
        Pkg::Export { package, output, force, compat } => {
            let request = ExportRequest {
                package: package.clone(),
                output: output.clone(),
                overwrite: overwrite(*force),
                compat: if compat.is_some() { Compat::LeanCtx } else { Compat::None },
            };
            let done = pkg::export(context, &request)?;
            terminal.print(&done, |out| {
                let file = context.show(&done.file);
                match terminal.format {
                    Format::Plain => writeln!(out, "{file}"),
                    _ => writeln!(
                        out,
                        "{STRONG}exported{STRONG:#} {} {} to {file} · {}",
                        printable(&done.name),
                        printable(&done.version),
                        size(done.size)
                    ),
                }
            })?;
        }
        Pkg::Install { packages, place, with_optional, trust } => {
            let request = InstallPackages {
                packages: packages.clone(),
                sinks: sinks(place),
                prefix: place.prefix.clone(),
                root: options.root.clone(),
                optional: if *with_optional { Optional::Take } else { Optional::Leave },
                accepted: accepted(trust),
                mode: mode(place.dry_run),
            };
            changed(context, &pkg::install(context, &request)?, terminal)?;
        }
        Pkg::Uninstall { packages, dry_run } => {
            changed(context, &pkg::uninstall(context, packages, &plain_request(options, *dry_run))?, terminal)?;
        }
        Pkg::Rollback { name, to, dry_run } => {
            let request = plain_request(options, *dry_run);
            changed(context, &pkg::rollback(context, name.as_deref(), to.as_deref(), &request)?, terminal)?;
        }
        Pkg::List => list(&pkg::list(context, root)?, terminal)?,
        Pkg::Info { package, .. } => info(context, &pkg::info(context, package)?, terminal)?,
        Pkg::Remove { packages, dry_run } => {
            removed(&pkg::remove(context, packages, mode(*dry_run))?, *dry_run, terminal)?
        }
        Pkg::Diff { before, after, .. } => diff(&pkg::diff(context, before, after)?, terminal)?,
        Pkg::Log { name } => log(&pkg::log(context, root, name)?, terminal)?,
        Pkg::Verify { package, trust } => return verify(context, package, trust, terminal),
        Pkg::Send { .. } => send(context, command, terminal)?,
        Pkg::Receive { .. } => receive(context, command, terminal)?,
        Pkg::Inbox { accept, reject, trust } => {
            inbox(context, (accept.as_deref(), reject.as_deref(), trust), root, terminal)?
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn max_size(command: &Pkg) -> Option<u64> {
    match command {
        Pkg::Create(create) => create.size.max_size,
        Pkg::Import { trust, .. }
        | Pkg::Install { trust, .. }
        | Pkg::Verify { trust, .. }
        | Pkg::Receive { trust, .. }
        | Pkg::Inbox { trust, .. } => trust.size.max_size,
        Pkg::Info { size, .. } | Pkg::Diff { size, .. } => size.max_size,
        _ => None,
    }
}

fn accepted(trust: &cli::Trust) -> Acceptance {
    Acceptance {
        unsigned: if trust.require_signed { Unsigned::Refuse } else { Unsigned::Warn },
        downgrade: if trust.allow_downgrade { Downgrade::Allow } else { Downgrade::Refuse },
        new_key: if trust.accept_new_key { NewKey::Accept } else { NewKey::Refuse },
    }
}

fn overwrite(force: bool) -> Overwrite {
    if force { Overwrite::Allow } else { Overwrite::Refuse }
}

fn sinks(place: &cli::PkgPlace) -> Vec<SinkRequest> {
    let sink =
        |name: &String| SinkRequest { name: name.clone(), path: place.path.clone(), scope: scope_of(place.scope) };
    place.agent.iter().map(sink).collect()
}

fn plain_request(options: &Options, dry_run: bool) -> InstallPackages {
    InstallPackages {
        packages: Vec::new(),
        sinks: Vec::new(),
        prefix: None,
        root: options.root.clone(),
        optional: Optional::Leave,
        accepted: Acceptance::default(),
        mode: mode(dry_run),
    }
}

fn request(options: &Options, create: &cli::Create) -> Result<CreateRequest> {
    let material = match (create.kind, &create.input) {
        (_, Some(input)) => Material::Input(input.clone()),
        (PkgKind::Skills, None) if create.skills.is_empty() => {
            return Err(Error::new(Kind::Usage, "no skill is named")
                .hint("name folders of skills, or packs: `sp pkg create --kind skills --name tools skills/tidy-up`"));
        }
        (PkgKind::Skills, None) => Material::Skills(create.skills.clone()),
        (PkgKind::Context, None) if !create.skills.is_empty() => {
            return Err(Error::new(Kind::Usage, "skills are named, and the package is one of knowledge")
                .hint("add `--kind skills`, or name a file with `--input`"));
        }
        (PkgKind::Context, None) => Material::Project(create.from.clone().unwrap_or_else(|| PathBuf::from("."))),
    };
    Ok(CreateRequest {
        name: create.name.clone(),
        scope: create.scope.clone(),
        version: create.version.clone(),
        description: create.description.clone(),
        author: create.author.clone(),
        tags: create.tag.clone(),
        dependencies: create.depends.clone(),
        level: create.level,
        material,
        sign: create.sign.as_ref().map(|key| Some(key.clone()).filter(|key| !key.is_empty())),
        output: create.output.clone(),
        overwrite: overwrite(create.force),
        root: options.root.clone(),
    })
}

fn created(context: &Context<'_>, stored: &PackagesStored, terminal: &Terminal) -> Result<()> {
    terminal.print(stored, |out| {
        for one in &stored.packages {
            let package = &one.package;
            if terminal.format == Format::Plain {
                plain_package(out, package)?;
                continue;
            }
            let verb = if one.new { "Package created" } else { "Nothing new: this package is in the store already" };
            writeln!(out, "{STRONG}{verb}{STRONG:#}")?;
            writeln!(out, "  Name:    {} {}", printable(&package.name), printable(&package.version))?;
            match package.kind.as_str() {
                "skills" => writeln!(out, "  Kind:    skills")?,
                _ if package.nodes > 0 || package.edges > 0 => {
                    writeln!(
                        out,
                        "  Graph:   {}, {}",
                        count_of(package.nodes, "node"),
                        count_of(package.edges, "edge")
                    )?;
                }
                _ => {}
            }
            writeln!(out, "  Size:    {}", size(package.size))?;
            let signer =
                package.signer.as_deref().map_or("nobody; `--sign` signs it".into(), |key| format!("{}…", &key[..16]));
            writeln!(out, "  Signed:  {signer}")?;
            if let Some(file) = &one.file {
                writeln!(out, "  File:    {}", context.show(file))?;
            }
            let named = format!("{}@{}", package.name, package.version);
            writeln!(
                out,
                "{DIM}`sp pkg export {named}` writes it into a file, `sp pkg install {named}` installs it here{DIM:#}"
            )?;
        }
        Ok(())
    })
}

fn imported(stored: &PackagesStored, terminal: &Terminal) -> Result<()> {
    terminal.print(stored, |out| {
        stored.packages.iter().try_for_each(|one| {
            let package = &one.package;
            if terminal.format == Format::Plain {
                return plain_package(out, package);
            }
            let (style, sign) = if one.new { (ADDED, '+') } else { (DIM, ' ') };
            let known = if one.new { "" } else { ", which was there" };
            writeln!(
                out,
                "{style}{sign}{style:#} {} {}{known}  {DIM}{}{DIM:#}",
                printable(&package.name),
                printable(&package.version),
                size(package.size)
            )
        })
    })
}

fn plain_package(out: &mut dyn Write, package: &PackageItem) -> io::Result<()> {
    writeln!(out, "{}\t{}\t{}", printable(&package.name), printable(&package.version), package.digest)
}

fn list(list: &PackageList, terminal: &Terminal) -> Result<()> {
    terminal.print(list, |out| {
        if terminal.format == Format::Plain {
            return list.packages.iter().try_for_each(|package| plain_package(out, package));
        }
        match list.packages.is_empty() {
            true => writeln!(out, "the store is empty; `sp pkg create` makes a package, `sp pkg import` takes one")?,
            false => write!(out, "{}", packages(&list.packages, terminal))?,
        }
        if !list.waiting.is_empty() {
            writeln!(out)?;
            waiting(list, out, terminal)?;
        }
        Ok(())
    })
}

fn packages(packages: &[PackageItem], terminal: &Terminal) -> String {
    let rows = packages.iter().map(|package| {
        let state = [(package.installed, "installed"), (package.withdrawn, "rolled back")];
        let state: Vec<&str> = state.iter().filter(|(is, _)| *is).map(|(_, word)| *word).collect();
        let graph = if package.nodes > 0 { format!("{} / {}", package.nodes, package.edges) } else { String::new() };
        vec![
            package.name.clone(),
            package.version.clone(),
            package.kind.clone(),
            graph,
            size(package.size),
            package.signer.as_deref().map_or("unsigned".into(), |key| key.chars().take(12).collect()),
            state.join(", "),
            package.description.clone(),
        ]
    });
    let heading = ["package", "version", "kind", "nodes / edges", "size", "signed by", "", "about"];
    table(&heading, rows.collect(), terminal.width())
}

fn waiting(list: &PackageList, out: &mut dyn Write, terminal: &Terminal) -> io::Result<()> {
    let rows = list.waiting.iter().map(|one| {
        vec![one.id.clone(), one.name.clone(), one.version.clone(), one.sender.clone(), one.received_at.clone()]
    });
    write!(out, "{}", table(&["waiting", "package", "version", "from", "since"], rows.collect(), terminal.width()))?;
    writeln!(out, "{DIM}`sp pkg inbox --accept <ID>` takes one, `--reject <ID>` refuses it{DIM:#}")
}

fn info(context: &Context<'_>, info: &PackageInfo, terminal: &Terminal) -> Result<()> {
    terminal.print(info, |out| {
        let package = &info.package;
        let mut line = |label: &str, text: &str| match text.is_empty() {
            true => Ok(()),
            false => writeln!(out, "{}  {}", padded(label, 12), printable(text)),
        };
        let counts = |counts: &[sp_formats::output::TypeCount]| {
            counts.iter().map(|one| format!("{} {}", one.count, one.kind)).collect::<Vec<_>>().join(", ")
        };
        let level = info.conformance_level.map(|level| format!(", level {level}")).unwrap_or_default();
        line("package", &format!("{} {}", package.name, package.version))?;
        line("about", &package.description)?;
        line("kind", &format!("{}, schema {}{level}", package.kind, info.schema_version))?;
        line("author", info.author.as_deref().unwrap_or_default())?;
        line(
            "made",
            &[info.made_by.as_deref().map(|by| format!("by {by}")), package.created_at.clone()]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(", "),
        )?;
        line("layers", &info.layers.join(", "))?;
        line("nodes", &with_sum(package.nodes, &counts(&info.node_types)))?;
        line("edges", &with_sum(package.edges, &counts(&info.edge_types)))?;
        line("tags", &info.tags.join(", "))?;
        for (at, one) in info.dependencies.iter().enumerate() {
            let optional = if one.optional { ", optional" } else { "" };
            line(if at == 0 { "needs" } else { "" }, &format!("{} {}{optional}", one.name, one.range))?;
        }
        line("not with", &info.conflicts.join(", "))?;
        for (at, file) in info.files.iter().enumerate() {
            line(if at == 0 { "files" } else { "" }, &format!("{}  {}", file.path, size(file.size)))?;
        }
        line("size", &size(package.size))?;
        line("signed by", package.signer.as_deref().unwrap_or("nobody"))?;
        line("sha256", &package.sha256)?;
        line("digest", &package.digest)?;
        let from = package
            .from
            .as_ref()
            .map(|from| format!("from {from}, {}", package.stored_at.as_deref().unwrap_or_default()));
        line("stored", &from.unwrap_or_default())?;
        let _ = context;
        Ok(())
    })
}

fn with_sum(sum: u64, parts: &str) -> String {
    if sum == 0 { String::new() } else { format!("{sum}: {parts}") }
}

fn removed(removed: &sp_formats::output::PackagesRemoved, dry_run: bool, terminal: &Terminal) -> Result<()> {
    terminal.print(removed, |out| {
        for package in &removed.removed {
            match terminal.format {
                Format::Plain => plain_package(out, package)?,
                _ => {
                    writeln!(out, "{REMOVED}-{REMOVED:#} {} {}", printable(&package.name), printable(&package.version))?
                }
            }
        }
        match (terminal.format, dry_run) {
            (Format::Plain, _) => Ok(()),
            (_, true) => writeln!(
                out,
                "\n{STRONG}would go{STRONG:#} out of the store · {}",
                count(removed.removed.len(), "package")
            ),
            (_, false) => writeln!(
                out,
                "\n{STRONG}removed{STRONG:#} from the store · {}",
                count(removed.removed.len(), "package")
            ),
        }
    })
}

fn log(log: &PackageLog, terminal: &Terminal) -> Result<()> {
    terminal.print(log, |out| {
        if terminal.format == Format::Plain {
            return log.versions.iter().try_for_each(|package| plain_package(out, package));
        }
        let rows = log.versions.iter().map(|package| {
            let state = [(package.installed, "installed"), (package.withdrawn, "rolled back")];
            let state: Vec<&str> = state.iter().filter(|(is, _)| *is).map(|(_, word)| *word).collect();
            vec![
                package.version.clone(),
                package.stored_at.clone().unwrap_or_default(),
                format!("{} / {}", package.nodes, package.edges),
                package.signer.as_deref().map_or("unsigned".into(), |key| key.chars().take(12).collect()),
                package.from.clone().unwrap_or_default(),
                state.join(", "),
            ]
        });
        let heading = ["version", "stored", "nodes / edges", "signed by", "from", ""];
        write!(out, "{}", table(&heading, rows.collect(), terminal.width()))?;
        match log.removed.is_empty() {
            true => Ok(()),
            false => writeln!(out, "{DIM}removed, and never free again: {}{DIM:#}", printable(&log.removed.join(", "))),
        }
    })
}

fn changed(context: &Context<'_>, report: &PackageChange, terminal: &Terminal) -> Result<()> {
    terminal.print(report, |out| {
        for package in &report.packages {
            let (style, sign) = sign(package.action);
            if terminal.format == Format::Plain {
                let action = serde_json::to_value(package.action).unwrap_or_default();
                writeln!(
                    out,
                    "{}\t{}\t{}",
                    action.as_str().unwrap_or_default(),
                    printable(&package.name),
                    printable(&package.version)
                )?;
                continue;
            }
            let from = package.from_version.as_ref().map(|from| format!("{from} → ")).unwrap_or_default();
            let by = if package.needed_by.is_empty() {
                String::new()
            } else {
                format!("  {DIM}for {}{DIM:#}", printable(&package.needed_by.join(", ")))
            };
            writeln!(
                out,
                "{style}{sign}{style:#} {} {}{}{by}",
                printable(&package.name),
                printable(&from),
                printable(&package.version)
            )?;
            for (sink, folder) in folders(report, &package.name) {
                let (style, sign) = self::sign(folder.action);
                let edited = if folder.edited {
                    format!("  {WARNING}edited since it was installed{WARNING:#}")
                } else {
                    String::new()
                };
                let path = context.show(&sink.path.join(&folder.folder));
                writeln!(out, "    {style}{sign}{style:#} {path}{edited}")?;
            }
        }
        if terminal.format == Format::Plain {
            return Ok(());
        }
        for kept in report.kept.iter().chain(report.sinks.iter().flat_map(|sink| &sink.kept)) {
            writeln!(
                out,
                "{WARNING}kept{WARNING:#} the old `{}` in {}",
                printable(&kept.folder),
                context.show(&kept.kept_at)
            )?;
        }
        let touched = report.packages.iter().filter(|package| package.action != FolderAction::Keep).count();
        let word = match (report.applied, touched) {
            (true, 0) => "nothing to do",
            (true, _) => "done",
            (false, 0) => "nothing would change",
            (false, _) => "would change",
        };
        writeln!(out, "\n{STRONG}{word}{STRONG:#} · {} · {}", context.show(&report.root), count(touched, "package"))
    })
}

fn folders<'a>(
    report: &'a PackageChange,
    package: &'a str,
) -> impl Iterator<Item = (&'a sp_formats::output::SinkChange, &'a sp_formats::output::FolderChange)> {
    let of = move |sink: &'a sp_formats::output::SinkChange| sink.folders.iter().map(move |folder| (sink, folder));
    report.sinks.iter().flat_map(of).filter(move |(_, folder)| folder.pack == package)
}

fn sign(action: FolderAction) -> (Style, char) {
    match action {
        FolderAction::Add => (ADDED, '+'),
        FolderAction::Update => (CHANGED, '~'),
        FolderAction::Remove => (REMOVED, '-'),
        FolderAction::Keep => (DIM, ' '),
    }
}

fn verify(context: &Context<'_>, package: &str, trust: &cli::Trust, terminal: &Terminal) -> Result<ExitCode> {
    let (report, failure) = pkg::verify(context, package, accepted(trust))?;
    terminal.print(&report, |out| steps(&report, terminal, out))?;
    match failure {
        None => Ok(ExitCode::SUCCESS),
        Some(error) => Err(error),
    }
}

fn steps(report: &PackageVerification, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    if terminal.format == Format::Plain {
        return report
            .steps
            .iter()
            .try_for_each(|step| writeln!(out, "{}\t{}\t{}", step.outcome, step.step, printable(&step.detail)));
    }
    let named = [report.name.as_deref(), report.version.as_deref()].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let named =
        if named.is_empty() || named == report.subject { String::new() } else { format!(" · {}", printable(&named)) };
    writeln!(out, "{STRONG}{}{STRONG:#}{named}\n", printable(&report.subject))?;
    for step in &report.steps {
        let (style, sign) = match step.outcome.as_str() {
            "passed" => (ADDED, '✓'),
            "warned" => (WARNING, '!'),
            "failed" => (ERROR, '✗'),
            _ => (DIM, '·'),
        };
        writeln!(out, "  {style}{sign}{style:#} {}  {}", padded(&step.step, 14), printable(&step.detail))?;
    }
    match report.verified {
        true => writeln!(out, "\n{ADDED}verified{ADDED:#}"),
        false => writeln!(out, "\n{ERROR}refused{ERROR:#}"),
    }
}

fn diff(diff: &PackageDiff, terminal: &Terminal) -> Result<()> {
    terminal.print(diff, |out| {
        let lists =
            [("nodes", &diff.nodes), ("edges", &diff.edges), ("files", &diff.files), ("content", &diff.content)];
        if terminal.format == Format::Plain {
            for (what, list) in lists {
                let what = what.trim_end_matches('s');
                list.iter().try_for_each(|item| {
                    writeln!(out, "{}\t{what}\t{}", change_word(item.change), printable(&item.id))
                })?;
            }
            return diff
                .manifest
                .iter()
                .try_for_each(|member| writeln!(out, "changed\tmanifest\t{}", printable(&member.member)));
        }
        writeln!(out, "{STRONG}{}{STRONG:#} → {STRONG}{}{STRONG:#}", printable(&diff.before), printable(&diff.after))?;
        if !diff.manifest.is_empty() {
            writeln!(out, "\nmanifest")?;
            diff.manifest.iter().try_for_each(|member| member_line(out, "  ", member))?;
        }
        for (what, list) in lists {
            if !list.is_empty() {
                let number = |kind| list.iter().filter(|item| item.change == kind).count();
                let [added, gone, other] = [ChangeKind::Added, ChangeKind::Removed, ChangeKind::Changed].map(number);
                writeln!(out, "\n{what}: {added} added, {gone} removed, {other} changed")?;
                list.iter().try_for_each(|item| item_lines(out, item))?;
            }
        }
        match diff.manifest.is_empty() && lists.iter().all(|(_, list)| list.is_empty()) {
            true => writeln!(out, "no difference"),
            false => Ok(()),
        }
    })
}

fn change_word(change: ChangeKind) -> &'static str {
    match change {
        ChangeKind::Added => "added",
        ChangeKind::Removed => "removed",
        ChangeKind::Changed => "changed",
    }
}

fn item_lines(out: &mut dyn Write, item: &ItemChange) -> io::Result<()> {
    let (style, sign) = match item.change {
        ChangeKind::Added => (ADDED, '+'),
        ChangeKind::Removed => (REMOVED, '-'),
        ChangeKind::Changed => (CHANGED, '~'),
    };
    let content = item.members.iter().find(|member| member.member == "content");
    let text = content.and_then(|member| member.after.as_ref().or(member.before.as_ref()));
    match (item.change, text) {
        (ChangeKind::Changed, _) => {
            writeln!(out, "  {style}{sign}{style:#} {}", printable(&item.id))?;
            item.members.iter().try_for_each(|member| member_line(out, "      ", member))
        }
        (_, Some(text)) => writeln!(out, "  {style}{sign}{style:#} {}  {}", printable(&item.id), short(text)),
        (_, None) => writeln!(out, "  {style}{sign}{style:#} {}", printable(&item.id)),
    }
}

fn member_line(out: &mut dyn Write, indent: &str, member: &MemberChange) -> io::Result<()> {
    let text = |text: &Option<String>| text.as_deref().map_or("nothing".into(), short);
    writeln!(out, "{indent}{}: {} → {}", printable(&member.member), text(&member.before), text(&member.after))
}

fn short(text: &str) -> String {
    const SHOWN: usize = 70;
    let cut: String = text.chars().take(SHOWN).collect();
    let dots = if cut.len() < text.len() { "…" } else { "" };
    format!("{}{dots}", printable(&cut))
}

fn secret(secret: &cli::Secret) -> SecretFrom {
    match &secret.secret_file {
        Some(file) => SecretFrom::File(file.clone()),
        None => SecretFrom::Env(secret.secret_env.clone()),
    }
}

fn send(context: &Context<'_>, command: &Pkg, terminal: &Terminal) -> Result<()> {
    let Pkg::Send { package, target, to, sender, secret: from, envelope } = command else { return Ok(()) };
    let request = SendRequest {
        package: package.clone(),
        target: target.clone(),
        recipient: to.clone(),
        sender: sender.clone(),
        secret: secret(from),
        token_env: from.token_env.clone(),
        form: match envelope {
            EnvelopeForm::V2 => Form::V2,
            EnvelopeForm::V3 => Form::V3,
        },
    };
    let sent = pkg::send(context, &request)?;
    terminal.print(&sent, |out| {
        writeln!(
            out,
            "{STRONG}sent{STRONG:#} {} {} to {}",
            printable(&sent.name),
            printable(&sent.version),
            printable(&sent.target)
        )?;
        writeln!(out, "{DIM}it answered: {}{DIM:#}", printable(&sent.answer))
    })
}

fn receive(context: &Context<'_>, command: &Pkg, terminal: &Terminal) -> Result<()> {
    let Pkg::Receive { listen, recipient, secret: from, queue, once, trust } = command else { return Ok(()) };
    let request = ReceiveRequest {
        listen: listen.clone(),
        secret: secret(from),
        token_env: from.token_env.clone(),
        recipient: recipient.clone(),
        approval: if *queue { Approval::Queue } else { Approval::Import },
        until: if *once { Until::One } else { Until::Forever },
        accepted: accepted(trust),
    };
    pkg::receive(context, &request, &|incoming| {
        // A line that cannot be printed is nobody's loss but the reader's.
        let _ = tell(&incoming, terminal);
    })
}

fn tell(incoming: &Incoming, terminal: &Terminal) -> Result<()> {
    let mut line = PackageReceived { event: String::new(), address: None, package: None, sender: None, because: None };
    let text = match incoming {
        Incoming::Listening(address) => {
            line.event = "listening".into();
            line.address = Some(address.clone());
            format!("{STRONG}listening{STRONG:#} on {address}; `sp pkg send <package> --target {address}` sends")
        }
        Incoming::Imported { package, sender } => {
            (line.event, line.package, line.sender) = ("imported".into(), Some(package.clone()), Some(sender.clone()));
            format!("{ADDED}+{ADDED:#} {} from {}", printable(package), printable(sender))
        }
        Incoming::Waiting { package, sender, id } => {
            (line.event, line.package, line.sender) = ("waiting".into(), Some(package.clone()), Some(sender.clone()));
            format!(
                "{CHANGED}?{CHANGED:#} {} from {} waits: `sp pkg inbox --accept {id}`",
                printable(package),
                printable(sender)
            )
        }
        Incoming::Refused(why) => {
            (line.event, line.because) = ("refused".into(), Some(why.clone()));
            format!("{REMOVED}✗{REMOVED:#} refused: {}", printable(why))
        }
    };
    match terminal.format {
        // One line each, so that a program can read them as they come.
        Format::Json => {
            terminal.print_text(|out| writeln!(out, "{}", serde_json::to_string(&line).unwrap_or_default()))
        }
        _ => terminal.print_text(|out| writeln!(out, "{text}")),
    }
}

fn inbox(
    context: &Context<'_>,
    (accept, reject, trust): (Option<&str>, Option<&str>, &cli::Trust),
    root: Option<&std::path::Path>,
    terminal: &Terminal,
) -> Result<()> {
    match (accept, reject) {
        (Some(id), _) => imported(&pkg::answer_waiting(context, id, Answer::Accept, accepted(trust))?, terminal),
        (_, Some(id)) => {
            let done = pkg::answer_waiting(context, id, Answer::Reject, accepted(trust))?;
            terminal.print(&done, |out| writeln!(out, "refused and removed"))
        }
        (None, None) => {
            let list = PackageList { packages: Vec::new(), ..pkg::list(context, root)? };
            terminal.print(&list, |out| match (list.waiting.is_empty(), terminal.format) {
                (true, Format::Plain) => Ok(()),
                (true, _) => writeln!(out, "nothing is waiting"),
                (false, Format::Plain) => list.waiting.iter().try_for_each(|one| {
                    writeln!(out, "{}\t{}\t{}", one.id, printable(&one.name), printable(&one.version))
                }),
                (false, _) => waiting(&list, out, terminal),
            })
        }
    }
}

fn count_of(number: u64, what: &str) -> String {
    let shown = thousands(usize::try_from(number).unwrap_or(usize::MAX));
    if number == 1 { format!("1 {what}") } else { format!("{shown} {what}s") }
}

/// Bytes as people read them.
fn size(bytes: u64) -> String {
    const KB: f64 = 1024.0;
    #[expect(clippy::cast_precision_loss, reason = "shown with one digit")]
    let number = bytes as f64;
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{:.1} KB", number / KB),
        _ => format!("{:.1} MB", number / KB / KB),
    }
}
