//! The builder that starts a node from its settings.

use crate::address::{self, DEFAULT_PORT, Seed};
use crate::driver::{self, Start};
use crate::election::{self, ElectionOptions};
use crate::error::{CampaignError, JoinError, ResolveError, StartError};
use crate::event::Events;
use crate::handle::{Inner, Node};
use crate::key::{self, GroupKey, Identity as MemberIdentity};
use crate::revocation;
use crate::state::{Known, Remembered, StateDir, StateError};
use crate::topology::{Radio, Topology};
use crate::transport::{Link, Transport};
use consort_proto::election::{Mode as ElectionMode, Order};
use consort_proto::membership::{self, Campaign, Meta};
use consort_proto::mutex::{self, Bound};
use consort_proto::omega;
use consort_proto::reliability::Report;
use consort_proto::{
    Command, Config, ConfigError, Detection, ElectionId, Fact, Identity, Life, NodeId, Profile,
    hash_bytes,
};
use core::hash::{BuildHasher, Hasher};
use core::net::{Ipv4Addr, SocketAddr};
use core::time::Duration;
use std::collections::hash_map::RandomState;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::net::UdpSocket;

/// The delay before a name that cannot be resolved is tried again, and the longest delay between two attempts.
const LOOK_UP_AFTER: Duration = Duration::from_secs(1);
const LOOK_UP_AFTER_MAX: Duration = Duration::from_secs(300);

/// The protocol settings that were given, each kept apart until the start, so that the order of calls does not matter.
#[derive(Clone, Debug, Default)]
struct Settings {
    profile: Profile,
    config: Option<Config>,
    group: Option<String>,
    membership: Option<membership::Config>,
    locks: Option<mutex::Config>,
    links: Option<omega::Config>,
    detection: Option<Detection>,
    probe_period: Option<Duration>,
    reliability_half_life: Option<Duration>,
    lock_ttl: Option<Duration>,
    lock_bound: Option<Bound>,
    bootstrap: Option<bool>,
    migrate_for: Option<Duration>,
    keys: Option<Vec<GroupKey>>,
}

impl Settings {
    /// All settings: those of the profile, over them whole groups of settings, and over these single ones.
    fn resolved(&self) -> Config {
        let mut config = match &self.config {
            Some(config) => config.clone(),
            None => Config::from(self.profile),
        };
        replace(&mut config.group, self.group.as_ref());
        replace(&mut config.membership, self.membership.as_ref());
        replace(&mut config.mutex, self.locks.as_ref());
        replace(&mut config.omega, self.links.as_ref());
        if let Some(detection) = self.detection {
            config.membership.fast = self.profile.detection(detection);
        }
        let membership = &mut config.membership;
        replace(&mut membership.probe_period, self.probe_period.as_ref());
        let half_life = &mut config.reliability.half_life;
        replace(half_life, self.reliability_half_life.as_ref());
        replace(&mut config.mutex.ttl, self.lock_ttl.as_ref());
        replace(&mut config.mutex.ttl_max, self.lock_ttl.as_ref());
        replace(&mut config.mutex.bound, self.lock_bound.as_ref());
        replace(&mut config.mutex.bootstrap, self.bootstrap.as_ref());
        replace(&mut config.seal.migrate, self.migrate_for.as_ref());
        if let Some(keys) = &self.keys {
            let keys: Vec<_> = keys.iter().map(|key| key.0.clone()).collect();
            config.seal_with(keys);
        }
        config
    }
}

fn replace<T: Clone>(setting: &mut T, given: Option<&T>) {
    if let Some(given) = given {
        setting.clone_from(given);
    }
}

