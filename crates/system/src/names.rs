//! Names of this machine and of its users, which must not leave in a file for others.
//! In: the kernel, /etc/passwd and the environment. Out: names, each once; without system accounts.

/// User ids of people's accounts (login.defs: UID_MIN to UID_MAX).
const PEOPLE: std::ops::RangeInclusive<u32> = 1000..=59_999;
/// Most bytes that are read of the file of accounts.
const ACCOUNTS_LIMIT: u64 = 4 << 20;
/// Variables that name the user who started this program.
const VARIABLES: [&str; 3] = ["USER", "LOGNAME", "SUDO_USER"];

/// Names of this host.
pub fn hosts() -> Vec<String> {
    let kernel = crate::text("/proc/sys/kernel/hostname");
    let file = crate::text("/etc/hostname");
    let domain = crate::text("/proc/sys/kernel/domainname").filter(|name| name != "(none)");
    once([kernel, file, domain].into_iter().flatten().collect())
}

/// Names of the people with an account here, without root.
pub fn users() -> Vec<String> {
    let accounts = crate::input::text_file("/etc/passwd".as_ref(), ACCOUNTS_LIMIT).unwrap_or_default();
    let mut names: Vec<String> = accounts.lines().filter_map(person).collect();
    names.extend(VARIABLES.iter().filter_map(|name| std::env::var(name).ok()));
    names.retain(|name| name != "root");
    once(names)
}

/// The name in a line of /etc/passwd, if it is a person's account.
fn person(line: &str) -> Option<String> {
    let mut fields = line.split(':');
    let (name, number) = (fields.next()?, fields.nth(1)?);
    PEOPLE.contains(&number.parse().ok()?).then(|| name.to_owned())
}

fn once(mut names: Vec<String>) -> Vec<String> {
    names.retain(|name| !name.is_empty());
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_have_names_and_the_systems_own_accounts_have_none() {
        assert_eq!(person("anna:x:1000:1000:Anna,,,:/home/anna:/bin/bash"), Some("anna".into()));
        for other in ["root:x:0:0::/root:/bin/sh", "nobody:x:65534:65534::/:/bin/false", "", "a:b", "x:x:y:1::/:/"] {
            assert_eq!(person(other), None, "{other}");
        }
    }
}
