//! Reruns the build when a workload or plan is added; cargo does not notice that by itself.
//! In: the compiled-in folders. Out: instructions to cargo.
//! Changes within files are noticed without this.

fn main() {
    for folder in ["workloads", "plans", "ages"] {
        println!("cargo::rerun-if-changed={folder}");
    }
}
