//! Packages: `.ctxpkg`.

use super::Check;

/// One JSON object.
pub const PK_01: Check = Check {
    id: "PK-01",
    what: "A package is one UTF-8 JSON object with `manifest` and `content`, at most 10 MiB, nested at most 128 levels, without a byte-order mark, without anything behind it, and without a key that stands twice in one object.",
    why: "Two programs must not read two things in one file: a key that stands twice, or text behind the end, means one thing to one of them and another to the next.",
    bad: "==> notes.ctxpkg\n{\"manifest\": {\"schema_version\": 2, \"name\": \"notes\", \"name\": \"other\", \"version\": \"1.0.0\", \"description\": \"Notes.\", \"created_at\": \"2026-05-22T00:00:00Z\", \"layers\": [], \"provenance\": {\"tool\": \"hand\", \"tool_version\": \"1\"}, \"integrity\": {\"sha256\": \"10231f673db5b1bf69b178e710b0ce2f45cf072bb6ed89d166059e12850615e2\", \"content_hash\": \"6e14f8bf295402b83f1e11e2b64e800ed1c105173c8af51addf23e68256cb356\", \"byte_size\": 124}},\n\"content\": {\"context_graph\":{\"format\":\"ctxpkg-graph-v2\",\"nodes\":[{\"id\":\"F1\",\"type\":\"fact\",\"content\":\"Uses PostgreSQL 16\"}],\"edges\":[]}}}\n",
    good: "==> notes.ctxpkg\n{\"manifest\": {\"schema_version\": 2, \"name\": \"notes\", \"version\": \"1.0.0\", \"description\": \"Notes.\", \"created_at\": \"2026-05-22T00:00:00Z\", \"layers\": [], \"provenance\": {\"tool\": \"hand\", \"tool_version\": \"1\"}, \"integrity\": {\"sha256\": \"10231f673db5b1bf69b178e710b0ce2f45cf072bb6ed89d166059e12850615e2\", \"content_hash\": \"6e14f8bf295402b83f1e11e2b64e800ed1c105173c8af51addf23e68256cb356\", \"byte_size\": 124}},\n\"content\": {\"context_graph\":{\"format\":\"ctxpkg-graph-v2\",\"nodes\":[{\"id\":\"F1\",\"type\":\"fact\",\"content\":\"Uses PostgreSQL 16\"}],\"edges\":[]}}}\n",
};

/// What is stated.
pub const PK_02: Check = Check {
    id: "PK-02",
    what: "Members that nobody knows are kept. `schema_version` and `context_graph.format` are stated. Nothing stands beside `manifest` and `content`.",
    why: "A reader that has to guess may guess wrong. What stands beside the two is covered by no hash and by no signature.",
    bad: "==> notes.ctxpkg\n{\"manifest\": {\"name\": \"notes\", \"version\": \"1.0.0\", \"description\": \"Notes.\", \"created_at\": \"2026-05-22T00:00:00Z\", \"layers\": [], \"conformance_level\": 1, \"provenance\": {\"tool\": \"hand\", \"tool_version\": \"1\"}, \"integrity\": {\"sha256\": \"10231f673db5b1bf69b178e710b0ce2f45cf072bb6ed89d166059e12850615e2\", \"content_hash\": \"6e14f8bf295402b83f1e11e2b64e800ed1c105173c8af51addf23e68256cb356\", \"byte_size\": 124}},\n\"content\": {\"context_graph\":{\"format\":\"ctxpkg-graph-v2\",\"nodes\":[{\"id\":\"F1\",\"type\":\"fact\",\"content\":\"Uses PostgreSQL 16\"}],\"edges\":[]}}}\n",
    good: "==> notes.ctxpkg\n{\"manifest\": {\"schema_version\": 2, \"name\": \"notes\", \"version\": \"1.0.0\", \"description\": \"Notes.\", \"created_at\": \"2026-05-22T00:00:00Z\", \"layers\": [], \"conformance_level\": 1, \"provenance\": {\"tool\": \"hand\", \"tool_version\": \"1\"}, \"integrity\": {\"sha256\": \"10231f673db5b1bf69b178e710b0ce2f45cf072bb6ed89d166059e12850615e2\", \"content_hash\": \"6e14f8bf295402b83f1e11e2b64e800ed1c105173c8af51addf23e68256cb356\", \"byte_size\": 124}},\n\"content\": {\"context_graph\":{\"format\":\"ctxpkg-graph-v2\",\"nodes\":[{\"id\":\"F1\",\"type\":\"fact\",\"content\":\"Uses PostgreSQL 16\"}],\"edges\":[]}}}\n",
};

