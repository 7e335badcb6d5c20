//! Coming and going: joins and their pages, comparison of member lists, goodbyes, healing.

use super::event::Event;
use super::member::{Member, Phase};
use super::msg::{BUCKETS, Msg};
use super::record::{Accusation, Precedence, Record, Status};
use super::rumor::Urgency;
use super::suspicion::log_periods;
use super::table::bucket_of;
use super::{Membership, MembershipCx, Timer};
use crate::encoded::frame_len;
use crate::id::NodeId;
use crate::protocol::{Sender, To};
use crate::time::{Instant, micros};
use alloc::vec::Vec;
use core::net::SocketAddr;

/// Where this node stands with its group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JoinState {
    /// Not asked to join anybody: others may join it.
    #[default]
    Founding,
    /// Looking for a member that answers.
    Joining,
    /// Has heard a member's whole list.
    Joined,
    /// Saying goodbye.
    Leaving,
    /// Gone.
    Left,
}

/// How often it is drawn whom to try, until it is one that is not known to be here.
const HEAL_DRAWS: usize = 4;

/// Datagrams that answer one request for records.
const PAGES: usize = 4;

/// A record takes so many bytes at least.
const RECORD_MIN: usize = 40;

/// For so many periods after it joined, a node compares its list in every period with a member whose list differs:
/// others may be joining too, and news of many newcomers at once would take long on pings alone.
const SETTLING_PERIODS: u32 = 8;

/// In so many of the first periods it asks the member that let it in, which has met all who came after it.
const ASK_HOST_PERIODS: u32 = 2;

/// Joining and leaving.
#[derive(Clone, Debug, Default)]
pub(crate) struct Joining {
    pub(super) state: JoinState,
    seeds: Vec<SocketAddr>,
    next_seed: usize,
    /// Tries in this round.
    tries: usize,
    /// Periods until the next try.
    backoff: u32,
    /// Members that have not confirmed the goodbye, of how many that were told, and how often they were told again.
    goodbyes: Vec<NodeId>,
    told: usize,
    repeats: u32,
    last_sync: Option<Instant>,
    ticks: u32,
    /// The member that let this node in, and when.
    host: Option<(NodeId, Instant)>,
}

impl Membership {
    pub(super) fn join(&mut self, cx: &mut MembershipCx<'_>, seeds: Vec<SocketAddr>) {
        if matches!(self.joining.state, JoinState::Leaving | JoinState::Left) {
            return;
        }
        // The seeds named last are asked first: a node that has a group may be told of another one.
        let mut named = None;
        for seed in seeds {
            if seed == self.addr {
                continue;
            }
            if let Some(at) = self.joining.seeds.iter().position(|s| *s == seed) {
                named.get_or_insert(at);
                continue;
            }
            if self.joining.seeds.len() == usize::from(self.config.seeds_max) {
                self.stats.seeds_dropped += 1;
                continue;
            }
            named.get_or_insert(self.joining.seeds.len());
            self.joining.seeds.push(seed);
        }
        self.joining.next_seed = named.unwrap_or(self.joining.next_seed);
        if self.joining.seeds.is_empty() {
            return;
        }
        self.joining.state = JoinState::Joining;
        self.joining.backoff = 1;
        self.joining.tries = 0;
        self.try_join(cx);
    }

    /// Asks the next seed, and sets the time of the next try.
    pub(super) fn try_join(&mut self, cx: &mut MembershipCx<'_>) {
        let joining = &mut self.joining;
        if joining.state != JoinState::Joining || joining.seeds.is_empty() {
            return;
        }
        // After a round over all seeds it is a member's turn: seeds may be gone, and it has the list.
        let round_over = joining.tries == joining.seeds.len();
        let member = match round_over {
            true => self
                .table
                .pingable(cx.rng.below(self.table.live() as u32) as usize),
            false => None,
        };
        let (to, addr) = match member {
            Some(member) => (To::Node(member.id), member.addr()),
            None => {
                let seed = joining.seeds[joining.next_seed % joining.seeds.len()];
                joining.next_seed = (joining.next_seed + 1) % joining.seeds.len();
                (To::Addr(seed), seed)
            }
        };
        // The first round goes quickly.
        let wait = self.config.probe_period * joining.backoff;
        joining.tries += 1;
        if round_over {
            joining.tries = 0;
            joining.backoff = (joining.backoff * 2).min(16);
        }
        cx.send(to, Msg::Join);
        cx.send(to, Msg::Record(self.own_record(cx.me, cx.now)));
        cx.set_timer(Timer::Join, cx.now + wait);
        self.expect_records(cx.now, addr);
    }

