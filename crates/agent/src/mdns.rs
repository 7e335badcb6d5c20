//! Finding the group by multicast DNS: the node announces itself as a service and joins those that announce its group.
//!
//! Anybody on the local network can announce anything. An announcement only makes this node ask the announced address
//! to be let in, as a seed does, at a bounded rate; who is a member is decided by the group's key, as always.

use consort::{Member, Node, NodeId, Status};
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use mdns_sd::{IfKind, ResolvedService, ServiceDaemon, ServiceEvent, ServiceInfo};
use std::collections::BTreeSet;
use tokio::time::Instant;

const SERVICE: &str = "_consort._udp.local.";
/// Announcements that are followed within one [`SPAN`].
const FOLLOWED_MAX: u32 = 32;
const SPAN: Duration = Duration::from_secs(10);
/// Addresses of one announcement that are asked.
const ADDRS_MAX: usize = 4;
/// Nodes of other groups that are logged.
const FOREIGN_MAX: usize = 32;

/// Announces `node` as a member of `group`, and joins others that are announced, until the node stops.
pub(crate) fn start(node: &Node, group: &str) -> Result<(), mdns_sd::Error> {
    let daemon = ServiceDaemon::new()?;
    let bound = node.local_addr().ip();
    if bound.is_loopback() {
        daemon.disable_interface(IfKind::All)?;
        daemon.enable_interface(IfKind::LoopbackV4)?;
    } else if !bound.is_unspecified() {
        daemon.disable_interface(IfKind::All)?;
        daemon.enable_interface(IfKind::Addr(bound))?;
    }
    let own = announcement(node, group)?;
    let fullname = own.get_fullname().to_owned();
    daemon.register(own)?;
    let found = daemon.browse(SERVICE)?;
    let mut follower = Follower::new(node.clone(), group.to_owned());
    let node = node.clone();
    tokio::spawn(async move {
        let mut stopped = core::pin::pin!(node.stopped());
        loop {
            tokio::select! {
                () = &mut stopped => break,
                event = found.recv_async() => match event {
                    Ok(ServiceEvent::ServiceResolved(service)) => follower.follow(&service).await,
                    Ok(_) => {}
                    Err(_) => {
                        tracing::warn!("multicast DNS ended; nodes are no longer found by it");
                        break;
                    }
                },
            }
        }
        // The goodbye is sent before the daemon ends; without it others forget the service after its time to live.
        if let Ok(done) = daemon.unregister(&fullname) {
            let _ = tokio::time::timeout(Duration::from_secs(1), done.recv_async()).await;
        }
        let _ = daemon.shutdown();
    });
    Ok(())
}

fn announcement(node: &Node, group: &str) -> Result<ServiceInfo, mdns_sd::Error> {
    let addr = node.advertised_addr();
    let name = node.id().to_string();
    let host = format!("consort-{name}.local.");
    let text = [("group", group)];
    let port = addr.port();
    if addr.ip().is_unspecified() {
        Ok(ServiceInfo::new(SERVICE, &name, &host, "", port, &text[..])?.enable_addr_auto())
    } else {
        ServiceInfo::new(SERVICE, &name, &host, addr.ip(), port, &text[..])
    }
}

/// Decides which announcements are followed.
struct Follower {
    node: Node,
    group: String,
    /// How many were followed since `since`.
    followed: u32,
    since: Instant,
    /// Nodes of other groups that were logged.
    foreign: BTreeSet<NodeId>,
}

impl Follower {
    fn new(node: Node, group: String) -> Follower {
        Follower {
            node,
            group,
            followed: 0,
            since: Instant::now(),
            foreign: BTreeSet::new(),
        }
    }

    async fn follow(&mut self, service: &ResolvedService) {
        let name = service.get_fullname().split('.').next();
        let Some(id) = name.and_then(|name| name.parse::<NodeId>().ok()) else {
            return;
        };
        if id == self.node.id() {
            return;
        }
        let addrs = addresses(service);
        if !self.is_ours(id, service.get_property_val_str("group"), &addrs) {
            return;
        }
        let Ok(members) = self.node.members().await else {
            return;
        };
        let here = |member: &Member| matches!(member.status, Status::Alive | Status::Suspect);
        if members.iter().any(|member| member.id == id && here(member)) {
            return;
        }
        if !self.may_follow(Instant::now()) || addrs.is_empty() {
            return;
        }
        tracing::info!(
            "multicast DNS found node {id} of this group at {}",
            addrs[0]
        );
        if let Err(error) = self.node.join(addrs).await {
            tracing::warn!("what multicast DNS found cannot be joined: {error}");
        }
    }

    /// Whether the announcement is of this group; logs once for each node of another group.
    fn is_ours(&mut self, id: NodeId, group: Option<&str>, addrs: &[SocketAddr]) -> bool {
        let group = group.unwrap_or_default();
        if group == self.group {
            return true;
        }
        if self.foreign.len() < FOREIGN_MAX && self.foreign.insert(id) {
            let at = addrs
                .first()
                .map_or_else(String::new, |addr| format!(" at {addr}"));
            tracing::info!(
                "node {id}{at} belongs to group {group:?}, not to {:?}",
                self.group
            );
        }
        false
    }

    fn may_follow(&mut self, now: Instant) -> bool {
        if now.duration_since(self.since) >= SPAN {
            (self.since, self.followed) = (now, 0);
        }
        self.followed = self.followed.saturating_add(1);
        self.followed <= FOLLOWED_MAX
    }
}

/// Where the announced node may be reached; addresses of one link need an interface that a seed cannot name.
fn addresses(service: &ResolvedService) -> Vec<SocketAddr> {
    let ips = service.get_addresses().iter().map(|ip| ip.to_ip_addr());
    let usable = ips.filter(|ip| match ip {
        IpAddr::V4(ip) => !ip.is_unspecified() && !ip.is_multicast() && !ip.is_broadcast(),
        IpAddr::V6(ip) => !ip.is_unspecified() && !ip.is_multicast() && !ip.is_unicast_link_local(),
    });
    let sorted: BTreeSet<IpAddr> = usable.collect();
    let port = service.get_port();
    let addrs = sorted.into_iter().map(|ip| SocketAddr::new(ip, port));
    addrs.filter(|_| port != 0).take(ADDRS_MAX).collect()
}
