//! Plots as SVG, without a library: few elements, colours of the page that they stand in, light or dark.
//!
//! Measured values are filled marks with the interval that holds the true value with 95 % confidence, published ones
//! are hollow diamonds. The legend of a page is text beside the picture, so it never covers data and wraps on a phone.

mod axis;
mod forest;

pub(super) use forest::forest;

use crate::claim::{Outcome, Series};
use axis::{Axis, label};
use core::fmt::Write;

/// Colours that can be told apart on white and on black, with and without colour vision.
const LIGHT: [&str; 8] = [
    "#1f5fa8", "#c2521c", "#2b8a4b", "#8a4fb0", "#8a6d00", "#00828b", "#b8306a", "#555555",
];
const DARK: [&str; 8] = [
    "#7db3f2", "#f39a6b", "#6fcf8b", "#c79be8", "#dcc04a", "#4fd0d8", "#f286b4", "#b5bcc4",
];

/// The colours as style of a page.
pub(super) fn style() -> String {
    let vars = |colors: [&str; 8]| {
        let all = colors.iter().enumerate();
        all.map(|(n, c)| format!("--c{n}:{c};")).collect::<String>()
    };
    format!(
        ":root{{{}}}@media(prefers-color-scheme:dark){{:root{{{}}}}}.plot{{width:100%;height:auto;display:block;\
         color:var(--text)}}.plot text{{fill:currentColor;font:12px system-ui,sans-serif}}",
        vars(LIGHT),
        vars(DARK)
    )
}

/// A curve in the legend.
struct Entry {
    /// Number of the curve.
    number: usize,
    name: String,
}

/// A picture with its legend.
pub(super) struct Picture {
    inner: String,
    height: f64,
    legend: Vec<Entry>,
    published: bool,
}

const WIDTH: f64 = 480.0;
const LEFT: f64 = 54.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 26.0;
/// Height of the area of the data.
const AREA: f64 = 230.0;
/// More points than this are a line without marks.
const MARKED: usize = 30;

impl Picture {
    /// For a page: the picture, and its legend as text.
    pub(super) fn inline(&self, name: &str) -> String {
        let mut out = format!(
            "<svg class=\"plot\" role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {WIDTH} {}\">{}</svg>",
            escape(name),
            self.height,
            self.inner
        );
        if self.legend.len() > 1 || self.published {
            out += "<ul class=\"legend\">";
            for entry in &self.legend {
                let line = sample(entry.number, 4.0, 8.0);
                let name = escape(&entry.name);
                put(
                    &mut out,
                    format_args!("<li><svg width=\"28\" height=\"16\">{line}</svg>{name}</li>"),
                );
            }
            if self.published {
                let mark = diamond(14.0, 8.0);
                put(
                    &mut out,
                    format_args!("<li><svg width=\"28\" height=\"16\">{mark}</svg>published</li>"),
                );
            }
            out += "</ul>";
        }
        out
    }

    /// For a file: the picture with its title and its legend, on white.
    pub(super) fn file(&self, title: &str) -> String {
        let rows = self.legend.len() + usize::from(self.published);
        let height = self.height + 34.0 + 18.0 * rows as f64;
        let colors = LIGHT.iter().enumerate();
        let vars: String = colors.map(|(n, c)| format!("--c{n}:{c};")).collect();
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\">\
             <style>svg{{{vars}--line:#d8dde3;--page:#fff;color:#1b1f24}}text{{fill:currentColor;font:12px sans-serif}}</style>\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/><text x=\"8\" y=\"18\" font-weight=\"600\">{}</text>\
             <g transform=\"translate(0,26)\">{}</g>",
            escape(title),
            self.inner
        );
        for (row, entry) in self.legend.iter().enumerate() {
            let y = self.height + 34.0 + 18.0 * row as f64;
            let (line, name) = (sample(entry.number, LEFT, y), escape(&entry.name));
            put(
                &mut out,
                format_args!(
                    "{line}<text x=\"{}\" y=\"{}\">{name}</text>",
                    LEFT + 30.0,
                    y + 4.0
                ),
            );
        }
        if self.published {
            let y = self.height + 34.0 + 18.0 * self.legend.len() as f64;
            let mark = diamond(LEFT + 10.0, y);
            put(
                &mut out,
                format_args!(
                    "{mark}<text x=\"{}\" y=\"{}\">published</text>",
                    LEFT + 30.0,
                    y + 4.0
                ),
            );
        }
        out + "</svg>\n"
    }
}

