//! Builds again when a workload or plan is added, which the compiler alone would not notice.
//! In: the folders that are compiled in. Out: instructions to cargo.
//! Changes within files are noticed without this.

fn main() {
    for folder in ["workloads", "plans", "ages"] {
        println!("cargo::rerun-if-changed={folder}");
    }
}