/// The manifest.
pub const PK_03: Check = Check {
    id: "PK-03",
    what: "The manifest says who the package is: schema 1 or 2, a name of a-z, A-Z, 0-9, `.`, `_` and `-` that may start with `@scope/`, a SemVer version, a description, when it was made and by what, and its layers, each once.",
    why: "A name is a name and never a path. Other tools refuse a package whose manifest is not whole.",
    bad: "==> notes.ctxpkg\n{\"manifest\": {\"schema_version\": 2, \"name\": \"notes\", \"version\": \"1.0\", \"description\": \"Notes.\", \"created_at\": \"2026-05-22T00:00:00Z\", \"layers\": [], \"provenance\": {\"tool\": \"hand\", \"tool_version\": \"1\"}, \"integrity\": {\"sha256\": \"df6f3d1594efd8aefd6a390ececc8bcf7d234a3339a3a9a39c1f6226d7ac6c8f\", \"content_hash\": \"6e14f8bf295402b83f1e11e2b64e800ed1c105173c8af51addf23e68256cb356\", \"byte_size\": 124}},\n\"content\": {\"context_graph\":{\"format\":\"ctxpkg-graph-v2\",\"nodes\":[{\"id\":\"F1\",\"type\":\"fact\",\"content\":\"Uses PostgreSQL 16\"}],\"edges\":[]}}}\n",
    good: "==> notes.ctxpkg\n{\"manifest\": {\"schema_version\": 2, \"name\": \"notes\", \"version\": \"1.0.0\", \"description\": \"Notes.\", \"created_at\": \"2026-05-22T00:00:00Z\", \"layers\": [], \"provenance\": {\"tool\": \"hand\", \"tool_version\": \"1\"}, \"integrity\": {\"sha256\": \"10231f673db5b1bf69b178e710b0ce2f45cf072bb6ed89d166059e12850615e2\", \"content_hash\": \"6e14f8bf295402b83f1e11e2b64e800ed1c105173c8af51addf23e68256cb356\", \"byte_size\": 124}},\n\"content\": {\"context_graph\":{\"format\":\"ctxpkg-graph-v2\",\"nodes\":[{\"id\":\"F1\",\"type\":\"fact\",\"content\":\"Uses PostgreSQL 16\"}],\"edges\":[]}}}\n",
};

/// What schema 2 adds.
pub const PK_04: Check = Check {
    id: "PK-04",
    what: "A package of schema 2 may state its level (1, 2 or 3), its scope, a summary of its graph, its visibility and its kind: context, skills, addon or grammar. What it states is so.",
    why: "A kind that is not known would be misread as knowledge. A summary that is wrong misleads whoever chooses by it.",
    bad: "==> notes.ctxpkg\n{\"manifest\": {\"schema_version\": 2, \"name\": \"notes\", \"version\": \"1.0.0\", \"description\": \"Notes.\", \"created_at\": \"2026-05-22T00:00:00Z\", \"layers\": [], \"kind\": \"recipe\", \"provenance\": {\"tool\": \"hand\", \"tool_version\": \"1\"}, \"integrity\": {\"sha256\": \"10231f673db5b1bf69b178e710b0ce2f45cf072bb6ed89d166059e12850615e2\", \"content_hash\": \"6e14f8bf295402b83f1e11e2b64e800ed1c105173c8af51addf23e68256cb356\", \"byte_size\": 124}},\n\"content\": {\"context_graph\":{\"format\":\"ctxpkg-graph-v2\",\"nodes\":[{\"id\":\"F1\",\"type\":\"fact\",\"content\":\"Uses PostgreSQL 16\"}],\"edges\":[]}}}\n",
    good: "==> notes.ctxpkg\n{\"manifest\": {\"schema_version\": 2, \"name\": \"notes\", \"version\": \"1.0.0\", \"description\": \"Notes.\", \"created_at\": \"2026-05-22T00:00:00Z\", \"layers\": [], \"provenance\": {\"tool\": \"hand\", \"tool_version\": \"1\"}, \"integrity\": {\"sha256\": \"10231f673db5b1bf69b178e710b0ce2f45cf072bb6ed89d166059e12850615e2\", \"content_hash\": \"6e14f8bf295402b83f1e11e2b64e800ed1c105173c8af51addf23e68256cb356\", \"byte_size\": 124}},\n\"content\": {\"context_graph\":{\"format\":\"ctxpkg-graph-v2\",\"nodes\":[{\"id\":\"F1\",\"type\":\"fact\",\"content\":\"Uses PostgreSQL 16\"}],\"edges\":[]}}}\n",
};

