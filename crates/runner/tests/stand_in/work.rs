//! The stand-ins' work: a phase that creates and one that reads.

use std::collections::BTreeMap;
use std::path::PathBuf;
use workload::facts::{Compiled, Estimate, PhaseFacts};
use workload::program::{After, Cache, Durable, End, Figure, Group, Io, Order, Over, Phase, Program, Step};

/// One worker that reads blocks.
fn reading() -> Group {
    Group {
        name: "read".into(),
        workers: 1,
        processes: false,
        over: Over::Blocks { fileset: 0, block: 4096, length: None },
        order: Order::InOrder,
        count: None,
        first: 0,
        steps: vec![Step::Read],
        io: Io::default(),
        rate: None,
        shifted: false,
    }
}

pub fn compiled() -> Compiled {
    let phase = |name: &str, cache, sync| Phase {
        name: name.into(),
        operation: name.into(),
        cache,
        figure: Figure::Seconds,
        writes: false,
        passes: 1,
        pause_ns: 0,
        end: End::Work,
        groups: vec![],
        preparation: false,
        after: After { sync, drop_caches: false },
        time_limit: 0,
        needs: Vec::new(),
    };
    let facts = |name: &str| PhaseFacts {
        name: name.into(),
        title: name.into(),
        doing: name.into(),
        operation: name.into(),
        cache_label: "cold".into(),
        variant: None,
        figure: Figure::Seconds,
        figure_group: None,
        share_of: None,
        preparation: false,
        unranked: false,
        own: None,
        needs: Vec::new(),
    };
    Compiled {
        program: Program {
            workload: "small".into(),
            seed: 0,
            root: PathBuf::new(),
            root_inode: None,
            device: None,
            durable: Durable::default(),
            tools: BTreeMap::new(),
            filesets: vec![],
            phases: vec![
                phase("create", Cache::AsFound, false),
                Phase { groups: vec![reading()], ..phase("read", Cache::Cold, true) },
            ],
            error_limit: 0,
            time_limit: 20,
            client: None,
        },
        phases: vec![facts("create"), facts("read")],
        totals: vec![],
        estimate: Estimate::default(),
        scale: "quick".into(),
        settings: BTreeMap::new(),
    }
}
