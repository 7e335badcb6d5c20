//! Numbers with their spread, one per line.

use crate::claim::Outcome;

/// The series of an outcome and the published values: a line for each point. Published ones have no error and no runs.
pub(super) fn csv(outcome: &Outcome) -> String {
    let mut out = csv::Writer::from_writer(Vec::new());
    let mut line = |cells: [String; 6]| {
        out.write_record(cells).expect("memory can be written to");
    };
    line(["series", "x", "label", "value", "standard_error", "runs"].map(String::from));
    for series in &outcome.series {
        for (x, estimate) in &series.points {
            let label = outcome.ticks.get(*x as usize).cloned();
            line([
                series.name.clone(),
                x.to_string(),
                label.unwrap_or_default(),
                estimate.value.to_string(),
                estimate.se.to_string(),
                estimate.n.to_string(),
            ]);
        }
    }
    for marks in &outcome.published {
        for (x, value) in &marks.points {
            let label = outcome.ticks.get(*x as usize).cloned();
            line([
                format!("published: {}", marks.name),
                x.to_string(),
                label.unwrap_or_default(),
                value.to_string(),
                String::new(),
                String::new(),
            ]);
        }
    }
    let bytes = out.into_inner().expect("memory can be written to");
    String::from_utf8(bytes).expect("only text was written")
}
