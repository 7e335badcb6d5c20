//! Packets in flight. Slots and their frame lists are reused: no allocation once warm.

use consort_proto::wire::Datagram;

/// A datagram in flight.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packet {
    pub(crate) datagram: Datagram,
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) bytes: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Pool {
    packets: Vec<Packet>,
    free: Vec<u32>,
}

impl Pool {
    /// A slot for a packet, with the content of an earlier one.
    pub(crate) fn take(&mut self) -> usize {
        match self.free.pop() {
            Some(slot) => slot as usize,
            None => {
                self.packets.push(Packet::default());
                self.packets.len() - 1
            }
        }
    }

    pub(crate) fn give_back(&mut self, slot: usize) {
        self.packets[slot].datagram.frames.clear();
        self.free.push(slot as u32);
    }

    pub(crate) fn packet(&self, slot: usize) -> &Packet {
        &self.packets[slot]
    }

    pub(crate) fn packet_mut(&mut self, slot: usize) -> &mut Packet {
        &mut self.packets[slot]
    }

    /// A copy of a packet.
    pub(crate) fn duplicate(&mut self, slot: usize) -> usize {
        let copy = self.take();
        self.packets[copy] = self.packets[slot].clone();
        copy
    }
}
