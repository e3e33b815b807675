//! One test for each folder of the corpus.

use super::{check_folder, check_valid_folder, folders};

#[test]
fn as_01_files_without_valid_frontmatter_are_reported() {
    check_folder("AS-01");
}

#[test]
fn as_02_frontmatter_errors_are_reported() {
    check_folder("AS-02");
}

#[test]
fn as_03_forms_that_only_some_agents_read_are_reported() {
    check_folder("AS-03");
}

#[test]
fn as_04_unquoted_colons_are_reported() {
    check_folder("AS-04");
}

#[test]
fn as_05_extra_fields_are_reported() {
    check_folder("AS-05");
}

#[test]
fn as_06_long_bodies_are_reported() {
    check_folder("AS-06");
}

#[test]
fn as_07_errors_in_skill_bodies_are_reported() {
    check_folder("AS-07");
}

#[test]
fn au_07_errors_in_accepted_findings_are_reported() {
    check_folder("AU-07");
}

#[test]
fn au_08_errors_in_policies_are_reported() {
    check_folder("AU-08");
}

#[test]
fn sp_02_skill_md_at_the_top_is_reported() {
    check_folder("SP-02");
}

#[test]
fn sp_03_skills_inside_skills_are_reported() {
    check_folder("SP-03");
}

#[test]
fn sp_04_misplaced_skills_are_reported() {
    check_folder("SP-04");
}

#[test]
fn sp_05_control_characters_in_ids_are_reported() {
    check_folder("SP-05");
}

#[test]
fn sp_08_invalid_repositories_are_reported() {
    check_folder("SP-08");
}

#[test]
fn sp_10_invalid_and_missing_refs_are_reported() {
    check_folder("SP-10");
}

#[test]
fn sp_11_errors_in_packs_are_reported() {
    check_folder("SP-11");
}

#[test]
fn sp_12_packs_with_the_same_name_are_reported() {
    check_folder("SP-12");
}

#[test]
fn sp_13_invalid_prefixes_and_separators_are_reported() {
    check_folder("SP-13");
}

#[test]
fn sp_17_patterns_without_match_are_reported() {
    check_folder("SP-17");
}

#[test]
fn sp_19_folder_collisions_are_reported() {
    check_folder("SP-19");
}

#[test]
fn sp_21_links_that_cannot_be_copied_are_reported() {
    check_folder("SP-21");
}

#[test]
fn sp_27_invalid_sinks_are_reported() {
    check_folder("SP-27");
}

#[test]
fn sp_28_errors_in_configurations_are_reported() {
    check_folder("SP-28");
}

#[test]
fn sp_33_invalid_patterns_are_reported() {
    check_folder("SP-33");
}

#[test]
fn sb_01_missing_and_invalid_workspace_files_are_reported() {
    check_folder("SB-01");
}

#[test]
fn sb_02_errors_in_catalogs_are_reported() {
    check_folder("SB-02");
}

#[test]
fn sb_04_folders_without_skill_are_reported() {
    check_folder("SB-04");
}

#[test]
fn sb_07_errors_in_parameters_are_reported() {
    check_folder("SB-07");
}

#[test]
fn sb_10_errors_in_dependencies_of_workspaces_are_reported() {
    check_folder("SB-10");
}

#[test]
fn sb_11_errors_in_dependencies_of_skills_are_reported() {
    check_folder("SB-11");
}

#[test]
fn sb_12_incomplete_sources_are_reported() {
    check_folder("SB-12");
}

#[test]
fn sb_16_errors_in_conflict_resolution_are_reported() {
    check_folder("SB-16");
}

#[test]
fn sb_17_errors_in_the_reserved_skill_are_reported() {
    check_folder("SB-17");
}

#[test]
fn sb_23_errors_in_tags_are_reported() {
    check_folder("SB-23");
}

#[test]
fn cp_01_invalid_files_in_context_packs_are_reported() {
    check_folder("CP-01");
}

#[test]
fn cp_02_errors_in_pack_json_are_reported() {
    check_folder("CP-02");
}

#[test]
fn cp_03_invalid_paths_in_context_packs_are_reported() {
    check_folder("CP-03");
}

