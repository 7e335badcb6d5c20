//! Answers that do not fit into a datagram: splitting them into pieces, and assembling them.
//!
//! An incomplete answer would be worse than none, because a contender that is no longer named counts as over. So pieces
//! of different answers are never mixed; the attempt and the number of the answer tell them apart.

use super::msg::{Name, Reply};
use crate::encoded::body_len;
use alloc::vec::Vec;

/// The greatest number of pieces of one answer, which fits into a bit set.
pub(super) const PIECES_MAX: u8 = 64;

/// An answer of which some pieces are missing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pieces {
    attempt: u32,
    grant_no: u32,
    count: u8,
    come: u64,
    names: Vec<Name>,
}

impl Pieces {
    fn new(reply: &Reply, count: u8) -> Pieces {
        Pieces {
            attempt: reply.attempt,
            grant_no: reply.grant_no,
            count,
            come: 0,
            names: Vec::new(),
        }
    }

    /// Whether these pieces belong to a later answer than `reply`.
    fn are_newer(&self, reply: &Reply) -> bool {
        let ahead = self.grant_no.wrapping_sub(reply.grant_no) as i32;
        (self.attempt, ahead) > (reply.attempt, 0)
    }

    fn belong_to(&self, reply: &Reply, count: u8) -> bool {
        let of = (self.attempt, self.grant_no, self.count);
        of == (reply.attempt, reply.grant_no, count)
    }
}

/// Adds a piece to its answer. Returns whether the answer is complete; then `reply` contains all names.
pub(super) fn assemble(under_way: &mut Option<Pieces>, reply: &mut Reply) -> bool {
    // A late piece must not discard a newer answer.
    let late = under_way.as_ref().is_some_and(|p| p.are_newer(reply));
    let Some((index, count)) = reply.piece else {
        under_way.take_if(|_| !late);
        return true;
    };
    if late || index >= count || count > PIECES_MAX {
        return false;
    }
    let mut pieces = (under_way.take())
        .filter(|p| p.belong_to(reply, count))
        .unwrap_or_else(|| Pieces::new(reply, count));
    if pieces.come & 1 << index == 0 {
        pieces.come |= 1 << index;
        pieces.names.append(&mut reply.names);
    }
    if pieces.come.count_ones() < u32::from(count) {
        *under_way = Some(pieces);
        return false;
    }
    reply.names = pieces.names;
    true
}

/// Splits names into groups that fit into `room` bytes each, with at least one name per group.
pub(super) fn split(mut names: Vec<Name>, room: usize) -> Vec<Vec<Name>> {
    let mut pieces = Vec::new();
    let (mut at, mut taken) = (0, 0);
    while at < names.len() {
        let len = body_len(&names[at]);
        if at > 0 && taken + len > room {
            let rest = names.split_off(at);
            pieces.push(core::mem::replace(&mut names, rest));
            (at, taken) = (0, 0);
        }
        (at, taken) = (at + 1, taken + len);
    }
    pieces.push(names);
    pieces
}
