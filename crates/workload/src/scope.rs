//! Variables of a workload: the values of `$name` from its scale, its options and the user's settings.
//! In: the raw file, a scale, settings. Out: a [`Scope`] with the text of every variable.
//! Later sources win: option default, scale, chosen value of an option, setting of the user.

use crate::error::Problem;
use crate::quantity::{Scope, Unit, evaluate, look_up};
use crate::syntax::{Field, RawOption, RawWorkload, Scalar};
use crate::workload::OptionFacts;
use std::collections::BTreeMap;

/// Variables and options that one workload may have.
const NAMES_LIMIT: usize = 256;

/// Option of every workload that has none of this name: how many clients carry it out in parallel.
pub const CLIENTS: &str = "clients";

/// Most clients.
const CLIENTS_LIMIT: u64 = 1 << 20;

type Outcome<T> = std::result::Result<T, Problem>;

/// Variables in force, and the options' final values.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub scope: Scope,
    pub settings: BTreeMap<String, String>,
    /// Clients that carry out the work in parallel, if their number is set.
    pub clients: Option<u32>,
}

/// The options of a raw file.
pub(crate) fn options(raw: &RawWorkload) -> Outcome<Vec<OptionFacts>> {
    if raw.scales.is_empty() {
        return Err(Problem::new("a workload needs at least one scale").help("add a table `[scales.full]`"));
    }
    if raw.options.len() > NAMES_LIMIT || raw.scales.len() > NAMES_LIMIT {
        return Err(Problem::new(format!("more than {NAMES_LIMIT} options or scales")));
    }
    raw.options.iter().map(|(name, option)| facts(raw, name, option)).collect()
}

fn facts(raw: &RawWorkload, name: &toml::Spanned<String>, option: &RawOption) -> Outcome<OptionFacts> {
    let place = name.span();
    let name = name.get_ref();
    let mut default = BTreeMap::new();
    for (scale, variables) in &raw.scales {
        let value = variables.get(name).or(option.default.as_ref()).ok_or_else(|| {
            Problem::new(format!("option `{name}` has no value at scale `{scale}`"))
                .help("give it a `default`, or set it in every scale")
                .at(place.clone())
        })?;
        default.insert(scale.clone(), value.0.clone());
    }
    let facts = OptionFacts {
        name: name.clone(),
        about: option.about.clone(),
        default,
        allowed: allowed(option),
        weaker_in_place: option.weaker_in_place.iter().map(|value| value.0.clone()).collect(),
        parts: option.parts.clone(),
    };
    for value in facts.default.values().chain(&facts.weaker_in_place) {
        check_allowed(name, value, &facts.allowed).map_err(|problem| problem.at(place.clone()))?;
    }
    Ok(facts)
}

fn allowed(option: &RawOption) -> Vec<String> {
    option.allowed.iter().map(|value| value.0.clone()).chain(option.values.keys().cloned()).collect()
}

fn check_allowed(name: &str, value: &str, allowed: &[String]) -> Outcome<()> {
    if allowed.is_empty() || allowed.iter().any(|known| known == value) {
        return Ok(());
    }
    let known: Vec<&str> = allowed.iter().map(String::as_str).collect();
    Err(Problem::unknown(&format!("value for option {name}:"), value, &known))
}

/// Variables for one scale and the user's settings.
pub(crate) fn resolve(raw: &RawWorkload, scale: &str, asked: &BTreeMap<String, String>) -> Outcome<Resolved> {
    let variables = raw
        .scales
        .get(scale)
        .ok_or_else(|| Problem::unknown("scale", scale, &raw.scales.keys().map(String::as_str).collect::<Vec<_>>()))?;
    let names: Vec<&str> = raw.options.keys().map(|name| name.get_ref().as_str()).collect();
    let by_all = !names.contains(&CLIENTS);
    let may_be_set = |name: &str| names.contains(&name) || by_all && name == CLIENTS;
    if let Some(unknown) = asked.keys().find(|name| !may_be_set(name)) {
        return Err(Problem::unknown("option", unknown, &names));
    }
    let mut scope = Scope::new();
    if by_all {
        scope.insert(CLIENTS.to_owned(), "1".to_owned());
    }
    for (name, option) in &raw.options {
        if let Some(Scalar(value)) = &option.default {
            scope.insert(name.get_ref().clone(), value.clone());
        }
    }
    for (name, Scalar(value)) in variables {
        scope.insert(name.clone(), value.clone());
    }
    for (name, option) in &raw.options {
        choose(&mut scope, name.get_ref(), option, asked)?;
    }
    for (name, value) in asked {
        scope.insert(name.clone(), value.trim().to_owned());
    }
    for (name, option) in &raw.options {
        split_parts(&mut scope, name.get_ref(), option)?;
    }
    let mut settings: BTreeMap<String, String> =
        names.iter().map(|name| ((*name).to_owned(), scope[*name].clone())).collect();
    let clients = asked.get(CLIENTS).filter(|_| by_all);
    let many = clients.map(|text| evaluate(text, Unit::Plain, &scope)).transpose()?;
    if many.is_some_and(|many| many == 0 || many > CLIENTS_LIMIT) {
        return Err(Problem::new(format!("the range of clients is 1 to {CLIENTS_LIMIT}")));
    }
    settings.extend(many.map(|many| (CLIENTS.to_owned(), many.to_string())));
    Ok(Resolved { scope, settings, clients: many.map(|many| many as u32) })
}

