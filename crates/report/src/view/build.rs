//! Builds the view of a run: the judge's table and judgement, laid out as sections, rows and cells.
//! In: [`Material`]. Out: a [`View`].

use super::axes::axes;
use super::cells::{RowContext, differ};
use super::known::{slug, trial_name, unique};
use super::late_disk::LateDisk;
use super::pairs::pairs;
use super::scaling::scalings;
use super::{
    AnswerView, CellView, ContenderView, Counts, DeviceRow, FailureView, FigureView, Material, NoteView, RowView,
    SentenceView, View, WorkloadView,
};
use super::{costs, options, story};
use crate::ReportError;
use crate::chart::slots;
use crate::number::Unit;
use judge::{Direction, Judgement, Table};
use records::program::Figure;
use records::{Contender, ContenderRecord, DEVICE, Origin, TrialRecord, TrialStatus, WorkRecord};
use std::collections::{BTreeMap, HashSet};

impl View {
    /// Judges the run and lays it out.
    ///
    /// # Errors
    /// A run that is too large to judge, or that contradicts itself.
    pub fn of(material: &Material) -> Result<View, ReportError> {
        let table = samples::table(&material.run, &material.contenders, &material.trials);
        let judgement = judge::judge(&table)
            .map_err(|error| ReportError::Judging { run: material.run.id.clone(), answer: error.to_string() })?;
        let found = judge::answer(&table)
            .map_err(|error| ReportError::Judging { run: material.run.id.clone(), answer: error.to_string() })?;
        let contenders = in_order(contenders(material, &table), &found);
        let (device, below) = device(material);
        let counting = material.counting();
        let mut slugs = HashSet::new();
        let mut workloads = Vec::new();
        for work in material.run.new.works.iter().filter(|work| !is_device(&material.run.new.works, work)) {
            let builder = Builder { material, counting: &counting, table: &table, judgement: &judgement };
            workloads.push(builder.workload(work, &contenders, &below, &mut slugs));
        }
        let names: Vec<&str> = workloads.iter().map(|workload| trial_name(material, workload)).collect();
        let called: Vec<&str> = contenders.iter().map(|contender| contender.name.as_str()).collect();
        let scalings = scalings(&workloads, &names, &called);
        let asked: Vec<Option<&Contender>> = contenders.iter().map(|view| asked(material, view.index)).collect();
        let axes = axes(&contenders, &asked, &releases(material));
        let costs = costs::costs(material, &contenders, &workloads);
        let clients = super::clients::clients(material, &contenders, &workloads);
        let scores = super::score::scores(&workloads, contenders.len());
        let counts = counts(material, &counting);
        let mut warnings = story::warnings(&material.run, &contenders, &workloads, counts, &judgement);
        warnings.extend(contenders.iter().filter_map(|contender| {
            Some(format!("{} was aged before the work: {}.", contender.name, contender.age.as_ref()?))
        }));
        let machines = super::machines::machines(material);
        warnings.extend(machines.as_ref().map(super::MachinesView::sentence));
        let late_disk = match super::late_disk::of(material, &counting) {
            Some(LateDisk::Late(sentence)) => Some(sentence),
            Some(LateDisk::OnTime(sentence)) => {
                warnings.push(sentence);
                None
            }
            None => None,
        };
        let in_use = super::device::in_use(material, &counting);
        let mut view = View {
            run: super::run::run(material),
            answer: AnswerView::default(),
            failures: failures(material),
            contenders,
            workloads,
            axes,
            pivots: Vec::new(),
            variants: super::variants::variants(&material.run, &table),
            scalings,
            clients,
            scores,
            costs,
            machines,
            device,
            warnings,
            counts,
            against: None,
            published: Vec::new(),
            noise_floor: judgement.noise_floor,
            smallest_effect: judgement.smallest_effect,
            table,
            judgement,
        };
        view.pivots = super::pivot::pivots(&view);
        let sessions = samples::sessions(&material.run, &material.contenders, &material.trials);
        view.answer = super::answer::answer(&view, &found, &super::sessions::views(&sessions));
        let names: Vec<&str> = view.contenders.iter().map(|contender| contender.name.as_str()).collect();
        // Where data compresses, space is part of the answer; elsewhere it comes last.
        let (first, last) = match costs::space(&view.costs, &names) {
            Some((text, true)) => (Some(text), None),
            Some((text, false)) => (None, Some(text)),
            None => (None, None),
        };
        view.answer.besides.splice(0..0, late_disk.into_iter().chain(in_use).chain(first));
        view.answer.besides.extend(last);
        Ok(view)
    }
}

struct Builder<'a> {
    material: &'a Material,
    counting: &'a HashSet<usize>,
    table: &'a Table,
    judgement: &'a Judgement,
}

