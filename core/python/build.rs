//! Gives the module a digest of the sources of the core: FNV-1a, by names and contents of the files, in order.

use std::fs;
use std::path::{Path, PathBuf};

const FOLDERS: [&str; 2] = ["engine/src", "python/src"];

fn main() {
    let root = Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("..");
    let mut files = Vec::new();
    for folder in FOLDERS {
        println!("cargo:rerun-if-changed={}", root.join(folder).display());
        collect(&root.join(folder), folder, &mut files);
    }
    files.sort();
    let mut digest: u64 = 0xcbf29ce484222325;
    for (name, path) in files {
        let content = fs::read(path).unwrap();
        // Some checkouts have other line ends.
        for byte in name.bytes().chain([0]).chain(content.into_iter().filter(|&byte| byte != b'\r')).chain([0]) {
            digest = (digest ^ u64::from(byte)).wrapping_mul(0x100000001b3);
        }
    }
    println!("cargo:rustc-env=WIKIANCHOR_CORE_SOURCES={digest:016x}");
}

/// Collect the files below a folder, with their names as in the repository.
fn collect(folder: &Path, name: &str, files: &mut Vec<(String, PathBuf)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{name}/{}", entry.file_name().into_string().unwrap());
        if entry.path().is_dir() {
            collect(&entry.path(), &name, files);
        } else if name.ends_with(".rs") {
            files.push((name, entry.path()));
        }
    }
}
