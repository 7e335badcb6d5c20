//! The meaning of each metric.

/// The names of metrics, without the prefix `consort_` and without the suffix `_total` of counters, and their meaning.
/// The first letter is the kind: `c`ounter, `g`auge, `i`nfo, and `s` for a counter of load that was shed or input that
/// was refused.
#[rustfmt::skip]
const HELP: &[(char, &str, &str)] = &[
    ('i', "build", "Version of the program."),
    ('i', "node", "Id, name and group of this node."),
    ('g', "uptime_seconds", "Seconds since the agent started."),
    ('g', "healthy", "1 while the node can do its job, else 0."),
    ('g', "unhealthy", "1 for each reason why it cannot; by reason."),
    ('g', "members", "Members in the list of this node, itself included; by status."),
    ('g', "rtt_seconds", "Round-trip times to other members: median and max."),
    ('g', "incarnation", "How often this node has refuted an accusation or changed what it announces."),
    ('g', "elections_known", "Elections that this node takes part in or knows the outcome of."),
    ('g', "election_has_leader", "1 while this node knows of a leader; by election, for the first 64."),
    ('g', "election_leading", "1 while this node leads and may act; by election, for the first 64."),
    ('g', "election_term", "Term of the leader, 0 without one; by election, for the first 64."),
    ('g', "election_candidates", "Candidates in the list of this node; by election, for the first 64."),
    ('g', "lock_ready", "1 once this node may ask for locks."),
    ('g', "lock_witness", "1 once this node counts as a witness of locks."),
    ('g', "lock_http_holders", "Locks that clients of the HTTP interface hold."),
    ('c', "events", "Events that the agent told; by event."),
    ('s', "events_missed", "Events that were missed by the agent's own memory, or by slow readers of the event stream."),
    ('g', "event_readers", "Open event streams and event handlers."),
    ('c', "handler_runs", "Commands that event handlers ran."),
    ('c', "handler_failures", "Commands of event handlers that failed or took too long."),
    ('s', "handler_events_missed", "Events for which a handler was too slow."),
    ('s', "handler_queries_declined", "Queries declined because as many were being answered by handlers as may be at a time."),
    ('s', "log_lines_missed", "Lines of the log that slow readers of /v1/log missed."),
    ('g', "http_connections", "Open connections of the HTTP interface."),
    ('s', "http_connections_refused", "Connections refused because there were too many and none was idle."),
    ('s', "http_connections_evicted", "Idle connections closed to make room for others."),
    ('s', "http_streams_refused", "Event streams and streams of the log refused because there were as many as there may be (api.streams_max)."),
    ('s', "http_calls_refused", "Requests for locks by plain calls refused because there were too many."),
    ('c', "http_requests", "Answers of the HTTP interface; by class of status."),
    ('c', "datagrams_in", "Datagrams accepted."),
    ('c', "datagrams_out", "Datagrams handed to the socket."),
    ('c', "bytes_out", "Bytes of the datagrams handed to the socket."),
    ('s', "datagrams_malformed", "Datagrams dropped: too short, torn, or of another version."),
    ('s', "datagrams_foreign", "Datagrams dropped: of another group."),
    ('s', "datagrams_own_id", "Datagrams that carry this node's own id: its own broadcasts, or another process with its id."),
    ('s', "frames_unreadable", "Frames skipped because this version cannot read them."),
    ('s', "messages_undeliverable", "Messages to members whose address is not known, or too long for a datagram."),
    ('s', "seal_rate_dropped_members", "Datagrams dropped: more of members, from their own addresses, than are looked at in a second."),
    ('s', "seal_rate_dropped_known", "Datagrams dropped: more in the name of members from elsewhere than are looked at in a second."),
    ('s', "seal_rate_dropped_strangers", "Datagrams dropped: more of strangers than are looked at in a second."),
    ('s', "seal_unproven", "Datagrams whose sender had not proven its address yet: it was challenged, and nothing else counted."),
    ('s', "seal_replayed", "Sealed datagrams that were seen before, or are too old to tell."),
    ('s', "seal_key_unknown", "Sealed datagrams under a key that this node does not have."),
    ('s', "seal_tag_failed", "Sealed datagrams that were altered, are meant for another node or group, or are under another key."),
    ('s', "seal_unpaired", "Messages of an identified group that do not count in a datagram that any holder of the group's key could have made."),
    ('s', "seal_certs_unknown", "Datagrams of senders whose certificate this node does not know."),
    ('s', "seal_certs_refused", "Certificates that do not hold: not signed by a configured operator, expired, of another member, or superseded."),
    ('s', "seal_unsealed", "Datagrams that are not sealed, in a group with a key."),
    ('s', "seal_undirected", "Messages that do not count in a datagram that any member can read."),
    ('c', "seal_challenges_sent", "Challenges to prove an address."),
    ('s', "seal_echoes_bad", "Answers to challenges that this node did not make, or too long ago."),
    ('s', "seal_datagrams_oversize", "Datagrams dropped: larger than any of this group."),
    ('s', "seal_datagrams_overfull", "Datagrams with more frames than are read."),
    ('s', "seal_requests_dropped", "Requests for lists beyond the first of each kind in a datagram."),
    ('s', "seal_rings_refused", "Lists of the group's keys that another member gave and that this node does not take."),
    ('s', "seal_answers_cut", "Messages that would have made the answer to one datagram too long."),
    ('s', "seal_clones_seen", "Datagrams of this node's own session that it did not send: a copy of this process runs."),
    ('s', "seal_unsealable", "Datagrams that were not sent because nothing could be sealed: a copy of this process runs, or counters are used up."),
    ('c', "membership_probes", "Regular probes sent."),
    ('c', "membership_probes_indirect", "Probes that needed helpers."),
    ('c', "membership_probes_failed", "Probes that nobody answered."),
    ('c', "membership_probes_deaf", "Probes that nobody answered, and during which this node heard nothing at all: they accuse nobody."),
    ('c', "membership_accusations", "Accusations that this node made."),
    ('c', "membership_refutations", "Accusations that this node refuted."),
    ('c', "membership_pursuits", "Pings to suspects and to nodes that do not know what is said of them."),
    ('c', "membership_pauses", "Times this process did not run for two periods."),
    ('c', "membership_late_timers", "Times a timer fired so late that the process cannot have run, for less than two periods."),
    ('c', "membership_news_sent", "Datagrams sent at once to ask for a check or to tell news."),
    ('c', "membership_isolations", "Times this node heard nobody for so long that it kept its verdicts to itself."),
    ('c', "membership_syncs", "Comparisons of member lists started."),
    ('c', "membership_life_repairs", "Lives taken because another claim to this node's id was ahead."),
    ('s', "membership_lives_exhausted", "Lives that this node needed and that do not exist, because its life is at the end of the range."),
    ('s', "membership_members_dropped", "Members ignored because the list is full (members_max)."),
    ('s', "membership_relays_dropped", "Requests to probe for others refused because too many are under way."),
    ('s', "membership_seeds_dropped", "Seeds ignored because enough are known."),
    ('s', "membership_naps_refused", "Announced naps that were longer than allowed."),
    ('s', "membership_meta_refused", "Records or settings with a name or tags that are not allowed."),
    ('s', "membership_accusations_unknown", "Accusations of nodes that this one does not know."),
    ('s', "membership_numbers_refused", "Claims with a life or an incarnation that nobody can have reached."),
    ('s', "membership_told_refused", "Nodes of which one member told, beyond told_max a minute."),
    ('s', "membership_goodbyes_doubted", "Goodbyes of others that were told in a life that this node does not know."),
    ('c', "election_elections", "Elections started by this node."),
    ('c', "election_degraded", "Claims for which fewer lists were read than the quorum asks for."),
    ('c', "election_vetoes", "Elections stopped because others see the leader."),
    ('c', "election_stale", "Initiators told that their round is over."),
    ('c', "election_answers_stale", "Answers to another attempt, or to none."),
    ('c', "election_passed_over", "Chosen candidates that were silent or declined."),
    ('c', "election_objections", "Objections of this node to a leader."),
    ('s', "election_dropped", "Messages with lists that are too long, and claims of more elections than are kept (elections_max)."),
    ('c', "election_number_refused", "Messages that name a term that nobody can have reached."),
    ('c', "election_exhausted", "Elections that were not held because terms are used up."),
    ('c', "lock_grants", "Locks granted to this node."),
    ('c', "lock_hand_overs", "Locks passed on between requests of this node."),
    ('c', "lock_losses", "Locks lost before they were released."),
    ('c', "lock_lapses", "Answers of witnesses that were not renewed in time."),
    ('c', "lock_fresh_rounds", "Times everybody was asked again because a contender disappeared."),
    ('c', "lock_claims", "Times a greater token had to be recorded first."),
    ('c', "lock_expired", "Requests of others that were not renewed."),
    ('c', "lock_replies_stale", "Answers to attempts that no longer count."),
    ('s', "lock_requests_refused", "Requests of others that make no sense, or for which there is no room."),
    ('s', "lock_clocks_refused", "Clocks of others that cannot be believed."),
    ('s', "lock_exhausted", "Places, tokens and orders to break a lock that were not issued because tokens are used up."),
    ('c', "message_events_sent", "Application events that this node sent."),
    ('c', "message_queries_sent", "Queries that this node asked, for reachability too."),
    ('c', "message_events_received", "Application events told to this node, its own included."),
    ('c', "message_queries_received", "Queries that this node was meant to answer, its own included."),
    ('c', "message_answers_received", "Answers that came to queries of this node."),
    ('c', "message_answers_sent", "Answers that this node sent, repeated ones included."),
    ('c', "message_copies_sent", "Copies of application messages sent, in datagrams of their own or along with others."),
    ('c', "message_duplicates", "Copies of application messages that were known."),
    ('s', "message_refused", "Orders to send that were not well-formed, too long or too many."),
    ('s', "message_malformed", "Application messages of others that were not well-formed or too old."),
    ('s', "message_stale", "Application messages that came too late to be told apart from known ones."),
    ('s', "message_origins_dropped", "Application messages of more senders than are told apart (origins_max)."),
    ('s', "message_evicted", "Application messages no longer passed on because too many others were (posts_max)."),
    ('s', "message_queries_dropped", "Queries declined because too many were under way (queries_max)."),
    ('c', "message_answers_dropped", "Answers that came twice or too late."),
    ('c', "topology_hellos", "Hellos sent."),
    ('c', "topology_deltas", "Messages with records of links sent."),
    ('c', "topology_summaries", "Comparisons of records of links started."),
    ('c', "topology_wants", "Requests for records of links sent."),
    ('c', "topology_links_up", "Links that came up."),
    ('c', "topology_links_down", "Links that came to an end."),
    ('c', "topology_links_false_down", "Links that came up again within two periods: they were not gone."),
    ('s', "topology_hellos_dropped", "Hellos ignored because too many neighbours are watched, or because they are old."),
    ('s', "topology_neighbours_unnamed", "Neighbours that this node does not name because its record is full."),
    ('s', "topology_records_dropped", "Records of more nodes than are kept."),
    ('s', "topology_records_malformed", "Records that no node writes."),
    ('c', "topology_refutations", "Records of this node that it did not write."),
    ('c', "topology_leader_changes", "Changes of leader in elections by component."),
    ('s', "topology_claims_refused", "Records with a claim to lead that nobody can have reached."),
    ('c', "topology_claims_exhausted", "Leads of a component that were not taken because claims are used up."),
    ('s', "topology_ignored", "Messages and orders that came while the topology is off."),
    ('c', "driver_datagrams_received", "Datagrams read, good or bad."),
    ('c', "driver_bytes_received", "Bytes of the datagrams read."),
    ('s', "driver_receive_errors", "Reads that failed, as when a peer's port is closed."),
    ('s', "driver_send_errors", "Datagrams that could not be sent."),
    ('c', "driver_broadcasts_sent", "Datagrams sent to whoever hears them, one for every interface and peer."),
    ('s', "driver_interface_errors", "Times an interface could not be used to look for neighbours."),
    ('s', "driver_lost_by_order", "Datagrams lost by order, in demonstrations and tests."),
    ('s', "driver_store_errors", "Facts that could not be stored."),
    ('c', "process_cpu_seconds", "Processor time of this process in seconds (Linux)."),
    ('g', "process_resident_memory_bytes", "Resident memory of this process (Linux)."),
    ('g', "process_open_fds", "Open files and sockets of this process (Linux)."),
];