    /// This node asked the one at `addr` for its list: what one answer can hold is no telling unasked.
    fn expect_records(&mut self, now: Instant, addr: SocketAddr) {
        let most = self.frames_max * PAGES / RECORD_MIN;
        self.told.ask(now, addr, most as u32);
    }

    /// A newcomer asks to be let in. Its header and record have made it a member already.
    pub(super) fn on_join(&mut self, cx: &mut MembershipCx<'_>, from: Sender) {
        cx.send(from.reply_to(), Msg::Record(self.own_record(cx.me, cx.now)));
        self.send_page(cx, from, None, 1);
    }

    /// A member asks for more records.
    pub(super) fn on_pull(&mut self, cx: &mut MembershipCx<'_>, from: Sender, after: NodeId) {
        self.send_page(cx, from, Some(after), PAGES);
    }

    fn send_page(
        &mut self,
        cx: &mut MembershipCx<'_>,
        from: Sender,
        after: Option<NodeId>,
        datagrams: usize,
    ) {
        // Room for the head of the page and this node's own record.
        let mut room = self.frames_max * datagrams;
        room = room.saturating_sub(64 + usize::from(self.config.meta_max) + 64);
        let (mut next, mut cut) = (None, false);
        let mut records = Vec::new();
        for member in self.table.iter_after(after) {
            let old = self.is_old(member, cx.now);
            if member.id == from.id || old && member.has_left() {
                continue;
            }
            let mut record = member.record(cx.now);
            if let Some(ago) = member.departed_for(cx.now).filter(|_| old) {
                record.set_departed(ago);
            }
            let msg = Msg::Record(record);
            let len = frame_len(&msg);
            if len > room {
                cut = true;
                break;
            }
            room -= len;
            next = Some(member.id);
            records.push(msg);
        }
        let next = if cut { next.or(after) } else { None };
        let options = self.config.options_hash();
        cx.send(from.reply_to(), Msg::Page { next, options });
        for record in records {
            cx.send(from.reply_to(), record);
        }
    }

    /// A page arrived; its records follow in the same datagrams.
    pub(super) fn on_page(
        &mut self,
        cx: &mut MembershipCx<'_>,
        from: Sender,
        next: Option<NodeId>,
        options: u32,
    ) {
        if self.joining.state != JoinState::Joining {
            return;
        }
        match next {
            Some(after) => {
                cx.send(from.reply_to(), Msg::Pull { after });
                self.expect_records(cx.now, from.addr);
                let again = cx.now + self.config.probe_period * 2;
                cx.set_timer(Timer::Join, again);
            }
            None => {
                self.joining.state = JoinState::Joined;
                self.joining.host = Some((from.id, cx.now));
                cx.cancel_timer(Timer::Join);
                cx.emit(Event::Joined);
            }
        }
        if options != self.config.options_hash() {
            cx.emit(Event::OptionsDiffer { id: from.id });
        }
    }

    /// Compares member lists with the sender when their digests differ and no news is under way.
    pub(super) fn consider_sync(&mut self, cx: &mut MembershipCx<'_>, from: Sender) {
        if self.config.sync_periods == 0 {
            return;
        }
        if from.digest == self.digest(cx.me) {
            if self.rumors.len() > 0 {
                self.rumors.count_known(self.rumor_limit());
            }
            return;
        }
        let periods = match self.joined_within(cx.now, SETTLING_PERIODS) {
            Some(_) => 1,
            None if self.rumors.len() > 0 => return,
            None => self.config.sync_periods,
        };
        if !self.compared_within(cx.now, periods) {
            self.sync_with(cx, from.reply_to(), from.addr);
        }
    }

    /// Compares lists with the member that let this node in, in its first periods.
    pub(super) fn settle(&mut self, cx: &mut MembershipCx<'_>) {
        let host = self.joined_within(cx.now, ASK_HOST_PERIODS);
        let host = host.filter(|_| self.config.sync_periods > 0);
        if let Some(host) = host.and_then(|id| self.table.get(id)) {
            let (id, addr) = (host.id, host.addr());
            self.sync_with(cx, To::Node(id), addr);
        }
    }

    /// The member that let this node in, if it did so in the last `periods`.
    fn joined_within(&self, now: Instant, periods: u32) -> Option<NodeId> {
        let (host, at) = self.joining.host?;
        (now.since(at) < self.config.probe_period * periods).then_some(host)
    }

    fn compared_within(&self, now: Instant, periods: u32) -> bool {
        let last = self.joining.last_sync;
        last.is_some_and(|at| now.since(at) < self.config.probe_period * periods)
    }

