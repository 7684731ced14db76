//! Shows results: tables in the terminal, a page with charts, and files for other programs.
//! In: the records of one run in the ledger, judged by the same table as the stopping rule. Out: text and files.
//! Independent of how anything was measured.

pub mod chart;
pub mod effects;
mod error;
pub mod export;
mod findings;
pub mod gallery;
pub mod html;
pub mod live;
mod number;
mod page_head;
pub mod pages;
mod safe;
pub mod terminal;
pub mod view;
mod wrap;

pub use error::ReportError;
pub use export::{Format, write, write_view};
pub use findings::{Cell, Findings, Group, Row, Tone, page as findings_page};
pub use html::Links;
pub use number::Unit;
pub use safe::{screen, terminal as one_line};
pub use view::{Material, View};
pub use wrap::wrapped;
