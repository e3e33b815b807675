//! Groups of cases.

/// What a case is about; the prefix of its name determines it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    Frontmatter,
    Body,
    /// Where files and directories are in a repository.
    Layout,
    Pack,
    Config,
    Workspace,
    /// A context pack, by the rule that it tests.
    ContextPack(&'static str),
    GoodContextPack,
    /// A package, by the rule that it tests.
    Package(&'static str),
    GoodPackage,
    Hidden,
    Good,
}

impl Group {
    pub(super) fn of(case: &str) -> Self {
        const PREFIXES: [(&str, Group); 39] = [
            ("good-pkg-", Group::GoodPackage),
            ("good-ctx-", Group::GoodContextPack),
            ("good-", Group::Good),
            ("pkg-json-", Group::Package("PK-01")),
            ("pkg-unstated-", Group::Package("PK-02")),
            ("pkg-manifest-", Group::Package("PK-03")),
            ("pkg-schema2-", Group::Package("PK-04")),
            ("pkg-dependency-", Group::Package("PK-05")),
            ("pkg-layer-", Group::Package("PK-07")),
            ("pkg-hash-", Group::Package("PK-08")),
            ("pkg-signature-", Group::Package("PK-11")),
            ("pkg-unsigned", Group::Package("PK-13")),
            ("pkg-graph-", Group::Package("PK-15")),
            ("pkg-level-", Group::Package("PK-16")),
            ("pkg-place-", Group::Package("PK-22")),
            ("pkg-document-", Group::Package("PK-24")),
            ("ctx-file-", Group::ContextPack("CP-01")),
            ("ctx-manifest-", Group::ContextPack("CP-02")),
            ("ctx-path-", Group::ContextPack("CP-03")),
            ("ctx-frontmatter-", Group::ContextPack("CP-04")),
            ("ctx-rules-", Group::ContextPack("CP-05")),
            ("ctx-skill-", Group::ContextPack("CP-06")),
            ("ctx-source-", Group::ContextPack("CP-07")),
            ("ctx-prompt-", Group::ContextPack("CP-08")),
            ("ctx-task-", Group::ContextPack("CP-09")),
            ("ctx-footnote-", Group::ContextPack("CP-10")),
            ("ctx-hash-", Group::ContextPack("CP-10")),
            ("bag-", Group::Workspace),
            ("pack", Group::Pack),
            ("config-", Group::Config),
            ("hidden-", Group::Hidden),
            ("link-to-", Group::Layout),
            ("skill", Group::Layout),
            ("folder", Group::Layout),
            ("file", Group::Layout),
            ("linked-", Group::Layout),
            ("link-", Group::Body),
            ("mention-", Group::Body),
            ("body-", Group::Body),
        ];
        PREFIXES
            .iter()
            .find(|(prefix, _)| case.starts_with(prefix))
            .map_or(Self::Frontmatter, |(_, group)| *group)
    }
}
