//! `bakeoff features`: what filesystems can do, tested on fresh images or in directories, next to published features.
//! In: names of filesystems, or directories. Out: a table in the requested form.

use crate::args::FeaturesArgs;
use crate::catalogue::Catalogue;
use crate::failure::{Failure, given};
use crate::features::{self, Features};
use crate::{contenders, json, out, text};
use records::feature::Probed;
use staging::{Target, Where};
use system::Journal;
use workload::quantity::parse_bytes;

/// Probes, and prints the results.
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
    let bytes = given("--image", &args.image, parse_bytes)?;
    for name in &args.fs {
        catalogue.filesystems.get(name).map_err(Failure::usage)?;
    }
    let kernels: Vec<String> =
        args.kernel.iter().map(|name| contenders::kernel_called(name)).collect::<Result<_, _>>()?;
    let own = |name: &String| staging::guest_kernel(&catalogue.filesystems, name);
    let names: Vec<String> = match args.fs.is_empty() {
        true => staging::systems(&catalogue.filesystems, &Journal::new())
            .into_iter()
            .filter(|system| {
                system.can_compete && !system.shared && (!kernels.is_empty() || own(&system.name).is_none())
            })
            .map(|system| system.name)
            .collect(),
        false => args.fs.clone(),
    };
    let guest = |kernel: &String| Some(kernel.clone()).filter(|kernel| staging::is_guest(Some(kernel)));
    let on = |name: &String| match kernels.is_empty() {
        true => vec![own(name)],
        false => kernels.iter().map(guest).collect(),
    };
    let all: Vec<features::Asked> =
        names.iter().flat_map(|name| on(name).into_iter().map(|kernel| (name.clone(), kernel))).collect();
    let images = features::Images { bytes, folder: crate::scratch::folder(Some(&args.scratch))? };
    features::probe_all(&catalogue.filesystems, &all, &images)
}

fn directories(args: &FeaturesArgs, catalogue: &Catalogue) -> Result<Vec<Probed>, Failure> {
    args.dir
        .iter()
        .map(|folder| {
            let mut target = Target::open(&catalogue.filesystems, &Where::Directory(folder.clone()), &Journal::new())?;
            let features = staging::features::probe_directory(&mut target)?;
            Ok(Probed { name: folder.display().to_string(), kernel: None, features })
        })
        .collect()
}
