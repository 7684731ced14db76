//! Puts charts into a spreadsheet file: the spreadsheet library writes frames, this module fills them with chart objects.
//! In: the bytes of a file with one placeholder for each chart. Out: the bytes of the file with charts.

use crate::ReportError;
use crate::safe;
use maud::html;
use std::io::{Cursor, Read, Write};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// Largest part of a file that is read, in bytes.
const LARGEST_PART: u64 = 1 << 30;

/// Position of a chart's figures.
#[derive(Debug, Clone)]
pub(super) struct ChartPlace {
    /// Heading of the chart.
    pub title: String,
    /// Unit, for the axis.
    pub unit: String,
    /// Name of the sheet with the figures.
    pub sheet: String,
    /// Line of the contenders' names, from 0.
    pub headings: u32,
    /// Line of the figures, from 0.
    pub line: u32,
    /// Columns of figures; the first of them is B.
    pub columns: u32,
    /// Divisor that converts figures to the unit.
    pub divisor: f64,
}

/// Fills the frames.
///
/// # Errors
/// A file that differs from what the spreadsheet library writes.
pub(super) fn with_charts(bytes: &[u8], places: &[ChartPlace]) -> Result<Vec<u8>, ReportError> {
    let refused = |answer: String| ReportError::Drawing { chart: "results.ods".into(), answer };
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| refused(error.to_string()))?;
    let mut out = ZipWriter::new(Cursor::new(Vec::new()));
    for at in 0..archive.len() {
        let part = archive.by_index(at).map_err(|error| refused(error.to_string()))?;
        let name = part.name().to_owned();
        let mut content = Vec::new();
        part.take(LARGEST_PART).read_to_end(&mut content).map_err(|error| refused(error.to_string()))?;
        let content = match name.as_str() {
            "content.xml" => framed(&String::from_utf8_lossy(&content), places.len()).into_bytes(),
            "styles.xml" => one_page_wide(&String::from_utf8_lossy(&content)).into_bytes(),
            "META-INF/manifest.xml" => listed(&String::from_utf8_lossy(&content), places.len()).into_bytes(),
            _ => content,
        };
        put(&mut out, &name, &content).map_err(refused)?;
    }
    for (number, place) in places.iter().enumerate() {
        put(&mut out, &format!("Object {number}/content.xml"), chart(place).as_bytes()).map_err(refused)?;
    }
    out.finish().map(Cursor::into_inner).map_err(|error| refused(error.to_string()))
}

/// The file type is first and uncompressed, so that other programs find it.
fn put(out: &mut ZipWriter<Cursor<Vec<u8>>>, name: &str, content: &[u8]) -> Result<(), String> {
    let method = if name == "mimetype" { CompressionMethod::Stored } else { CompressionMethod::Deflated };
    let options = SimpleFileOptions::default().compression_method(method);
    out.start_file(name, options).map_err(|error| error.to_string())?;
    out.write_all(content).map_err(|error| error.to_string())
}

