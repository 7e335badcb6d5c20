//! `consort agent`.

use crate::Answer;
use crate::notify::Notify;
use crate::output;
use anyhow::bail;
use clap::builder::ValueParser;
use consort_agent::{
    Agent, Config, Log, LogFormat, RawApi, RawConfig, RawElection, RawLocks, RawMembership,
    RawSecurity, RawTopology, Startup, journal,
};
use core::time::Duration;
use std::path::PathBuf;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, reload};

/// Run one node until Ctrl-C, SIGTERM or `consort leave`
///
/// SIGHUP reads the file, the environment and the tokens again, and applies changed tags, elections, event handlers and
/// the log level. Flags take precedence over --set, which takes precedence over environment variables (CONSORT_NAME, CONSORT_LOCK_TTL
/// ...), which take precedence over the configuration file; `consort config --example` prints all settings. Under
/// systemd the agent reports when it is ready, and answers the watchdog (Type=notify, WatchdogSec=).
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name for people, which need not be unique [default: the name of this machine]
    #[arg(long)]
    name: Option<String>,
    /// Address to listen on (UDP): IP:PORT, or an interface as in eth0 or eth0:7717; with port 0 the system chooses
    /// [default: 0.0.0.0:7717 with a key, otherwise 127.0.0.1:7717]
    #[arg(long, value_name = "ADDR|IFACE")]
    bind: Option<String>,
    /// Address at which others reach this node: IP or IP:PORT [default: determined automatically]
    #[arg(long, value_name = "ADDR")]
    advertise: Option<String>,
    /// A node to join through, host:port; repeat for more
    #[arg(long, value_name = "ADDR")]
    join: Vec<String>,
    /// File of the group's key, made by `consort keygen`: nobody without it can read, forge or repeat what members say
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// File of this node's secret, made by `consort keygen --identity`: only members with certificates count
    #[arg(long, value_name = "FILE")]
    identity: Option<PathBuf>,
    /// File of this node's certificate, made by `consort certify` [default: the identity's file with the ending cert]
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
    /// Public key of who makes certificates, shown by `consort keygen --operator`; repeat for more
    #[arg(long = "operator", value_name = "KEY")]
    operators: Vec<String>,
    /// Listen beyond this machine without a key: everybody who can send to the node is a member
    #[arg(long)]
    insecure: bool,
    /// Until this date, as in 2030-06-01, hear members without a key as well: to give a running open group a key
    #[arg(long, value_name = "DATE")]
    migrate_until: Option<String>,
    /// Address on which HTTP is served [default: 127.0.0.1:7718]
    #[arg(long, value_name = "ADDR|unix:PATH")]
    http: Option<String>,
    /// File with the tokens that HTTP clients have to present, one per line; required beyond this machine [default:
    /// none]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// File with the certificate to serve HTTP by TLS (PEM); requires --tls-key [default: none]
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// File with the key of that certificate, which only its owner may read [default: none]
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Configuration file (TOML)
    #[arg(long, env = "CONSORT_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Any setting of a configuration file, as in lock.ttl=5s; repeat for more
    #[arg(long = "set", value_name = "SETTING=VALUE", value_parser = ValueParser::new(setting))]
    settings: Vec<(String, String)>,
    /// A tag that every member can read; repeat for more
    #[arg(long = "tag", value_name = "KEY=VALUE", value_parser = ValueParser::new(tag))]
    tags: Vec<(String, String)>,
    /// Name of the group; other groups are ignored [default: consort]
    #[arg(long)]
    group: Option<String>,
    /// Kind of network, which sets periods and budgets together: wired, wifi, mesh or lora [default: wired]
    #[arg(long)]
    profile: Option<String>,
    /// How soon a silent member is declared failed: fast, balanced or patient [default: balanced]
    #[arg(long)]
    detection: Option<String>,
    /// Directory that stores identity and state across restarts [default: none]
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Campaign in this election; repeat for more ([[election]] in a file has more options)
    #[arg(long, value_name = "NAME")]
    campaign: Vec<String>,
    /// What to log to standard error: error, warn, info, debug or trace, or levels by target [default: info]
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<String>,
    /// How to log to standard error: lines of text, or one JSON object per line [default: text]
    #[arg(long, value_name = "text|json")]
    log_format: Option<String>,
    /// Find neighbours by multicast on this interface, or on all suitable ones; repeat for more. They become members
    /// without --join
    #[arg(
        long,
        value_name = "IFACE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "all"
    )]
    topology: Vec<String>,
    /// Address of a neighbour, host:port, on networks without multicast; it has to name this node too. Repeat for more
    #[arg(long = "peer", value_name = "ADDR")]
    peers: Vec<String>,
    /// Find the group on the local network, without --join: by multicast on all interfaces every 5 s
    #[arg(long)]
    discover: bool,
    /// Find the group on the local network, without --join: by multicast DNS, as a service _consort._udp
    #[arg(long)]
    mdns: bool,
    /// Follow elections without campaigning
    #[arg(long)]
    observer: bool,
    /// Start as one of the first nodes of a new group of this size: locks can be taken as soon as more than half of the
    /// nodes are present. Needs --state
    #[arg(long, value_name = "N")]
    expect: Option<u16>,
    /// Lease of locks, both the default and the longest; use the same value everywhere [default: 10s]
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    lock_ttl: Option<Duration>,
    /// Start as one of the first nodes of a new group, which counts as a witness of locks at once. Ignored if the state
    /// directory knows an earlier life
    #[arg(long)]
    bootstrap: bool,
    /// How often a member is probed; use the same value everywhere [default: the profile's, 1s]
    #[arg(long, value_parser = humantime::parse_duration)]
    period: Option<Duration>,
}