/// Dependencies.
pub const PK_05: Check = Check {
    id: "PK-05",
    what: "Dependencies are a list of `{name, version_req, optional}` or an object from names to ranges; ranges are SemVer; conflicts are names; nothing is named twice.",
    why: "What is needed must be found by name and range before anything is installed.",
    bad: "==> notes.ctxpkg\n{\"manifest\": {\"schema_version\": 2, \"name\": \"notes\", \"version\": \"1.0.0\", \"description\": \"Notes.\", \"created_at\": \"2026-05-22T00:00:00Z\", \"layers\": [], \"dependencies\": [{\"name\": \"../shared\", \"version_req\": \"^1\"}], \"provenance\": {\"tool\": \"hand\", \"tool_version\": \"1\"}, \"integrity\": {\"sha256\": \"10231f673db5b1bf69b178e710b0ce2f45cf072bb6ed89d166059e12850615e2\", \"content_hash\": \"6e14f8bf295402b83f1e11e2b64e800ed1c105173c8af51addf23e68256cb356\", \"byte_size\": 124}},\n\"content\": {\"context_graph\":{\"format\":\"ctxpkg-graph-v2\",\"nodes\":[{\"id\":\"F1\",\"type\":\"fact\",\"content\":\"Uses PostgreSQL 16\"}],\"edges\":[]}}}\n",
    good: "==> notes.ctxpkg\n{\"manifest\": {\"schema_version\": 2, \"name\": \"notes\", \"version\": \"1.0.0\", \"description\": \"Notes.\", \"created_at\": \"2026-05-22T00:00:00Z\", \"layers\": [], \"dependencies\": [{\"name\": \"shared\", \"version_req\": \"^1\"}], \"provenance\": {\"tool\": \"hand\", \"tool_version\": \"1\"}, \"integrity\": {\"sha256\": \"10231f673db5b1bf69b178e710b0ce2f45cf072bb6ed89d166059e12850615e2\", \"content_hash\": \"6e14f8bf295402b83f1e11e2b64e800ed1c105173c8af51addf23e68256cb356\", \"byte_size\": 124}},\n\"content\": {\"context_graph\":{\"format\":\"ctxpkg-graph-v2\",\"nodes\":[{\"id\":\"F1\",\"type\":\"fact\",\"content\":\"Uses PostgreSQL 16\"}],\"edges\":[]}}}\n",
};