/// Figures of the raw device by `workload/phase`.
type DeviceMedians = BTreeMap<String, f64>;

impl Builder<'_> {
    fn workload(
        &self,
        work: &WorkRecord,
        contenders: &[ContenderView],
        below: &DeviceMedians,
        slugs: &mut HashSet<String>,
    ) -> WorkloadView {
        let name = samples::work_name(&self.material.run.new.works, work);
        let mut row_slugs = HashSet::new();
        let mut rows: Vec<RowView> = self
            .table
            .operations
            .iter()
            .enumerate()
            .filter(|(_, operation)| operation.id.workload == name && operation.id.figure.is_empty())
            .map(|(index, _)| self.row(work, index, contenders, below, &mut row_slugs))
            .collect();
        rows.sort_by_key(|row| !self.table.operations[row.operation].summary);
        let sentences = self
            .judgement
            .sentences
            .iter()
            .filter(|note| note.operation.is_some_and(|at| self.table.operations[at].id.workload == name))
            .map(|note| self.sentence(note))
            .collect();
        one_unit(&mut rows);
        let notes = shared_notes(&mut rows);
        WorkloadView {
            notes,
            slug: unique(slug(&name), slugs),
            title: title(&self.material.run.new.works, work),
            about: work.about.clone(),
            scale: work.scale.clone(),
            settings: work.settings.clone().into_iter().collect(),
            name,
            rows,
            sentences,
        }
    }

    fn sentence(&self, note: &judge::Sentence) -> SentenceView {
        let names = note.cells.iter().filter_map(|cell| self.table.cells.get(*cell)).map(|cell| {
            let id = &self.table.operations[cell.operation].id;
            format!("{}/{}/{}", id.workload, id.key(), self.table.contenders[cell.contender].name)
        });
        let first = self.judgement.sentences.iter().find(|other| other.operation == note.operation);
        let aside = first.is_some_and(|first| first != note);
        SentenceView { text: note.text.clone(), aside, cells: names.collect() }
    }

    fn row(
        &self,
        work: &WorkRecord,
        operation: usize,
        contenders: &[ContenderView],
        below: &DeviceMedians,
        slugs: &mut HashSet<String>,
    ) -> RowView {
        let id = &self.table.operations[operation].id;
        let beside = |figure: &str| {
            let wanted = judge::OperationId { figure: figure.into(), ..id.clone() };
            self.table.operations.iter().position(|other| other.id == wanted)
        };
        let facts = work
            .phases
            .iter()
            .find(|facts| !facts.preparation && facts.named() == id.operation && facts.cache_label == id.cache);
        let total = work.totals.iter().find(|total| total.operation == id.operation && total.cache_label == id.cache);
        let (title, phases) = match (facts, total) {
            (Some(facts), _) => (facts.title.clone(), vec![facts.name.clone()]),
            (None, Some(total)) => (total.title.clone(), total.of.clone()),
            (None, None) => (id.operation.clone(), vec![]),
        };
        let key = id.key();
        let mut row = RowView {
            operation,
            slug: unique(slug(&key), slugs),
            key,
            title: if title.is_empty() { id.operation.clone() } else { title },
            cache: id.cache.clone(),
            phases,
            group: facts.and_then(|facts| facts.figure_group.clone()),
            figure: facts.map_or(Figure::Seconds, |facts| facts.figure),
            higher_is_better: self.table.operations[operation].direction == Direction::HigherIsBetter,
            unit: Unit::for_row(Figure::Seconds, std::iter::empty()),
            base_unit: self.table.operations[operation].unit.clone(),
            durable: beside(samples::RETURNED).is_some(),
            returned_matters: false,
            device: facts.and_then(|facts| facts.share_of.as_ref()).and_then(|of| below.get(of)).copied(),
            cells: Vec::new(),
        };
        let context = RowContext {
            material: self.material,
            counting: self.counting,
            table: self.table,
            judgement: self.judgement,
            work,
            facts,
            operation,
            returned: beside(samples::RETURNED),
            cpu: beside(samples::CPU),
        };
        row.cells = contenders
            .iter()
            .enumerate()
            .map(|(place, contender)| context.cell(&row, place, contender.index))
            .collect();
        row.returned_matters = row.cells.iter().any(differ);
        row
    }
}

/// Removes from the cells the notes that all of them have.
fn shared_notes(rows: &mut [RowView]) -> Vec<NoteView> {
    let measured = |cell: &&CellView| cell.figure.is_some();
    let cells: Vec<&CellView> = rows.iter().flat_map(|row| &row.cells).filter(measured).collect();
    let Some((first, others)) = cells.split_first().filter(|(_, others)| !others.is_empty()) else {
        return Vec::new();
    };
    let everywhere = |note: &&NoteView| others.iter().all(|cell| cell.notes.contains(note));
    let shared: Vec<NoteView> = first.notes.iter().filter(everywhere).cloned().collect();
    for cell in rows.iter_mut().flat_map(|row| &mut row.cells) {
        cell.notes.retain(|note| !shared.contains(note));
    }
    shared
}

