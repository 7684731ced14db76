//! The lines of a job file, read as fio reads them (`__parse_jobs_ini` and `fio_option_dup_subs` in its sources).
//! In: text and the values of variables. Out: sections with their options, variables expanded; or what is wrong with a line.
//! Only the syntax is checked here; [`crate::options`] decides which options may run.

/// Bytes of a line, its end included, that fio reads as one; it treats the rest as a separate line.
const LINE_LIMIT: usize = 8191;

/// Characters of a line that an error repeats.
const SHOWN_LIMIT: usize = 160;

/// A text for error messages: its beginning, without characters that control a terminal.
pub fn shown(text: &str) -> String {
    let beginning: String = text.chars().take(SHOWN_LIMIT).collect();
    let rest = if beginning.len() < text.len() { "..." } else { "" };
    beginning
        .chars()
        .flat_map(|c| if c.is_control() { c.escape_debug().collect() } else { vec![c] })
        .collect::<String>()
        + rest
}

/// An option of a section, with its variables expanded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Number of its line, from 1.
    pub number: usize,
    /// The name before the `=`.
    pub key: String,
    /// What follows it; None without a `=`.
    pub value: Option<String>,
    /// The original text, without its comment.
    pub written: String,
}

/// A section and its options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Number of its line, from 1.
    pub number: usize,
    /// What its brackets hold.
    pub name: String,
    /// Its options, in order.
    pub lines: Vec<Line>,
}

impl Section {
    /// Whether its options apply to the jobs after it: fio compares the first six letters only.
    pub fn is_global(&self) -> bool {
        self.name.starts_with("global")
    }
}

/// The value of an environment variable; None where it is not set.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The sections of a job file, and what is wrong with its lines.
pub fn sections(text: &str, variable: Lookup<'_>) -> (Vec<Section>, Vec<String>) {
    let (mut sections, mut problems): (Vec<Section>, Vec<String>) = (Vec::new(), Vec::new());
    for (at, whole) in text.split('\n').enumerate() {
        let number = at + 1;
        let mut problem = |why: &str| problems.push(format!("line {number}: {why}"));
        if whole.len() >= LINE_LIMIT {
            problem(&format!(
                "it has {} bytes, and fio reads everything after the first {LINE_LIMIT} as a separate line: shorten it",
                whole.len()
            ));
            continue;
        }
        let whole = whole.strip_suffix('\r').unwrap_or(whole);
        if let Some(control) = whole.chars().find(|c| c.is_control() && *c != '\t') {
            problem(&format!("it contains the control character {}", control.escape_default()));
            continue;
        }
        let line = without_blanks(whole.split([';', '#']).next().unwrap_or_default());
        if line.is_empty() {
            continue;
        }
        if let Some(rest) = line.strip_prefix('[') {
            match rest.strip_suffix(']') {
                Some(name) => sections.push(Section { number, name: name.into(), lines: Vec::new() }),
                None => problem(&format!("`{}` begins a section and does not end with `]`", shown(line))),
            }
            continue;
        }
        if line.starts_with("include") {
            problem(&format!("`{}` includes another file: put its lines here", shown(line)));
            continue;
        }
        let Some(section) = sections.last_mut() else {
            problem(&format!("`{}` is before the first [section]", shown(line)));
            continue;
        };
        match expanded(line, variable) {
            Ok(text) => {
                let (key, value) = text.split_once('=').map_or((&*text, None), |(key, value)| (key, Some(value)));
                section.lines.push(Line {
                    number,
                    key: without_blanks(key).into(),
                    value: value.map(|value| without_blanks(value).into()),
                    written: line.into(),
                });
            }
            Err(why) => problem(&format!("`{}` {why}", shown(line))),
        }
    }
    (sections, problems)
}

/// Trims only what C's isspace() treats as white space.
fn without_blanks(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\u{b}')
}

/// A line with the values of its variables, which are not expanded again.
fn expanded(line: &str, variable: Lookup<'_>) -> Result<String, String> {
    let (mut text, mut rest) = (String::new(), line);
    while let Some((before, after)) = rest.split_once("${") {
        let (name, after) = after.split_once('}').ok_or("has a `${` without a `}`")?;
        let value = variable(name).ok_or_else(|| {
            let name = shown(name);
            format!("uses ${{{name}}}, which is not set in the environment: run it as `{name}=... bakeoff ...`")
        })?;
        text += before;
        text += &value;
        rest = after;
        if text.len() >= LINE_LIMIT {
            return Err(format!("has {LINE_LIMIT} bytes or more once ${{{}}} is expanded", shown(name)));
        }
    }
    Ok(text + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<Section>, Vec<String>) {
        let known = |name: &str| match name {
            "KEY" => Some("exec_prerun".to_owned()),
            "NAME" => Some("${KEY}".to_owned()),
            "LONG" => Some("x".repeat(9000)),
            _ => None,
        };
        sections(text, &known)
    }

    #[test]
    fn variables_are_expanded_once_in_keys_and_values_and_never_in_comments() {
        let (sections, problems) =
            read("[a] ; ${NONE}\n; directory=${NONE}\n ${KEY} = ${NAME} # ${NONE}\nsize=1m ; x\r\nstonewall\n");
        assert_eq!(problems, Vec::<String>::new());
        let lines: Vec<(&str, Option<&str>)> =
            sections[0].lines.iter().map(|line| (&*line.key, line.value.as_deref())).collect();
        assert_eq!(lines, [("exec_prerun", Some("${KEY}")), ("size", Some("1m")), ("stonewall", None)]);
        assert!(read("[a]\nsize=${NONE}").1[0].contains("line 2: `size=${NONE}` uses ${NONE}, which is not set"));
        assert!(read("[a]\nsize=${KEY").1[0].contains("without a `}`"));
        assert!(read("[a]\nfilename=${LONG}").1[0].contains("8191 bytes or more"));
    }

    #[test]
    fn a_line_that_fio_would_read_as_two_is_refused_also_as_a_comment() {
        for start in ["; ", "# ", "description=", "[", ""] {
            let text = format!("[a]\n{start}{}\n", "x".repeat(LINE_LIMIT - start.len()));
            assert!(read(&text).1[0].starts_with("line 2: it has 8191 bytes"), "{:?}", read(&text).1);
        }
        let comment = format!("[a]\n;{}\n", "x".repeat(LINE_LIMIT - 2));
        assert_eq!(read(&comment).1, Vec::<String>::new());
    }

    #[test]
    fn lines_of_a_wrong_form_are_named() {
        for (text, why) in [
            ("size=1m\n[a]", "line 1: `size=1m` is before the first [section]"),
            ("[a]\nincludeother.fio", "line 2: `includeother.fio` includes another file"),
            ("[a] b\nsize=1m", "line 1: `[a] b` begins a section"),
            ("[a]\nname=x\0\n", "line 2: it contains the control character \\u{0}"),
            ("[a]\nsize=1m\rexec_prerun=reboot", "line 2: it contains the control character \\r"),
        ] {
            let (_, problems) = read(text);
            assert!(problems[0].starts_with(why), "{text:?}: {problems:?}");
        }
    }

    #[test]
    fn every_section_that_begins_with_global_holds_for_the_jobs_after_it() {
        let (sections, _) = read("[global]\n[global-x]\n[globals]\n[Global]\n[my global]\n");
        assert_eq!(sections.iter().map(Section::is_global).collect::<Vec<_>>(), [true, true, true, false, false]);
    }
}
