//! Tables and JSON.

use crate::harness::scene::Outcome;
use consort_sim::Counts;
use consort_sim::report::Summary;
use serde::Serialize;

/// Result of a cell of runs.
#[derive(Debug, Serialize)]
pub(crate) struct Cost {
    scene: &'static str,
    runs: usize,
    /// From the crash to the first verdict, in time units.
    first_detection: Summary,
    /// From the first verdict to the last, in time units.
    dissemination: Summary,
    undetected: u64,
    /// Per node and period.
    messages: f64,
    hop_messages: f64,
    bytes: f64,
    byte_hops: f64,
    false_positives: u64,
    false_positives_per_node_hour: f64,
    /// Share of the time in which some wrong verdict was in force.
    wrong_share: f64,
    /// Share of the time in which a wrong verdict was in force, averaged over pairs of nodes.
    wrong_share_of_pair: f64,
}

/// One variant.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) variant: &'static str,
    /// One crash, no loss.
    pub(crate) crash: Vec<Cost>,
    /// One crash, 5 % loss.
    pub(crate) crash_05: Cost,
    /// No crash.
    pub(crate) quiet_05: Cost,
    pub(crate) quiet_20: Cost,
    pub(crate) state_bytes_per_member: f64,
}

impl Cost {
    pub(crate) fn of(scene: &'static str, outcomes: &[Outcome]) -> Cost {
        let collect = |f: fn(&Outcome) -> &[f64]| -> Vec<f64> {
            outcomes.iter().flat_map(|o| f(o).iter().copied()).collect()
        };
        let sum = |f: fn(&Outcome) -> f64| outcomes.iter().map(f).sum::<f64>();
        let mut counts = Counts::default();
        outcomes.iter().for_each(|o| counts.add(&o.counts));
        let periods = sum(|o| o.node_periods);
        let per = |count: u64| count as f64 / periods;
        let false_positives = outcomes.iter().map(|o| o.false_positives).sum();
        // All runs of a cell have the same number of nodes; a period is a second.
        let pairs = (periods * 20.0 / sum(|o| o.span)).round();
        Cost {
            scene,
            runs: outcomes.len(),
            first_detection: Summary::of(&collect(|o| &o.first)),
            dissemination: Summary::of(&collect(|o| &o.dissemination)),
            undetected: outcomes.iter().map(|o| o.undetected).sum(),
            messages: per(counts.messages),
            hop_messages: per(counts.hop_messages),
            bytes: per(counts.bytes),
            byte_hops: per(counts.byte_hops),
            false_positives,
            false_positives_per_node_hour: false_positives as f64 / (periods / 3_600.0),
            wrong_share: sum(|o| o.wrong) / sum(|o| o.span),
            wrong_share_of_pair: sum(|o| o.wrong_pairs) / (sum(|o| o.span) * pairs * (pairs - 1.0)),
        }
    }
}

/// Prints all rows.
pub(crate) fn print(rows: &[Row], json: bool) {
    if json {
        let text = serde_json::to_string_pretty(rows).expect("plain data");
        println!("{text}");
        return;
    }
    let (crash, quiet) = (rows[0].crash_05.runs, rows[0].quiet_05.runs);
    println!("49 nodes, setup B; times in time units of 50 ms; costs per node and period");
    println!("\none crash, {crash} runs a line\n");
    println!(
        "| variant | layout | first, mean | first, p99 | dissemination | messages | hop-messages | bytes \
         | byte-hops | undetected |"
    );
    println!("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|");
    for row in rows {
        for c in row.crash.iter().chain([&row.crash_05]) {
            let show = |x: Option<f64>| x.map_or("–".into(), |x| format!("{x:.1}"));
            println!(
                "| {} | {} | {} | {} | {} | {:.2} | {:.2} | {:.0} | {:.0} | {} |",
                row.variant,
                c.scene,
                show(c.first_detection.mean),
                show(c.first_detection.p99),
                show(c.dissemination.mean),
                c.messages,
                c.hop_messages,
                c.bytes,
                c.byte_hops,
                c.undetected,
            );
        }
    }
    println!("\nnobody crashes, {quiet} runs a line\n");
    println!(
        "| variant | loss | false positives | per node-hour | time wrong | time wrong, mean pair \
         | messages | hop-messages | bytes |"
    );
    println!("|---|---|--:|--:|--:|--:|--:|--:|--:|");
    for row in rows {
        for c in [&row.quiet_05, &row.quiet_20] {
            println!(
                "| {} | {} | {} | {:.2} | {:.3} % | {:.4} % | {:.2} | {:.2} | {:.0} |",
                row.variant,
                c.scene,
                c.false_positives,
                c.false_positives_per_node_hour,
                100.0 * c.wrong_share,
                100.0 * c.wrong_share_of_pair,
                c.messages,
                c.hop_messages,
                c.bytes,
            );
        }
    }
    println!("\nstate of one of 512 nodes\n");
    println!("| variant | bytes per member |\n|---|--:|");
    for row in rows {
        println!("| {} | {:.0} |", row.variant, row.state_bytes_per_member);
    }
}
