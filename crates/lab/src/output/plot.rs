//! A plot for each figure.

use crate::claim::{Claim, Outcome};
use plotters::prelude::*;

const COLORS: [RGBColor; 8] = [
    RGBColor(0x1f, 0x5f, 0xa8),
    RGBColor(0xc2, 0x52, 0x1c),
    RGBColor(0x2b, 0x8a, 0x4b),
    RGBColor(0x8a, 0x4f, 0xb0),
    RGBColor(0xb0, 0x8a, 0x00),
    RGBColor(0x00, 0x8a, 0x93),
    RGBColor(0xb8, 0x30, 0x6a),
    RGBColor(0x55, 0x55, 0x55),
];

/// Place of the first line of the legend, and the distance between lines.
const TOP: i32 = 50;
const ROW: i32 = 20;

/// The plot as SVG; `None` if there is nothing to draw.
pub(super) fn svg(claim: &Claim, outcome: &Outcome) -> Option<String> {
    let values = || {
        let all = outcome.series.iter().flat_map(|s| &s.points);
        all.filter(|(x, e)| x.is_finite() && e.value.is_finite())
    };
    let bounds = |items: &mut dyn Iterator<Item = f64>| {
        items.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| {
            (l.min(v), h.max(v))
        })
    };
    let (left, right) = bounds(&mut values().map(|p| p.0));
    let (low, high) = bounds(&mut values().map(|p| p.1.value));
    if left > right {
        return None;
    }
    let (low, high) = (
        low.min(0.0),
        if high > low { high * 1.08 } else { low + 1.0 },
    );
    let pad = ((right - left) * 0.04).max(0.25);
    let mut text = String::new();
    let drawn = draw(
        claim,
        outcome,
        &mut text,
        (left - pad, right + pad, low, high),
    );
    // Drawing to memory fails only because of invalid numbers; then there is no plot.
    drawn.ok().map(|()| text)
}

fn draw(
    claim: &Claim,
    outcome: &Outcome,
    text: &mut String,
    (left, right, low, high): (f64, f64, f64, f64),
) -> Result<(), Box<dyn core::error::Error>> {
    let rows = outcome.series.len() as u32;
    let height = (TOP as u32 + ROW as u32 * rows + 20).max(420);
    let area = SVGBackend::with_string(text, (1_000, height)).into_drawing_area();
    area.fill(&WHITE)?;
    // The legend stands beside the curves, not on them.
    let (area, legend) = area.split_horizontally(720);
    let mut chart = ChartBuilder::on(&area)
        .caption(format!("{}: {}", claim.id, claim.title), ("sans-serif", 18))
        .margin(10)
        .x_label_area_size(38)
        .y_label_area_size(56)
        .build_cartesian_2d(left..right, low..high)?;
    let ticks = &outcome.ticks;
    let tick = |x: &f64| match ticks.is_empty() {
        true => format!("{x:.1}").trim_end_matches(".0").to_owned(),
        false if (x - x.round()).abs() < 1e-6 && *x > -0.5 => {
            ticks.get(x.round() as usize).cloned().unwrap_or_default()
        }
        false => String::new(),
    };
    let mut mesh = chart.configure_mesh();
    mesh.light_line_style(WHITE.mix(0.0))
        .bold_line_style(BLACK.mix(0.12))
        .x_label_formatter(&tick)
        .x_desc(outcome.axes.0.as_str())
        .y_desc(outcome.axes.1.as_str())
        .label_style(("sans-serif", 15));
    mesh.draw()?;
    for (number, series) in outcome.series.iter().enumerate() {
        let color = COLORS[number % COLORS.len()];
        let points: Vec<(f64, f64)> = series
            .points
            .iter()
            .map(|(x, e)| (*x, e.value))
            .filter(|p| p.1.is_finite())
            .collect();
        chart.draw_series(LineSeries::new(points.clone(), color.stroke_width(2)))?;
        let y = TOP + ROW * number as i32;
        let line = vec![(4, y), (24, y)];
        legend.draw(&PathElement::new(line, color.stroke_width(2)))?;
        let name: String = series.name.chars().take(38).collect();
        legend.draw(&Text::new(name, (30, y - 7), ("sans-serif", 14)))?;
        if points.len() <= 30 {
            chart.draw_series(points.iter().map(|p| Circle::new(*p, 3, color.filled())))?;
        }
        // The interval that contains the true value with 95 % confidence.
        let spread = series.points.iter().filter(|(_, e)| {
            let half = e.half_width();
            half.is_finite() && half > 0.0
        });
        chart.draw_series(spread.map(|(x, e)| {
            let ends: [f64; 2] = e.interval().into();
            PathElement::new(
                ends.map(|y| (*x, y.clamp(low, high))),
                color.stroke_width(1),
            )
        }))?;
    }
    area.present()?;
    Ok(())
}