/// Sets the variables that come with the chosen value of an option.
fn choose(scope: &mut Scope, name: &str, option: &RawOption, asked: &BTreeMap<String, String>) -> Outcome<()> {
    let value = match asked.get(name) {
        Some(value) => value.trim().to_owned(),
        None => look_up(name, scope)?.to_owned(),
    };
    if value.len() > 200 || value.chars().any(char::is_control) {
        return Err(Problem::new(format!("the value of option `{name}` is too long or contains control characters")));
    }
    check_allowed(name, &value, &allowed(option))?;
    for (variable, Scalar(text)) in option.values.get(&value).into_iter().flatten() {
        scope.insert(variable.clone(), text.clone());
    }
    Ok(())
}

/// Splits `a:b:c`; missing parts come from the default.
fn split_parts(scope: &mut Scope, name: &str, option: &RawOption) -> Outcome<()> {
    if option.parts.is_empty() {
        return Ok(());
    }
    let given: Vec<String> = scope[name].split(':').map(|part| part.trim().to_owned()).collect();
    if given.len() > option.parts.len() || given.iter().any(String::is_empty) {
        let form = option.parts.join(":");
        return Err(Problem::new(format!("`{}` does not have the form `{form}` of option `{name}`", scope[name])));
    }
    let default: Vec<&str> = option.default.as_ref().map_or_else(Vec::new, |default| default.0.split(':').collect());
    for (index, part) in option.parts.iter().enumerate() {
        let value = given.get(index).map(String::as_str).or(default.get(index).copied()).ok_or_else(|| {
            Problem::new(format!("option `{name}` lacks its part `{part}`")).help("its default must have every part")
        })?;
        scope.insert(part.clone(), value.trim().to_owned());
    }
    Ok(())
}

/// Text of a field; a field that is only a variable is replaced by its value, at any depth.
pub(crate) fn text(field: &Field, scope: &Scope) -> Outcome<String> {
    word(&field.get_ref().0, scope).map_err(|problem| problem.at(field.span()))
}

fn word(text: &str, scope: &Scope) -> Outcome<String> {
    let mut text = text.trim().to_owned();
    for _ in 0..8 {
        match text.strip_prefix('$') {
            Some(name) => text = look_up(name, scope)?.trim().to_owned(),
            None => return Ok(text),
        }
    }
    Err(Problem::new(format!("`{text}` refers to too many other variables, or to itself")))
}

/// Number in a field.
pub(crate) fn number(field: &Field, wanted: Unit, scope: &Scope) -> Outcome<u64> {
    evaluate(&field.get_ref().0, wanted, scope).map_err(|problem| problem.at(field.span()))
}

/// One of a few words in a field.
pub(crate) fn choice<T: Clone>(field: &Field, what: &str, known: &[(&str, T)], scope: &Scope) -> Outcome<T> {
    let text = text(field, scope)?;
    known.iter().find(|(name, _)| *name == text).map(|(_, value)| value.clone()).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        Problem::unknown(what, &text, &names).at(field.span())
    })
}

/// Boolean in a field; absent is false.
pub(crate) fn truth(field: Option<&Field>, scope: &Scope) -> Outcome<bool> {
    let known = [("true", true), ("false", false), ("yes", true), ("no", false)];
    field.map_or(Ok(false), |field| choice(field, "truth value", &known, scope))
}

/// Whether a condition such as `$form = 2.00` or `$largest > 0` holds.
pub(crate) fn holds(field: &Field, scope: &Scope) -> Outcome<bool> {
    condition(&field.get_ref().0, scope).map_err(|problem| problem.at(field.span()))
}

fn condition(text: &str, scope: &Scope) -> Outcome<bool> {
    for operator in ["!=", "=", ">", "<"] {
        let Some((left, right)) = text.split_once(operator) else { continue };
        if right.starts_with('=') {
            return Err(Problem::new(format!("`{text}` is not a condition")).help("use a single `=` to compare"));
        }
        if matches!(operator, "=" | "!=") {
            let equal = word(left, scope)? == word(right, scope)?;
            return Ok(equal == (operator == "="));
        }
        let number = |side: &str| {
            [Unit::Plain, Unit::Bytes, Unit::Nanoseconds]
                .iter()
                .find_map(|unit| evaluate(side, *unit, scope).ok())
                .ok_or_else(|| Problem::new(format!("`{}` in the condition `{text}` is not a number", side.trim())))
        };
        let (left, right) = (number(left)?, number(right)?);
        return Ok(if operator == ">" { left > right } else { left < right });
    }
    Err(Problem::new(format!("`{text}` is not a condition")).help("write it as `$form = 2.00` or `$largest > 0`"))
}