/// The settings of a node to be started; see [`Node::builder`].
///
/// The order of calls does not matter, except that a later call of the same method replaces the former one, or adds to
/// it where its description says so. Single settings apply over groups of settings ([`membership`](Self::membership),
/// [`locks`](Self::locks), [`links`](Self::links)), these over [`config`](Self::config), and that over the
/// [`profile`](Self::profile).
///
/// ```
/// use consort::{Node, Profile};
/// use std::time::Duration;
///
/// let period = Duration::from_secs(2);
/// let node = Node::builder().probe_period(period).profile(Profile::Mesh);
/// // The same as:
/// let node = Node::builder().profile(Profile::Mesh).probe_period(period);
/// # let _ = node;
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `start` is called"]
pub struct Builder {
    meta: Meta,
    bind: SocketAddr,
    transport: Option<Arc<dyn Transport>>,
    advertise: Option<SocketAddr>,
    seeds: Vec<String>,
    id: Option<NodeId>,
    life_floor: Option<Life>,
    wall: Option<u64>,
    settings: Settings,
    state_dir: Option<PathBuf>,
    key_file: Option<PathBuf>,
    identity: Option<MemberIdentity>,
    events_max: usize,
    elections: Vec<(Arc<str>, ElectionOptions)>,
    topology: Option<Topology>,
}

impl Default for Builder {
    fn default() -> Self {
        Builder {
            meta: Meta::default(),
            bind: SocketAddr::from((Ipv4Addr::UNSPECIFIED, DEFAULT_PORT)),
            transport: None,
            advertise: None,
            seeds: Vec::new(),
            id: None,
            life_floor: None,
            wall: None,
            settings: Settings::default(),
            state_dir: None,
            key_file: None,
            identity: None,
            events_max: 1024,
            elections: Vec::new(),
            topology: None,
        }
    }
}

