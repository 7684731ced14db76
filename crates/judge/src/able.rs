//! Who can do all of some lines: one that can do nothing of a line that another does is no choice for that work, however fast it does the rest.
//! In: a fit, rows of it and contenders. Out: [`Able`]: among whom the choice is, and by which rows; and who can't do which.

use crate::rank::Fit;
use crate::table::{Cell, Facts, Table};

/// Among whom a choice is made, and by which rows.
pub struct Able {
    /// Those that can do something in each of the rows; all where nobody can.
    pub contenders: Vec<usize>,
    /// All rows; where nobody can do something in each, those in which everybody can.
    pub rows: Vec<usize>,
}

/// Among whom the choice is.
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

/// Contenders with the rows in which they could do nothing while another of them could.
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

/// Whether one that was measured somewhere in these rows was measured too rarely in another of them, for no reason of its own: how far behind it is will
/// be known.
pub fn is_to_come(table: &Table, fit: &Fit, rows: &[usize], among: &[usize], who: usize) -> bool {
    let begun = rows.iter().any(|&row| fit.rows[row].member(who).is_some());
    let waits = |row: usize| {
        let told = |facts: &Facts| facts.failures == 0 && facts.undone == 0;
        !fit.is_known(row, who)
            && among.iter().any(|&other| fit.is_known(row, other))
            && facts(table, fit, row, who).is_none_or(told)
    };
    begun && rows.iter().any(|&row| waits(row))
}

fn facts<'a>(table: &'a Table, fit: &Fit, row: usize, who: usize) -> Option<&'a Facts> {
    table.cell(fit.rows[row].operation, who).map(|cell: &Cell| &cell.facts)
}