    pub(super) fn sync_with(&mut self, cx: &mut MembershipCx<'_>, to: To, addr: SocketAddr) {
        self.joining.last_sync = Some(cx.now);
        self.stats.syncs += 1;
        let buckets = self.bucket_digests(cx.me);
        self.expect_records(cx.now, addr);
        cx.send(
            to,
            Msg::Digest {
                buckets,
                reply: true,
            },
        );
    }

    /// A member's list hashes: tell it what is in the buckets that differ.
    pub(super) fn on_digest(
        &mut self,
        cx: &mut MembershipCx<'_>,
        from: Sender,
        theirs: [u32; BUCKETS],
        reply: bool,
    ) {
        let ours = self.bucket_digests(cx.me);
        let differs = |id: NodeId| ours[bucket_of(id)] != theirs[bucket_of(id)];
        if reply {
            cx.send(
                from.reply_to(),
                Msg::Digest {
                    buckets: ours,
                    reply: false,
                },
            );
        }
        let mut room = self.frames_max * PAGES - 256;
        if differs(cx.me) {
            cx.send(from.reply_to(), Msg::Record(self.own_record(cx.me, cx.now)));
            room = room.saturating_sub(usize::from(self.config.meta_max) + 64);
        }
        // A random start, so that repeated exchanges get through lists longer than one answer.
        let start = NodeId(cx.rng.bits64());
        let wrapped = self.table.iter_after(Some(start)).chain(self.table.iter());
        for member in wrapped.take(self.table.len()).filter(|m| differs(m.id)) {
            if self.is_old(member, cx.now) {
                continue;
            }
            let msg = Msg::Record(member.record(cx.now));
            let len = frame_len(&msg);
            if len > room {
                break;
            }
            room -= len;
            cx.send(from.reply_to(), msg);
        }
    }

    /// Whether a member is down for so long that no stale rumor is about it.
    fn is_old(&self, member: &Member, now: Instant) -> bool {
        let gone = member.departed_for(now);
        gone.is_some_and(|ago| ago > self.tombstone())
    }

    fn bucket_digests(&self, me: NodeId) -> [u32; BUCKETS] {
        let mut buckets = self.table.bucket_digests();
        buckets[bucket_of(me)] ^= self.own_key(me) as u32;
        buckets
    }

    /// Failed members and seeds are tried, so that the two sides of a healed partition find each other: the answer
    /// makes both refute and compare lists.
    pub(super) fn heal(&mut self, cx: &mut MembershipCx<'_>) {
        self.joining.ticks = self.joining.ticks.wrapping_add(1);
        if self.config.heal_periods == 0 {
            return;
        }
        self.try_recent(cx);
        if !self.joining.ticks.is_multiple_of(self.config.heal_periods) {
            return;
        }
        self.remind_of_removed(cx);
        for _ in 0..HEAL_DRAWS {
            if self.try_lost(cx) {
                return;
            }
        }
    }

    /// Tries one that failed a short while ago, in some periods: the group as a whole tries each of them every other
    /// period, and no node more than one in a period.
    fn try_recent(&mut self, cx: &mut MembershipCx<'_>) {
        let now = cx.now;
        let recent = || {
            let failed = self.table.failed().rev();
            failed.take_while(|m| !self.is_old(m, now))
        };
        let count = recent().count();
        if count == 0 {
            return;
        }
        let shares = (2 * (self.table.live() + 1)).max(count);
        let pick = cx.rng.below(shares as u32) as usize;
        let picked = recent().nth(pick).map(|m| m.id);
        if let Some(id) = picked {
            self.pursue(cx, id);
        }
    }

    /// Tries one at random of all that failed, of seeds and of addresses of former members. Whether it was of use:
    /// a seed may be a member that is known.
    fn try_lost(&mut self, cx: &mut MembershipCx<'_>) -> bool {
        let departed = self.table.failed().count();
        let (seeds, contacts) = (&self.joining.seeds, self.table.contacts());
        let pick = cx
            .rng
            .below((departed + seeds.len() + contacts.len()) as u32) as usize;
        let failed = self.table.failed().nth(pick).map(|m| m.id);
        if let Some(id) = failed {
            self.pursue(cx, id);
            return true;
        }
        let known = |addr: SocketAddr| self.live_members().any(|m| m.addr() == addr);
        let addr = pick.checked_sub(departed).and_then(|n| {
            let late = n.checked_sub(seeds.len());
            seeds.get(n).or_else(|| contacts.get(late?)).copied()
        });
        let Some(addr) = addr.filter(|&a| !known(a)) else {
            return false;
        };
        cx.send(To::Addr(addr), Msg::Join);
        cx.send(To::Addr(addr), Msg::Record(self.own_record(cx.me, cx.now)));
        self.expect_records(cx.now, addr);
        true
    }

