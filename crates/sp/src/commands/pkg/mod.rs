//! `sp pkg`

mod change;
mod diff;
mod graph;
mod show;
mod stale;
mod transport;
mod verify;

use std::path::PathBuf;
use std::process::ExitCode;

use sp_engine::graph::Evolution;
use sp_engine::pkg::{
    self, Acceptance, Compat, CreateRequest, Downgrade, ExportRequest, InstallPackages, Material, NewKey, Optional,
    Overwrite, Packages, StaleRequest, Unsigned,
};
use sp_engine::{Context, Error, Kind, Result, SinkRequest};

use super::{mode, scope_of};
use crate::cli::{self, Options, Pkg, PkgKind};
use crate::terminal::Terminal;

pub(super) fn run(mut context: Context<'_>, options: &Options, command: &Pkg, terminal: &Terminal) -> Result<ExitCode> {
    if let Some(most) = max_size(command) {
        context.limits.push(("package-bytes".into(), most));
    }
    let (context, root) = (&context, options.root.as_deref());
    match command {
        Pkg::Create(create) => show::created(context, &pkg::create(context, &request(options, create)?)?, terminal)?,
        Pkg::Import { files, trust } => {
            let request = Packages { files: files.clone(), accepted: accepted(trust) };
            show::imported(&pkg::import(context, &request)?, terminal)?;
        }
        Pkg::Export { package, output, force, compat } => {
            let request = ExportRequest {
                package: package.clone(),
                output: output.clone(),
                overwrite: overwrite(*force),
                compat: if compat.is_some() { Compat::LeanCtx } else { Compat::None },
            };
            show::exported(context, &pkg::export(context, &request)?, terminal)?;
        }
        Pkg::Install { packages, place, with_optional, registry, trust } => {
            let request = InstallPackages {
                packages: packages.clone(),
                sinks: sinks(place),
                prefix: place.prefix.clone(),
                root: options.root.clone(),
                optional: if *with_optional { Optional::Take } else { Optional::Leave },
                accepted: accepted(trust),
                registry: registry.clone(),
                mode: mode(place.dry_run),
            };
            change::changed(context, &pkg::install(context, &request)?, terminal)?;
        }
        Pkg::Uninstall { packages, dry_run } => {
            change::changed(context, &pkg::uninstall(context, packages, &plain_request(options, *dry_run))?, terminal)?;
        }
        Pkg::Rollback { name, to, dry_run } => {
            let request = plain_request(options, *dry_run);
            change::changed(context, &pkg::rollback(context, name.as_deref(), to.as_deref(), &request)?, terminal)?;
        }
        Pkg::List => show::list(&pkg::list(context, root)?, terminal)?,
        Pkg::Info { package, .. } => show::info(context, &pkg::info(context, package)?, terminal)?,
        Pkg::Remove { packages, dry_run } => {
            show::removed(&pkg::remove(context, packages, mode(*dry_run))?, *dry_run, terminal)?;
        }
        Pkg::Diff { before, after, .. } => diff::diff(&pkg::diff(context, before, after)?, terminal)?,
        Pkg::Log { name } => show::log(&pkg::log(context, root, name)?, terminal)?,
        Pkg::Verify { package, trust } => return verify::verify(context, package, accepted(trust), terminal),
        Pkg::Merge { .. } => graph::merge(context, command, terminal)?,
        Pkg::Touch { package, nodes, sign } => {
            graph::evolve(context, (package, &Evolution::Touch(nodes.clone())), sign, terminal)?;
        }
        Pkg::Reinforce { package, nodes, sign } => {
            graph::evolve(context, (package, &Evolution::Reinforce(nodes.clone())), sign, terminal)?;
        }
        Pkg::Prune { package, below, sign } => {
            graph::evolve(context, (package, &Evolution::Prune(*below)), sign, terminal)?;
        }
        Pkg::Stale { packages, dir, exit_code } => {
            let request = StaleRequest { packages: packages.clone(), dir: dir.clone(), root: options.root.clone() };
            let outgrown = stale::stale(context, &request, terminal)?;
            return Ok(if *exit_code && outgrown { ExitCode::from(1) } else { ExitCode::SUCCESS });
        }
        Pkg::Query { .. } => graph::query(context, options, command, terminal)?,
        Pkg::Graph { .. } => graph::draw(context, options, command, terminal)?,
        Pkg::Load { .. } => graph::load(context, options, command, terminal)?,
        Pkg::Send { .. } => transport::send(context, command, terminal)?,
        Pkg::Receive { .. } => transport::receive(context, command, terminal)?,
        Pkg::Inbox { accept, reject, trust } => {
            transport::inbox(context, (accept.as_deref(), reject.as_deref(), trust), root, terminal)?;
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
        Pkg::Info { size, .. } | Pkg::Diff { size, .. } | Pkg::Merge { size, .. } | Pkg::Load { size, .. } => {
            size.max_size
        }
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
        registry: None,
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
        sign: signing(&create.sign),
        output: create.output.clone(),
        overwrite: overwrite(create.force),
        root: options.root.clone(),
    })
}

/// `--sign` is the default key, `--sign=name` another.
fn signing(sign: &cli::Sign) -> Option<Option<String>> {
    sign.sign.as_ref().map(|key| Some(key.clone()).filter(|key| !key.is_empty()))
}