impl Builder {
    /// A name for people, which need not be unique. Default: none.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.meta.name = name.into();
        self
    }

    /// Adds or replaces a tag that every member can read.
    pub fn tag(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.meta.tags.insert(key.into(), value.into());
        self
    }

    /// The UDP address to listen on. With port 0 the system chooses a port. Default: all IPv4 addresses, port 7717.
    pub fn bind(mut self, addr: impl Into<SocketAddr>) -> Self {
        self.bind = addr.into();
        self
    }

    /// Sends and receives datagrams through `transport` instead of a UDP socket, which is then not opened. One transport is
    /// for one running node. A [`topology`](Self::topology) needs UDP. Default: UDP at the address to
    /// [`bind`](Self::bind).
    pub fn transport(mut self, transport: impl Transport) -> Self {
        self.transport = Some(Arc::new(transport));
        self
    }

    /// The address under which other nodes reach this one; port 0 stands for the bound port. Default: the bound address
    /// or, if that is unspecified, the source address that this machine uses towards the first seed.
    pub fn advertise(mut self, addr: impl Into<SocketAddr>) -> Self {
        self.advertise = Some(addr.into());
        self
    }

    /// Adds nodes to join through: `host:port`, `host` or an address. One that answers is enough; the node keeps trying
    /// until one does. Names that cannot be resolved are tried again too.
    pub fn join<S: ToString>(mut self, seeds: impl IntoIterator<Item = S>) -> Self {
        self.seeds.extend(seeds.into_iter().map(|s| s.to_string()));
        self
    }

    /// The name of the group. Nodes of other groups are ignored. Default: `consort`.
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.settings.group = Some(group.into());
        self
    }

    /// The stable identity of this device. Default: the one in the state directory, otherwise a hash of the advertised
    /// address.
    pub fn id(mut self, id: NodeId) -> Self {
        self.id = Some(id);
        self
    }

    /// The last known life of this device. The new life will be later, even if the clock went backwards. A state
    /// directory has the same effect.
    pub fn life_after(mut self, last: Life) -> Self {
        self.life_floor = Some(last);
        self
    }

    /// The time in seconds since 1970 at which this node starts, from another source than the system's clock; 0 stands
    /// for a device without a clock. New lives, terms and lock clocks begin there, so that they are later than those
    /// that were lost. A wrong time does no lasting harm. Default: the system's clock.
    pub fn wall_clock(mut self, unix_secs: u64) -> Self {
        self.wall = Some(unix_secs);
        self
    }

    /// The kind of network. It sets periods and budgets that belong together, as far as they are not set otherwise.
    /// Default: [`Profile::Wired`].
    pub fn profile(mut self, profile: Profile) -> Self {
        self.settings.profile = profile;
        self
    }

    /// How soon a silent member is declared failed, which also limits how long a process may pause without being
    /// declared failed. The profile determines the time in seconds. Default: [`Detection::Balanced`].
    pub fn detection(mut self, detection: Detection) -> Self {
        self.settings.detection = Some(detection);
        self
    }

    /// How often members are probed. A shorter period detects failures sooner and costs more messages. All members of a
    /// group should use the same value. Default: 1 s.
    pub fn probe_period(mut self, period: Duration) -> Self {
        self.settings.probe_period = Some(period);
        self
    }

    /// All settings of membership.
    pub fn membership(mut self, config: membership::Config) -> Self {
        self.settings.membership = Some(config);
        self
    }

    /// The time after which an observation about failures counts half. About twenty times the usual time between two
    /// failures of a node is suitable. Default: 7 days.
    pub fn reliability_half_life(mut self, half_life: Duration) -> Self {
        self.settings.reliability_half_life = Some(half_life);
        self
    }

    /// All settings of locks.
    pub fn locks(mut self, config: mutex::Config) -> Self {
        self.settings.locks = Some(config);
        self
    }

    /// How long a lock lasts without renewal unless a request specifies another time, and the longest time that a
    /// request may specify. All members of a group need the same value. A node that starts counts as a witness after a
    /// little more than twice this time. Default: 10 s.
    pub fn lock_ttl(mut self, ttl: Duration) -> Self {
        self.settings.lock_ttl = Some(ttl);
        self
    }

    /// The bound for lock requests that do not specify one: see [`Lock::bound`](crate::lock::Lock::bound). Default:
    /// [`Bound::Members`].
    pub fn lock_bound(mut self, bound: Bound) -> Self {
        self.settings.lock_bound = Some(bound);
        self
    }

    /// Whether this node is one of the first of a new group, in which nobody can hold a lock yet. It then counts as a
    /// witness at once. This is ignored for a node that returns, as far as its state directory or
    /// [`life_after`](Self::life_after) shows that. Never set it on a node that joins an existing group. Default:
    /// false.
    pub fn bootstrap(mut self, yes: bool) -> Self {
        self.settings.bootstrap = Some(yes);
        self
    }

    /// Enables the discovery of neighbours at the given places. Default: disabled; the node then does not know which
    /// nodes hear each other, and cannot campaign in elections by component.
    pub fn topology(mut self, topology: Topology) -> Self {
        self.topology = Some(topology);
        self
    }

    /// All settings of the topology layer; [`topology`](Self::topology) decides whether it is enabled.
    pub fn links(mut self, config: omega::Config) -> Self {
        self.settings.links = Some(config);
        self
    }

    /// Seals what the group says with these keys, of which the first one seals and all open: nobody without one of them
    /// can read, forge or repeat a datagram. Default: none, and whoever can send to this node is a member.
    pub fn keys(mut self, keys: &[GroupKey]) -> Self {
        self.settings.keys = Some(keys.to_vec());
        self
    }

    /// Takes part unsealed as well, for so long, while the members of an open group get a key one by one: nobody is cut
    /// off. Whoever has sealed is heard no other way. It ends sooner when all members have sealed for an hour. Without a
    /// key it means nothing. At most 30 days.
    pub fn migrate_for(mut self, span: Duration) -> Self {
        self.settings.migrate_for = Some(span.min(Duration::from_secs(30 * 86_400)));
        self
    }

    /// Seals what the group says with the keys of a file, as `consort keygen` makes it. When keys are changed, here
    /// ([`Node::install_key`]) or at another member, the file is written anew before the new ones are used.
    pub fn key_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.key_file = Some(path.into());
        self
    }

    /// Proves who this node is: the group is identified, and only those count as members whose certificate one of these
    /// operators has signed. The node's id is the one in the certificate. All members need the same operators. The group
    /// needs a key, too.
    pub fn identity(mut self, identity: MemberIdentity) -> Self {
        self.identity = Some(identity);
        self
    }

    /// All protocol settings, including the name of the group, in place of those of the profile.
    pub fn config(mut self, config: Config) -> Self {
        self.settings.config = Some(config);
        self
    }

    /// The directory in which the node stores its facts across restarts; it is created if missing. Default: none.
    pub fn state_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.state_dir = Some(dir.into());
        self
    }

    /// Campaigns in the election `name` from the start. A later call with the same name replaces the former one.
    /// Elections can also be entered later: [`Node::election`].
    pub fn election(mut self, name: impl Into<Arc<str>>, options: ElectionOptions) -> Self {
        let name = name.into();
        self.elections.retain(|(other, _)| *other != name);
        self.elections.push((name, options));
        self
    }

    /// Whether this node only observes: it does not campaign in elections and is not queried in them. This is meant for
    /// members that come and go, such as tools. Default: false.
    pub fn observer(mut self, yes: bool) -> Self {
        self.meta.observer = yes;
        self
    }

    /// The number of events that are buffered for a slow subscriber before it is told that it missed some.
    /// Default: 1024.
    pub fn events_max(mut self, events: usize) -> Self {
        self.events_max = events.clamp(1, 1 << 20);
        self
    }

    /// Opens the socket and starts the task that owns the node. Returns without waiting for an answer from seeds. Must
    /// be called in a Tokio runtime with I/O and time enabled.
    pub async fn start(self) -> Result<Node, StartError> {
        Ok(self.start_subscribed().await?.0)
    }

    /// Starts like [`Builder::start`], and returns a subscription that misses nothing: a later [`Node::subscribe`] may
    /// miss the first events.
    pub async fn start_subscribed(mut self) -> Result<(Node, Events), StartError> {
        let mut config = self.settings.resolved();
        config.omega.enabled = self.topology.is_some();
        if let Some(path) = self.key_file.clone() {
            let ring = blocking(move || key::read(&path)).await?;
            config.seal_with(ring);
        }
        if let Some(identity) = &self.identity {
            let slow = config.seal.rates == consort_proto::seal::Rates::SLOW;
            let mut core = identity.to_core(slow);
            if let Some(path) = identity.revocations.clone() {
                core.revoked = blocking(move || revocation::read_revoked(&path)).await?;
            }
            config.seal.identity = Some(core);
            let certified = identity.certificate.id();
            if self.id.is_some_and(|id| id != certified) {
                return Err(ConfigError::CertificateId.into());
            }
            self.id = Some(certified);
        }
        config.check()?;
        self.meta.check(usize::from(config.membership.meta_max))?;
        self.check_elections(&config)?;
        let here = match &self.transport {
            Some(_) if self.topology.is_some() => return Err(StartError::NoBroadcasts),
            Some(transport) => transport.local_addr().map_err(StartError::Transport)?,
            None => self.bind,
        };
        let mut seeds: Vec<Seed> = Vec::new();
        let mut unresolved = Vec::new();
        for seed in &self.seeds {
            match address::resolve(seed, here).await {
                Ok(found) => seeds.push(found),
                // A name may be resolvable later, for example after a power cut.
                Err(error @ ResolveError::Lookup { .. }) => {
                    tracing::warn!("seed {error} (tried again, less and less often)");
                    unresolved.push(seed.clone());
                }
                Err(error) => return Err(error.into()),
            }
        }
        let (link, bound) = match self.transport {
            Some(transport) => (Link::Other(transport), here),
            None => {
                let (socket, bound) = address::listen(self.bind)?;
                (Link::Udp(socket), bound)
            }
        };
        let radio = match (&self.topology, link.udp()) {
            (Some(topology), Some(socket)) => {
                Some(tune_in(topology, &config.group, socket, bound).await?)
            }
            _ => None,
        };
        let seed = seeds.first().map(|s| s.addr);
        let addr = match radio.as_ref().and_then(Radio::own_ip) {
            // Neighbours reach the node there, and it may have no route to anybody else.
            Some(ip)
                if self.advertise.is_none() && seed.is_none() && bound.ip().is_unspecified() =>
            {
                SocketAddr::new(ip, bound.port())
            }
            _ => {
                let peer = radio.as_ref().and_then(|r| r.peers().first().copied());
                address::advertised(self.advertise, bound, seed.or(peer))?
            }
        };

        let (state, remembered) = match self.state_dir {
            None => (None, None),
            Some(dir) => {
                let (state, remembered) = blocking(move || StateDir::open(&dir)).await?;
                (Some(Arc::new(state)), remembered)
            }
        };
        // Members of the last life are tried after the configured seeds, so that a group finds together again after a
        // power cut without any seed.
        for addr in state.iter().flat_map(|s| s.members()) {
            if addr != bound && seeds.iter().all(|s| s.addr != addr) {
                let text = addr.to_string();
                seeds.push(Seed { text, addr });
            }
        }
        let id = match (self.id, remembered) {
            (Some(configured), Some(Remembered { id: stored, .. })) if configured != stored => {
                return Err(StartError::IdDiffers { stored, configured });
            }
            (Some(id), _) | (None, Some(Remembered { id, .. })) => id,
            (None, None) => NodeId(hash_bytes(addr.to_string().as_bytes())),
        };
        let floor = self.life_floor.max(remembered.map(|r| r.life));
        // Locks that it witnessed in an earlier life may still be held.
        config.mutex.bootstrap &= floor.is_none();
        let unix_secs = self.wall.unwrap_or_else(unix_secs);
        let life = Life::starting(unix_secs, random_bits() as u16, floor);
        if floor.is_some_and(|floor| life <= floor) {
            return Err(StartError::LivesExhausted);
        }

        let memory = match &state {
            Some(state) => {
                let state = Arc::clone(state);
                blocking(move || state.memory(life)).await?
            }
            None => life,
        };
        let clock = crate::clock::Clock::start();
        let identity = Identity {
            id,
            life,
            addr,
            meta: self.meta,
            memory,
            wall: (unix_secs > 0).then_some(unix_secs),
        };
        let meta_max = config.membership.meta_max;
        let elections_max = config.election.elections_max;
        let group_tag = config.group_tag();
        // The secret comes from the system, because a node that guesses it can pretend to have any address.
        getrandom::fill(&mut config.seal.secret.0).map_err(StartError::Randomness)?;
        let mut node = consort_proto::Node::new(config, identity, random_bits(), clock.now())?;
        // This happens before the node sends anything: it repeats no term of an earlier life, and keeps its promises.
        let most = usize::from(elections_max) / 2;
        for (election, record) in state.iter().flat_map(|s| s.leases(most)) {
            let term = state.iter().find_map(|s| s.term(election));
            let term = term.map(|term| Order::RestoreTerm(election, term));
            for order in [Order::RestoreLease(election, Box::new(record))]
                .into_iter()
                .chain(term)
            {
                node.handle_command(clock.now(), Command::Election(order));
            }
        }
        // The life is stored before any other node hears of it.
        while let Some(fact) = node.poll_fact() {
            store(state.as_ref(), id, fact).await?;
        }
        // With a configured address to advertise or to bind to, the node has no other address.
        let moves = (self.advertise.is_none() && bound.ip().is_unspecified())
            .then(|| driver::Moves::new(bound, seed));
        let started = driver::spawn(Start {
            node,
            link,
            radio,
            bound,
            state,
            clock,
            seeds,
            moves,
            group_tag,
            key_file: self.key_file,
            revocations: self.identity.and_then(|identity| identity.revocations),
            events_max: self.events_max,
            meta_max,
            elections_max,
            elections: self.elections,
        });
        if !unresolved.is_empty() {
            tokio::spawn(look_for(Arc::downgrade(&started.0.inner), unresolved));
        }
        Ok(started)
    }

    /// Checks whether the node can campaign in all configured elections.
    fn check_elections(&self, config: &Config) -> Result<(), StartError> {
        let meta_max = config.membership.meta_max;
        let mut meta = self.meta.clone();
        let mut by_component = 0;
        for (n, (name, options)) in self.elections.iter().enumerate() {
            let max = config.election.elections_max;
            let fault = |source| StartError::Election {
                election: name.to_string(),
                source,
            };
            election::check(name).map_err(|e| fault(e.into()))?;
            if self.meta.observer {
                return Err(fault(CampaignError::Observer));
            }
            let identity = config.seal.identity.as_ref();
            if identity.is_some_and(|own| !own.certificate.may_campaign(ElectionId::of(name))) {
                return Err(fault(CampaignError::Role));
            }
            if n >= usize::from(max) {
                return Err(fault(CampaignError::TooMany { max }));
            }
            if options.needs_topology() && self.topology.is_none() {
                return Err(fault(CampaignError::NoTopology));
            }
            let mut attribute = options.candidacy.attribute;
            if let Some(tag) = &options.attribute_tag {
                attribute = tag
                    .attribute(&self.meta.tags)
                    .map_err(|e| fault(e.into()))?;
            }
            if options.policy.mode == ElectionMode::Component {
                by_component += 1;
                let max = u16::from(config.omega.elections_max);
                if by_component > max {
                    return Err(fault(CampaignError::TooMany { max }));
                }
                continue;
            }
            meta.campaigns.push(Campaign {
                election: ElectionId::of(name),
                class: options.candidacy.class,
                attribute,
                centrality: 0,
                settled: true,
            });
            if meta.check(usize::from(meta_max)).is_err() {
                return Err(fault(CampaignError::NoRoom { max: meta_max }));
            }
        }
        Ok(())
    }
}