const EXAMPLES: &str = "\
Examples:
  consort agent --name kitchen --campaign gateway
  consort agent --name shed --key-file group.key --topology=wlan0
  consort agent --name attic --key-file group.key --join 192.168.1.20 --state /var/lib/consort
  consort agent --bind 127.0.0.1:0 --http unix:/tmp/b.sock --join 127.0.0.1:7717 --tag role=camera";

/// Parses `KEY=VALUE`.
pub(crate) fn tag(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write KEY=VALUE, as in role=camera".to_owned()),
    }
}

fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) => Ok((key.trim().to_owned(), value.to_owned())),
        None => Err("write SETTING=VALUE, as in lock.ttl=5s".to_owned()),
    }
}

/// The settings of an election with all defaults.
pub(crate) fn stands_in(name: String) -> RawElection {
    RawElection {
        name,
        ..RawElection::default()
    }
}

/// The settings: flags take precedence over --set, over the environment, over the file.
fn settings(args: &Args) -> anyhow::Result<Config> {
    let file = match &args.config {
        Some(path) => RawConfig::read(path)?,
        None => RawConfig::default(),
    };
    let variables = std::env::vars_os();
    let variables =
        variables.filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)));
    let mut given = RawConfig::from_env(variables)?.over(file);
    for (key, value) in &args.settings {
        given = RawConfig::from_setting(key, value)?.over(given);
    }
    let flags = RawConfig {
        name: args.name.clone(),
        group: args.group.clone(),
        profile: args.profile.clone(),
        detection: args.detection.clone(),
        bind: args.bind.clone(),
        advertise: args.advertise.clone(),
        join: args.join.clone(),
        http: args.http.clone(),
        api: RawApi {
            token_file: args.token_file.clone(),
            tls_cert: args.tls_cert.clone(),
            tls_key: args.tls_key.clone(),
            ..RawApi::default()
        },
        state: args.state.clone(),
        tags: args.tags.iter().cloned().collect(),
        observer: args.observer.then_some(true),
        expect: args.expect,
        discover: args.discover.then_some(true),
        mdns: args.mdns.then_some(true),
        log: args.log_level.clone(),
        log_format: args.log_format.clone(),
        election: args.campaign.iter().cloned().map(stands_in).collect(),
        security: RawSecurity {
            key_file: args.key_file.clone(),
            identity: args.identity.clone(),
            certificate: args.certificate.clone(),
            operators: args.operators.clone(),
            insecure: args.insecure.then_some(true),
            migrate_until: args.migrate_until.clone(),
        },
        lock: RawLocks {
            ttl: args.lock_ttl,
            bootstrap: args.bootstrap.then_some(true),
            ..RawLocks::default()
        },
        topology: RawTopology {
            interfaces: args.topology.clone(),
            peers: args.peers.clone(),
            ..RawTopology::default()
        },
        membership: RawMembership {
            probe_period: args.period,
            ..RawMembership::default()
        },
        ..RawConfig::default()
    };
    Ok(Config::try_from(flags.over(given))?)
}

