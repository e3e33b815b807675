//! The rules of packages.

use crate::rules::rule_set;

rule_set! {
    ".ctxpkg"

    "PK-01" "One UTF-8 JSON object with `manifest` and `content`, within limits, no duplicate keys" => PK_01 {
        what: "A package is one UTF-8 JSON object with `manifest` and `content`, at most 10 MiB in \
               size and 128 levels deep, without a byte-order mark, trailing data or duplicate \
               keys.",
        why: "All programs must read a file the same way. Programs disagree on which duplicate key \
              counts, and on whether trailing data is ignored.",
        bad: include_str!("rule_examples/pk-01-bad.txt"),
        good: include_str!("rule_examples/pk-01-good.txt"),
    }

    "PK-02" "Readers are lenient, writers are strict; unknown members are kept unchanged" => PK_02 security {
        what: "A package states `schema_version` and `context_graph.format`, and its top level has \
               no members besides `manifest` and `content`. Unknown members elsewhere are kept \
               unchanged.",
        why: "A reader that has to guess a version can guess wrong. Other top-level members are \
              not covered by any hash or signature.",
        bad: include_str!("rule_examples/pk-02-bad.txt"),
        good: include_str!("rule_examples/pk-02-good.txt"),
    }

    "PK-03" "Manifest fields are valid; a package name is never a path" => PK_03 {
        what: "The manifest identifies the package. It has a schema version (1 or 2), a name of \
               `a-z`, `A-Z`, `0-9`, `.`, `_` and `-` that can start with `@scope/`, a SemVer \
               version, a description, the creation time, the tool that created the package, and a \
               list of its layers without duplicates.",
        why: "A name must not be usable as a path. Other tools reject packages with an incomplete \
              manifest.",
        bad: include_str!("rule_examples/pk-03-bad.txt"),
        good: include_str!("rule_examples/pk-03-good.txt"),
    }

    "PK-04" "Schema 2 fields are valid; an unknown kind is rejected by name" => PK_04 {
        what: "A package of schema 2 can declare its level (1, 2 or 3), scope, graph summary, \
               visibility and kind (context, skills, addon or grammar). Everything that it \
               declares is correct.",
        why: "A package of an unknown kind could be misread as context. A wrong summary misleads \
              people and tools that select packages by it.",
        bad: include_str!("rule_examples/pk-04-bad.txt"),
        good: include_str!("rule_examples/pk-04-good.txt"),
    }

    "PK-05" "Dependencies in either form, with SemVer ranges" => PK_05 {
        what: "Dependencies are a list of `{name, version_req, optional}` or an object that maps \
               names to ranges. Ranges use SemVer syntax, conflicts are package names, and no \
               package is listed twice.",
        why: "All dependencies must be resolved by name and range before anything is installed.",
        bad: include_str!("rule_examples/pk-05-bad.txt"),
        good: include_str!("rule_examples/pk-05-good.txt"),
    }

    "PK-06" "Layers and their contents are valid" => PK_06 {
        what: "The layers are `knowledge`, `gotchas`, `graph`, `session`, `patterns` and \
               `policies`. Each layer is an object that contains its entries in lists.",
        why: "The contents of an unknown layer cannot be interpreted.",
        bad: include_str!("rule_examples/pk-06-bad.txt"),
        good: include_str!("rule_examples/pk-06-good.txt"),
    }

    "PK-07" "Declared layers exist, and existing layers are declared" => PK_07 {
        what: "Every declared layer exists, every existing layer is declared, and entries have the \
               members that other tools require.",
        why: "The manifest alone must show what a package contains. Other tools reject a whole \
              package if one entry lacks a required member.",
        bad: include_str!("rule_examples/pk-07-bad.txt"),
        good: include_str!("rule_examples/pk-07-good.txt"),
    }

    "PK-08" "Hashes and size match the content as written" => PK_08 security {
        what: "`content_hash` is the SHA-256 of `content` as written in the file, without \
               whitespace outside strings. `byte_size` is the number of those bytes. `sha256` is \
               the SHA-256 of `name:version:content_hash`.",
        why: "The hashes show whether a package has changed since it was created. A package with a \
              wrong hash is always rejected.",
        bad: include_str!("rule_examples/pk-08-bad.txt"),
        good: include_str!("rule_examples/pk-08-good.txt"),
    }

    "PK-09" "Output is canonical"
    "PK-10" "Packages are verified on every load, in a fixed order; any failure rejects the file"

    "PK-11" "Ed25519 signature over name, version and composite hash" => PK_11 security {
        what: "A signature is a valid Ed25519 signature over name, version and composite hash, in \
               lowercase hex.",
        why: "A signature proves who created the package. An invalid signature means that the \
              package was changed, or that someone else signed it.",
        bad: include_str!("rule_examples/pk-11-bad.txt"),
        good: include_str!("rule_examples/pk-11-good.txt"),
    }

    "PK-12" "A second signature covers the whole manifest; verification is strict" => PK_12 security {
        what: "A second signature, `manifest_value`, covers the whole manifest.",
        why: "The first signature does not cover the description, author, dependencies, tags and \
              timestamps, so anyone can change them without invalidating it.",
        bad: include_str!("rule_examples/pk-12-bad.txt"),
        good: include_str!("rule_examples/pk-12-good.txt"),
    }

    "PK-13" "Keys, trust on first use, unsigned packages" => PK_13 security {
        what: "A package is signed.",
        why: "Hashes show that a package is intact, but not who created it. Anyone who can change \
              the content can also change the hashes.",
        bad: include_str!("rule_examples/pk-13-bad.txt"),
        good: include_str!("rule_examples/pk-13-good.txt"),
    }

    "PK-14" "Transport envelopes of both forms are supported"

    "PK-15" "Nodes and edges are valid" => PK_15 {
        what: "A node has an `id`, a `type` and `content`. IDs are unique. Activation and \
               confidence are between 0 and 1. An edge has a `from`, a `to` and a `type`, and \
               connects two existing nodes.",
        why: "Agents follow edges by ID. An edge to a missing node, or an ambiguous ID, silently \
              loses information.",
        bad: include_str!("rule_examples/pk-15-bad.txt"),
        good: include_str!("rule_examples/pk-15-good.txt"),
    }

    "PK-16" "Conformance levels are verified" => PK_16 {
        what: "A package meets the requirements of the level that it declares. Level 1 has nodes. \
               Level 2 also has edges. Level 3 also has an activation on every node, a weight on \
               every edge, and at least one node that decays.",
        why: "People and tools that select packages by level rely on these guarantees.",
        bad: include_str!("rule_examples/pk-16-bad.txt"),
        good: include_str!("rule_examples/pk-16-good.txt"),
    }

    "PK-17" "Decay is exact and deterministic"
    "PK-18" "The best nodes within a token budget are selected"
    "PK-19" "The result of a merge does not depend on order or grouping"
    "PK-20" "Packages of schema 1 are converted to a graph"
    "PK-21" "Packages can be created from a project"
    "PK-22" "Commands for the package life cycle"
    "PK-23" "Installs resolve dependencies, are atomic, write a lockfile, and can be rolled back"

    "PK-24" "Skill packages contain files" => PK_24 security {
        what: "A skill package contains at most 256 files of at most 1 MiB each and 8 MiB in \
               total, sorted by path. Each file has a safe path, the SHA-256 of its bytes, and its \
               content, compressed with Zstandard and encoded as base64.",
        why: "The files are written to an agent's skills directory. Paths that escape this \
              directory and compression bombs must be rejected first.",
        bad: include_str!("rule_examples/pk-24-bad.txt"),
        good: include_str!("rule_examples/pk-24-good.txt"),
    }

    "PK-25" "The public API of the registry"
}