/// Layers.
pub const PK_06: Check = Check {
    id: "PK-06",
    what: "The layers are `knowledge`, `gotchas`, `graph`, `session`, `patterns` and `policies`; each is an object, and its entries stand in lists.",
    why: "Nothing can be made of a layer that is not known.",
    bad: "==> notes.ctxpkg\n{\"manifest\": {\"schema_version\": 1, \"name\": \"notes\", \"version\": \"1.0.0\", \"description\": \"Notes.\", \"created_at\": \"2026-05-22T00:00:00Z\", \"layers\": [\"knowledge\"], \"provenance\": {\"tool\": \"hand\", \"tool_version\": \"1\"}, \"integrity\": {\"sha256\": \"fb3df748329205c80e313b8d42a1bf225a656a0d9b268cb7afe8a9a66365b9df\", \"content_hash\": \"38946741cc646b2dc823aa30c38603fde00ae900ad0d5a82c48e7988959c6222\", \"byte_size\": 16}},\n\"content\": {\"knowledge\":[]}}\n",
    good: "==> notes.ctxpkg\n{\"manifest\": {\"schema_version\": 1, \"name\": \"notes\", \"version\": \"1.0.0\", \"description\": \"Notes.\", \"created_at\": \"2026-05-22T00:00:00Z\", \"layers\": [\"knowledge\"], \"provenance\": {\"tool\": \"hand\", \"tool_version\": \"1\"}, \"integrity\": {\"sha256\": \"90c6e33d7f6ab3f52f639c414c10e9824905a2b8b01da9ee73f42df84f698b27\", \"content_hash\": \"f56ea538cf5c6adabb847c1dd9066e21323bb5cd2f7ff5318e35cb4d282fa8c1\", \"byte_size\": 91}},\n\"content\": {\"knowledge\":{\"exported_at\":\"2026-05-22T00:00:00Z\",\"facts\":[],\"insights\":[],\"patterns\":[]}}}\n",
};

/// Layers as declared.
pub const PK_07: Check = Check {
    id: "PK-07",
    what: "Every layer that is declared is there, every layer that is there is declared, and entries have the members that other tools demand.",
    why: "Whoever looks only at the manifest must know what is inside. Other tools refuse a whole package for one entry that lacks a member.",
    bad: "==> notes.ctxpkg\n{\"manifest\": {\"schema_version\": 1, \"name\": \"notes\", \"version\": \"1.0.0\", \"description\": \"Notes.\", \"created_at\": \"2026-05-22T00:00:00Z\", \"layers\": [\"knowledge\"], \"provenance\": {\"tool\": \"hand\", \"tool_version\": \"1\"}, \"integrity\": {\"sha256\": \"e441a9130d859350b2a55ec452ec6f6392167d8c83807717c8cd506dc6a34441\", \"content_hash\": \"bc197d68d3a6523259a820517bbceb973ba0296f4d9d587035e9a0f1e91960d7\", \"byte_size\": 63}},\n\"content\": {\"gotchas\":{\"exported_at\":\"2026-05-22T00:00:00Z\",\"gotchas\":[]}}}\n",
    good: "==> notes.ctxpkg\n{\"manifest\": {\"schema_version\": 1, \"name\": \"notes\", \"version\": \"1.0.0\", \"description\": \"Notes.\", \"created_at\": \"2026-05-22T00:00:00Z\", \"layers\": [\"knowledge\"], \"provenance\": {\"tool\": \"hand\", \"tool_version\": \"1\"}, \"integrity\": {\"sha256\": \"90c6e33d7f6ab3f52f639c414c10e9824905a2b8b01da9ee73f42df84f698b27\", \"content_hash\": \"f56ea538cf5c6adabb847c1dd9066e21323bb5cd2f7ff5318e35cb4d282fa8c1\", \"byte_size\": 91}},\n\"content\": {\"knowledge\":{\"exported_at\":\"2026-05-22T00:00:00Z\",\"facts\":[],\"insights\":[],\"patterns\":[]}}}\n",
};

