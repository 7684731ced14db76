//! Names that a job file gives to files, folders and jobs: each must stay below the contender's folder, whatever exists there.
//! In: a name. Out: its plainest form; or why it is refused.

/// Characters of one name; fio adds numbers to it.
const NAME_LIMIT: usize = 100;
/// Components of a path.
const DEPTH_LIMIT: usize = 16;
/// Characters allowed besides letters and digits. No `$`, quotes or backslashes: fio replaces, interprets or skips them.
const SIGNS: &str = " -_.+,=@%():&~";
/// What fio replaces in `filename_format`.
const KEYWORDS: [&str; 3] = ["$jobname", "$jobnum", "$filenum"];

/// The name of a section, which becomes that of a file.
///
/// # Errors
/// It is a path, or holds signs that names of files should not hold; in a clause.
pub fn job(name: &str) -> Result<String, String> {
    let name = name.trim_matches(' ');
    if name.contains('/') {
        return Err(format!(
            "names a {}: a section's name becomes the name of a file in each contender's folder, so it must not contain `/`",
            if name.starts_with("/dev/") { "device or file" } else { "path" }
        ));
    }
    plain(name)?;
    Ok(name.into())
}

/// Relative paths, separated by colons, without `.` between them; `what` is what they name.
///
/// # Errors
/// One of them leads out, or holds signs that it should not; in a clause.
pub fn paths(value: &str, what: &str) -> Result<String, String> {
    // All parts are checked for devices first, since that is the most serious error.
    let all = || value.split([':', ',']).map(str::trim);
    if all().any(|part| part.starts_with("/dev/")) {
        return Err("names a device: jobs run on files in each contender's folder".into());
    }
    if all().any(|part| part.starts_with('/')) {
        return Err("is a path outside of the contender's folder: leave it out, write it without the `/`, or map it (--map /mnt/test=.)".into());
    }
    if all().any(|part| part.split('/').any(|name| name == "..")) {
        return Err("leads out of the contender's folder".into());
    }
    let parts: Vec<String> = value.split(':').map(path).collect::<Result<_, _>>()?;
    if parts.iter().any(String::is_empty) {
        return Err(format!("names no {what}"));
    }
    Ok(parts.join(":"))
}

fn path(text: &str) -> Result<String, String> {
    let names: Vec<&str> = text.split('/').filter(|name| !name.is_empty() && *name != ".").collect();
    if names.len() > DEPTH_LIMIT {
        return Err(format!("has {} names in a path; the limit is {DEPTH_LIMIT}", names.len()));
    }
    names.iter().try_for_each(|name| plain(name))?;
    Ok(names.join("/"))
}

/// The template by which fio forms file names.
///
/// # Errors
/// It is a path, or holds other keywords; in a clause.
pub fn format(value: &str) -> Result<String, String> {
    // fio also accepts its keywords in capitals.
    let lower = value.to_ascii_lowercase();
    let bare = KEYWORDS.iter().fold(lower, |text, keyword| text.replace(keyword, "x"));
    if bare.contains(['/', ':']) {
        return Err("is a path, or several: name the folder with `directory=`".into());
    }
    plain(&bare)?;
    Ok(value.into())
}

fn plain(name: &str) -> Result<(), String> {
    let wrong = name.chars().find(|c| !c.is_ascii_alphanumeric() && !SIGNS.contains(*c));
    if let Some(wrong) = wrong {
        return Err(format!("has {wrong:?} in a name: use letters, digits and any of `{}`", SIGNS.trim_start()));
    }
    if name.is_empty() || name == "." || name == ".." {
        return Err("is not a file name".into());
    }
    if name.starts_with(['-', ' ', '~']) || name.ends_with(' ') {
        return Err("has a name that begins with `-`, `~` or a blank, or ends with a blank".into());
    }
    if name.len() > NAME_LIMIT {
        return Err(format!("has a name of {} characters; the limit is {NAME_LIMIT}", name.len()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_plain_names() {
        for name in ["seq-read", "4k random read", "db.1", "global_x", "...", "job(1)", "a:b"] {
            assert_eq!(job(name).as_deref(), Ok(name));
        }
        let long = "x".repeat(NAME_LIMIT + 1);
        for name in [
            "/dev/sda", "dev/sda", "../x", "..", ".", "", " ", "a/b", "-", "-x", "~root", "${X}", "$jobname", "a'b",
            "a\\b", "a\"b", "a;b", "[a", "é", &long,
        ] {
            job(name).expect_err(name);
        }
    }

    #[test]
    fn paths_stay_below_their_folder_in_their_plainest_form() {
        for (value, expected) in
            [("a", "a"), ("./a//b/", "a/b"), ("a:b/c", "a:b/c"), ("a:./b", "a:b"), ("x.0.0", "x.0.0")]
        {
            assert_eq!(paths(value, "file").as_deref(), Ok(expected));
        }
        for (value, why) in [
            ("a:/dev/sda", "names a device"),
            ("/dev/sda\\:1", "names a device"),
            ("a/../../b", "leads out"),
            ("a:..", "leads out"),
            ("/etc/passwd", "is a path outside"),
            ("a: /etc/passwd", "is a path outside"),
            ("a\\:b", "in a name"),
            ("a:", "names no file"),
            (".", "names no file"),
            ("", "names no file"),
            ("-", "begins with"),
            ("a'x'", "in a name"),
        ] {
            let problem = paths(value, "file").expect_err(value);
            assert!(problem.contains(why), "{value}: {problem}");
        }
    }

    #[test]
    fn formats_are_names_with_fios_own_keywords() {
        for value in ["$jobname.$jobnum.$filenum", "$JobName", "data-$filenum.bin", "x"] {
            assert_eq!(format(value).as_deref(), Ok(value));
        }
        for value in ["/dev/$jobname", "../$jobname", "$jobname/x", "x:y", "$clientuid", "${X}", "$", "", "-", ".."] {
            format(value).expect_err(value);
        }
    }
}
