//! The Debian package and the descriptions of filesystems agree on the packages of tools.
//! In: the manifest of `bakeoff`, `filesystems/*.toml`. Out: names of packages that one of them lacks.
//! `scripts/clean-root` tests the content and installation of the package in clean roots.

use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::Path;

#[derive(Deserialize)]
struct Manifest {
    package: Package,
}

#[derive(Deserialize)]
struct Package {
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    deb: Deb,
}

#[derive(Deserialize)]
struct Deb {
    depends: Vec<String>,
    recommends: Vec<String>,
    suggests: Vec<String>,
}

#[derive(Deserialize)]
struct Description {
    tools: Vec<Tool>,
}

#[derive(Deserialize)]
struct Tool {
    package: String,
}

fn read<T: for<'a> Deserialize<'a>>(path: &Path) -> T {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn the_debian_package_names_the_tools_of_every_filesystem() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Deb { depends, recommends, suggests } = read::<Manifest>(&here.join("Cargo.toml")).package.metadata.deb;
    let named: BTreeSet<String> = depends.into_iter().chain(recommends).chain(suggests).collect();
    let files = std::fs::read_dir(here.join("../../filesystems"));
    let mut described = BTreeSet::new();
    for file in files.expect("descriptions").map(|entry| entry.expect("an entry").path()) {
        described.extend(read::<Description>(&file).tools.into_iter().map(|tool| tool.package));
    }
    assert!(described.len() > 10, "{described:?}");
    let missing: Vec<_> = described.difference(&named).collect();
    assert!(missing.is_empty(), "[package.metadata.deb] of crates/bakeoff/Cargo.toml names no {missing:?}");
}
