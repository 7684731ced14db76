//! The program `bakeoff`.
//! In: words typed by a person. Out: what the verbs print, and an exit status.

fn main() -> std::process::ExitCode {
    bakeoff::main()
}
