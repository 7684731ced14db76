//! Contenders that can do all rows: a contender that can do nothing of a row that others can do is no choice for that work, however fast it
//! is elsewhere.
//! In: a fit, some of its rows, and contenders. Out: [`Able`]: the candidates of the choice, the rows that decide it, and what each contender lacks.

use crate::rank::Fit;
use crate::table::{Cell, Facts, Table};

/// The candidates of a choice, and the rows that decide it.
pub struct Able {
    /// Contenders that lack none of the rows; all contenders if each lacks one.
    pub contenders: Vec<usize>,
    /// All rows; if each contender lacks one, those that no contender lacks.
    pub rows: Vec<usize>,
}

/// Finds the candidates of a choice.
pub fn able(table: &Table, fit: &Fit, rows: &[usize], among: &[usize]) -> Able {
    let lacking = lacking(table, fit, rows, among);
    let lacks = |who: &usize| lacking.iter().any(|(contender, _)| contender == who);
    let contenders: Vec<usize> = among.iter().copied().filter(|who| !lacks(who)).collect();
    if !contenders.is_empty() {
        return Able { contenders, rows: rows.to_vec() };
    }
    let by_all = |row: &&usize| !lacking.iter().any(|(_, rows)| rows.contains(row));
    Able { contenders: among.to_vec(), rows: rows.iter().filter(by_all).copied().collect() }
}

/// Contenders with the rows in which they could do nothing although another could.
pub fn lacking(table: &Table, fit: &Fit, rows: &[usize], among: &[usize]) -> Vec<(usize, Vec<usize>)> {
    let lacks = |row: usize, who: usize| {
        let done = |who: usize| fit.is_known(row, who);
        !done(who)
            && facts(table, fit, row, who).is_some_and(|facts| facts.undone > 0)
            && among.iter().any(|&who| done(who))
    };
    let of = |who: usize| (who, rows.iter().copied().filter(|&row| lacks(row, who)).collect::<Vec<_>>());
    among.iter().map(|&who| of(who)).filter(|(_, rows)| !rows.is_empty()).collect()
}

/// Whether a contender was measured in some of these rows, but too rarely in another, without a failure of its own: more rounds will show
/// how far behind it is.
pub fn is_to_come(table: &Table, fit: &Fit, rows: &[usize], among: &[usize], who: usize) -> bool {
    let begun = rows.iter().any(|&row| fit.rows[row].member(who).is_some());
    let waits = |row: usize| {
        let count = |facts: &Facts| facts.failures == 0 && facts.undone == 0;
        !fit.is_known(row, who)
            && among.iter().any(|&other| fit.is_known(row, other))
            && facts(table, fit, row, who).is_none_or(count)
    };
    begun && rows.iter().any(|&row| waits(row))
}

fn facts<'a>(table: &'a Table, fit: &Fit, row: usize, who: usize) -> Option<&'a Facts> {
    table.cell(fit.rows[row].operation, who).map(|cell: &Cell| &cell.facts)
}
