//! The stable codes of errors and the exit codes.
//!
//! A message may change with any release; a code does not. A code belongs to one [`FailureKind`],
//! so it also determines the exit code. `docs/errors.md` is generated from this table.

/// The kind of a failure, which determines the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The request cannot be fulfilled.
    Request,
    /// Invalid arguments.
    Usage,
    /// Invalid data.
    Data,
    /// A hash, signature or owner does not match.
    Trust,
    /// Disk, network or git failed.
    Environment,
    /// The user or a client cancelled the operation.
    Cancelled,
}

impl FailureKind {
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Request | Self::Cancelled => 1,
            Self::Usage => 2,
            Self::Data => 3,
            Self::Trust => 4,
            Self::Environment => 5,
        }
    }
}

macro_rules! error_codes {
    ($($kind:ident { $($variant:ident $text:literal $meaning:literal,)+ })+) => {
        /// What failed, for programs. In JSON it is the member `code` of an error.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum ErrorCode {
            $($(#[doc = $meaning] $variant,)+)+
        }

        impl ErrorCode {
            /// All codes, grouped by kind.
            pub const ALL: &[Self] = &[$($(Self::$variant,)+)+];

            pub fn as_str(self) -> &'static str {
                match self {
                    $($(Self::$variant => $text,)+)+
                }
            }

            pub fn kind(self) -> FailureKind {
                match self {
                    $($(Self::$variant)|+ => FailureKind::$kind,)+
                }
            }

            /// Returns a sentence that describes the failure.
            pub fn meaning(self) -> &'static str {
                match self {
                    $($(Self::$variant => $meaning,)+)+
                }
            }
        }
    };
}

