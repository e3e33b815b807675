//! The rules of packages.

use crate::rules::rule_set;

rule_set! {
    ".ctxpkg"

    "PK-01" "One UTF-8 JSON object with `manifest` and `content`, under limits, no key twice" => PK_01 {
        what: "A package is one UTF-8 JSON object with `manifest` and `content`, at most 10 MiB, nested at most 128 \
               levels, without a byte-order mark, without anything behind it, and without a key that stands twice in \
               one object.",
        why: "Two programs must not read two things in one file: a key that stands twice, or text behind the end, \
               means one thing to one of them and another to the next.",
        bad: include_str!("rule_examples/pk-01-bad.txt"),
        good: include_str!("rule_examples/pk-01-good.txt"),
    }

    "PK-02" "Read liberally, write strictly: unknown members survive to the letter" => PK_02 security {
        what: "Members that nobody knows are kept. `schema_version` and `context_graph.format` are stated. Nothing \
               stands beside `manifest` and `content`.",
        why: "A reader that has to guess may guess wrong. What stands beside the two is covered by no hash and by no \
               signature.",
        bad: include_str!("rule_examples/pk-02-bad.txt"),
        good: include_str!("rule_examples/pk-02-good.txt"),
    }

    "PK-03" "The manifest's fields; a name is never a path" => PK_03 {
        what: "The manifest says who the package is: schema 1 or 2, a name of a-z, A-Z, 0-9, `.`, `_` and `-` that may \
               start with `@scope/`, a SemVer version, a description, when it was made and by what, and its layers, \
               each once.",
        why: "A name is a name and never a path. Other tools refuse a package whose manifest is not whole.",
        bad: include_str!("rule_examples/pk-03-bad.txt"),
        good: include_str!("rule_examples/pk-03-good.txt"),
    }

    "PK-04" "What schema 2 adds; an unknown kind is refused by name" => PK_04 {
        what: "A package of schema 2 may state its level (1, 2 or 3), its scope, a summary of its graph, its \
               visibility and its kind: context, skills, addon or grammar. What it states is so.",
        why: "A kind that is not known would be misread as knowledge. A summary that is wrong misleads whoever chooses \
               by it.",
        bad: include_str!("rule_examples/pk-04-bad.txt"),
        good: include_str!("rule_examples/pk-04-good.txt"),
    }

    "PK-05" "Dependencies in both shapes, with SemVer ranges" => PK_05 {
        what: "Dependencies are a list of `{name, version_req, optional}` or an object from names to ranges; ranges \
               are SemVer; conflicts are names; nothing is named twice.",
        why: "What is needed must be found by name and range before anything is installed.",
        bad: include_str!("rule_examples/pk-05-bad.txt"),
        good: include_str!("rule_examples/pk-05-good.txt"),
    }

    "PK-06" "The layers and what is in them" => PK_06 {
        what: "The layers are `knowledge`, `gotchas`, `graph`, `session`, `patterns` and `policies`; each is an \
               object, and its entries stand in lists.",
        why: "Nothing can be made of a layer that is not known.",
        bad: include_str!("rule_examples/pk-06-bad.txt"),
        good: include_str!("rule_examples/pk-06-good.txt"),
    }

    "PK-07" "Declared layers are there, and layers that are there are declared" => PK_07 {
        what: "Every layer that is declared is there, every layer that is there is declared, and entries have the \
               members that other tools demand.",
        why: "Whoever looks only at the manifest must know what is inside. Other tools refuse a whole package for one \
               entry that lacks a member.",
        bad: include_str!("rule_examples/pk-07-bad.txt"),
        good: include_str!("rule_examples/pk-07-good.txt"),
    }

    "PK-08" "Hashes and size of the content as it stands" => PK_08 security {
        what: "`content_hash` is the SHA-256 of the content as it stands there, white space outside strings left out; \
               `byte_size` is the number of those bytes; `sha256` is that of `name:version:content_hash`.",
        why: "The hashes tell whether a package is the one that was made. One that does not hold is refused, always.",
        bad: include_str!("rule_examples/pk-08-bad.txt"),
        good: include_str!("rule_examples/pk-08-good.txt"),
    }

    "PK-09" "What we write is canonical"
    "PK-10" "Verified on every load, in order; a failure refuses the file"

    "PK-11" "Ed25519 over name, version and composite hash" => PK_11 security {
        what: "A signature is Ed25519 in lower-case hex over name, version and composite hash, and it holds.",
        why: "It says who made the package. One that does not hold says that somebody changed it, or that it is \
               somebody else's.",
        bad: include_str!("rule_examples/pk-11-bad.txt"),
        good: include_str!("rule_examples/pk-11-good.txt"),
    }

    "PK-12" "A second signature over the whole manifest; strict verification" => PK_12 security {
        what: "A second signature, `manifest_value`, covers the whole manifest.",
        why: "The first leaves description, author, dependencies, tags and times open: anybody can change them and the \
               signature still holds.",
        bad: include_str!("rule_examples/pk-12-bad.txt"),
        good: include_str!("rule_examples/pk-12-good.txt"),
    }

    "PK-13" "Keys, trust on first use, unsigned packages" => PK_13 security {
        what: "A package is signed.",
        why: "Hashes tell that a package is whole, and not who made it. Whoever can change the content can change the \
               hashes too.",
        bad: include_str!("rule_examples/pk-13-bad.txt"),
        good: include_str!("rule_examples/pk-13-good.txt"),
    }

    "PK-14" "The transport envelope, in both forms"

    "PK-15" "Nodes and edges" => PK_15 {
        what: "A node has `id`, `type` and `content`; ids are unique; activation and confidence lie between 0 and 1. \
               An edge has `from`, `to` and `type`, and leads from a node to a node.",
        why: "An agent follows edges by ids. What leads nowhere, or has two meanings, is lost without a word.",
        bad: include_str!("rule_examples/pk-15-bad.txt"),
        good: include_str!("rule_examples/pk-15-good.txt"),
    }

    "PK-16" "Levels are checked" => PK_16 {
        what: "A package reaches the level that it claims: 1 has nodes, 2 has edges too, 3 has an activation on every \
               node, a weight on every edge, and a node that fades.",
        why: "Whoever chooses a package by its level relies on what the level promises.",
        bad: include_str!("rule_examples/pk-16-bad.txt"),
        good: include_str!("rule_examples/pk-16-good.txt"),
    }

    "PK-17" "Decay is exact and pure"
    "PK-18" "The best nodes within a budget of tokens"
    "PK-19" "Merging, in any order and grouping"
    "PK-20" "Schema 1 becomes a graph"
    "PK-21" "A package from a project"
    "PK-22" "The life cycle's commands"
    "PK-23" "Install: dependencies, all or nothing, a lock, an undo"

    "PK-24" "Packages of skills carry documents" => PK_24 security {
        what: "A package of skills carries at most 256 files of at most 1 MiB, 8 MiB in all, each with a safe path, \
               the SHA-256 of its bytes, and its bytes packed with Zstandard and base64, sorted by path.",
        why: "They are written into an agent's folders. A path that leads out of there, or a body that unpacks without \
               end, must not get that far.",
        bad: include_str!("rule_examples/pk-24-bad.txt"),
        good: include_str!("rule_examples/pk-24-good.txt"),
    }

    "PK-25" "The registry's public surface"
}
