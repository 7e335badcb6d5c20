//! Cases in which the flaws of the papers must show, and in which the product's layer must show none.

use super::exhaust::Small;
use super::flaws::Flaws;
use super::hunt::{Chaos, Hunt, Hunted, run};
use super::product::settings;
use super::schedule::{Outcome, Schedule};
use consort_papers::omega::{Config, Mode, PaperOmega};
use consort_proto::omega::Omega;

/// A protocol of the papers, the faults that may occur, and the flaws that must be found.
#[derive(Clone, Debug)]
pub struct Case {
    /// How it is called.
    pub name: &'static str,
    /// Description.
    pub about: &'static str,
    /// The protocol.
    pub config: Config,
    /// Faults that may occur.
    pub chaos: Chaos,
    /// Flaws of which each must show alone in some run.
    pub wants: &'static [Flaws],
    /// Flaws that must show together in a run that is correct with other settings.
    pub cure: Option<(Flaws, Config)>,
}

/// Result of a case.
#[derive(Clone, Debug)]
pub struct Found {
    /// Statistics.
    pub hunted: Hunted,
    /// The wanted flaws, each with the first seed that shows it, if any.
    pub wanted: Vec<(Flaws, Option<u64>)>,
}

impl Found {
    /// Whether all wanted flaws were found, and no unclassified wrong result.
    pub fn is_good(&self) -> bool {
        let all = self.wanted.iter().all(|(_, seed)| seed.is_some());
        all && !self.hunted.wrong.contains_key(&Flaws::NONE)
    }
}

impl Case {
    /// Examines many runs.
    pub fn hunt(&self, seed: u64, runs: u64, threads: usize) -> Found {
        let hunt = Hunt::<PaperOmega> {
            settings: self.config,
            chaos: self.chaos,
            cure: self.cure,
            seed,
            runs,
        };
        let hunted = hunt.hunt(threads);
        let alone = self.wants.iter();
        let alone = alone.map(|flaw| (*flaw, hunted.first.get(flaw).copied()));
        let cured = hunted.cured.map(|(_, seed)| seed);
        let cured = self.cure.iter().map(|(flaws, _)| (*flaws, cured));
        Found {
            wanted: alone.chain(cured).collect(),
            hunted,
        }
    }

    /// The run of a seed, shortened as long as it shows `flaws` and, where that is wanted, is correct with other
    /// settings.
    pub fn explain(&self, seed: u64, flaws: Flaws) -> Schedule {
        let (schedule, _) = run::<PaperOmega>(&self.config, self.chaos, seed);
        let cure = self.cure.filter(|(shown, _)| *shown == flaws);
        schedule.shrink(|s| {
            let cured = |(_, cure)| s.play::<PaperOmega>(&cure) == Outcome::Right;
            s.shows::<PaperOmega>(&self.config, flaws) && cure.is_none_or(cured)
        })
    }
}

const LINKS: Chaos = Chaos::LINKS;

/// All faults.
const ALL: Chaos = Chaos {
    crashes: 4,
    losses: 40,
    flaps: true,
    one_way: true,
    reorder: true,
    ..LINKS
};