/// Hashes.
pub const PK_08: Check = Check {
    id: "PK-08",
    what: "`content_hash` is the SHA-256 of the content as it stands there, white space outside strings left out; `byte_size` is the number of those bytes; `sha256` is that of `name:version:content_hash`.",
    why: "The hashes tell whether a package is the one that was made. One that does not hold is refused, always.",
    bad: "==> notes.ctxpkg\n{\"manifest\": {\"schema_version\": 2, \"name\": \"notes\", \"version\": \"1.0.0\", \"description\": \"Notes.\", \"created_at\": \"2026-05-22T00:00:00Z\", \"layers\": [], \"provenance\": {\"tool\": \"hand\", \"tool_version\": \"1\"}, \"integrity\": {\"sha256\": \"10231f673db5b1bf69b178e710b0ce2f45cf072bb6ed89d166059e12850615e2\", \"content_hash\": \"6e14f8bf295402b83f1e11e2b64e800ed1c105173c8af51addf23e68256cb356\", \"byte_size\": 124}},\n\"content\": {\"context_graph\":{\"format\":\"ctxpkg-graph-v2\",\"nodes\":[{\"id\":\"F1\",\"type\":\"fact\",\"content\":\"Uses PostgreSQL 61\"}],\"edges\":[]}}}\n",
    good: "==> notes.ctxpkg\n{\"manifest\": {\"schema_version\": 2, \"name\": \"notes\", \"version\": \"1.0.0\", \"description\": \"Notes.\", \"created_at\": \"2026-05-22T00:00:00Z\", \"layers\": [], \"provenance\": {\"tool\": \"hand\", \"tool_version\": \"1\"}, \"integrity\": {\"sha256\": \"10231f673db5b1bf69b178e710b0ce2f45cf072bb6ed89d166059e12850615e2\", \"content_hash\": \"6e14f8bf295402b83f1e11e2b64e800ed1c105173c8af51addf23e68256cb356\", \"byte_size\": 124}},\n\"content\": {\"context_graph\":{\"format\":\"ctxpkg-graph-v2\",\"nodes\":[{\"id\":\"F1\",\"type\":\"fact\",\"content\":\"Uses PostgreSQL 16\"}],\"edges\":[]}}}\n",
};

/// The signature.
pub const PK_11: Check = Check {
    id: "PK-11",
    what: "A signature is Ed25519 in lower-case hex over name, version and composite hash, and it holds.",
    why: "It says who made the package. One that does not hold says that somebody changed it, or that it is somebody else's.",
    bad: "==> vec.ctxpkg\n{\"manifest\":{\"schema_version\": 2, \"conformance_level\": 1, \"name\": \"vec\", \"version\": \"1.0.0\", \"description\": \"d\", \"created_at\": \"2026-05-22T00:00:00Z\", \"layers\": [], \"integrity\": {\"sha256\": \"dcbf28dfd29b380b7eed107a1888c1ec458d4cc4dc8a2d13ce57e81f068d065c\", \"content_hash\": \"6e14f8bf295402b83f1e11e2b64e800ed1c105173c8af51addf23e68256cb356\", \"byte_size\": 124}, \"provenance\": {\"tool\": \"t\", \"tool_version\": \"1\"}, \"signature\": {\"algorithm\": \"ed25519\", \"public_key\": \"ea4a6c63e29c520abef5507b132ec5f9954776aebebe7b92421eea691446d22c\", \"value\": \"516f3dc64244529e2858b9c3f89a2fea754081522570f24a7c8069eeb76b7cb7a7cc4e448ff51b34ecc904aeb4cbdf3c753025c2aa62771321583777f79c9f01\", \"manifest_value\": \"6f29cfa83d878eedf9d209db5a5b780c737509dcc2d1b2f38b558ff5229d61164aabaed6afe43253c9a3a8905c10861267b5ce85f570517936abe16036fca50d\"}},\"content\":{\"context_graph\":{\"format\":\"ctxpkg-graph-v2\",\"nodes\":[{\"id\":\"F1\",\"type\":\"fact\",\"content\":\"Uses PostgreSQL 16\"}],\"edges\":[]}}}\n",
    good: "==> vec.ctxpkg\n{\"manifest\":{\"schema_version\": 2, \"conformance_level\": 1, \"name\": \"vec\", \"version\": \"1.0.0\", \"description\": \"d\", \"created_at\": \"2026-05-22T00:00:00Z\", \"layers\": [], \"integrity\": {\"sha256\": \"dcbf28dfd29b380b7eed107a1888c1ec458d4cc4dc8a2d13ce57e81f068d065c\", \"content_hash\": \"6e14f8bf295402b83f1e11e2b64e800ed1c105173c8af51addf23e68256cb356\", \"byte_size\": 124}, \"provenance\": {\"tool\": \"t\", \"tool_version\": \"1\"}, \"signature\": {\"algorithm\": \"ed25519\", \"public_key\": \"ea4a6c63e29c520abef5507b132ec5f9954776aebebe7b92421eea691446d22c\", \"value\": \"416f3dc64244529e2858b9c3f89a2fea754081522570f24a7c8069eeb76b7cb7a7cc4e448ff51b34ecc904aeb4cbdf3c753025c2aa62771321583777f79c9f01\", \"manifest_value\": \"6f29cfa83d878eedf9d209db5a5b780c737509dcc2d1b2f38b558ff5229d61164aabaed6afe43253c9a3a8905c10861267b5ce85f570517936abe16036fca50d\"}},\"content\":{\"context_graph\":{\"format\":\"ctxpkg-graph-v2\",\"nodes\":[{\"id\":\"F1\",\"type\":\"fact\",\"content\":\"Uses PostgreSQL 16\"}],\"edges\":[]}}}\n",
};

