//! Reruns the build when a layer is added; cargo does not notice that by itself.
//! In: the compiled-in folder. Out: an instruction to cargo.

fn main() {
    println!("cargo::rerun-if-changed=layers");
}