pub(crate) fn run(args: Args) -> anyhow::Result<Answer> {
    let config = settings(&args)?;
    let log = Log::default();
    let filter = start_logging_as(EnvFilter::new(&config.log), config.log_format, Some(&log));
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?
        .block_on(serve(&args, config, log, &filter))
}

async fn serve(
    args: &Args,
    config: Config,
    log: Log,
    filter: &LogFilter,
) -> anyhow::Result<Answer> {
    let mut signals = Signals::listen()?;
    let seeds = config.join.clone();
    let startup = Startup {
        log: Some(log),
        ..Startup::default()
    };
    let mut agent = Agent::start_with(config, startup).await?;
    let node = agent.node().clone();
    let name = output::safe(node.name());
    let (id, addr) = (node.id(), node.advertised_addr());
    tracing::info!("{name} ({id}) is at {addr}, HTTP at {}", agent.http());
    tracing::info!("others join with: consort agent --join {addr}");
    let log = tokio::spawn(journal(node.clone(), agent.events(), seeds));
    let notify = Notify::from_env();
    notify.ready(&format!(
        "{name} ({id}) is at {addr}, HTTP at {}",
        agent.http()
    ));
    let mut hangup = signal(SignalKind::hangup())?;
    let told = {
        let keep_alive = notify.keep_alive(&node);
        tokio::pin!(keep_alive);
        loop {
            tokio::select! {
                Some(()) = hangup.recv() => reload(args, &mut agent, filter).await,
                () = &mut keep_alive => {}
                () = signals.next() => break true,
                () = node.stopped() => break false,
            }
        }
    };
    if told {
        notify.stopping();
        tracing::info!("saying goodbye (once more to stop at once)");
        tokio::select! {
            left = agent.leave() => {
                if let Ok(left) = left {
                    tracing::info!("left {left}");
                }
            }
            () = signals.next() => tracing::warn!("stopped without a goodbye"),
        }
    } else {
        agent.close().await;
    }
    let taken = node.identity_taken();
    drop(node);
    let _ = tokio::time::timeout(Duration::from_millis(200), log).await;
    if taken {
        bail!(
            "another process runs as node {id} and was started earlier, so this one has stopped; if the state directory \
             was copied, start this node with an empty one, otherwise give one of them another id"
        );
    }
    Ok(Answer::Yes)
}

/// Applies the settings from the file and the environment that can change while the agent runs.
async fn reload(args: &Args, agent: &mut Agent, filter: &LogFilter) {
    let config = match settings(args) {
        Ok(config) => config,
        Err(error) => {
            tracing::error!("nothing is reloaded: {}", output::explain(&error));
            return;
        }
    };
    // This fails only if logging has ended.
    let _ = filter.reload(EnvFilter::new(&config.log));
    match agent.reload(config).await {
        Ok(true) => tracing::info!("tags, elections, handlers and the log level are reloaded"),
        Ok(false) => tracing::warn!(
            "tags, elections, handlers and the log level are reloaded; other settings have changed and are taken at the \
             next start"
        ),
        Err(error) => tracing::error!("reloaded in part: {error}"),
    }
}

/// The signals that end an agent: Ctrl-C and SIGTERM.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    pub(crate) fn listen() -> anyhow::Result<Signals> {
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for either signal.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Changes what is logged while the program runs.
type LogFilter = reload::Handle<EnvFilter, Registry>;

/// Logs text to standard error; `CONSORT_LOG` sets how much.
pub(crate) fn start_logging(default: &str) {
    let filter = EnvFilter::try_from_env("CONSORT_LOG").unwrap_or_else(|_| EnvFilter::new(default));
    start_logging_as(filter, LogFormat::Text, None);
}

fn start_logging_as(filter: EnvFilter, format: LogFormat, log: Option<&Log>) -> LogFilter {
    let (filter, handle) = reload::Layer::new(filter);
    let lines = tracing_subscriber::fmt::layer()
        .with_target(false)
        .with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()))
        .with_writer(std::io::stderr);
    let lines = match format {
        LogFormat::Text => lines.boxed(),
        // The target names the event; fields and message are at the top level.
        LogFormat::Json => lines.json().with_target(true).flatten_event(true).boxed(),
    };
    let all = tracing_subscriber::registry()
        .with(lines.with_filter(filter))
        .with(log.map(Log::layer));
    // This fails only if logging was already started.
    let _ = all.try_init();
    handle
}
