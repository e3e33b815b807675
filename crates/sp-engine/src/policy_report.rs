//! `sp policy`: the policies that apply, and what they decide.
//!
//! `sp policy check` reads what an installation would read, and asks the same policies. A source
//! that is denied is not contacted.

use std::path::{Path, PathBuf};

use sp_formats::output::{
    PolicyCheckReport, PolicyDecisionItem, PolicyFileItem, PolicyRuleItem, PolicyTargetItem,
    PolicyView,
};
use sp_formats::policy::ListedRule;
use sp_tree::Limits;

use crate::content_gate::skill_decisions;
use crate::context::Context;
use crate::error::Result;
use crate::pkg::{PackagePolicy, is_package_file, package_policy};
use crate::policy::{PolicyDecision, PolicyFile, PolicySet, policy_paths, read_policy};
use crate::project::{LockedDecisions, ProjectLocation, load_source, locked_decisions};
use crate::session::Session;
use crate::sinks::SinkScope;

/// What to check against the policies.
#[derive(Debug, Clone, Default)]
pub struct PolicyCheckRequest {
    /// Sources as `sp add` takes them, directories and package files. If empty, the skills in the
    /// lockfile of the project.
    pub targets: Vec<String>,
    /// The project given with `--root`. By default, the nearest one upward.
    pub root: Option<PathBuf>,
}

/// Returns the policies that apply.
pub fn show_policy(context: &Context<'_>, root: Option<&Path>) -> Result<PolicyView> {
    let session = Session::begin(context)?;
    Ok(PolicyView { files: file_items(context, &session.limits, root)? })
}

/// Explains whether content may be installed.
pub fn check_policy(
    context: &Context<'_>,
    request: &PolicyCheckRequest,
) -> Result<PolicyCheckReport> {
    let session = Session::begin(context)?;
    let root = request.root.as_deref();
    let files = file_items(context, &session.limits, root)?;
    let policies = session.policies(root)?;
    let targets: Vec<PolicyTargetItem> = if request.targets.is_empty() {
        let location = ProjectLocation { scope: SinkScope::Project, root: request.root.clone() };
        locked_targets(locked_decisions(&session, &location)?)
    } else {
        let check = |target: &String| check_target(&session, &policies, target);
        request.targets.iter().map(check).collect::<Result<_>>()?
    };
    session.audits.store(None);
    let permitted = targets.iter().all(|target| target.permitted);
    Ok(PolicyCheckReport { permitted, files, targets })
}

fn file_items(
    context: &Context<'_>,
    limits: &Limits,
    root: Option<&Path>,
) -> Result<Vec<PolicyFileItem>> {
    let mut items = Vec::new();
    for at in policy_paths(context, root) {
        let (level, path) = (at.level, at.path.clone());
        let file = read_policy(context, at, limits)?;
        items.push(PolicyFileItem {
            level,
            path,
            exists: file.is_some(),
            contact: file.as_ref().and_then(|file| file.policy.contact.clone()),
            rules: file.as_ref().map(rule_items).unwrap_or_default(),
        });
    }
    Ok(items)
}

fn rule_items(file: &PolicyFile) -> Vec<PolicyRuleItem> {
    let item = |rule: ListedRule| {
        let start = file.report.locate(&rule.span).start;
        PolicyRuleItem {
            level: file.level,
            file: file.path.clone(),
            line: start.line,
            column: start.column,
            section: rule.section.into(),
            effect: rule.effect,
            rule: rule.text,
        }
    };
    let mut rules: Vec<PolicyRuleItem> = file.policy.rules().into_iter().map(item).collect();
    rules.sort_by_key(|rule| (rule.line, rule.column));
    rules
}

/// Groups the skills of a lockfile by their source.
fn locked_targets(skills: Vec<LockedDecisions>) -> Vec<PolicyTargetItem> {
    let mut targets: Vec<PolicyTargetItem> = Vec::new();
    for LockedDecisions { source, folder, decisions } in skills {
        let mut items: Vec<PolicyDecisionItem> =
            decisions.iter().map(|it| item_of(&folder, it)).collect();
        let at = targets.iter().position(|target| target.target == source);
        let target = match at {
            Some(at) => &mut targets[at],
            None => {
                targets.push(empty_target(&source));
                let last = targets.len() - 1;
                &mut targets[last]
            }
        };
        items.retain(|item| !target.decisions.contains(item));
        target.permitted &= items.iter().all(|item| item.permitted);
        target.checked.push(folder);
        target.decisions.append(&mut items);
    }
    targets
}

fn empty_target(target: &str) -> PolicyTargetItem {
    PolicyTargetItem {
        target: target.to_owned(),
        permitted: true,
        checked: Vec::new(),
        decisions: Vec::new(),
    }
}

/// The source of content is that of all skills.
fn item_of(content: &str, decision: &PolicyDecision) -> PolicyDecisionItem {
    decision.to_item((decision.subject != "source").then_some(content))
}

fn check_target(
    session: &Session<'_>,
    policies: &PolicySet,
    target: &str,
) -> Result<PolicyTargetItem> {
    let context = session.context;
    let local = context.expand(target);
    let is_local = local.symlink_metadata().is_ok();
    let source = if is_local { local.to_string_lossy().into_owned() } else { target.to_owned() };
    let mut item = empty_target(target);
    let decision = policies.decide_source(&source, &context.current_dir);
    item.decisions.extend(decision.iter().map(|it| it.to_item(None)));
    let is_denied = decision.is_some_and(|decision| !decision.is_permitted);
    if is_local && is_package_file(&local) {
        let PackagePolicy { name, decisions } = package_policy(session, policies, &local)?;
        item.checked.push(name);
        item.decisions.extend(decisions.iter().map(|(content, it)| it.to_item(Some(content))));
    } else if !is_denied {
        for (id, tree) in load_source(session, &source)?.skills {
            let decisions = skill_decisions(session, policies, &tree);
            item.decisions.extend(decisions.iter().map(|it| it.to_item(Some(&id))));
            item.checked.push(id);
        }
    }
    item.permitted = item.decisions.iter().all(|decision| decision.permitted);
    Ok(item)
}
