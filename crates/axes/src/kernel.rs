//! `kernel`: the kernel that a contender runs on; all but `host` run in a virtual machine.
//! In: its name. Out: the contender's kernel, which staging boots.

use crate::axis::Axis;
use records::Contender;

pub(crate) struct Kernel;

impl Axis for Kernel {
    fn name(&self) -> &'static str {
        "kernel"
    }

    fn usual(&self) -> &'static str {
        "host"
    }

    fn put(&self, contender: &mut Contender, _: &str, value: &str) {
        contender.kernel = Some(value.to_owned());
    }

    fn clear(&self, contender: &mut Contender, _: &str) {
        contender.kernel = None;
    }

    fn asked(&self, contender: &Contender, _: &str) -> Option<String> {
        contender.kernel.clone()
    }

    fn label(&self, _: &str, value: &str) -> String {
        format!(" on {value}")
    }
}
