//! Settings of an experiment with leaders of moving networks.

use super::truth::Oracle;
use crate::membership::ExperimentError;
use crate::mobility::{Model, Motion};
use crate::radio::{Ideal, Medium, Radio, RadioConfig, Reach, Shadowing};
use alloc::sync::Arc;
use consort_papers::omega::{Config, Mode};
use consort_proto::omega;
use core::time::Duration;

/// Most nodes.
const NODES_MAX: usize = 1000;

/// The core.
#[derive(Clone, Debug, PartialEq)]
pub enum Core {
    /// One of the papers' cores.
    Paper(Config),
    /// The product's core.
    Product(Box<omega::Config>),
}

impl Core {
    /// Its name in results.
    pub fn name(&self) -> String {
        match self {
            Core::Paper(c) if c.mode == Mode::Cel => {
                format!("cel-{}", f64::from(c.rho_per_mille) / 1000.0)
            }
            Core::Paper(c) if c.per_probe => format!("{}-perprobe", c.mode),
            Core::Paper(c) => c.mode.name().into(),
            Core::Product(_) => "omega".into(),
        }
    }

    /// The oracle that determines the correct leader.
    pub fn oracle(&self) -> Oracle {
        match self {
            Core::Paper(c) => match c.mode {
                Mode::TaCloseness | Mode::Cel => Oracle::Closeness,
                Mode::TaDegree | Mode::FdTick | Mode::FdEvent => Oracle::Degree,
                Mode::Gc => Oracle::Oldest,
            },
            Core::Product(_) => Oracle::Closeness,
        }
    }

    /// The longest time that a detector takes to miss a neighbour.
    pub fn detection(&self) -> Duration {
        match self {
            Core::Paper(c) => c.detector.map_or(c.silence_first, |d| d.timeout),
            Core::Product(c) => {
                c.hello_period * c.hello_misses + c.hello_period / 2 * u32::from(c.hello_pings)
            }
        }
    }
}

/// The movement of nodes.
#[derive(Clone, Debug, PartialEq)]
pub enum Mobility {
    /// By a model.
    Model(Model),
    /// From a file, which also determines the number of nodes.
    Trace(Arc<Motion>),
}

/// The medium.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Channel {
    /// All nodes in range receive everything about 10 ms later, except for this share.
    Ideal(f64),
    /// A radio channel.
    Radio(RadioConfig),
}

/// Leaders that crash and return, one at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crashes {
    /// Time before the first crash, and between two crashes.
    pub up: Duration,
    /// How long a leader is away.
    pub down: Duration,
}

/// An experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// The core.
    pub core: Core,
    /// Number of nodes.
    pub nodes: usize,
    /// Side of the square they move in, in metres.
    pub side: f64,
    /// Radio range in metres.
    pub range: f64,
    /// The movement of nodes.
    pub mobility: Mobility,
    /// The medium.
    pub channel: Channel,
    /// Standard deviation of shadowing in decibels; zero gives a disk.
    pub shadowing_db: f64,
    /// Leaders that crash.
    pub crashes: Option<Crashes>,
    /// Duration of the run.
    pub duration: Duration,
}

impl Params {
    /// Chapter 4 of the thesis: 900 m, a lossless medium, probes every 400 ms.
    pub fn chapter4(mode: Mode, model: Model, range: f64) -> Params {
        Params {
            core: Core::Paper(Config::chapter4(mode, range)),
            nodes: 60,
            side: 900.0,
            range,
            mobility: Mobility::Model(model),
            channel: Channel::Ideal(0.0),
            shadowing_db: 0.0,
            crashes: None,
            duration: Duration::from_secs(1800),
        }
    }

    /// Chapter 5: 500 m, a radio channel, beacons every 102.4 ms.
    pub fn chapter5(mode: Mode, model: Model, range: f64) -> Params {
        Params {
            core: Core::Paper(Config::chapter5(mode, range, 35)),
            side: 500.0,
            channel: Channel::Radio(RadioConfig::default()),
            ..Params::chapter4(mode, model, range)
        }
    }

