//! `cargo xtask licences`: checks every dependency against the rules of `deny.toml`.
//!
//! The scheduled run uses `cargo deny`, which checks more (advisories, licence texts) but takes
//! longer to build than this repository's tests to run. This command checks the rules that every
//! change must keep: each crate's licence expression is satisfied by the allowed licences, each
//! crate comes from crates.io, and no version is a wildcard.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use spdx::{Expression, Licensee, ParseMode};

/// Check licences and sources of all dependencies, of the tool and of the firmware, against
/// deny.toml.
#[derive(clap::Args)]
pub(crate) struct Args {}

/// The relevant part of `deny.toml`.
#[derive(Deserialize)]
struct Rules {
    graph: Graph,
    licenses: Licences,
}

#[derive(Deserialize)]
struct Graph {
    targets: Vec<String>,
}

#[derive(Deserialize)]
struct Licences {
    allow: Vec<String>,
    exceptions: Vec<Exception>,
}

/// Additional licences allowed for one crate.
#[derive(Deserialize)]
struct Exception {
    #[serde(rename = "crate")]
    name: String,
    allow: Vec<String>,
}

/// The relevant part of the output of `cargo metadata`.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_members: Vec<String>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

/// A dependency of a package.
#[derive(Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

/// `dev`, `build`, or `None` for linked ones.
#[derive(Deserialize)]
struct Kind {
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    /// The registry; `None` for a path.
    source: Option<String>,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    req: String,
    path: Option<PathBuf>,
}

pub(crate) fn run(_: &Args) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("no repository")?;
    let path = root.join("deny.toml");
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    let rules: Rules = toml::from_str(&text).context("in deny.toml")?;
    let (mut judged, mut wrong) = (BTreeSet::new(), BTreeSet::new());
    for workspace in workspaces(root)? {
        let metadata = metadata(root, &workspace, &rules.graph.targets)?;
        let shipped = shipped(&metadata);
        for package in metadata.packages.iter().filter(|p| shipped.contains(p.id.as_str())) {
            let name = format!("{} {}", package.name, package.version);
            let found = faults(package, &rules.licenses)?;
            wrong.extend(found.into_iter().map(|fault| format!("{workspace}: {name}: {fault}")));
            judged.insert(name);
        }
    }
    ensure!(judged.len() > 50, "only {} crates were found", judged.len());
    if !wrong.is_empty() {
        let list: Vec<String> = wrong.into_iter().collect();
        bail!("deny.toml does not allow:\n  {}", list.join("\n  "));
    }
    println!("{} crates: licences and sources satisfy deny.toml", judged.len());
    Ok(())
}

/// Every directory of the repository with its own lock file: the tool, firmware, fuzz targets.
fn workspaces(root: &Path) -> Result<Vec<String>> {
    let output = Command::new("git")
        .args(["ls-files", "--", "Cargo.lock", "*/Cargo.lock"])
        .current_dir(root)
        .output()
        .context("cannot run git")?;
    ensure!(output.status.success(), "git ls-files failed: {}", output.status);
    let text = String::from_utf8_lossy(&output.stdout);
    let found: Vec<String> =
        text.lines().map(|line| line.trim_end_matches("Cargo.lock").to_owned()).collect();
    ensure!(found.len() > 1, "git lists no lock files: is this a checkout?");
    Ok(found)
}

fn metadata(root: &Path, workspace: &str, targets: &[String]) -> Result<Metadata> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    command.args(["metadata", "--locked", "--format-version", "1", "--all-features"]);
    command.args(targets.iter().flat_map(|target| ["--filter-platform", target]));
    let output = command.current_dir(root.join(workspace)).output().context("cannot run cargo")?;
    let messages = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cargo metadata in {workspace} failed: {messages}");
    serde_json::from_slice(&output.stdout).context("output of cargo metadata")
}

/// The packages needed for builds, as in cargo-deny; dependencies of tests are ignored.
fn shipped(metadata: &Metadata) -> BTreeSet<&str> {
    let nodes: BTreeMap<&str, &Node> =
        metadata.resolve.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
    let mut found = BTreeSet::new();
    let mut pending: Vec<&str> = metadata.workspace_members.iter().map(String::as_str).collect();
    while let Some(id) = pending.pop() {
        if !found.insert(id) {
            continue;
        }
        let edges = nodes.get(id).map(|node| &node.deps[..]).unwrap_or_default();
        let needed = edges
            .iter()
            .filter(|edge| edge.dep_kinds.iter().any(|kind| kind.kind.as_deref() != Some("dev")));
        pending.extend(needed.map(|edge| edge.pkg.as_str()));
    }
    found
}