/// Joins through seeds whose names could not be resolved at the start, once they can be.
async fn look_for(node: Weak<Inner>, mut seeds: Vec<String>) {
    let mut pause = LOOK_UP_AFTER;
    while !seeds.is_empty() {
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LOOK_UP_AFTER_MAX);
        let Some(inner) = node.upgrade() else {
            return;
        };
        let node = Node { inner };
        let mut left = Vec::new();
        for seed in seeds {
            match node.join([&seed]).await {
                Ok(()) => tracing::info!("seed `{seed}` is found"),
                Err(JoinError::Stopped(_)) => return,
                Err(JoinError::NoSeed) => {}
                Err(error) => {
                    tracing::debug!("{error}");
                    left.push(seed);
                }
            }
        }
        seeds = left;
    }
}

/// Determines where to look for neighbours, and starts to listen there.
async fn tune_in(
    topology: &Topology,
    group: &str,
    socket: &UdpSocket,
    bound: SocketAddr,
) -> Result<Radio, StartError> {
    if topology.is_nowhere() {
        return Err(StartError::Nowhere);
    }
    if topology.names_in_vain() {
        return Err(StartError::Interfaces);
    }
    let mut peers = Vec::new();
    for peer in &topology.peers {
        let peer = address::resolve(peer, bound).await;
        let addr = peer.map_err(StartError::Peer)?.addr;
        if addr != bound && !peers.contains(&addr) {
            peers.push(addr);
        }
    }
    let radio = Radio::open(topology, peers, group, socket);
    radio.map_err(|source| StartError::Bind {
        addr: bound,
        source,
    })
}