    /// Starts to say goodbye.
    pub(super) fn leave(&mut self, cx: &mut MembershipCx<'_>) {
        if matches!(self.joining.state, JoinState::Leaving | JoinState::Left) {
            return;
        }
        self.joining.state = JoinState::Leaving;
        self.raise_incarnation(cx);
        self.drop_probes(cx);
        cx.cancel_timer(Timer::Join);
        self.spread(cx.now, cx.me, cx.me, Urgency::Departure);
        let most = 2 * usize::from(self.config.probe_helpers).max(1);
        self.joining.goodbyes = self.selector.helpers(&self.table, cx.rng, cx.me, most);
        self.joining.told = self.joining.goodbyes.len();
        self.say_goodbye(cx);
    }

    /// Half a period has passed since the last goodbye. Once all were told twice, half of them are enough: they pass
    /// it on, and the others may be gone themselves.
    pub(super) fn repeat_goodbye(&mut self, cx: &mut MembershipCx<'_>) {
        let joining = &mut self.joining;
        joining.repeats += 1;
        let heard = joining.repeats >= 2 && 2 * joining.goodbyes.len() <= joining.told;
        if heard || self.joining.repeats >= 4 * log_periods(self.size()) {
            return self.depart(cx);
        }
        self.say_goodbye(cx);
    }

    /// Tells those who have not confirmed it; done when all have.
    fn say_goodbye(&mut self, cx: &mut MembershipCx<'_>) {
        if self.joining.goodbyes.is_empty() {
            return self.depart(cx);
        }
        cx.set_timer(Timer::Leave, cx.now + self.config.probe_period / 2);
        for at in 0..self.joining.goodbyes.len() {
            let target = self.joining.goodbyes[at];
            let seq = self.probes.next_seq();
            cx.send(
                To::Node(target),
                Msg::Ping {
                    seq,

                    want_record: false,
                },
            );
        }
    }

    pub(super) fn on_leave_acked(&mut self, cx: &mut MembershipCx<'_>, id: NodeId) {
        if self.joining.state == JoinState::Leaving {
            self.joining.goodbyes.retain(|&g| g != id);
            if self.joining.goodbyes.is_empty() {
                self.depart(cx);
            }
        }
    }

    /// Of a node that says goodbye: how many members it told, and how many of them have not confirmed it.
    pub fn goodbyes(&self) -> (usize, usize) {
        (self.joining.told, self.joining.goodbyes.len())
    }

    pub(super) fn depart(&mut self, cx: &mut MembershipCx<'_>) {
        if self.joining.state == JoinState::Leaving {
            self.joining.state = JoinState::Left;
            cx.cancel_timer(Timer::Leave);
            cx.cancel_timer(Timer::Tick);
            cx.emit(Event::Departed);
        }
    }

    /// Takes a stored member list. Everybody in it is a member until found out, but for those that had failed;
    /// nothing is announced.
    pub(super) fn restore(&mut self, cx: &mut MembershipCx<'_>, records: Vec<Record>) {
        for record in records {
            let room = self.table.len() < self.config.members_max as usize;
            let status = record.precedence.status;
            if record.id == cx.me || status == Status::Left || !room {
                continue;
            }
            if status == Status::Dead {
                if self.table.get(record.id).is_none() {
                    self.inter_quietly(cx, record);
                }
                continue;
            }
            let (id, life) = (record.id, record.precedence.life);
            let record = Record {
                precedence: record.precedence.with(Status::Alive),
                ..record
            };
            if self.table.get(id).is_none() {
                self.table.insert(record, Phase::Up, cx.now);
                // It was there in this node's last life.
                if let Some(member) = self.table.touch(id) {
                    member.set_proven(true);
                }
                let how = super::Arrival::Joined;
                self.report(cx, Event::Up { id, life, how });
            }
        }
    }

    /// What this node says of itself.
    pub(super) fn own_record(&self, me: NodeId, now: Instant) -> Record {
        Record {
            id: me,
            precedence: self.own_precedence(),
            accuser: me,
            addr: self.addr,
            meta: self.meta.clone(),
            coordinate: self.coordinate,
            nap_ms: (micros(self.naps_until.since(now)) / 1000).min(u64::from(u32::MAX)) as u32,
            current: true,
        }
    }

    pub(super) fn own_precedence(&self) -> Precedence {
        let leaving = matches!(self.joining.state, JoinState::Leaving | JoinState::Left);
        let status = if leaving { Status::Left } else { Status::Alive };
        Precedence::alive(self.life, self.incarnation).with(status)
    }

    pub(super) fn own_accusation(&self, me: NodeId) -> Accusation {
        Accusation {
            id: me,
            precedence: self.own_precedence(),
            accuser: me,
        }
    }
}