/// The second signature.
pub const PK_12: Check = Check {
    id: "PK-12",
    what: "A second signature, `manifest_value`, covers the whole manifest.",
    why: "The first leaves description, author, dependencies, tags and times open: anybody can change them and the signature still holds.",
    bad: "==> vec.ctxpkg\n{\"manifest\":{\"schema_version\": 2, \"conformance_level\": 1, \"name\": \"vec\", \"version\": \"1.0.0\", \"description\": \"d\", \"created_at\": \"2026-05-22T00:00:00Z\", \"layers\": [], \"integrity\": {\"sha256\": \"dcbf28dfd29b380b7eed107a1888c1ec458d4cc4dc8a2d13ce57e81f068d065c\", \"content_hash\": \"6e14f8bf295402b83f1e11e2b64e800ed1c105173c8af51addf23e68256cb356\", \"byte_size\": 124}, \"provenance\": {\"tool\": \"t\", \"tool_version\": \"1\"}, \"signature\": {\"algorithm\": \"ed25519\", \"public_key\": \"ea4a6c63e29c520abef5507b132ec5f9954776aebebe7b92421eea691446d22c\", \"value\": \"416f3dc64244529e2858b9c3f89a2fea754081522570f24a7c8069eeb76b7cb7a7cc4e448ff51b34ecc904aeb4cbdf3c753025c2aa62771321583777f79c9f01\"}},\"content\":{\"context_graph\":{\"format\":\"ctxpkg-graph-v2\",\"nodes\":[{\"id\":\"F1\",\"type\":\"fact\",\"content\":\"Uses PostgreSQL 16\"}],\"edges\":[]}}}\n",
    good: "==> vec.ctxpkg\n{\"manifest\":{\"schema_version\": 2, \"conformance_level\": 1, \"name\": \"vec\", \"version\": \"1.0.0\", \"description\": \"d\", \"created_at\": \"2026-05-22T00:00:00Z\", \"layers\": [], \"integrity\": {\"sha256\": \"dcbf28dfd29b380b7eed107a1888c1ec458d4cc4dc8a2d13ce57e81f068d065c\", \"content_hash\": \"6e14f8bf295402b83f1e11e2b64e800ed1c105173c8af51addf23e68256cb356\", \"byte_size\": 124}, \"provenance\": {\"tool\": \"t\", \"tool_version\": \"1\"}, \"signature\": {\"algorithm\": \"ed25519\", \"public_key\": \"ea4a6c63e29c520abef5507b132ec5f9954776aebebe7b92421eea691446d22c\", \"value\": \"416f3dc64244529e2858b9c3f89a2fea754081522570f24a7c8069eeb76b7cb7a7cc4e448ff51b34ecc904aeb4cbdf3c753025c2aa62771321583777f79c9f01\", \"manifest_value\": \"6f29cfa83d878eedf9d209db5a5b780c737509dcc2d1b2f38b558ff5229d61164aabaed6afe43253c9a3a8905c10861267b5ce85f570517936abe16036fca50d\"}},\"content\":{\"context_graph\":{\"format\":\"ctxpkg-graph-v2\",\"nodes\":[{\"id\":\"F1\",\"type\":\"fact\",\"content\":\"Uses PostgreSQL 16\"}],\"edges\":[]}}}\n",
};