/// The wall clock in seconds since 1970.
pub(crate) fn unix_secs() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |d| d.as_secs())
}

/// Stores a fact outside of the runtime's threads. Without a state directory nothing is stored.
pub(crate) async fn store(
    state: Option<&Arc<StateDir>>,
    id: NodeId,
    fact: Fact,
) -> Result<(), StateError> {
    let Some(state) = state.map(Arc::clone) else {
        return Ok(());
    };
    match fact {
        Fact::Life(life) => blocking(move || state.store(Remembered { id, life })).await,
        Fact::Term(election, term) => blocking(move || state.store_term(election, term)).await,
        Fact::Fence(seq) => blocking(move || state.store_fence(seq)).await,
        Fact::Lease(id, record) => blocking(move || state.store_lease(id, *record)).await,
    }
}

/// Stores the addresses of members, outside of the runtime's threads.
pub(crate) async fn store_members(
    state: &Arc<StateDir>,
    addrs: Vec<SocketAddr>,
) -> Result<(), StateError> {
    let state = Arc::clone(state);
    blocking(move || state.store_members(&addrs)).await
}

/// Stores the member list, outside of the runtime's threads.
pub(crate) async fn store_group(
    state: &Arc<StateDir>,
    tag: u32,
    members: Vec<Known>,
) -> Result<(), StateError> {
    let state = Arc::clone(state);
    blocking(move || state.store_group(tag, &members)).await
}