/// The curves of an outcome; `None` if there is nothing to draw.
pub(super) fn picture(outcome: &Outcome) -> Option<Picture> {
    let series = &outcome.series;
    let ours = series.iter().flat_map(|s| &s.points);
    let ours = ours.map(|(x, e)| (*x, e.value));
    let theirs = outcome
        .published
        .iter()
        .flat_map(|s| s.points.iter().copied());
    let all: Vec<(f64, f64)> = ours
        .chain(theirs)
        .filter(|(x, y)| x.is_finite() && y.is_finite())
        .collect();
    let named = !outcome.ticks.is_empty();
    let x = match named {
        true => Axis::places(outcome.ticks.len(), LEFT, WIDTH - RIGHT),
        false => Axis::around(all.iter().map(|p| p.0), false, LEFT, WIDTH - RIGHT)?,
    };
    let y = Axis::around(all.iter().map(|p| p.1), true, TOP + AREA, TOP)?;
    let mut out = String::new();
    let foot = frame(&mut out, outcome, &x, &y);
    for (number, one) in series.iter().enumerate() {
        curve(&mut out, one, (number, series.len()), named, (&x, &y));
    }
    for marks in &outcome.published {
        let number = series.iter().position(|s| s.name == marks.name);
        let color = number.map_or(String::new(), |n| {
            format!(" style=\"color:var(--c{})\"", n % 8)
        });
        put(&mut out, format_args!("<g{color}>"));
        for &(at, value) in &marks.points {
            let shift = number.map_or(0.0, |n| dodge((n, series.len()), named));
            let (px, py) = (x.at(at) + shift, y.at(value));
            if px.is_finite() && py.is_finite() {
                out += &diamond(px, py);
            }
        }
        out += "</g>";
    }
    let legend = series.iter().enumerate();
    let legend = legend.map(|(number, s)| Entry {
        number,
        name: s.name.clone(),
    });
    Some(Picture {
        inner: out,
        height: foot,
        legend: legend.collect(),
        published: !outcome.published.is_empty(),
    })
}

/// Axes with their ticks and names. Returns the height of the picture.
fn frame(out: &mut String, outcome: &Outcome, x: &Axis, y: &Axis) -> f64 {
    let bottom = TOP + AREA;
    for value in y.ticks() {
        let at = y.at(value);
        put(
            out,
            format_args!(
                "<path d=\"M{LEFT} {at:.1}H{}\" stroke=\"var(--line)\"/><text x=\"{}\" y=\"{:.1}\" \
                 text-anchor=\"end\">{}</text>",
                WIDTH - RIGHT,
                LEFT - 5.0,
                at + 4.0,
                label(value)
            ),
        );
    }
    put(
        out,
        format_args!(
            "<path d=\"M{LEFT} {TOP}V{bottom}H{}\" fill=\"none\" stroke=\"currentColor\" opacity=\".6\"/>\
             <text x=\"4\" y=\"14\">{}</text>",
            WIDTH - RIGHT,
            escape(&outcome.axes.1)
        ),
    );
    if outcome.ticks.is_empty() {
        for value in x.ticks() {
            let at = x.at(value);
            put(
                out,
                format_args!(
                    "<path d=\"M{at:.1} {bottom}v4\" stroke=\"currentColor\" opacity=\".6\"/><text x=\"{at:.1}\" y=\"{}\" \
                     text-anchor=\"middle\">{}</text>",
                    bottom + 17.0,
                    label(value)
                ),
            );
        }
        put(
            out,
            format_args!(
                "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
                WIDTH - RIGHT,
                bottom + 34.0,
                escape(&outcome.axes.0)
            ),
        );
        return bottom + 42.0;
    }
    let longest = outcome.ticks.iter().map(|t| t.chars().count()).max();
    let longest = longest.unwrap_or(0).min(30) as f64;
    let room = (WIDTH - LEFT - RIGHT) / outcome.ticks.len() as f64;
    let fits = longest * 6.5 < room;
    for (place, name) in outcome.ticks.iter().enumerate() {
        let (at, y) = (x.at(place as f64), bottom + 16.0);
        let name: String = name.chars().take(30).collect();
        let turn = match fits {
            true => "text-anchor=\"middle\"".to_owned(),
            false => format!("text-anchor=\"end\" transform=\"rotate(-35 {at:.1} {y})\""),
        };
        let name = escape(&name);
        put(
            out,
            format_args!("<text x=\"{at:.1}\" y=\"{y}\" {turn}>{name}</text>"),
        );
    }
    let foot = if fits { 24.0 } else { 26.0 + 3.8 * longest };
    bottom + foot
}

/// By how much marks of one place are moved apart.
fn dodge((number, count): (usize, usize), named: bool) -> f64 {
    match named {
        true => {
            (number as f64 - (count as f64 - 1.0) / 2.0) * (26.0 / count.max(1) as f64).min(8.0)
        }
        false => 0.0,
    }
}

