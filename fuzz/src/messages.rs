//! Lines between the runner and the engine's process, which may be another build or a damaged guest.
//! In: a line. Out: nothing; what can be read can be written and read again.

use serde::Serialize;
use serde::de::DeserializeOwned;
use workload::message::{Reply, Request};

/// A request or a reply.
pub fn lines(data: &[u8]) {
    returns::<Reply>(data);
    returns::<Request>(data);
}

fn returns<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(data: &[u8]) {
    if let Ok(message) = serde_json::from_slice::<T>(data) {
        let line = serde_json::to_vec(&message).expect("a message can be written");
        assert!(!line.contains(&b'\n'), "a message is one line");
        let again: T = serde_json::from_slice(&line).expect("what was written can be read");
        assert_eq!(again, message, "a message comes as it was sent");
    }
}