error_codes! {
    Request {
        PackNotFound "E-pack-not-found" "No pack has this name or path.",
        SkillNotFound "E-skill-not-found" "No skill has this name.",
        AmbiguousSkill "E-ambiguous-skill" "Several skills have this name.",
        PackageNotFound "E-package-not-found" "No package has this name.",
        VersionNotFound "E-version-not-found" "No version of the package matches.",
        FileNotFound "E-file-not-found" "A file does not exist.",
        DirectoryNotFound "E-directory-not-found" "A directory does not exist.",
        RepositoryNotFound "E-repository-not-found"
            "No repository (a directory with `skills/` or `packs/`) was found.",
        ManifestNotFound "E-manifest-not-found" "No `skillpack.yaml` was found.",
        WorkspaceNotFound "E-workspace-not-found" "No SkillBag workspace was found.",
        KeyNotFound "E-key-not-found" "No key has this name or value.",
        NodeNotFound "E-node-not-found" "The graph has no such node or path between nodes.",
        GitRefNotFound "E-git-ref-not-found"
            "The git repository has no such tag, branch or commit.",
        TokenNotFound "E-token-not-found" "No token is stored for this registry.",
        NothingFound "E-nothing-found" "The input contains nothing that the command can use.",
        AlreadyExists "E-already-exists" "A file, directory, key or repository already exists.",
        NotInstalled "E-not-installed" "The pack, package or context pack is not installed.",
        NoEarlierState "E-no-earlier-state" "There is no earlier version to roll back to.",
        StillRequired "E-still-required" "Something else depends on it.",
        Unresolvable "E-unresolvable" "The requirements of the packages or skills conflict.",
        Unsupported "E-unsupported" "The operation does not support this kind of input.",
        AgentScopeUnsupported "E-agent-scope-unsupported"
            "The agent has no directory in this scope.",
        AgentHasNoSettings "E-agent-has-no-settings"
            "The agent has no settings file for MCP servers in this scope.",
        SinkOverlap "E-sink-overlap"
            "The agent's directory overlaps with a directory of `sp` or of the repository.",
        ForeignServer "E-foreign-server"
            "The settings contain a different MCP server with this name.",
        NotWritable "E-not-writable" "A user's file cannot be changed.",
        ChangedMeanwhile "E-changed-meanwhile"
            "A file was changed by another process while the command was running.",
        EditedOutput "E-edited-output" "The output was edited since it was generated.",
        BudgetTooSmall "E-budget-too-small" "The content does not fit into the token budget.",
        ReservedName "E-reserved-name" "The name is reserved.",
        MissingParameter "E-missing-parameter" "A parameter of the skill has no value.",
        ManualSteps "E-manual-steps"
            "The source requires installation steps that `sp` does not run.",
        ReadOnlyServer "E-read-only-server" "The MCP server was started without `--allow-write`.",
        PathOutsideRoot "E-path-outside-root" "The path is outside of the served directory.",
        ResponseTooLarge "E-response-too-large" "The response would be too large.",
        RegistryRefused "E-registry-refused" "The registry rejected the request.",
    }
    Cancelled {
        Cancelled "E-cancelled" "The operation was cancelled.",
    }
    Usage {
        InvalidArguments "E-invalid-arguments"
            "The command line or the tool call has invalid or conflicting arguments.",
        MissingArgument "E-missing-argument" "A required argument is missing or empty.",
        DuplicateArgument "E-duplicate-argument" "The same pack or package is specified twice.",
        ArgumentTooLarge "E-argument-too-large" "A number is larger than the allowed maximum.",
        InvalidName "E-invalid-name"
            "The name of a file, key, server, skill, package or namespace is invalid.",
        InvalidVersion "E-invalid-version" "A version is not a SemVer version.",
        InvalidPackageSpec "E-invalid-package-spec"
            "A package or dependency is not in the form `[@namespace/]name[@range]`.",
        InvalidTime "E-invalid-time" "A time, date or duration is invalid.",
        InvalidUrl "E-invalid-url" "A URL is invalid.",
        InvalidId "E-invalid-id" "A context pack ID, plan ID or cursor is invalid.",
        InvalidPublicKey "E-invalid-public-key" "A public key is invalid.",
        InvalidSecret "E-invalid-secret"
            "A token, password or shared secret is empty, too short or not set.",
        HiddenCharacter "E-hidden-character" "An argument contains an invisible character.",
        UnknownAgent "E-unknown-agent" "No agent has this name.",
        UnknownRule "E-unknown-rule" "No rule has this ID.",
        UnknownFinding "E-unknown-finding"
            "`--accept` names a finding that the audit does not have.",
        UnknownSchema "E-unknown-schema" "No JSON Schema has this name.",
        UnknownParameter "E-unknown-parameter" "The skill has no parameter with this name.",
        AgentRequired "E-agent-required"
            "The command requires an agent, or `--path` for the agent `custom`.",
        NoRegistry "E-no-registry" "No registry is configured.",
        AmbiguousRegistry "E-ambiguous-registry"
            "Several registries are configured, and the command does not specify one.",
        AmbiguousPackage "E-ambiguous-package"
            "The store contains several packages, and the command does not specify one.",
        UnprotectedServer "E-unprotected-server"
            "The server would accept remote connections without a token.",
        InvalidFaultSpec "E-invalid-fault-spec" "The fault injection settings are invalid.",
    }
    Data {
        InvalidConfig "E-invalid-config" "The configuration file is invalid.",
        InvalidPolicy "E-invalid-policy"
            "A policy is invalid, cannot be read, or can be changed by other users.",
        InvalidState "E-invalid-state"
            "The state file or journal is invalid or was written by a newer `sp`.",
        InvalidRepository "E-invalid-repository" "The repository's layout is invalid.",
        InvalidPack "E-invalid-pack" "A pack is invalid.",
        InvalidSkill "E-invalid-skill" "A skill is invalid.",
        InvalidWorkspace "E-invalid-workspace" "A SkillBag workspace or source is invalid.",
        InvalidContextPack "E-invalid-context-pack" "A context pack is invalid.",
        InvalidPackage "E-invalid-package"
            "A package is invalid or exceeds what the format allows.",
        InvalidProject "E-invalid-project" "The project's package list or lockfile is invalid.",
        InvalidSettings "E-invalid-settings" "A settings file of an agent is invalid.",
        InvalidArchive "E-invalid-archive" "An archive is invalid.",
        InvalidGitTree "E-invalid-git-tree" "A git commit contains files that cannot be used.",
        InvalidKeyFile "E-invalid-key-file" "A private key file is invalid.",
        InvalidCredentials "E-invalid-credentials" "The file with the registry tokens is invalid.",
        InvalidResponse "E-invalid-response" "A server's response is invalid.",
        InvalidValue "E-invalid-value" "A value cannot be stored.",
        InvalidBaseline "E-invalid-baseline"
            "A baseline of `sp check` is invalid or was written by a newer `sp`.",
        RejectedRequest "E-rejected-request" "The registry rejected the content.",
        InvalidGitRef "E-invalid-git-ref" "The name of a tag, branch or commit is invalid.",
        NotUtf8 "E-not-utf8" "A file or file name is not UTF-8.",
        UnreadableFile "E-unreadable-file" "A file cannot be read.",
        NothingToCheck "E-nothing-to-check"
            "The directory contains nothing that `sp check` can check.",
        NameCollision "E-name-collision" "Two packs, skills or packages would use the same name.",
        DependencyCycle "E-dependency-cycle" "The dependencies form a cycle.",
        LimitExceeded "E-limit-exceeded" "The input exceeds a limit; see `--limit`.",
        UnsafePath "E-unsafe-path"
            "A path could leave its directory, or is unsafe on some systems.",
        UnsafeLink "E-unsafe-link" "A symbolic link is broken, cyclic or points outside.",
        SpecialFile "E-special-file" "A file is not a regular file.",
        NotFixable "E-not-fixable" "The file cannot be fixed automatically.",
        Internal "E-internal" "An internal error; please report it.",
    }
    Trust {
        NotOwned "E-not-owned"
            "A file or directory that was not installed by `sp` would be replaced.",
        EditedSkill "E-edited-skill" "A skill was edited after it was installed.",
        PackFromElsewhere "E-pack-from-elsewhere"
            "A pack with this name is installed from another location.",
        StateMismatch "E-state-mismatch"
            "The state file contains a path that `sp` cannot have written.",
        PathIsLink "E-path-is-link"
            "A path is a symbolic link where a file or directory is required.",
        DirectoryReplaced "E-directory-replaced"
            "A directory was replaced while the command was running.",
        PlanMismatch "E-plan-mismatch" "The plan differs from the one that was shown.",
        LockMismatch "E-lock-mismatch" "The content differs from the lockfile.",
        DigestMismatch "E-digest-mismatch" "The content does not match its digest.",
        ForgedPackage "E-forged-package" "The signature or a digest in a package is wrong.",
        Unsigned "E-unsigned" "The package is not signed.",
        UntrustedKey "E-untrusted-key" "The package is signed by a key that is not trusted.",
        KeyChanged "E-key-changed" "The package is signed by a different key than before.",
        SignerDowngrade "E-signer-downgrade"
            "The package is less trusted than its previous version.",
        InvalidRotation "E-invalid-rotation" "The statement of a key rotation is invalid.",
        RegistryMismatch "E-registry-mismatch"
            "The package comes from a different registry than allowed.",
        InvalidIndex "E-invalid-index"
            "The registry's index is inconsistent, or contradicts an earlier index.",
        VersionReplaced "E-version-replaced" "A version has different content than before.",
        MovedTag "E-moved-tag" "A tag of a source points to another commit than when it was locked.",
        RewrittenBranch "E-rewritten-branch"
            "The history of a branch of a source was rewritten since it was locked.",
        ExposedSecret "E-exposed-secret" "A secret is readable by other users.",
        SecretInPlainFile "E-secret-in-plain-file"
            "A secret would be written to a file that is not private.",
        ForeignLocalSource "E-foreign-local-source"
            "A downloaded skill names a local directory as a source.",
        Unauthorized "E-unauthorized" "The server did not accept the credentials.",
        BlockedContent "E-blocked-content"
            "The audit of the content has certain findings, which block the installation.",
        NewCapabilities "E-new-capabilities"
            "An update would add capabilities to a skill, and the user did not accept them.",
        PolicyDenied "E-policy-denied" "A policy does not allow the content.",
        ReceiverRefused "E-receiver-refused" "The receiver rejected the package.",
    }
    Environment {
        NoHome "E-no-home" "The home or current directory is unknown.",
        Io "E-io" "Reading or writing failed.",
        DiskFull "E-disk-full" "There is not enough space.",
        PermissionDenied "E-permission-denied" "The file system denied access.",
        Output "E-output" "Writing the output failed.",
        CleanupFailed "E-cleanup-failed" "Removing temporary files failed.",
        RollbackFailed "E-rollback-failed" "Undoing an interrupted change failed.",
        Offline "E-offline" "The network is required, and `--offline` is set.",
        Network "E-network" "A server cannot be reached or the connection failed.",
        Stalled "E-stalled" "A server stopped sending data.",
        Redirected "E-redirected" "A server redirected a request that must not be redirected.",
        Unavailable "E-unavailable" "A server failed to process the request.",
        SourceNotReproducible "E-source-not-reproducible"
            "The URL was stored without its query, and its content is not cached.",
        Git "E-git" "A git command failed.",
        GitNotFound "E-git-not-found" "The `git` program cannot be run.",
        SearchIndex "E-search-index" "The search index cannot be read or written.",
        Watch "E-watch" "Watching for changes failed.",
        Database "E-database" "The registry's database cannot be used.",
        ObjectStore "E-object-store" "The registry's object store cannot be used.",
        WrongObjectStore "E-wrong-object-store"
            "The object store belongs to a different registry than the database.",
        DataDirInUse "E-data-dir-in-use" "Another process uses the registry's data directory.",
        RegistryNotFound "E-registry-not-found" "The directory does not contain a registry.",
        TargetNotEmpty "E-target-not-empty" "The target of a backup or a restore is not empty.",
        DamagedData "E-damaged-data" "Stored bytes are missing or do not match their digest.",
        Listen "E-listen" "The server cannot listen on the address.",
        TaskFailed "E-task-failed" "A background task ended unexpectedly.",
        Randomness "E-randomness" "The system provides no random bytes.",
        DirectoryUnusable "E-directory-unusable"
            "The directory cannot be used as an agent's directory.",
        SourceNotFound "E-source-not-found" "A source, or a folder of it, does not exist.",
        SourceGone "E-source-gone"
            "A source that was locked does not exist anymore, or is not accessible.",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn codes_are_unique_and_spelled_like_their_variants() {
        let texts: BTreeSet<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(texts.len(), ErrorCode::ALL.len());
        for code in ErrorCode::ALL {
            let from_variant: String = format!("{code:?}")
                .chars()
                .map(|c| if c.is_uppercase() { format!("-{}", c.to_lowercase()) } else { c.into() })
                .collect();
            assert_eq!(code.as_str(), format!("E{from_variant}"));
            assert!(code.meaning().ends_with('.'), "{code:?}");
        }
    }
}
