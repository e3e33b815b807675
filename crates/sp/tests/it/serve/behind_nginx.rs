//! Registries on one database and one bucket behind nginx, with the configuration in `deploy/`.

use std::sync::atomic::{AtomicUsize, Ordering};

use sp_testkit::{Nginx, Postgres, Registry, S3Server, World, eventually};

use super::replicas::{Cluster, notes};
use super::{get, serve_command};

fn start(world: &World) -> Registry {
    Registry::start(serve_command(world, &["--trust-proxy", "127.0.0.1/32"]))
}

/// Two registries behind nginx, and the token of their admin.
struct Site {
    worlds: [World; 2],
    registries: [Registry; 2],
    nginx: Nginx,
    admin: String,
}

impl Site {
    fn start() -> Self {
        let cluster = Cluster::new(Postgres::shared(), S3Server::shared());
        let worlds = [cluster.world(), cluster.world()];
        let registries = [start(&worlds[0]), start(&worlds[1])];
        let admin = registries[0].admin.clone().unwrap();
        let nginx = Nginx::start(&[&registries[0].address, &registries[1].address]);
        Self { worlds, registries, nginx, admin }
    }

    fn publish(&self, version: &str) -> u16 {
        let request = format!("PUT /api/v1/packages/acme/notes/{version}");
        let answer = self.nginx.request(&request, Some(&self.admin), &notes(version));
        answer.map_or(0, |answer| answer.status)
    }

    /// Publishes until that is certain to have succeeded. After an error, the version may exist.
    fn publish_surely(&self, version: &str) {
        eventually(|| [201, 409].contains(&self.publish(version)).then_some(()));
    }

    fn download(&self, token: Option<&str>, version: &str) -> (u16, Vec<u8>) {
        let request = format!("GET /api/v1/packages/acme/notes/{version}/download");
        let answer = self.nginx.request(&request, token, b"");
        answer.map_or((0, Vec::new()), |answer| (answer.status, answer.body))
    }

    fn replace(&mut self, index: usize) {
        self.registries[index] = start(&self.worlds[index]);
        let [first, second] = &self.registries;
        self.nginx.set_registries(&[&first.address, &second.address]);
    }
}

#[test]
fn rg_80_package_published_to_one_registry_is_installed_from_the_other() {
    let mut site = Site::start();
    let url = site.nginx.address.clone();
    let [world, other] = &mut site.worlds;
    let package = world.path("notes.ctxpkg");
    std::fs::write(&package, notes("1.0.0")).unwrap();
    world.set_env("SP_REGISTRY_TOKEN", &site.admin);
    world.sp(&["publish", &package.display().to_string(), "--registry", &url]).ok();
    site.registries[0].kill();
    std::fs::create_dir_all(other.path("home/app")).unwrap();
    other.sp_in("home/app", &["pkg", "install", "@acme/notes", "--registry", &url]).ok();
    let installed = other.files("home/app/.ctxpkg");
    assert!(installed.keys().any(|name| name.contains("notes")), "{installed:?}");
}

#[test]
fn rg_80_registries_killed_behind_nginx_lose_nothing() {
    const VERSIONS: usize = 60;
    let mut site = Site::start();
    let version = |number: usize| format!("1.{number}.0");
    for round in 0..3 {
        let next = AtomicUsize::new(round * VERSIONS / 3);
        let end = (round + 1) * VERSIONS / 3;
        let killed = &site.registries[round % 2];
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= end {
                            return;
                        }
                        site.publish_surely(&version(number));
                    }
                });
            }
            eventually(|| (next.load(Ordering::Relaxed) + 10 > end).then_some(()));
            killed.kill();
        });
        site.replace(round % 2);
    }
    for number in 0..VERSIONS {
        let version = version(number);
        let downloaded = eventually(|| {
            let answer = site.download(None, &version);
            (answer.0 < 500 && answer.0 != 0).then_some(answer)
        });
        assert_eq!(downloaded, (200, notes(&version)), "{version}");
    }
    let index = get(&site.registries[0], None, "packages/acme/notes/index.json").json();
    assert_eq!(index["versions"].as_array().unwrap().len(), VERSIONS);
}

#[test]
fn rg_84_nginx_caches_downloads_of_public_packages_only() {
    let site = Site::start();
    for version in ["1.0.0", "2.0.0"] {
        assert_eq!(site.publish(version), 201);
    }
    let admin = Some(site.admin.as_str());
    assert_eq!(site.download(admin, "1.0.0"), (200, notes("1.0.0")));
    let hide = "PUT /api/v1/packages/acme/notes/private";
    assert_eq!(site.nginx.request(hide, admin, b"").unwrap().status, 204);
    // Whoever may read the private package, its downloads are not kept for others.
    assert_eq!(site.download(admin, "2.0.0"), (200, notes("2.0.0")));
    assert_eq!(site.download(None, "2.0.0").0, 404);
    let show = "DELETE /api/v1/packages/acme/notes/private";
    assert_eq!(site.nginx.request(show, admin, b"").unwrap().status, 204);
    for registry in &site.registries {
        registry.kill();
    }
    assert_eq!(site.download(None, "1.0.0"), (200, notes("1.0.0")));
    assert!([502, 504].contains(&site.download(None, "2.0.0").0));
}
