//! `sp pkg`.

pub(super) mod change;
mod diff;
mod graph;
mod show;
mod stale;
mod transport;
mod verify;

use std::path::PathBuf;
use std::process::ExitCode;

use sp_engine::pkg::{
    self, CreateRequest, CreateSource, DowngradePolicy, ExportCompat, ExportRequest, ImportRequest,
    NewKeyPolicy, OptionalDependencies, Overwrite, PackageInstallRequest, PackageRollbackRequest,
    PackageSigning, PackageUninstallRequest, StaleRequest, TrustOverrides, UnsignedPolicy,
};
use sp_engine::{Context, Error, ErrorCode, Result};

use super::plan::apply_options;
use crate::cli::{self, GlobalOptions, PackageCommand, PackageKindArg};
use crate::terminal::Terminal;

pub(super) use show::print_info as print_package_info;

pub(super) fn run(
    mut context: Context<'_>,
    options: &GlobalOptions,
    command: &PackageCommand,
    terminal: &Terminal,
) -> Result<ExitCode> {
    if let Some(bytes) = max_size(command) {
        context.limits.push(("package-bytes".into(), bytes));
    }
    let (context, root) = (&context, options.root.as_deref());
    match command {
        PackageCommand::Create(create) => {
            let created = pkg::create(context, &create_request(options, create)?)?;
            show::print_created(context, &created, terminal)?;
        }
        PackageCommand::Import { files, trust, plan, consent } => {
            let context = &consent.apply_to(context);
            let request = ImportRequest {
                files: files.clone(),
                trust: trust_overrides(trust),
                apply: apply_options(plan),
            };
            show::print_imported(&pkg::import(context, &request)?, terminal)?;
        }
        PackageCommand::Export { .. } => export(context, command, terminal)?,
        PackageCommand::Install { .. }
        | PackageCommand::Uninstall { .. }
        | PackageCommand::Rollback { .. } => change_project(context, options, command, terminal)?,
        PackageCommand::List => show::print_list(context, &pkg::list(context, root)?, terminal)?,
        PackageCommand::Info { package, .. } => {
            show::print_info(context, &pkg::info(context, package)?, terminal)?;
        }
        PackageCommand::Remove { packages, plan } => {
            let removed = pkg::remove(context, packages, apply_options(plan))?;
            show::print_removed(&removed, terminal)?;
        }
        PackageCommand::Diff { before, after, .. } => {
            diff::print_diff(&pkg::diff(context, before, after)?, terminal)?;
        }
        PackageCommand::Log { name } => {
            show::print_log(context, &pkg::log(context, root, name)?, terminal)?;
        }
        PackageCommand::Verify { package, trust } => {
            return verify::verify(context, package, trust_overrides(trust), terminal);
        }
        PackageCommand::Merge { .. } => graph::merge(context, command, terminal)?,
        PackageCommand::Touch { .. }
        | PackageCommand::Reinforce { .. }
        | PackageCommand::Prune { .. } => graph::evolve(context, command, terminal)?,
        PackageCommand::Stale { packages, dir, exit_code } => {
            let request = StaleRequest {
                packages: packages.clone(),
                dir: dir.clone(),
                root: options.root.clone(),
            };
            let is_outdated = stale::print_stale(context, &request, terminal)?;
            if *exit_code && is_outdated {
                return Ok(ExitCode::from(1));
            }
        }
        PackageCommand::Query { .. } => graph::query(context, options, command, terminal)?,
        PackageCommand::Graph { .. } => graph::draw(context, options, command, terminal)?,
        PackageCommand::Load { .. } => graph::load(context, options, command, terminal)?,
        PackageCommand::Send { .. } => transport::send(context, command, terminal)?,
        PackageCommand::Receive { .. } => transport::receive(context, command, terminal)?,
        PackageCommand::Inbox { .. } => transport::inbox(context, root, command, terminal)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn export(context: &Context<'_>, command: &PackageCommand, terminal: &Terminal) -> Result<()> {
    let PackageCommand::Export { package, output, force, compat } = command else { return Ok(()) };
    let request = ExportRequest {
        package: package.clone(),
        output: output.clone(),
        overwrite: overwrite(*force),
        compat: if compat.is_some() { ExportCompat::LeanCtx } else { ExportCompat::None },
    };
    show::print_exported(context, &pkg::export(context, &request)?, terminal)
}

/// Runs a command that changes the packages of a project.
fn change_project(
    context: &Context<'_>,
    options: &GlobalOptions,
    command: &PackageCommand,
    terminal: &Terminal,
) -> Result<()> {
    let report = match command {
        PackageCommand::Install { packages, place, with_optional, registry, trust, consent } => {
            let context = &consent.apply_to(context);
            let request = PackageInstallRequest {
                packages: packages.clone(),
                sinks: super::sink_requests(
                    context,
                    &place.agent,
                    place.path.as_deref(),
                    place.scope,
                )?,
                prefix: place.prefix.clone(),
                root: options.root.clone(),
                optional: if *with_optional {
                    OptionalDependencies::Include
                } else {
                    OptionalDependencies::Skip
                },
                trust: trust_overrides(trust),
                registry: registry.clone(),
                apply: apply_options(&place.plan),
            };
            sp_engine::install_packages(context, &request)?
        }
        PackageCommand::Uninstall { packages, plan } => {
            let request = PackageUninstallRequest {
                packages: packages.clone(),
                root: options.root.clone(),
                apply: apply_options(plan),
            };
            sp_engine::uninstall_packages(context, &request)?
        }
        PackageCommand::Rollback { package, plan } => {
            let request = PackageRollbackRequest {
                package: package.clone(),
                root: options.root.clone(),
                apply: apply_options(plan),
            };
            sp_engine::roll_back_packages(context, &request)?
        }
        _ => return Ok(()),
    };
    change::print_change(context, &report, terminal)
}

fn max_size(command: &PackageCommand) -> Option<u64> {
    match command {
        PackageCommand::Create(create) => create.size.max_size,
        PackageCommand::Import { trust, .. }
        | PackageCommand::Install { trust, .. }
        | PackageCommand::Verify { trust, .. }
        | PackageCommand::Receive { trust, .. }
        | PackageCommand::Inbox { trust, .. } => trust.size.max_size,
        PackageCommand::Info { size, .. }
        | PackageCommand::Diff { size, .. }
        | PackageCommand::Merge { size, .. }
        | PackageCommand::Load { size, .. } => size.max_size,
        _ => None,
    }
}

fn trust_overrides(trust: &cli::TrustArgs) -> TrustOverrides {
    TrustOverrides {
        unsigned: if trust.require_signed { UnsignedPolicy::Refuse } else { UnsignedPolicy::Warn },
        downgrade: if trust.allow_downgrade {
            DowngradePolicy::Allow
        } else {
            DowngradePolicy::Refuse
        },
        new_key: if trust.accept_new_key { NewKeyPolicy::Accept } else { NewKeyPolicy::Refuse },
    }
}

fn overwrite(force: bool) -> Overwrite {
    if force { Overwrite::Allow } else { Overwrite::Refuse }
}

fn create_request(
    options: &GlobalOptions,
    create: &cli::PackageCreateArgs,
) -> Result<CreateRequest> {
    let source = match (create.kind, &create.input) {
        (_, Some(input)) => CreateSource::Input(input.clone()),
        (PackageKindArg::Skills, None) if create.skills.is_empty() => {
            return Err(Error::new(ErrorCode::MissingArgument, "no skills given").hint(
                "pass skill directories or packs, such as `sp pkg create --kind skills \
                     --name tools skills/tidy-up`",
            ));
        }
        (PackageKindArg::Skills, None) => CreateSource::Skills(create.skills.clone()),
        (PackageKindArg::Context, None) if !create.skills.is_empty() => {
            return Err(Error::new(
                ErrorCode::InvalidArguments,
                "`--kind context` does not take skills",
            )
            .hint("add `--kind skills`, or pass a file with `--input`"));
        }
        (PackageKindArg::Context, None) => {
            CreateSource::Project(create.from.clone().unwrap_or_else(|| PathBuf::from(".")))
        }
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
        source,
        signing: package_signing(&create.sign),
        output: create.output.clone(),
        overwrite: overwrite(create.force),
        root: options.root.clone(),
        apply: apply_options(&create.plan),
    })
}

/// `--sign` selects the default key, `--sign=<name>` another one.
fn package_signing(sign: &cli::SignArgs) -> PackageSigning {
    match sign.sign.as_deref() {
        None => PackageSigning::Unsigned,
        Some("") => PackageSigning::DefaultKey,
        Some(name) => PackageSigning::NamedKey(name.to_owned()),
    }
}