/// All cases.
pub fn cases() -> Vec<Case> {
    let cel = Config::bare(Mode::Cel);
    let outspoken = Config {
        prune: false,
        ..cel
    };
    let ta = Config::bare(Mode::TaCloseness);
    let case = |name, about, config, chaos, wants| Case {
        name,
        about,
        config,
        chaos,
        wants,
        cure: None,
    };
    let reorder = Chaos {
        reorder: true,
        ..LINKS
    };
    vec![
        case(
            "cel-links",
            "links change and both ends notice, in order",
            cel,
            LINKS,
            &[Flaws::E1, Flaws::E2],
        ),
        case(
            "cel-flaps",
            "links change before both ends notice",
            cel,
            Chaos {
                flaps: true,
                ..reorder
            },
            &[Flaws::E1, Flaws::E2],
        ),
        case(
            "cel-crash",
            "a node crashes and starts again",
            cel,
            Chaos {
                crashes: 1,
                ..reorder
            },
            &[Flaws::E4, Flaws::E7],
        ),
        case(
            "cel-one-way",
            "some links work one way",
            cel,
            Chaos {
                one_way: true,
                ..reorder
            },
            &[Flaws::E9],
        ),
        Case {
            cure: Some((Flaws::E5 | Flaws::E8, outspoken)),
            ..case(
                "cel-loss",
                "up to two messages are lost; twins",
                cel,
                Chaos { losses: 2, ..LINKS },
                &[Flaws::E5],
            )
        },
        case(
            "cel-0.7",
            "the coin; no twins",
            Config {
                rho_per_mille: 700,
                ..outspoken
            },
            LINKS,
            &[Flaws::E6],
        ),
        case(
            "ta-links",
            "four or five; links change and both ends notice, in order",
            ta,
            Chaos {
                nodes: (4, 5),
                ..LINKS
            },
            &[Flaws::E19],
        ),
        case(
            "ta-reorder",
            "the same, out of order",
            ta,
            reorder,
            &[Flaws::E19, Flaws::E20, Flaws::E21],
        ),
        case(
            "ta-crash",
            "a node crashes and starts again",
            ta,
            Chaos {
                crashes: 1,
                ..reorder
            },
            &[Flaws::E22],
        ),
    ]
}

/// All faults for the product's layer. Without repair of losses it must fail.
pub fn strain(hysteresis: u32, repair: bool, seed: u64, runs: u64) -> Hunt<Omega> {
    let ships = settings(hysteresis);
    Hunt {
        settings: match repair {
            true => ships,
            false => consort_proto::omega::Config {
                summary_every: core::time::Duration::from_secs(1 << 30),
                ..ships
            },
        },
        chaos: ALL,
        cure: None,
        seed,
        runs,
    }
}

/// Links that all nodes know at the start.
type Links = &'static [(u8, u8)];

const NONE: Links = &[];
const PATH: Links = &[(0, 1), (1, 2)];
const TRIANGLE: Links = &[(0, 1), (1, 2), (0, 2)];

/// Groups of two and three nodes of which every order of events is examined.
pub fn small(mode: Mode) -> Vec<(&'static str, Small<PaperOmega>)> {
    let cel = mode == Mode::Cel;
    let group = |nodes, linked: Links, links, crashes, wants: &[Flaws]| Small {
        settings: Config::bare(mode),
        nodes,
        linked: linked.to_vec(),
        links,
        crashes,
        losses: 0,
        wants: wants.to_vec(),
    };
    let pick = |in_cel: &'static [Flaws], in_ta: &'static [Flaws]| if cel { in_cel } else { in_ta };
    let restart = pick(&[Flaws::E4, Flaws::E7], &[Flaws::E22]);
    vec![
        ("pair", group(2, NONE, 4, 0, pick(&[Flaws::E1], &[]))),
        (
            "pair-crash",
            group(2, NONE, 2, 1, pick(&[Flaws::E7], &[Flaws::E22])),
        ),
        (
            "three",
            group(3, NONE, 4, 0, pick(&[Flaws::E1, Flaws::E2], &[])),
        ),
        ("path-crash", group(3, PATH, 2, 1, restart)),
        (
            "triangle-crash",
            group(3, TRIANGLE, 1, 1, pick(&[], &[Flaws::E22])),
        ),
    ]
}

/// The same for the product's layer, with one lost message.
pub fn small_product() -> Vec<(&'static str, Small<Omega>)> {
    let group = |linked: Links| Small {
        settings: settings(20),
        nodes: 3,
        linked: linked.to_vec(),
        links: 4,
        crashes: 1,
        losses: 1,
        wants: Vec::new(),
    };
    vec![
        ("three", group(NONE)),
        ("path", group(PATH)),
        ("triangle", group(TRIANGLE)),
    ]
}
