# A crate of forty modules without dependencies, each with twenty types that derive what makes a compiler work.
mkdir src
printf '[package]\nname = "built"\nversion = "0.1.0"\nedition = "2021"\n' >Cargo.toml
for module in $(seq 40); do
    {
        echo "use std::collections::BTreeMap;"
        for type in $(seq 20); do
            echo "#[derive(Debug, Clone, PartialEq, Default)] pub struct S$type { a: BTreeMap<u32, String>, b: Vec<u64> }"
        done
    } >"src/m$module.rs"
    echo "pub mod m$module;"
done >src/main.rs
echo 'fn main() { println!("{:?}", m1::S1::default()) }' >>src/main.rs