fn curve(
    out: &mut String,
    series: &Series,
    order: (usize, usize),
    named: bool,
    (x, y): (&Axis, &Axis),
) {
    let number = order.0;
    let points: Vec<(f64, f64, &crate::stat::Estimate)> = series
        .points
        .iter()
        .map(|(at, e)| (x.at(*at) + dodge(order, named), y.at(e.value), e))
        .filter(|p| p.0.is_finite() && p.1.is_finite())
        .collect();
    let color = format_args!("<g style=\"color:var(--c{})\">", number % 8).to_string();
    *out += &color;
    // Between names there is nothing to connect.
    if !named && points.len() > 1 {
        let path: Vec<String> = points
            .iter()
            .map(|(x, y, _)| format!("{x:.1} {y:.1}"))
            .collect();
        put(
            out,
            format_args!(
                "<path d=\"M{}\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.8\" stroke-linejoin=\"round\"{}/>",
                path.join("L"),
                dash(number)
            ),
        );
    }
    for (px, py, estimate) in points.iter().filter(|_| points.len() <= MARKED) {
        let half = estimate.half_width();
        if half.is_finite() && half > 0.0 {
            let (low, high) = estimate.interval();
            put(
                out,
                format_args!(
                    "<path d=\"M{px:.1} {:.1}V{:.1}\" stroke=\"currentColor\" opacity=\".7\"/>",
                    y.clamped(low),
                    y.clamped(high)
                ),
            );
        }
        *out += &mark(number, *px, *py);
    }
    *out += "</g>";
}

/// Beyond eight, colours repeat with another stroke.
fn dash(number: usize) -> &'static str {
    match number / 8 {
        0 => "",
        1 => " stroke-dasharray=\"6 3\"",
        _ => " stroke-dasharray=\"2 3\"",
    }
}

fn mark(number: usize, x: f64, y: f64) -> String {
    match number % 4 {
        0 => format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.2\" fill=\"currentColor\"/>"),
        1 => format!(
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"6\" height=\"6\" fill=\"currentColor\"/>",
            x - 3.0,
            y - 3.0
        ),
        2 => format!(
            "<path d=\"M{x:.1} {:.1}l3.8 6.6h-7.6z\" fill=\"currentColor\"/>",
            y - 4.0
        ),
        _ => format!(
            "<path d=\"M{x:.1} {:.1}l-3.8-6.6h7.6z\" fill=\"currentColor\"/>",
            y + 4.0
        ),
    }
}

/// A published value.
fn diamond(x: f64, y: f64) -> String {
    format!(
        "<path d=\"M{x:.1} {:.1}l5.5 5.5l-5.5 5.5l-5.5-5.5z\" fill=\"var(--page)\" fill-opacity=\".6\" \
         stroke=\"currentColor\" stroke-width=\"1.6\"/>",
        y - 5.5
    )
}

/// A piece of a curve for the legend.
fn sample(number: usize, x: f64, y: f64) -> String {
    format!(
        "<g style=\"color:var(--c{})\"><path d=\"M{x} {y}h20\" stroke=\"currentColor\" stroke-width=\"1.8\"{}/>{}</g>",
        number % 8,
        dash(number),
        mark(number, x + 10.0, y)
    )
}

fn put(out: &mut String, text: core::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = out.write_fmt(text);
}

pub(super) fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stat::Estimate;

    fn outcome(values: &[f64]) -> Outcome {
        let mut out = Outcome::new("m", "tu");
        let points = values.iter().enumerate();
        out.curve(
            "a <b>",
            points.map(|(n, v)| (n as f64, Estimate::exact(*v))),
        );
        out
    }

    #[test]
    fn published_values_are_marks_in_the_colour_of_their_curve() {
        let mut out = outcome(&[1.0, 2.0]);
        assert!(!picture(&out).unwrap().inline("").contains("published"));
        out.published("a <b>", [(1.0, 9.0)]);
        let shown = picture(&out).unwrap();
        let page = shown.inline("n");
        assert!(
            page.contains("published") && page.contains("a &lt;b&gt;"),
            "{page}"
        );
        assert_eq!(
            page.matches("l5.5 5.5").count(),
            2,
            "the mark and the legend's"
        );
        // The axis has room for it.
        assert!(page.contains(">8<") || page.contains(">9<"), "{page}");
        assert!(shown.file("t").starts_with("<svg xmlns"));
    }

    #[test]
    fn nothing_to_draw_is_no_picture_and_odd_numbers_are_left_out() {
        assert!(picture(&Outcome::default()).is_none());
        assert!(picture(&outcome(&[f64::NAN, f64::INFINITY])).is_none());
        for values in [
            &[3.0][..],
            &[0.0, 0.0],
            &[1.0, f64::NAN, 1e9],
            &[-5.0, 1e-9],
            &[1e300, -1e300],
        ] {
            let page = picture(&outcome(values)).map_or(String::new(), |p| p.inline(""));
            assert!(
                !page.contains("NaN") && !page.contains("inf"),
                "{values:?}: {page}"
            );
        }
    }
}
