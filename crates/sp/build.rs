//! Links the binary of debug builds at a fixed address. Tests start it many thousands of times, and
//! the dynamic linker would relocate 290,000 addresses at each start. Release builds are not
//! affected.

#[allow(clippy::disallowed_methods, reason = "cargo passes the profile in the environment")]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let linux = std::env::var_os("CARGO_CFG_TARGET_OS").is_some_and(|os| os == "linux");
    let debug = std::env::var_os("PROFILE").is_some_and(|profile| profile == "debug");
    if linux && debug {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
