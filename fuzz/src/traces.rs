//! Traces of recorded programs, unpacked.
//! In: lines. Out: nothing; what is taken stays below its folder, can be written and read again, and has a profile.

use crate::assert_said;
use trace::{Profile, Trace};

/// A whole trace.
pub fn lines(data: &[u8]) {
    let trace: Trace = match trace::from_lines(data) {
        Ok(trace) => trace,
        Err(refusal) => return assert_said("a trace", &refusal),
    };
    let paths = trace.tree.iter().map(|entry| entry.path.as_str());
    for path in paths.chain(trace.actions.iter().flat_map(|action| action.call.paths())) {
        assert!(!path.starts_with('/') && path.split('/').all(|part| part != ".."), "{path:?} leads out of the folder");
    }
    let profile = Profile::of(&trace);
    assert!(profile.read_different <= profile.read.0 && profile.at_once >= 1);
    let packed = trace::packed(&trace).expect("a trace can be written");
    let mut unpacked = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(packed.as_slice()), &mut unpacked)
        .expect("and unpacked");
    let again = trace::from_lines(unpacked.as_slice()).expect("what was written can be read");
    assert_eq!((again.tree, again.actions), (trace.tree, trace.actions));
}