/// Gives the rows of a workload that measure the same the same unit, and each its digits.
fn one_unit(rows: &mut [RowView]) {
    let figures = |row: &RowView| -> Vec<(f64, Option<f64>)> {
        let of = |figure: &FigureView| (figure.median, figure.half_width());
        let beside = |cell: &CellView| cell.returned.as_ref().filter(|_| row.returned_matters).map(of);
        row.cells.iter().flat_map(|cell| cell.figure.as_ref().map(of).into_iter().chain(beside(cell))).collect()
    };
    for at in 0..rows.len() {
        // Figures that programs print differ from row to row.
        let is_alike =
            |other: usize| other == at || rows[at].figure != Figure::Printed && rows[other].figure == rows[at].figure;
        let alike = (0..rows.len()).filter(|&other| is_alike(other)).map(|other| &rows[other]);
        let medians: Vec<f64> = alike.flat_map(&figures).map(|(median, _)| median).collect();
        let unit = Unit::for_row(rows[at].figure, medians.iter().copied());
        rows[at].unit = unit.rounded(figures(&rows[at]).into_iter());
    }
}

/// Heading of a workload: with its scale, where the run has it at several.
fn title(works: &[WorkRecord], work: &WorkRecord) -> String {
    let title = if work.title.is_empty() { &work.name } else { &work.title };
    let several = works.iter().filter(|other| other.name == work.name).count() > 1;
    if several { format!("{title} ({})", work.scale) } else { title.clone() }
}

/// The requested options of a contender, by its index in the ledger.
fn asked(material: &Material, index: usize) -> Option<&Contender> {
    material.contenders.iter().find(|record| record.index as usize == index)?.asked.as_ref()
}

/// Releases of the kernels that contenders ran on, by their requested names.
fn releases(material: &Material) -> BTreeMap<String, String> {
    let here = material.run.new.machine.as_ref().map(|machine| ("host".to_owned(), machine.kernel.clone()));
    let kernels = material.trials.iter().filter_map(|trial| {
        let name = asked(material, trial.contender as usize)?.kernel.clone()?;
        Some((name, trial.found.as_ref()?.kernel.clone()?))
    });
    here.into_iter().chain(kernels).collect()
}

/// Whether a workload measures the raw device, which others are shown as a share of.
fn is_device(works: &[WorkRecord], work: &WorkRecord) -> bool {
    let referred = works.iter().flat_map(|other| &other.phases).filter_map(|facts| facts.share_of.as_deref());
    work.name == "device" || referred.filter_map(|of| of.split_once('/')).any(|(name, _)| name == work.name)
}

/// The raw device is the same below every contender, so all trials of it count together.
fn device(material: &Material) -> (Vec<DeviceRow>, DeviceMedians) {
    let works = &material.run.new.works;
    let counting = material.counting();
    let (mut rows, mut below) = (Vec::new(), DeviceMedians::new());
    for work in works.iter().filter(|work| is_device(works, work)) {
        for facts in work.phases.iter().filter(|facts| !facts.preparation) {
            let trials = material.trials.iter().enumerate().filter(|(number, trial)| {
                counting.contains(number) && trial.workload == work.name && trial.scale == work.scale
            });
            let phases: Vec<_> = trials
                .flat_map(|(_, trial)| &trial.phases)
                .filter(|phase| phase.name == facts.name && phase.counts())
                .collect();
            let shown =
                |phase: &&records::PhaseRecord| [&phase.evidence.remarks[..], &phase.evidence.disturbed].concat();
            let remarks: std::collections::BTreeSet<String> = phases.iter().flat_map(shown).collect();
            let values: Vec<f64> = phases.iter().filter_map(|phase| samples::returned(phase, facts)).collect();
            let Some(median) = judge::median(&values) else {
                continue;
            };
            let (low, high) =
                values.iter().fold((median, median), |(low, high), value| (low.min(*value), high.max(*value)));
            let phase = format!("{}/{}", work.name, facts.name);
            below.insert(phase.clone(), median);
            rows.push(DeviceRow {
                phase,
                title: facts.title.clone(),
                figure: facts.figure,
                unit: Unit::for_row(facts.figure, std::iter::once(median)),
                median,
                range: (low, high),
                samples: values.len(),
                remarks: remarks.into_iter().collect(),
            });
        }
    }
    (rows, below)
}

