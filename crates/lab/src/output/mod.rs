//! Output of results: numbers, plots and one page to read.

mod csv;
mod html;
mod plot;
mod store;
mod text;

pub use store::{Store, read_share};
pub use text::{
    counts, list_json, list_markdown, list_table, markdown, record_table, results_table,
};

use crate::LabError;
use crate::claim::{Claim, Judged, Outcome};
use crate::plan::Order;
use crate::record::Line;
use crate::results::Kept;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Results as JSON.
#[derive(Serialize)]
struct Results<'a> {
    order: &'a Order,
    summary: Vec<Line>,
    claims: &'a [Judged],
}

/// The part of the results that is recorded.
#[derive(Deserialize)]
struct Summary {
    summary: Vec<Line>,
    claims: Vec<Judged>,
}

/// Writes a CSV file and a plot for each claim that has numbers to show, `results.json` and `report.html`. `seconds`
/// is the processor time of each claim.
pub fn write_all(
    dir: &Path,
    order: &Order,
    claims: &[&Claim],
    judged: &[Judged],
    seconds: &[f64],
) -> Result<(), LabError> {
    create(dir)?;
    let mut plots = Vec::new();
    for (claim, result) in claims.iter().zip(judged) {
        let curves = plot::picture(&result.outcome);
        let title = format!("{}: {}", claim.id, claim.title);
        let mut points = result.outcome.series.iter().flat_map(|s| &s.points);
        if points.any(|(_, e)| e.value.is_finite()) {
            let numbers = csv::csv(&result.outcome);
            write(&dir.join(format!("{}.csv", claim.id)), numbers.as_bytes())?;
        }
        if let Some(curves) = &curves {
            let file = dir.join(format!("{}.svg", claim.id));
            write(&file, curves.file(&title).as_bytes())?;
        }
        let inline = |p: &plot::Picture| p.inline(&title);
        let forest = plot::forest(&result.outcome);
        let shown = [curves.as_ref().map(inline), forest.as_ref().map(inline)];
        plots.push(shown.into_iter().flatten().collect::<Vec<String>>());
    }
    let results = Results {
        order,
        summary: claims
            .iter()
            .zip(judged)
            .zip(seconds)
            .map(|((claim, result), seconds)| Line::new(order, claim, result, *seconds))
            .collect(),
        claims: judged,
    };
    write(&dir.join(RESULTS), &json(&results))?;
    let page = html::page(order, claims, judged, &plots);
    write(&dir.join("report.html"), page.as_bytes())
}

/// The curves of an outcome as an SVG file; `None` if there is nothing to draw.
pub fn svg(title: &str, outcome: &Outcome) -> Option<String> {
    plot::picture(outcome).map(|p| p.file(title))
}

/// Reads the results of the runs that were written to `dir`.
pub fn read_results(dir: &Path) -> Result<Vec<Kept>, LabError> {
    let path = dir.join(RESULTS);
    let bytes = std::fs::read(&path).map_err(|e| file_error(&path, &e))?;
    let read: Summary = serde_json::from_slice(&bytes).map_err(|e| file_error(&path, &e))?;
    let outcomes = read.claims.iter().map(|c| &c.outcome);
    let lines = read.summary.into_iter().zip(outcomes);
    Ok(lines.map(|(line, o)| Kept::new(line, o)).collect())
}

/// Name of the file with the results.
const RESULTS: &str = "results.json";
fn json(value: &impl Serialize) -> Vec<u8> {
    // All keys are text, and NaN becomes null.
    serde_json::to_vec(value).expect("plain data can be written as JSON")
}

fn create(dir: &Path) -> Result<(), LabError> {
    std::fs::create_dir_all(dir).map_err(|e| file_error(dir, &e))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), LabError> {
    std::fs::write(path, bytes).map_err(|e| file_error(path, &e))
}

fn file_error(path: &Path, error: &dyn core::fmt::Display) -> LabError {
    LabError::File {
        path: path.display().to_string(),
        error: error.to_string(),
    }
}