/// Unsigned.
pub const PK_13: Check = Check {
    id: "PK-13",
    what: "A package is signed.",
    why: "Hashes tell that a package is whole, and not who made it. Whoever can change the content can change the hashes too.",
    bad: "==> notes.ctxpkg\n{\"manifest\": {\"schema_version\": 2, \"name\": \"notes\", \"version\": \"1.0.0\", \"description\": \"Notes.\", \"created_at\": \"2026-05-22T00:00:00Z\", \"layers\": [], \"provenance\": {\"tool\": \"hand\", \"tool_version\": \"1\"}, \"integrity\": {\"sha256\": \"10231f673db5b1bf69b178e710b0ce2f45cf072bb6ed89d166059e12850615e2\", \"content_hash\": \"6e14f8bf295402b83f1e11e2b64e800ed1c105173c8af51addf23e68256cb356\", \"byte_size\": 124}},\n\"content\": {\"context_graph\":{\"format\":\"ctxpkg-graph-v2\",\"nodes\":[{\"id\":\"F1\",\"type\":\"fact\",\"content\":\"Uses PostgreSQL 16\"}],\"edges\":[]}}}\n",
    good: "==> vec.ctxpkg\n{\"manifest\":{\"schema_version\": 2, \"conformance_level\": 1, \"name\": \"vec\", \"version\": \"1.0.0\", \"description\": \"d\", \"created_at\": \"2026-05-22T00:00:00Z\", \"layers\": [], \"integrity\": {\"sha256\": \"dcbf28dfd29b380b7eed107a1888c1ec458d4cc4dc8a2d13ce57e81f068d065c\", \"content_hash\": \"6e14f8bf295402b83f1e11e2b64e800ed1c105173c8af51addf23e68256cb356\", \"byte_size\": 124}, \"provenance\": {\"tool\": \"t\", \"tool_version\": \"1\"}, \"signature\": {\"algorithm\": \"ed25519\", \"public_key\": \"ea4a6c63e29c520abef5507b132ec5f9954776aebebe7b92421eea691446d22c\", \"value\": \"416f3dc64244529e2858b9c3f89a2fea754081522570f24a7c8069eeb76b7cb7a7cc4e448ff51b34ecc904aeb4cbdf3c753025c2aa62771321583777f79c9f01\", \"manifest_value\": \"6f29cfa83d878eedf9d209db5a5b780c737509dcc2d1b2f38b558ff5229d61164aabaed6afe43253c9a3a8905c10861267b5ce85f570517936abe16036fca50d\"}},\"content\":{\"context_graph\":{\"format\":\"ctxpkg-graph-v2\",\"nodes\":[{\"id\":\"F1\",\"type\":\"fact\",\"content\":\"Uses PostgreSQL 16\"}],\"edges\":[]}}}\n",
};

/// Nodes and edges.
pub const PK_15: Check = Check {
    id: "PK-15",
    what: "A node has `id`, `type` and `content`; ids are unique; activation and confidence lie between 0 and 1. An edge has `from`, `to` and `type`, and leads from a node to a node.",
    why: "An agent follows edges by ids. What leads nowhere, or has two meanings, is lost without a word.",
    bad: "==> notes.ctxpkg\n{\"manifest\": {\"schema_version\": 2, \"name\": \"notes\", \"version\": \"1.0.0\", \"description\": \"Notes.\", \"created_at\": \"2026-05-22T00:00:00Z\", \"layers\": [], \"provenance\": {\"tool\": \"hand\", \"tool_version\": \"1\"}, \"integrity\": {\"sha256\": \"f75fe17ed0f556b9da5a7b2b6e52ccda37be2d6707da7c35efb6566fde3399e6\", \"content_hash\": \"342a1d604a2246496ec4ac93d5c17f9549215e5d3c43d30c363f21b9d38c1c74\", \"byte_size\": 165}},\n\"content\": {\"context_graph\":{\"format\":\"ctxpkg-graph-v2\",\"nodes\":[{\"id\":\"F1\",\"type\":\"fact\",\"content\":\"Uses PostgreSQL 16\"}],\"edges\":[{\"from\":\"F1\",\"to\":\"F2\",\"type\":\"supports\"}]}}}\n",
    good: "==> notes.ctxpkg\n{\"manifest\": {\"schema_version\": 2, \"name\": \"notes\", \"version\": \"1.0.0\", \"description\": \"Notes.\", \"created_at\": \"2026-05-22T00:00:00Z\", \"layers\": [], \"provenance\": {\"tool\": \"hand\", \"tool_version\": \"1\"}, \"integrity\": {\"sha256\": \"4add0769b830fa9b258d0246b3236b4f70d2bbc01eb4fe409773f3eca989bfc8\", \"content_hash\": \"e7161c2ea5b78e98cffd60136ecdc9c00ac5a382cc073604d5d66fc9d5410b93\", \"byte_size\": 217}},\n\"content\": {\"context_graph\":{\"format\":\"ctxpkg-graph-v2\",\"nodes\":[{\"id\":\"F1\",\"type\":\"fact\",\"content\":\"Uses PostgreSQL 16\"},{\"id\":\"F2\",\"type\":\"fact\",\"content\":\"Runs on Linux\"}],\"edges\":[{\"from\":\"F1\",\"to\":\"F2\",\"type\":\"supports\"}]}}}\n",
};

