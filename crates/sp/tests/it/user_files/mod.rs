//! Commands that change files of the user: the files keep their permission bits, and after an
//! interruption all of them are changed or none.

mod interruptions;
mod permissions;

use std::os::unix::fs::{PermissionsExt, symlink};

use sp_testkit::{FileEntry, World, world};

const CONTEXT_INSTALL: &[&str] =
    &["context", "--root", "repo", "install", "shop", "--agent", "cursor", "--agent", "claude"];
const CONTEXT_UNINSTALL: &[&str] = &["context", "--root", "repo", "uninstall"];

fn write(world: &World, path: &str, text: &str, mode: u32) {
    let path = world.path(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
}

fn text(world: &World, path: &str) -> String {
    std::fs::read_to_string(world.path(path)).unwrap()
}

/// Creates the context pack `work/shop`, and an empty repository in `work/repo`.
fn create_context_pack(world: &World) {
    std::fs::create_dir_all(world.path("work/repo")).unwrap();
    let args = ["context", "new", "shop", "--name", "Shop", "--description", "It sells things."];
    world.sp_in("work", &args).ok();
}
