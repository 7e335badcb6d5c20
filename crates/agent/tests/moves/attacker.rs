//! Somebody with a socket who knows the format.

use consort::NodeId;
use consort_proto::Life;
use consort_proto::membership::Msg;
use consort_proto::seal::Msg as Session;
use consort_proto::wire::{Datagram, Frame, Header};
use core::net::SocketAddr;
use std::net::UdpSocket;

pub(crate) struct Attacker {
    socket: UdpSocket,
    target: SocketAddr,
    pub(crate) header: Header,
}

impl Attacker {
    pub(crate) fn new(id: u64, target: SocketAddr) -> Attacker {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket
            .set_read_timeout(Some(super::scrape::PATIENCE))
            .unwrap();
        let header = Header {
            group: consort::Config::default().group_tag(),
            id: NodeId(id),
            life: Life::starting(1_800_000_000, 1, None),
            ..Header::default()
        };
        Attacker {
            socket,
            target,
            header,
        }
    }

    pub(crate) fn addr(&self) -> SocketAddr {
        self.socket.local_addr().unwrap()
    }

    pub(crate) fn raw(&self, bytes: &[u8]) {
        self.socket.send_to(bytes, self.target).unwrap();
    }

    pub(crate) fn bytes(&self, frames: Vec<Frame>) -> Vec<u8> {
        let mut bytes = Vec::new();
        let datagram = Datagram {
            header: self.header,
            frames,
            ..Datagram::default()
        };
        datagram.encode(&mut bytes);
        bytes
    }

    pub(crate) fn send(&self, frames: Vec<Frame>) {
        self.raw(&self.bytes(frames));
    }

    /// Becomes a member, as anybody can in a group without a key.
    pub(crate) fn join(self) -> Attacker {
        self.send(vec![Frame::Membership(Msg::Join)]);
        let mut bytes = [0; 65_536];
        loop {
            let (len, _) = self.socket.recv_from(&mut bytes).expect("an answer");
            let mut answer = Datagram::default();
            answer.decode(&bytes[..len]).unwrap();
            for frame in &answer.frames {
                if let Frame::Session(Session::Challenge(cookie)) = frame {
                    self.send(vec![Frame::Session(Session::Echo(*cookie))]);
                    return self;
                }
            }
        }
    }
}