#[test]
fn cp_04_frontmatter_errors_in_context_packs_are_reported() {
    check_folder("CP-04");
}

#[test]
fn cp_05_errors_in_agent_rules_are_reported() {
    check_folder("CP-05");
}

#[test]
fn cp_06_errors_in_skills_md_are_reported() {
    check_folder("CP-06");
}

#[test]
fn cp_07_errors_in_sources_md_are_reported() {
    check_folder("CP-07");
}

#[test]
fn cp_08_errors_in_prompts_md_are_reported() {
    check_folder("CP-08");
}

#[test]
fn cp_09_errors_in_tasks_md_are_reported() {
    check_folder("CP-09");
}

#[test]
fn cp_10_invalid_footnotes_and_hashes_are_reported() {
    check_folder("CP-10");
}

#[test]
fn lc_01_invalid_manifests_are_reported() {
    check_folder("LC-01");
}

#[test]
fn lc_02_invalid_agents_are_reported() {
    check_folder("LC-02");
}

#[test]
fn lc_03_invalid_sources_are_reported() {
    check_folder("LC-03");
}

#[test]
fn lc_04_invalid_packages_are_reported() {
    check_folder("LC-04");
}

#[test]
fn lc_06_invalid_lockfiles_are_reported() {
    check_folder("LC-06");
}

#[test]
fn lc_07_conflict_markers_are_reported() {
    check_folder("LC-07");
}

#[test]
fn pk_01_json_errors_in_packages_are_reported() {
    check_folder("PK-01");
}

#[test]
fn pk_02_missing_metadata_of_packages_is_reported() {
    check_folder("PK-02");
}

#[test]
fn pk_03_errors_in_manifests_are_reported() {
    check_folder("PK-03");
}

#[test]
fn pk_04_errors_in_schema_2_members_are_reported() {
    check_folder("PK-04");
}

#[test]
fn pk_05_errors_in_dependencies_are_reported() {
    check_folder("PK-05");
}

#[test]
fn pk_06_unknown_layers_are_reported() {
    check_folder("PK-06");
}

#[test]
fn pk_07_errors_in_layers_are_reported() {
    check_folder("PK-07");
}

#[test]
fn pk_08_wrong_hashes_are_reported() {
    check_folder("PK-08");
}

#[test]
fn pk_11_invalid_signatures_are_reported() {
    check_folder("PK-11");
}

#[test]
fn pk_12_invalid_signatures_of_manifests_are_reported() {
    check_folder("PK-12");
}

#[test]
fn pk_13_unsigned_packages_are_reported() {
    check_folder("PK-13");
}

#[test]
fn pk_15_errors_in_graphs_are_reported() {
    check_folder("PK-15");
}

#[test]
fn pk_16_unreached_conformance_levels_are_reported() {
    check_folder("PK-16");
}

#[test]
fn pk_22_packages_are_found_in_every_directory() {
    check_folder("PK-22");
}

#[test]
fn pk_24_errors_in_documents_are_reported() {
    check_folder("PK-24");
}

#[test]
fn se_03_unsafe_and_colliding_names_are_reported() {
    check_folder("SE-03");
}

#[test]
fn se_04_exceeded_and_invalid_limits_are_reported() {
    check_folder("SE-04");
}

#[test]
fn se_09_hidden_text_is_reported_and_decoded() {
    check_folder("SE-09");
}

#[test]
fn as_03_unusual_but_valid_repositories_have_no_findings() {
    check_valid_folder("valid/repositories");
}

#[test]
fn cp_10_unusual_but_valid_context_packs_have_no_findings() {
    check_valid_folder("valid/context-packs");
}

#[test]
fn lc_01_valid_projects_have_no_findings() {
    check_valid_folder("valid/projects");
}

#[test]
fn pk_10_unusual_but_valid_packages_have_no_findings() {
    check_valid_folder("valid/packages");
}

#[test]
fn every_folder_has_a_test() {
    let source = include_str!("rules.rs");
    let untested = |folder: &String| !source.contains(&format!("folder(\"{folder}\")"));
    let untested: Vec<String> = folders().into_iter().filter(untested).collect();
    assert!(untested.is_empty(), "add a test for {untested:?}");
}