/// The reasons why a package is not allowed.
fn faults(package: &Package, rules: &Licences) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let own = rules.exceptions.iter().filter(|exception| exception.name == package.name);
    let allowed = rules.allow.iter().chain(own.flat_map(|exception| &exception.allow));
    let allowed: Vec<Licensee> = allowed
        .map(|name| Licensee::parse(name).with_context(|| format!("deny.toml: {name}")))
        .collect::<Result<_>>()?;
    match &package.license {
        None => found.push("no licence in its manifest".to_owned()),
        Some(text) => match Expression::parse_mode(text, ParseMode::LAX) {
            Err(error) => found.push(format!("its licence {text:?} cannot be read: {error}")),
            Ok(expression) => {
                if !expression.evaluate(|wanted| allowed.iter().any(|one| one.satisfies(wanted))) {
                    found.push(format!("licence {text}"));
                }
            }
        },
    }
    match &package.source {
        Some(source) if !source.ends_with("crates.io-index") => {
            found.push(format!("comes from {source}"));
        }
        _ => {}
    }
    // Our own crates have a path; crates.io checks published ones.
    let ours = package.source.is_none();
    let wild = package.dependencies.iter().filter(|d| ours && d.req == "*" && d.path.is_none());
    found.extend(wild.map(|dependency| format!("wildcard version of {}", dependency.name)));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(license: &str, source: Option<&str>, req: &str) -> Package {
        Package {
            id: String::new(),
            name: "some".into(),
            version: "1.0.0".into(),
            license: (!license.is_empty()).then(|| license.into()),
            source: source.map(Into::into),
            dependencies: vec![Dependency { name: "other".into(), req: req.into(), path: None }],
        }
    }

    #[test]
    fn items_used_only_by_tests_are_omitted() -> Result<()> {
        let text = r#"{"packages": [], "workspace_members": ["ours"], "resolve": {"nodes": [
            {"id": "ours", "deps": [{"pkg": "linked", "dep_kinds": [{"kind": null}]},
                {"pkg": "both", "dep_kinds": [{"kind": "dev"}, {"kind": "build"}]},
                {"pkg": "tests", "dep_kinds": [{"kind": "dev"}]}]},
            {"id": "linked", "deps": [{"pkg": "deeper", "dep_kinds": [{"kind": null}]}]},
            {"id": "both", "deps": []}, {"id": "deeper", "deps": []},
            {"id": "tests", "deps": []}]}}"#;
        let found = serde_json::from_str(text)?;
        let expected = ["both", "deeper", "linked", "ours"];
        assert_eq!(shipped(&found).into_iter().collect::<Vec<_>>(), expected);
        Ok(())
    }

    #[test]
    fn disallowed_licences_are_named() -> Result<()> {
        let exception = |name: &str| Exception { name: name.into(), allow: vec!["MPL-2.0".into()] };
        let rules = Licences {
            allow: vec!["MIT".into(), "Apache-2.0 WITH LLVM-exception".into()],
            exceptions: vec![exception("some")],
        };
        let others =
            Licences { allow: rules.allow.clone(), exceptions: vec![exception("another")] };
        let registry = Some("registry+somewhere/crates.io-index");
        for fine in ["MIT", "MIT/Apache-2.0", "GPL-3.0 OR MIT", "Apache-2.0 WITH LLVM-exception"] {
            assert!(faults(&package(fine, registry, "^1"), &rules)?.is_empty(), "{fine}");
        }
        assert!(faults(&package("MPL-2.0", registry, "^1"), &rules)?.is_empty());
        for wrong in ["", "GPL-3.0", "Apache-2.0", "MIT AND GPL-3.0", "whatever", "MPL-2.0"] {
            assert_eq!(faults(&package(wrong, registry, "^1"), &others)?.len(), 1, "{wrong}");
        }
        assert_eq!(faults(&package("MIT", Some("git+somewhere"), "^1"), &rules)?.len(), 1);
        assert_eq!(faults(&package("MIT", None, "*"), &rules)?.len(), 1);
        Ok(())
    }
}
