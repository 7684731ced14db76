//! The program `bakeoff`.
//! In: a command line. Out: the output of the verbs, and an exit status.

fn main() -> std::process::ExitCode {
    bakeoff::main()
}
