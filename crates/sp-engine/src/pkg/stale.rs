//! `sp pkg stale`: reports nodes whose source files have changed.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sp_analyze::extract::{CommitHistory, LineRange, LineStatus, line_status};
use sp_formats::json::JsonValue;
use sp_formats::output::{StaleNode, StaleReport, StaleState};
use sp_formats::package::{Graph, GraphNode};
use sp_formats::time;
use sp_tree::{Dir, EntryKind, Follow, RelPath, read_text};

use super::package_graphs::PackageGraphs;
use crate::context::{Context, Event};
use crate::error::{Error, ErrorCode, Result};
use crate::session::Session;
use crate::source::git::read_history;

/// The arguments of `sp pkg stale`.
#[derive(Debug, Clone)]
pub struct StaleRequest {
    /// The packages. The default is those of the project.
    pub packages: Vec<String>,
    /// The directory that file paths of nodes are relative to. The default is the current
    /// directory.
    pub dir: Option<PathBuf>,
    pub root: Option<PathBuf>,
}

/// Compares nodes with their source files.
pub fn stale(context: &Context<'_>, request: &StaleRequest) -> Result<StaleReport> {
    let session = Session::begin(context)?;
    let graphs = PackageGraphs::load(&session, &request.packages, request.root.as_deref())?;
    let dir = request
        .dir
        .as_ref()
        .map_or_else(|| context.current_dir.clone(), |dir| context.absolute(dir));
    let sources = graphs.labels();
    graphs.with_graph(&session.limits, |graph| {
        let by_date = graph.nodes.iter().all(|node| node.value.get("lines_hash").is_none());
        let checker = StaleChecker {
            session: &session,
            root: Dir::open(&dir)?,
            dir: &dir,
            by_date,
            history: OnceCell::new(),
        };
        checker.check_all(graph, sources)
    })
}

struct StaleChecker<'a> {
    session: &'a Session<'a>,
    root: Dir,
    dir: &'a Path,
    /// Whether nodes are compared by date, because none has a hash of its lines. Packages of other
    /// tools do not have such hashes.
    by_date: bool,
    /// The git history of `dir`, read when first needed; none outside a git repository.
    history: OnceCell<Option<CommitHistory>>,
}

impl StaleChecker<'_> {
    fn check_all(&self, graph: &Graph<'_>, sources: Vec<String>) -> Result<StaleReport> {
        let mut by_file: BTreeMap<String, Vec<&GraphNode<'_>>> = BTreeMap::new();
        for node in &graph.nodes {
            if let Some(file) = node.value.get("file_path").and_then(JsonValue::text) {
                by_file.entry(file.into_owned()).or_default().push(node);
            }
        }
        let mut result =
            StaleReport { sources, fresh: 0, unknown: graph.nodes.len(), stale: Vec::new() };
        let total = by_file.len();
        for (done, (file, nodes)) in by_file.into_iter().enumerate() {
            self.session.context.check_cancelled()?;
            self.check_file(&file, &nodes, &mut result)?;
            if done % 64 == 63 {
                self.session.context.emit(Event::Reading { done: done + 1, total });
            }
        }
        result.unknown -= result.fresh + result.stale.len();
        self.refuse_other_folder(&result)?;
        Ok(result)
    }

    /// Fails if no file exists: the package was made from another folder.
    fn refuse_other_folder(&self, result: &StaleReport) -> Result<()> {
        let is_gone = |node: &StaleNode| node.state == StaleState::Gone;
        if result.fresh > 0 || result.stale.is_empty() || !result.stale.iter().all(is_gone) {
            return Ok(());
        }
        let dir = self.session.context.display_path(self.dir);
        Err(Error::new(
            ErrorCode::FileNotFound,
            format!("none of the source files exists in `{dir}`"),
        )
        .hint("specify the directory that the package was created from with `--dir <dir>`"))
    }

    fn check_file(
        &self,
        file: &str,
        nodes: &[&GraphNode<'_>],
        result: &mut StaleReport,
    ) -> Result<()> {
        // Paths outside `dir` and directories cannot be compared.
        let Ok(path) = RelPath::new(file) else { return Ok(()) };
        let kind = self.root.stat_beneath(&path, Follow::Never)?.map(|stamp| stamp.kind());
        if kind.is_some_and(|kind| kind != EntryKind::File) {
            return Ok(());
        }
        let text = match kind {
            Some(_) => read_text(&self.root, &path, self.session.limits.markdown_bytes)?,
            None => None,
        };
        let lines: Option<Vec<&str>> =
            text.as_deref().map(|text| text.trim_start_matches('\u{feff}').lines().collect());
        for node in nodes {
            let range = node_lines(node);
            let state = match &lines {
                None => Some((StaleState::Gone, None)),
                Some(lines) => self.node_state(node, lines, range, file),
            };
            match state {
                None => {}
                Some((StaleState::Fresh, _)) => result.fresh += 1,
                Some((state, line_now)) => result.stale.push(StaleNode {
                    id: node.id.clone().into_owned(),
                    kind: node.kind.clone().into_owned(),
                    state,
                    file: file.to_owned(),
                    line: range.map(|range| range.first),
                    line_now,
                    content: node.content.clone().into_owned(),
                }),
            }
        }
        Ok(())
    }

    /// Compares a node with the lines of its file. Returns the state and the new first line of a
    /// node that moved, or `None` if there is nothing to compare with.
    fn node_state(
        &self,
        node: &GraphNode<'_>,
        lines: &[&str],
        range: Option<LineRange>,
        file: &str,
    ) -> Option<(StaleState, Option<usize>)> {
        let hash = node.value.get("lines_hash").and_then(JsonValue::text);
        if let (Some(hash), Some(range)) = (hash, range) {
            return Some(match line_status(lines, range, &hash) {
                LineStatus::Unchanged => (StaleState::Fresh, None),
                LineStatus::Moved(line) => (StaleState::Moved, Some(line)),
                LineStatus::Changed => (StaleState::Changed, None),
            });
        }
        let known = node
            .value
            .get("created_at")
            .and_then(JsonValue::text)
            .and_then(|text| time::parse(&text))
            .filter(|_| self.by_date)?;
        let (dir, context) = (self.dir, self.session.context);
        let history = self.history.get_or_init(|| read_history(context, dir)).as_ref()?;
        let changed = history.last_changed(file)?;
        Some((if changed > known { StaleState::Changed } else { StaleState::Fresh }, None))
    }
}

fn node_lines(node: &GraphNode<'_>) -> Option<LineRange> {
    let line = |key: &str| {
        node.value.get(key).and_then(JsonValue::as_u64).and_then(|line| usize::try_from(line).ok())
    };
    let first = line("line_start").filter(|first| *first > 0)?;
    Some(LineRange { first, last: line("line_end").unwrap_or(first).max(first) })
}
