//! `bakeoff features`: what filesystems can do, found out on fresh images or in directories, beside what was published.
//! In: names of filesystems, or directories. Out: a table in the form asked for.

use crate::args::FeaturesArgs;
use crate::catalogue::Catalogue;
use crate::failure::Failure;
use crate::features::{self, Features, Probed};
use crate::{json, out, text};
use staging::{Target, Where};
use system::Journal;
use workload::quantity::parse_bytes;

/// Probes and tells.
pub fn features(args: &FeaturesArgs) -> Result<u8, Failure> {
    let mut catalogue = Catalogue::with(&[], &args.filesystems)?;
    catalogue.filesystems = catalogue.filesystems.may_run();
    let probed = if args.dir.is_empty() { filesystems(args, &catalogue)? } else { directories(args, &catalogue)? };
    let beside = features::published(&probed)?;
    if args.json {
        json::print(&Features { filesystems: probed, published: beside })?;
    } else if args.csv {
        out::data(&features::csv(&probed, &beside)?);
    } else if args.markdown {
        out::data(&features::markdown(&probed, &beside));
    } else if args.how {
        print!("{}", features::how(&probed, text::width()));
    } else {
        print!("{}", features::table(&probed, &beside, text::width()));
    }
    Ok(0)
}

fn filesystems(args: &FeaturesArgs, catalogue: &Catalogue) -> Result<Vec<Probed>, Failure> {
    let bytes =
        parse_bytes(&args.image).map_err(|problem| Failure::usage(format!("--image {}: {problem}", args.image)))?;
    let names: Vec<String> = match args.fs.is_empty() {
        true => staging::systems(&catalogue.filesystems, &Journal::new())
            .into_iter()
            .filter(|system| system.can_compete)
            .map(|system| system.name)
            .collect(),
        false => args.fs.clone(),
    };
    for name in &names {
        catalogue.filesystems.get(name).map_err(Failure::usage)?;
    }
    let place = Where::Image { bytes, folder: crate::scratch::folder(Some(&args.scratch))? };
    let mut probed = Vec::new();
    let mut refused = Vec::new();
    for name in names {
        eprintln!("probing {name}");
        let mut target = Target::open(&catalogue.filesystems, &place, &Journal::new())?;
        match staging::features::probe_filesystem(&mut target, &name) {
            Ok(features) => probed.push(Probed { name, features }),
            Err(error) => refused.push(format!("{name} cannot be probed: {error}")),
        }
    }
    for why in &refused {
        eprint!("{}", text::wrapped(why, text::width(), "", "  "));
    }
    match probed.is_empty() {
        true => Err(Failure::new("no filesystem could be probed; `bakeoff systems` says what would help")),
        false => Ok(probed),
    }
}

fn directories(args: &FeaturesArgs, catalogue: &Catalogue) -> Result<Vec<Probed>, Failure> {
    args.dir
        .iter()
        .map(|folder| {
            let mut target = Target::open(&catalogue.filesystems, &Where::Directory(folder.clone()), &Journal::new())?;
            let features = staging::features::probe_directory(&mut target)?;
            Ok(Probed { name: folder.display().to_string(), features })
        })
        .collect()
}