/// Whether tables show a contender: no twins, and the raw device only if a workload of its own ran on it.
fn is_shown(material: &Material, record: &ContenderRecord) -> bool {
    let works = &material.run.new.works;
    let shown = |trial: &TrialRecord| {
        let work = works.iter().find(|work| work.name == trial.workload && work.scale == trial.scale);
        work.is_none_or(|work| !is_device(works, work))
    };
    let mine = || material.trials.iter().filter(|trial| trial.contender == record.index);
    let is_raw = record.asked.as_ref().is_some_and(|asked| asked.filesystem == DEVICE);
    record.twin_of.is_none() && (!is_raw || record.error.is_some() || mine().any(shown))
}

fn contenders(material: &Material, table: &Table) -> Vec<ContenderView> {
    let visible = || material.contenders.iter().filter(|record| is_shown(material, record));
    let class =
        |record: &ContenderRecord| table.contender(&record.label).map(|place| table.contenders[place].durability);
    let classes: HashSet<_> = visible().filter(|record| record.error.is_none()).filter_map(class).collect();
    visible()
        .zip(places(material))
        .map(|(record, slot)| {
            let trials = || material.trials.iter().filter(|trial| trial.contender == record.index);
            let found = trials().find_map(|trial| trial.found.as_ref());
            let closing = trials().rev().find_map(|trial| trial.closing.as_ref());
            let durability = class(record).unwrap_or_default();
            let backend =
                table.contender(&record.label).map(|place| table.contenders[place].backend).unwrap_or_default();
            ContenderView {
                index: record.index as usize,
                slot,
                name: record.label.clone(),
                error: record.error.clone(),
                nearest: record.asked.as_ref().and_then(|asked| asked.nearest.clone()),
                safety: story::safety(&durability),
                measured: None,
                badge: story::badge(&durability, classes.len() > 1, backend),
                backend,
                durability,
                age: found.and_then(|found| found.aged.as_ref()).map(|aged| aged.state.summary.clone()),
                asked: asked_in_words(record, &material.run.new.origin),
                options: options::all(found, closing),
                found: found.map(|found| pairs(&options::without(found))).unwrap_or_default(),
                closing: closing.map(|closing| pairs(&options::rest(closing))).unwrap_or_default(),
                axes: record.asked.as_ref().map(|asked| pairs(&asked.axes)).unwrap_or_default(),
            }
        })
        .collect()
}

/// Contenders in the order of the answer, the best choice first; the rest follow in the order of the plan.
fn in_order(mut contenders: Vec<ContenderView>, answer: &judge::Answer) -> Vec<ContenderView> {
    let order: Vec<usize> = answer.groups.iter().flat_map(|group| group.order.iter().copied()).collect();
    contenders.sort_by_key(|one| order.iter().position(|&index| index == one.index).unwrap_or(usize::MAX));
    contenders
}

/// Positions in the palette; contenders that are never drawn take none.
fn places(material: &Material) -> Vec<usize> {
    let visible = || material.contenders.iter().filter(|record| is_shown(material, record));
    let drawn: Vec<&str> =
        visible().filter(|record| record.error.is_none()).map(|record| record.label.as_str()).collect();
    let mut free = slots(&drawn).into_iter();
    visible().map(|record| if record.error.is_none() { free.next().unwrap_or_default() } else { 0 }).collect()
}

/// The requested options of a contender without its base, which is the start of its name; for imported results only the file is known.
fn asked_in_words(record: &ContenderRecord, origin: &Origin) -> Vec<(String, String)> {
    match (&record.asked, origin) {
        (None, Origin::Foreign { file, .. }) => vec![("imported from".into(), file.clone())],
        (Some(asked), _) => pairs(&Contender { base: String::new(), nearest: None, ..asked.clone() }),
        (None, _) => Vec::new(),
    }
}

fn failures(material: &Material) -> Vec<FailureView> {
    let failed = material.trials.iter().filter(|trial| trial.status == TrialStatus::Failed);
    failed
        .map(|trial| {
            let contender = material.contenders.iter().find(|record| record.index == trial.contender);
            FailureView {
                contender: contender.map(|record| record.label.clone()).unwrap_or_default(),
                workload: trial.workload.clone(),
                block: trial.block,
                reason: trial.reason.clone().unwrap_or_else(|| "no reason was recorded".into()),
            }
        })
        .collect()
}

fn counts(material: &Material, counting: &HashSet<usize>) -> Counts {
    let with = |status| material.trials.iter().filter(|trial| trial.status == status).count();
    let unrepeated =
        counting.iter().filter(|number| material.trials[**number].status == TrialStatus::Disturbed).count();
    Counts {
        blocks: material.trials.iter().map(|trial| trial.block.saturating_add(1)).max().unwrap_or(0),
        done: counting.len(),
        failed: with(TrialStatus::Failed),
        set_aside: with(TrialStatus::Disturbed) - unrepeated,
        measured_share: samples::Time::of(&material.trials).map(samples::Time::share),
    }
}
