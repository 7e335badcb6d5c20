//! The network interfaces of this machine.

use super::Interfaces;
use core::net::Ipv6Addr;
use std::io;
use tokio::net::UdpSocket;

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Interface {
    pub(super) name: String,
    /// The index of the interface; 0 lets the system choose.
    pub(super) index: u32,
}

/// The requested interfaces that exist, and the errors of the others.
pub(super) fn find(
    wanted: &Interfaces,
    socket: &UdpSocket,
    v6: bool,
) -> (Vec<Interface>, Vec<(String, io::Error)>) {
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    match wanted {
        Interfaces::All => match all(v6) {
            Ok(all) => found = all,
            Err(error) => missing.push(("all interfaces".to_owned(), error)),
        },
        Interfaces::Named(names) => {
            for name in names {
                match index(socket, name) {
                    Ok(index) => {
                        let name = name.clone();
                        found.push(Interface { name, index });
                    }
                    Err(error) => missing.push((name.clone(), error)),
                }
            }
        }
    }
    found.sort_unstable_by_key(|i| i.index);
    found.dedup();
    (found, missing)
}

#[cfg(target_os = "linux")]
fn index(socket: &UdpSocket, name: &str) -> io::Result<u32> {
    Ok(rustix::net::netdevice::name_to_index(socket, name)?)
}

#[cfg(not(target_os = "linux"))]
fn index(_: &UdpSocket, _: &str) -> io::Result<u32> {
    Err(io::ErrorKind::Unsupported.into())
}

/// These files belong to the network namespace of this process, unlike `/sys/class/net`, which may belong to another.
#[cfg(target_os = "linux")]
fn all(v6: bool) -> io::Result<Vec<Interface>> {
    Ok(if v6 {
        with_link_local(&std::fs::read_to_string("/proc/self/net/if_inet6")?)
    } else {
        with_all_hosts(&std::fs::read_to_string("/proc/self/net/dev_mcast")?)
    })
}

#[cfg(not(target_os = "linux"))]
fn all(_: bool) -> io::Result<Vec<Interface>> {
    let name = "default".to_owned();
    Ok(vec![Interface { name, index: 0 }])
}

/// An IPv6 address of this machine on a requested interface that is valid beyond its link.
pub(super) fn routed_v6(wanted: &Interfaces) -> Option<Ipv6Addr> {
    let table = std::fs::read_to_string("/proc/self/net/if_inet6").ok()?;
    let is_wanted = |name: &str| match wanted {
        Interfaces::All => true,
        Interfaces::Named(names) => names.iter().any(|n| n == name),
    };
    let of_world =
        rows(&table).filter(|row| row.scope == OF_WORLD && is_wanted(&row.interface.name));
    of_world.map(|row| row.addr).next()
}

/// The IPv4 interfaces that are up and whose hardware has a multicast address; they listen to 224.0.0.1. A line
/// consists of an index, a name, two counts and a hardware address.
#[cfg(any(target_os = "linux", test))]
fn with_all_hosts(table: &str) -> Vec<Interface> {
    let row = |line: &str| {
        let mut fields = line.split_whitespace();
        let index = fields.next()?.parse().ok()?;
        let name = fields.next()?.to_owned();
        let all_hosts = fields.nth(2)? == "01005e000001";
        all_hosts.then_some(Interface { name, index })
    };
    table.lines().filter_map(row).collect()
}

#[cfg(any(target_os = "linux", test))]
const OF_LINK: u32 = 0x20;
const OF_WORLD: u32 = 0;
const TENTATIVE: u32 = 0x40;

/// An IPv6 address of this machine.
struct Row {
    addr: Ipv6Addr,
    scope: u32,
    interface: Interface,
}

/// The addresses that are confirmed to be this machine's own. A line consists of the address, the index, the prefix
/// length, the scope and the flags, all in hexadecimal digits, and the name.
fn rows(table: &str) -> impl Iterator<Item = Row> + '_ {
    table.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let &[addr, index, _, scope, flags, name] = fields.as_slice() else {
            return None;
        };
        let number = |text| u32::from_str_radix(text, 16).ok();
        let addr = u128::from_str_radix(addr, 16).ok()?.into();
        let (index, name) = (number(index)?, name.to_owned());
        let row = Row {
            addr,
            scope: number(scope)?,
            interface: Interface { name, index },
        };
        (number(flags)? & TENTATIVE == 0).then_some(row)
    })
}

/// The interfaces with a link-local address.
#[cfg(any(target_os = "linux", test))]
fn with_link_local(table: &str) -> Vec<Interface> {
    let of_link = rows(table).filter(|row| row.scope == OF_LINK);
    of_link.map(|row| row.interface).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(name: &str, index: u32) -> Interface {
        let name = name.to_owned();
        Interface { name, index }
    }

    #[test]
    fn tables_of_the_system_are_read_and_what_cannot_multicast_left_out() {
        let mcast = "2    ifb0            1     0     333300000001\n\
                     4    eth0            1     0     333300000001\n\
                     4    eth0            1     0     01005e000001\n\
                     7    wlan0           2     0     01005e000001\n\
                     torn\n";
        let both = [interface("eth0", 4), interface("wlan0", 7)];
        assert_eq!(with_all_hosts(mcast), both);
        let inet6 = "00000000000000000000000000000001 01 80 10 80       lo\n\
                     fd000000000000000000000000000002 04 40 00 82     eth0\n\
                     fe8000000000000000fc00fffe000001 04 40 20 80     eth0\n\
                     fe8000000000000000fc00fffe000002 1f 40 20 c0    wlan0\n";
        assert_eq!(
            with_link_local(inet6),
            [interface("eth0", 4)],
            "no tentative one"
        );
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn loopback_can_be_named_and_a_missing_one_is_told() {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let wanted = Interfaces::Named(vec!["lo".into(), "nowhere7".into(), "lo".into()]);
        let (found, missing) = find(&wanted, &socket, false);
        assert_eq!(found, [interface("lo", 1)]);
        assert_eq!(missing.len(), 1);
        assert_eq!(missing[0].0, "nowhere7");
        let (all, missing) = find(&Interfaces::All, &socket, false);
        assert!(all.iter().all(|i| i.name != "lo") && missing.is_empty());
    }
}