/// The meaning of the metric `name`.
pub(super) fn of(name: &str) -> &'static str {
    let found = HELP.iter().find(|(_, known, _)| *known == name);
    found.map_or("A counter of this node", |(_, _, help)| {
        help.trim_end_matches('.')
    })
}

/// The reference of all metrics, as a table in Markdown.
pub(crate) fn reference() -> String {
    let mut text = "| metric | kind | meaning |\n|---|---|---|\n".to_owned();
    for (kind, name, help) in HELP {
        let prefix = if name.starts_with("process_") {
            ""
        } else {
            "consort_"
        };
        let (suffix, kind) = match kind {
            'g' => ("", "gauge"),
            'i' => ("_info", "info"),
            's' => ("_total", "counter, load shed or input refused"),
            _ => ("_total", "counter"),
        };
        text.push_str(&format!("| `{prefix}{name}{suffix}` | {kind} | {help} |\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::HELP;

    /// The path of a metric in `/v1/stats`; `None` for metrics of the agent itself.
    fn path(name: &str) -> Option<String> {
        let own = ["http_", "handler_", "log_", "events_"];
        if own.iter().any(|prefix| name.starts_with(prefix)) {
            return None;
        }
        let layers = [
            ("lock_", "mutex"),
            ("topology_", "omega"),
            ("seal_", "seal"),
            ("membership_", "membership"),
            ("election_", "election"),
            ("message_", "message"),
            ("driver_", "driver"),
        ];
        let layer = layers.iter().find_map(|(prefix, layer)| {
            let rest = name.strip_prefix(prefix)?;
            Some(format!("{layer}.{rest}"))
        });
        Some(layer.unwrap_or_else(|| name.to_owned()))
    }

    /// Otherwise it would say that nothing was dropped while something was.
    #[test]
    fn the_dashboard_names_every_counter_of_what_was_dropped() {
        let page = include_str!("../../web/app.js");
        let shed = HELP.iter().filter(|(kind, ..)| *kind == 's');
        let paths: Vec<String> = shed.filter_map(|(_, name, _)| path(name)).collect();
        assert!(paths.len() > 40, "{paths:?}");
        for path in paths {
            let quoted = ['"', '`', '\''].map(|q| format!("{q}{path}{q}"));
            let named = quoted.iter().any(|text| page.contains(text));
            assert!(named, "web/src/views/traffic.tsx lacks {path}");
        }
    }
}