/// Replaces placeholders with objects.
fn framed(content: &str, charts: usize) -> String {
    let mut content = content.to_owned();
    for number in 0..charts {
        let object = format!(
            r#"<draw:object xlink:href="./Object {number}" xlink:type="simple" xlink:show="embed" xlink:actuate="onLoad"/>"#
        );
        for placeholder in [
            format!(r#"<draw:image xlink:href="chart-{number}"/>"#),
            format!(r#"<draw:image xlink:href="chart-{number}"></draw:image>"#),
        ] {
            content = content.replace(&placeholder, &object);
        }
    }
    content
}

/// Fits printed sheets to the width of the paper.
fn one_page_wide(styles: &str) -> String {
    let properties = "<style:page-layout-properties ";
    styles.replace(properties, &format!(r#"{properties}style:scale-to-X="1" style:scale-to-Y="0" "#))
}

fn listed(manifest: &str, charts: usize) -> String {
    let entries: String = (0..charts)
        .map(|number| {
            format!(
                r#"<manifest:file-entry manifest:full-path="Object {number}/" manifest:media-type="application/vnd.oasis.opendocument.chart"/><manifest:file-entry manifest:full-path="Object {number}/content.xml" manifest:media-type="text/xml"/>"#
            )
        })
        .collect();
    manifest.replace("</manifest:manifest>", &format!("{entries}</manifest:manifest>"))
}

/// A bar chart that refers to the cells of its figures.
fn chart(place: &ChartPlace) -> String {
    let sheet = format!("'{}'", place.sheet.replace('\'', "''"));
    let last = column(place.columns);
    let range = |line: u32| format!("{sheet}.$B${0}:{sheet}.${last}${0}", line + 1);
    let text = |text: &str| html! { (safe::terminal(text)) }.into_string();
    let (categories, values) = (text(&range(place.headings)), text(&range(place.line)));
    let label = text(&format!("{sheet}.$A${}", place.line + 1));
    let all = text(&format!("{sheet}.$A${}:{sheet}.${last}${}", place.headings + 1, place.line + 1));
    format!(
        r##"<?xml version="1.0" encoding="UTF-8"?>
<office:document-content {NAMESPACES} office:version="1.3"><office:automatic-styles>{styles}</office:automatic-styles><office:body><office:chart><chart:chart svg:width="15.5cm" svg:height="7.9cm" xlink:href=".." xlink:type="simple" chart:class="chart:bar" chart:style-name="ground"><chart:title chart:style-name="title"><text:p>{title}</text:p></chart:title><chart:plot-area chart:style-name="plot" table:cell-range-address="{all}" chart:data-source-has-labels="both"><chart:axis chart:dimension="x" chart:name="primary-x" chart:style-name="names"><chart:categories table:cell-range-address="{categories}"/></chart:axis><chart:axis chart:dimension="y" chart:name="primary-y" chart:style-name="values"><chart:title chart:style-name="unit"><text:p>{unit}</text:p></chart:title><chart:grid chart:style-name="grid" chart:class="major"/></chart:axis><chart:series chart:style-name="bars" chart:values-cell-range-address="{values}" chart:label-cell-address="{label}" chart:class="chart:bar"/><chart:wall chart:style-name="wall"/></chart:plot-area></chart:chart></office:chart></office:body></office:document-content>"##,
        title = text(&place.title),
        unit = text(&place.unit),
        styles = styles(place.divisor, place.columns),
    )
}

const NAMESPACES: &str = r#"xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0" xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0" xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:number="urn:oasis:names:tc:opendocument:xmlns:datastyle:1.0" xmlns:chart="urn:oasis:names:tc:opendocument:xmlns:chart:1.0""#;

/// Styles of a chart: bars that start at zero, names from top to bottom, numbers in the unit.
fn styles(divisor: f64, bars: u32) -> String {
    let factor = if divisor > 1.0 { format!(r#" number:display-factor="{divisor}""#) } else { String::new() };
    let number = |name: &str, places: u32| {
        format!(
            r#"<number:number-style style:name="{name}"><number:number number:decimal-places="{places}" number:min-decimal-places="0" number:min-integer-digits="1"{factor}/></number:number-style>"#
        )
    };
    let style = |name: &str, data: &str, inner: &str| {
        format!(r#"<style:style style:name="{name}" style:family="chart"{data}>{inner}</style:style>"#)
    };
    let small = r#"<style:text-properties fo:font-size="9pt"/>"#;
    // Calc leaves out every second name if they do not fit.
    let names = if bars > 8 { r#"<style:text-properties fo:font-size="7pt"/>"# } else { small };
    [
        number("axis", 3),
        number("label", 2),
        style("ground", "", r##"<style:graphic-properties draw:stroke="none" draw:fill="solid" draw:fill-color="#ffffff"/>"##),
        style("title", "", r#"<style:text-properties fo:font-size="12pt" fo:font-weight="bold"/>"#),
        style("unit", "", &format!(r#"<style:chart-properties style:rotation-angle="0"/>{small}"#)),
        style("plot", "", r#"<style:chart-properties chart:vertical="true" chart:include-hidden-cells="true"/>"#),
        style("names", "", &format!(r#"<style:chart-properties chart:display-label="true" chart:reverse-direction="true" chart:axis-position="start"/>{names}"#)),
        style("values", r#" style:data-style-name="axis""#, &format!(r#"<style:chart-properties chart:display-label="true" chart:minimum="0" chart:link-data-style-to-source="false" chart:axis-position="end"/>{small}"#)),
        style("grid", "", r##"<style:graphic-properties draw:stroke="solid" svg:stroke-color="#dddddd"/>"##),
        style("wall", "", r#"<style:graphic-properties draw:stroke="none" draw:fill="none"/>"#),
        style("bars", r#" style:data-style-name="label""#, &format!(r##"<style:chart-properties chart:data-label-number="value" chart:link-data-style-to-source="false" chart:gap-width="60"/><style:graphic-properties draw:stroke="none" draw:fill="solid" draw:fill-color="#0072b2"/>{small}"##)),
    ]
    .concat()
}

/// Letters of a column, from 0 for A.
fn column(number: u32) -> String {
    let last = char::from(b'A' + (number % 26) as u8);
    if number < 26 { last.to_string() } else { format!("{}{last}", column(number / 26 - 1)) }
}