    /// The product's core in this configuration, with detectors of the same period. Without hysteresis no node
    /// claims the lead: of nodes equally far from the others the highest id leads, as the oracle expects.
    pub fn product(mut self, hysteresis: u32) -> Params {
        let (period, misses) = match &self.core {
            Core::Paper(Config {
                detector: Some(d), ..
            }) => (d.period, d.timeout.as_micros() / d.period.as_micros()),
            _ => (omega::Config::fast().hello_period, 3),
        };
        let claims = hysteresis > 0;
        let defaults = omega::Config::fast();
        self.core = Core::Product(Box::new(omega::Config {
            enabled: true,
            hello_period: period,
            hello_misses: misses as u32,
            hysteresis,
            claim_after: if claims {
                defaults.claim_after
            } else {
                Duration::MAX
            },
            ..defaults
        }));
        self
    }

    /// Checks whether the settings are valid.
    pub fn check(&self) -> Result<(), ExperimentError> {
        let ensure = |ok: bool, text: &str| match ok {
            true => Ok(()),
            false => Err(ExperimentError::Param(text.into())),
        };
        let nodes = match &self.mobility {
            Mobility::Model(_) => self.nodes,
            Mobility::Trace(motion) => motion.nodes(),
        };
        ensure(
            (1..=NODES_MAX).contains(&nodes),
            &format!("the number of nodes must be between 1 and {NODES_MAX}, not {nodes}"),
        )?;
        ensure(
            (1.0..=1e6).contains(&self.side),
            "the side must be between 1 and 10^6 m",
        )?;
        ensure(
            self.range > 0.0 && self.range <= 1e6,
            "the range must be above 0 and at most 10^6 m",
        )?;
        ensure(
            (0.0..=20.0).contains(&self.shadowing_db),
            "shadowing must be between 0 and 20 dB",
        )?;
        let seconds = self.duration.as_secs_f64();
        ensure(
            (1.0..=1e6).contains(&seconds),
            "the duration must be between 1 and 10^6 s",
        )?;
        let loss = match self.channel {
            Channel::Ideal(loss) => loss,
            Channel::Radio(radio) => {
                ensure(
                    (1.0..=10.0).contains(&radio.sense_factor),
                    "carrier sensing must reach 1 to 10 times as far as reception",
                )?;
                radio.loss
            }
        };
        ensure((0.0..=1.0).contains(&loss), "loss must be between 0 and 1")?;
        if let Core::Paper(config) = &self.core {
            let rho = config.rho_per_mille <= 1000;
            ensure(rho, "rho must be between 0 and 1")?;
        }
        if let Some(crashes) = self.crashes {
            let some = !crashes.up.is_zero() && !crashes.down.is_zero();
            ensure(some, "leaders must be up and down for a while")?;
        }
        Ok(())
    }

    pub(super) fn motion(&self, seed: u64) -> Arc<Motion> {
        match &self.mobility {
            Mobility::Trace(motion) => Arc::clone(motion),
            Mobility::Model(model) => Arc::new(Motion::draw(
                *model,
                self.side,
                self.nodes,
                self.duration,
                seed,
            )),
        }
    }

    pub(super) fn medium<P: Clone>(&self, nodes: usize, seed: u64) -> Medium<P> {
        let walls = self.shadowing_db > 0.0;
        let reach = Reach {
            range: self.range,
            shadowing: walls.then(|| Shadowing::draw(nodes, self.shadowing_db, seed)),
        };
        match self.channel {
            Channel::Ideal(loss) => Medium::Ideal(Ideal::new(nodes, reach, loss, seed)),
            Channel::Radio(config) => {
                Medium::Radio(Box::new(Radio::new(nodes, reach, config, seed)))
            }
        }
    }
}