/// Stores the record of members' failures, outside of the runtime's threads.
pub(crate) async fn store_reliability(
    state: &Arc<StateDir>,
    reports: Vec<Report>,
) -> Result<(), StateError> {
    let state = Arc::clone(state);
    blocking(move || state.store_reliability(&reports)).await
}

pub(crate) async fn blocking<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(f).await {
        Ok(value) => value,
        Err(e) => std::panic::resume_unwind(e.into_panic()),
    }
}

/// Random bits from the system, taken from the keys that std draws for its hash maps.
pub(crate) fn random_bits() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    type Call = fn(Builder) -> Builder;

    /// One call of every method that changes protocol settings, each with another value than the default.
    const CALLS: [(&str, Call); 15] = [
        ("profile", |b| b.profile(Profile::Lora)),
        ("config", |b| {
            b.config(Config {
                datagram_max: 1000,
                ..Config::from(Profile::Mesh)
            })
        }),
        ("group", |b| b.group("g")),
        ("detection", |b| b.detection(Detection::Fast)),
        ("probe_period", |b| b.probe_period(Duration::from_secs(7))),
        ("membership", |b| {
            b.membership(membership::Config {
                probe_helpers: 5,
                ..membership::Config::default()
            })
        }),
        ("reliability_half_life", |b| {
            b.reliability_half_life(Duration::from_secs(99))
        }),
        ("locks", |b| {
            b.locks(mutex::Config {
                locks_max: 33,
                ..mutex::Config::default()
            })
        }),
        ("lock_ttl", |b| b.lock_ttl(Duration::from_secs(44))),
        ("lock_bound", |b| b.lock_bound(Bound::Floor(5))),
        ("bootstrap", |b| b.bootstrap(true)),
        ("links", |b| b.links(omega::Config::fast())),
        ("keys", |b| {
            b.keys(&[GroupKey::parse(&"5a".repeat(32)).expect("a key")])
        }),
        ("migrate_for", |b| b.migrate_for(Duration::from_secs(3600))),
        ("name", |b| b.name("n")),
    ];

    fn settings(calls: &[(&str, Call)]) -> Config {
        let built = calls
            .iter()
            .fold(Builder::default(), |b, (_, call)| call(b));
        built.settings.resolved()
    }

    #[test]
    fn any_two_calls_commute() {
        for first in CALLS {
            for second in CALLS {
                let (names, orders) = ((first.0, second.0), [[first, second], [second, first]]);
                let [one, other] = orders.map(|calls| settings(&calls));
                assert_eq!(one, other, "{names:?}");
            }
        }
    }

    #[test]
    fn all_orders_of_all_calls_give_the_same_settings() {
        let expected = settings(&CALLS);
        let mut calls = CALLS;
        let mut state = 1_u64;
        for _ in 0..500 {
            for n in (1..calls.len()).rev() {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                calls.swap(n, (state >> 33) as usize % (n + 1));
            }
            assert_eq!(settings(&calls), expected, "{:?}", calls.map(|c| c.0));
        }
    }

    #[test]
    fn single_settings_apply_over_groups_and_these_over_the_profile() {
        assert_eq!(settings(&[]), Config::default());
        let all = settings(&CALLS);
        assert_eq!(all.datagram_max, 1000, "config over profile");
        assert_eq!(all.membership.probe_helpers, 5, "membership over config");
        assert_eq!(all.membership.probe_period, Duration::from_secs(7));
        assert_eq!(all.mutex.locks_max, 33);
        assert_eq!(all.mutex.ttl_max, Duration::from_secs(44));
        assert!(all.mutex.bootstrap && all.mutex.bound == Bound::Floor(5));
        assert_eq!(all.group, "g");
        // Every call but the name, which is no protocol setting, makes a difference.
        for call in &CALLS[..14] {
            assert_ne!(settings(&[*call]), Config::default(), "{}", call.0);
        }
        let profile = Builder::default().profile(Profile::Lora);
        assert_eq!(profile.settings.resolved(), Config::from(Profile::Lora));
    }
}
