//! `--plot`: one column of a table of runs as a picture.

use anyhow::{Context, bail};
use consort_lab::claim::Outcome;
use consort_lab::output;
use consort_lab::stat::{Estimate, mean};
use std::collections::BTreeMap;

/// Columns that a sweep varies. The one with the most values becomes the x axis, the others make curves.
const VARIED: [&str; 4] = ["exponent", "loss", "nodes", "protocol"];

/// Refuses a column that is not in `header`. Returns its place.
pub(super) fn check(header: &str, column: &str) -> anyhow::Result<usize> {
    let names: Vec<&str> = header.split(',').map(str::trim).collect();
    let place = names.iter().position(|n| *n == column);
    place.with_context(|| {
        format!(
            "there is no column `{column}`; there are {}",
            names.join(", ")
        )
    })
}

/// A picture of `column` with the interval that holds its mean with 95 % confidence. `lines` are runs, `header` names
/// their columns.
pub(super) fn picture(header: &str, lines: &[String], column: &str) -> anyhow::Result<String> {
    let names: Vec<&str> = header.split(',').map(str::trim).collect();
    let place = |name: &str| names.iter().position(|n| *n == name);
    let at = check(header, column)?;
    let rows: Vec<Vec<&str>> = lines.iter().map(|l| l.split(',').collect()).collect();
    let cell = |row: &[&str], at: usize| row.get(at).copied().unwrap_or_default().to_owned();
    let mut varied: Vec<(&str, usize, Vec<String>)> = VARIED
        .iter()
        .filter_map(|name| {
            let at = place(name)?;
            let mut values: Vec<String> = Vec::new();
            for value in rows.iter().map(|row| cell(row, at)) {
                if !values.contains(&value) {
                    values.push(value);
                }
            }
            Some((*name, at, values))
        })
        .collect();
    varied.sort_by_key(|v| core::cmp::Reverse((v.2.len(), v.0 != "protocol")));
    let (x_name, x_at, x_values) = varied.remove(0);
    let curves: Vec<&(&str, usize, Vec<String>)> =
        varied.iter().filter(|v| v.2.len() > 1).collect();
    let numbers: Vec<Option<f64>> = x_values.iter().map(|v| v.parse().ok()).collect();
    let numeric = numbers.iter().all(|n| n.is_some_and(f64::is_finite));
    let mut out = Outcome::new(x_name, column);
    if !numeric {
        out.ticks = x_values.clone();
    }
    let mut groups: BTreeMap<String, BTreeMap<usize, Vec<f64>>> = BTreeMap::new();
    let mut order: Vec<String> = Vec::new();
    for row in &rows {
        let parts = curves.iter().map(|(name, at, _)| match *name {
            "protocol" => cell(row, *at),
            name => format!("{name} {}", cell(row, *at)),
        });
        let name = parts.collect::<Vec<_>>().join(", ");
        let name = if name.is_empty() {
            column.to_owned()
        } else {
            name
        };
        if !order.contains(&name) {
            order.push(name.clone());
        }
        let x = x_values.iter().position(|v| *v == cell(row, x_at));
        // A run in which nothing was noticed has an empty cell.
        if let (Some(x), Ok(value)) = (x, cell(row, at).parse::<f64>()) {
            let group = groups.entry(name).or_default();
            group.entry(x).or_default().push(value);
        }
    }
    for name in order {
        let points = groups.remove(&name).unwrap_or_default();
        let points = points.into_iter().map(|(x, values)| {
            let x = match numeric {
                true => numbers[x].unwrap_or(f64::NAN),
                false => x as f64,
            };
            let keep = |keep: &dyn Fn(usize) -> bool| {
                mean((0..values.len()).filter(|&n| keep(n)).map(|n| values[n]))
            };
            (x, Estimate::jackknife(values.len(), keep))
        });
        let mut points: Vec<(f64, Estimate)> = points.collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        out.curve(name, points);
    }
    match output::svg(&format!("{column} over {x_name}"), &out) {
        Some(svg) => Ok(svg),
        None => bail!("column `{column}` has no number to draw"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "protocol,exponent,loss,nodes,detection,name";

    fn lines() -> Vec<String> {
        let rows = [
            "swim,0,0,9,100,a",
            "swim,0,0,9,120,a",
            "swim,0,0.1,9,140,a",
            "medley,0,0,9,90,a",
            "medley,0,0.1,9,,a",
            "medley,0,0.1,9,95,a",
        ];
        rows.map(String::from).to_vec()
    }

    #[test]
    fn a_sweep_is_drawn_over_what_varies_most_with_a_curve_for_the_rest() {
        let svg = picture(HEADER, &lines(), "detection").unwrap();
        for text in ["detection over loss", ">swim<", ">medley<", ">0.1<"] {
            assert!(svg.contains(text), "no {text} in {svg}");
        }
        let one = picture(HEADER, &lines()[..2], "detection").unwrap();
        assert!(one.contains("<circle"), "{one}");
    }

    #[test]
    fn a_column_that_is_not_there_or_has_no_numbers_is_refused() {
        let wrong = picture(HEADER, &lines(), "x").unwrap_err().to_string();
        assert!(wrong.contains("detection"), "{wrong}");
        assert!(picture(HEADER, &lines(), "name").is_err());
    }
}