/// Documents.
pub const PK_24: Check = Check {
    id: "PK-24",
    what: "A package of skills carries at most 256 files of at most 1 MiB, 8 MiB in all, each with a safe path, the SHA-256 of its bytes, and its bytes packed with Zstandard and base64, sorted by path.",
    why: "They are written into an agent's folders. A path that leads out of there, or a body that unpacks without end, must not get that far.",
    bad: "==> notes.ctxpkg\n{\"manifest\": {\"schema_version\": 2, \"name\": \"notes\", \"version\": \"1.0.0\", \"description\": \"Notes.\", \"created_at\": \"2026-05-22T00:00:00Z\", \"layers\": [], \"kind\": \"skills\", \"provenance\": {\"tool\": \"hand\", \"tool_version\": \"1\"}, \"integrity\": {\"sha256\": \"928413e19ebd9c62dbdaf2ae8be0c67868f69b687f739e51f61f2f9a4f1be6da\", \"content_hash\": \"1d4c7f218ab6b6929c65d148c811eaf2f87d1d8e43162c6ce063fcab9693006e\", \"byte_size\": 289}},\n\"content\": {\"documents\":{\"files\":[{\"path\":\"../pr-review/SKILL.md\",\"sha256\":\"4962c7c0f9da14759fee9b7481bd4f45ee37c4c5ea959ef73bb317361e3ba6c8\",\"encoding\":\"zstd+base64\",\"body\":\"KLUv/QBYhQIAMsURF7AnHY3IlSaNCNw8ye2g+FT94Cq4HbMOLYZhyCek0XnhEmjTPQUGtFXVkunJ4ejjSM7HhQ1isDzDQTpq4oY4Fp7NCwdpVQUBADphPgE=\"}]}}}\n",
    good: "==> notes.ctxpkg\n{\"manifest\": {\"schema_version\": 2, \"name\": \"notes\", \"version\": \"1.0.0\", \"description\": \"Notes.\", \"created_at\": \"2026-05-22T00:00:00Z\", \"layers\": [], \"kind\": \"skills\", \"provenance\": {\"tool\": \"hand\", \"tool_version\": \"1\"}, \"integrity\": {\"sha256\": \"c111176048dfd4333ade5eb3e5c0243e53f9dd6e435b9a8955e4cc70a3c6c24d\", \"content_hash\": \"417a2f5dd0533ff2bbbdbe641ba21ad3c1509499833d06faff12afcebf2f9015\", \"byte_size\": 286}},\n\"content\": {\"documents\":{\"files\":[{\"path\":\"pr-review/SKILL.md\",\"sha256\":\"4962c7c0f9da14759fee9b7481bd4f45ee37c4c5ea959ef73bb317361e3ba6c8\",\"encoding\":\"zstd+base64\",\"body\":\"KLUv/QBYhQIAMsURF7AnHY3IlSaNCNw8ye2g+FT94Cq4HbMOLYZhyCek0XnhEmjTPQUGtFXVkunJ4ejjSM7HhQ1isDzDQTpq4oY4Fp7NCwdpVQUBADphPgE=\"}]}}}\n",
};
