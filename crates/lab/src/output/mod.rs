//! Output of results: numbers, plots and one page to read.

mod csv;
mod html;
mod plot;
mod text;

pub use text::{counts, list_json, list_markdown, list_table, markdown, results_table};

use crate::LabError;
use crate::claim::{Claim, Judged};
use crate::plan::{Order, Partial};
use crate::record::Line;
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
}

/// Writes a CSV file and a plot for each claim that has numbers to show, `results.json` and `report.html`.
pub fn write_all(
    dir: &Path,
    order: &Order,
    claims: &[&Claim],
    judged: &[Judged],
) -> Result<(), LabError> {
    create(dir)?;
    let mut plots = Vec::new();
    for (claim, result) in claims.iter().zip(judged) {
        let svg = plot::svg(claim, &result.outcome);
        if !result.outcome.series.is_empty() {
            let numbers = csv::csv(&result.outcome);
            write(&dir.join(format!("{}.csv", claim.id)), numbers.as_bytes())?;
        }
        if let Some(svg) = &svg {
            write(&dir.join(format!("{}.svg", claim.id)), svg.as_bytes())?;
        }
        plots.push(svg);
    }
    let results = Results {
        order,
        summary: claims
            .iter()
            .zip(judged)
            .map(|(claim, result)| Line::new(order, claim, result))
            .collect(),
        claims: judged,
    };
    write(&dir.join(RESULTS), &json(&results))?;
    let page = html::page(order, claims, judged, &plots);
    write(&dir.join("report.html"), page.as_bytes())
}

/// Reads the verdicts of the runs that were written to `dir`.
pub fn read_summary(dir: &Path) -> Result<Vec<Line>, LabError> {
    let path = dir.join(RESULTS);
    let bytes = std::fs::read(&path).map_err(|e| file_error(&path, &e))?;
    let read: Summary = serde_json::from_slice(&bytes).map_err(|e| file_error(&path, &e))?;
    Ok(read.summary)
}

/// Name of the file with the results.
const RESULTS: &str = "results.json";
/// Name of the file that contains a share of the work.
const PARTIAL: &str = "partial.json";

/// Writes a share.
pub fn write_partial(dir: &Path, partial: &Partial) -> Result<(), LabError> {
    create(dir)?;
    write(&dir.join(PARTIAL), &json(partial))
}

/// Reads a share.
pub fn read_partial(dir: &Path) -> Result<Partial, LabError> {
    let path = dir.join(PARTIAL);
    let bytes = std::fs::read(&path).map_err(|e| file_error(&path, &e))?;
    serde_json::from_slice(&bytes).map_err(|e| file_error(&path, &e))
}

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
