//! All scanners run in linear time, also for repeated short fragments; see
//! `sp_testkit::fragments`.

use std::hint::black_box;

use sp_analyze::audit::{AuditInput, audit_tree};
use sp_analyze::knowledge::{
    FolderDefaults, KnowledgeFile, index_words, parse_file, to_plain_text,
};
use sp_analyze::{hidden, secrets, tokens};
use sp_formats::workspace;
use sp_testkit::linear_scans;

fn scan_document(path: &str, text: &str) {
    let file = parse_file(KnowledgeFile {
        path,
        bytes: text.as_bytes(),
        sidecar: None,
        defaults: &FolderDefaults::default(),
    });
    file.documents.iter().for_each(|document| drop(black_box(index_words(document))));
    black_box(to_plain_text(text));
}

fn audit_file(path: &str, text: &str) {
    black_box(audit_tree(&[AuditInput::new(path, text.as_bytes())]));
}

linear_scans! {
    se_04_tokens_are_counted_in_linear_time: |text| {
        black_box(tokens::count(text));
    };
    se_04_secrets_are_found_in_linear_time: |text| {
        black_box(secrets::has_secret(text));
        black_box(secrets::find_secrets(text));
        black_box(secrets::find_secrets(&format!("-----BEGIN PRIVATE KEY-----{text}")));
        black_box(secrets::find_secrets(&format!("token={text}")));
    };
    se_04_values_of_secret_names_are_found_in_linear_time: |text| {
        black_box(secrets::has_secret(&format!("password: {text}")));
        black_box(workspace::detect_secret("value", text));
    };
    se_04_hidden_characters_are_found_in_linear_time: |text| {
        black_box(hidden::search(text));
        black_box(hidden::mark(text));
    };
    se_04_lookalikes_are_found_in_linear_time: |text| {
        black_box(hidden::find_lookalikes(&format!("{text}\u{430}")));
        black_box(hidden::find_lookalikes(&format!("#!{text}\u{430}")));
    };
    au_10_documents_are_audited_in_linear_time: |text| audit_file("SKILL.md", text);
    au_10_shell_scripts_are_audited_in_linear_time: |text| audit_file("a.sh", text);
    au_10_python_scripts_are_audited_in_linear_time: |text| audit_file("a.py", text);
    au_10_javascript_is_audited_in_linear_time: |text| audit_file("a.js", text);
    au_10_other_scripts_are_audited_in_linear_time: |text| audit_file("a.rb", text);
    au_10_data_is_audited_in_linear_time: |text| audit_file("a.json", text);
    au_10_recipes_are_audited_in_linear_time: |text| audit_file("Makefile", text);
    au_10_code_blocks_are_audited_in_linear_time: |text| {
        audit_file("a.md", &format!("```bash\n{text}\n```\n"));
    };
    se_04_notes_are_read_in_linear_time: |text| scan_document("notes/a.md", text);
    se_04_pages_are_read_in_linear_time: |text| scan_document("pages/a.html", text);
    se_04_bookmarks_are_read_in_linear_time: |text| scan_document("bookmarks.html", text);
    se_04_captures_are_read_in_linear_time: |text| scan_document("captures.jsonl", text);
    se_04_lists_of_pages_are_read_in_linear_time: |text| scan_document("llms.txt", text);
    se_04_skills_are_read_as_documents_in_linear_time: |text| scan_document("tidy/SKILL.md", text);
}
