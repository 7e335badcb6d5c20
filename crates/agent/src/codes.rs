//! The codes of errors: their statuses, what they mean and what to do; and which of them each request may return.

use axum::http::Method;
use std::collections::BTreeMap;

/// An error as programs see it.
pub(crate) struct Code {
    /// Does not change.
    pub(crate) code: &'static str,
    pub(crate) statuses: &'static [u16],
    pub(crate) when: &'static str,
    /// Where the message itself says more, the remedy is there.
    pub(crate) remedy: &'static str,
}

const fn code(
    code: &'static str,
    statuses: &'static [u16],
    when: &'static str,
    remedy: &'static str,
) -> Code {
    Code {
        code,
        statuses,
        when,
        remedy,
    }
}

/// All codes, by status.
#[rustfmt::skip]
const CODES: &[Code] = &[
    code("bad_request", &[400, 415, 422], "a path, a query or a body is not as described; 415 if the content type is not JSON, 422 if the JSON is of another form", "correct the request; GET /v1/openapi.json describes all"),
    code("bad_election", &[400], "the name of an election is not allowed, or too many are followed", "choose a name of 1 to 64 bytes without control characters, or follow fewer elections"),
    code("bad_key", &[400], "the text is no key", "give a key of 64 hexadecimal digits, or a fingerprint of GET /v1/keys"),
    code("bad_lock", &[400], "the request for a lock is not allowed", "correct the request; docs/LOCKS.md has the limits"),
    code("bad_member", &[400], "no member, or more than one, has this id or name", "give a member's id, or a name that only one has: GET /v1/members"),
    code("bad_message", &[400], "name, payload or filter are not allowed", "shorten or correct the message; docs/MESSAGES.md has the limits"),
    code("bad_order", &[400], "the lab does not know this order", "correct the order; GET /lab shows what can be done"),
    code("bad_seed", &[400], "an address is not well-formed or has no address of the internet", "write host:port, and check the name"),
    code("bad_tags", &[400], "the tags are too long or not allowed", "shorten the tags, and leave out control characters and empty keys"),
    code("unauthorized", &[401], "no token, or one that the agent does not know", "send `Authorization: Bearer TOKEN` with a token of the agent's token file; for the command line --token-file or CONSORT_TOKEN_FILE"),
    code("forbidden", &[403], "the role of the token does not allow it", "show a token of a greater role; docs/API.md has the roles"),
    code("foreign_origin", &[403], "the request comes from a web page of another origin, or names another host", "ask by a numeric address or localhost, and not from a web page of another origin"),
    code("not_certified", &[403], "the certificate of the agent's node does not allow it", "ask an agent whose certificate allows it, or the operator for another certificate (consort certify --may)"),
    code("no_request", &[404], "no such request for a lock is known", "ask for the lock again"),
    code("no_tag", &[404], "the node has no such tag", "look at GET /v1/tags"),
    code("not_found", &[404], "there is no such path", "look at GET /v1/openapi.json"),
    code("method_not_allowed", &[405], "the path takes another method", "use a method that GET /v1/openapi.json names for this path"),
    code("body_too_slow", &[408], "the body did not arrive in time", "send the whole body at once, or set api.timeout"),
    code("bad_tag", &[409], "the tag that a candidacy is to follow is missing or no number", "set the tag to a number first: PATCH /v1/tags"),
    code("busy", &[409], "with `try`: the lock is held or waited for", "wait for the lock, or come back later"),
    code("by_component", &[409], "a leader of a component cannot name a successor", "resign without naming a successor"),
    code("key_refused", &[409], "the keys do not allow this change", "GET /v1/keys shows the keys; use another one before removing the one that seals"),
    code("list_refused", &[409], "the list of revoked certificates is not newer, not signed by an operator, or too long", "make a list anew: consort keys revoke"),
    code("lost", &[409], "the lock was lost", "stop the work at once, then release; ask for the lock again"),
    code("member_alive", &[409], "the member is alive or suspected", "stop the member and wait until it is failed, or have it leave: POST /v1/leave of its own agent"),
    code("members_behind", &[409], "members may not have the newest keys", "wait until GET /v1/keys shows all members as current, remove failed ones, or ask with force=true"),
    code("no_candidate", &[409], "the named member does not stand in the election", "choose a member that stands in the election, or none"),
    code("no_key", &[409], "the group has no key", "start all members with a key file; docs/SECURING.md"),
    code("no_topology", &[409], "the agent does not look for neighbours", "start the agent with --topology or --peer"),
    code("not_candidate", &[409], "the node cannot stand in the election", "withdraw from another election, drop tags, or start the agent otherwise"),
    code("not_granted", &[409], "the lock is not granted yet", "wait for the lock: POST /v1/locks/NAME/acquire"),
    code("not_identified", &[409], "members of the group have no certificates", "docs/SECURING.md says how members prove who they are"),
    code("not_leading", &[409], "the node does not lead", "ask the leader's own agent"),
    code("not_ready", &[409], "with `try`: the node is not ready for locks", "wait: GET /v1/self says when the node is ready for locks"),
    code("released", &[409], "the lock was released, or its request given up", "ask for the lock again"),
    code("request_in_use", &[409], "another request has this name", "name the request otherwise"),
    code("superseded", &[409], "another program took over the candidacy at this agent", "end one of the two, or let each use its own agent"),
    code("tag_followed", &[409], "a candidacy follows the tag, and the value is no number", "set the tag to a number, or withdraw from the election that follows it"),
    code("timeout", &[409], "the lock was not granted within `timeout_ms`", "wait longer, or look who holds it: GET /v1/locks"),
    code("body_too_large", &[413], "the body is too large", "send at most 64 KiB"),
    code("too_many_messages", &[429], "too many messages or queries of this node are under way", "send more slowly: try again in half a second, or when a query has ended"),
    code("too_many_requests", &[429], "there are too many requests for locks by plain calls", "wait until others have ended"),
    code("too_many_streams", &[429], "there are too many streams", "close other event streams, or set api.streams_max"),
    code("keys_not_stored", &[500], "the key file cannot be written", "let the agent write to its key file and to the directory of that file"),
    code("no_randomness", &[500], "the system has no randomness", "wait until the system has started"),
    code("no_answer", &[503], "the node is paused or overloaded", "look at the load of the machine and at the agent's log, and try again"),
    code("stopped", &[503], "the node has stopped", "start the agent again"),
    code("seeds_silent", &[504], "no address answers", "check the addresses, the group's name and firewalls (UDP); the node keeps trying"),
];

/// What any request may return.
const ALL: &[&str] = &[
    "unauthorized",
    "foreign_origin",
    "forbidden",
    "no_answer",
    "stopped",
];

/// What a request with parameters may return.
const PARAMETERS: &[&str] = &["bad_request"];

/// What a request with a body may return.
const BODY: &[&str] = &["bad_request", "body_too_slow", "body_too_large"];

/// What else a request may return, by method and path of its route.
#[rustfmt::skip]
const MORE: &[(&str, &str, &[&str])] = &[
    ("GET", "/v1/members/{member}/why", &["bad_member"]),
    ("GET", "/v1/members/{member}/history", &["bad_member"]),
    ("GET", "/v1/why/{about}/{name}", &["bad_member"]),
    ("POST", "/v1/join", &["bad_seed", "seeds_silent"]),
    ("POST", "/v1/force-leave", &["bad_member", "member_alive"]),
    ("GET", "/v1/keys", &["no_key", "bad_message", "too_many_messages"]),
    ("POST", "/v1/keys", &["bad_key", "no_key", "key_refused", "keys_not_stored", "no_randomness", "members_behind", "bad_message", "too_many_messages"]),
    ("POST", "/v1/keys/{fingerprint}/use", &["no_key", "key_refused", "keys_not_stored", "members_behind", "bad_message", "too_many_messages"]),
    ("DELETE", "/v1/keys/{fingerprint}", &["no_key", "key_refused", "keys_not_stored", "members_behind", "bad_message", "too_many_messages"]),
    ("POST", "/v1/revocations", &["list_refused", "not_identified", "keys_not_stored"]),
    ("PUT", "/v1/tags", &["bad_tags", "tag_followed"]),
    ("PATCH", "/v1/tags", &["bad_tags", "tag_followed"]),
    ("DELETE", "/v1/tags", &["bad_tags", "tag_followed"]),
    ("DELETE", "/v1/tags/{key}", &["no_tag", "bad_tags", "tag_followed"]),
    ("POST", "/v1/event", &["bad_message", "too_many_messages"]),
    ("POST", "/v1/query", &["bad_message", "too_many_messages"]),
    ("GET", "/v1/reachability", &["bad_message", "too_many_messages"]),
    ("GET", "/v1/summaries", &["bad_message", "too_many_messages"]),
    ("POST", "/v1/elections/{name}/campaign", &["bad_election", "superseded", "no_topology", "bad_tag", "not_candidate", "not_certified"]),
    ("POST", "/v1/elections/{name}/attend", &["bad_election", "superseded"]),
    ("POST", "/v1/elections/{name}/withdraw", &["bad_election"]),
    ("POST", "/v1/elections/{name}/ended", &["bad_election"]),
    ("POST", "/v1/elections/{name}/forget", &["bad_election"]),
    ("POST", "/v1/elections/{name}/resign", &["bad_election", "bad_member", "not_leading", "by_component", "no_candidate"]),
    ("POST", "/v1/locks/{name}/acquire", &["bad_lock", "no_request", "request_in_use", "busy", "timeout", "not_ready", "lost", "released", "too_many_requests", "not_certified"]),
    ("POST", "/v1/locks/{name}/{request}/renew", &["bad_lock", "no_request", "not_granted", "busy", "timeout", "not_ready", "lost", "released", "not_certified"]),
    ("GET", "/v1/locks/{name}/{request}", &["no_request"]),
    ("DELETE", "/v1/locks/{name}/{request}", &["no_request"]),
    ("POST", "/v1/locks/{name}/break", &["bad_lock", "not_certified"]),
    ("GET", "/v1/topology", &["no_topology"]),
    ("GET", "/v1/events", &["too_many_streams"]),
    ("GET", "/v1/log", &["not_found", "too_many_streams"]),
];

/// The code with this name.
pub(crate) fn find(code: &str) -> Option<&'static Code> {
    CODES.iter().find(|c| c.code == code)
}

/// The codes that a request may return, by status. `body` says whether it takes one.
pub(crate) fn of(method: &Method, route: &str, body: bool) -> BTreeMap<u16, Vec<&'static Code>> {
    let parameters: &[&str] = match route.contains('{')
        || matches!(route, "/v1/events" | "/v1/log" | "/v1/reachability")
    {
        true => PARAMETERS,
        false => &[],
    };
    let more = MORE
        .iter()
        .find(|(m, path, _)| *m == method.as_str() && *path == route);
    let more = more.map_or(&[][..], |(_, _, codes)| codes);
    // A path with a parameter that is empty is another path.
    let empty: &[&str] = if route.contains('{') {
        &["not_found"]
    } else {
        &[]
    };
    let mut found: BTreeMap<u16, Vec<&'static Code>> = BTreeMap::new();
    for parts in [parameters, if body { BODY } else { &[] }, more, empty, ALL] {
        for code in parts.iter().filter_map(|code| find(code)) {
            for &status in code.statuses {
                // Only bodies have a type and a form.
                if matches!(status, 415 | 422) && !body {
                    continue;
                }
                let codes = found.entry(status).or_default();
                if !codes.iter().any(|c| c.code == code.code) {
                    codes.push(code);
                }
            }
        }
    }
    found
}

/// Whether the document of the interface names this error of a request. It says nothing about paths and methods that it
/// does not have.
pub(crate) fn is_documented(method: &Method, route: &str, status: u16, code: &str) -> bool {
    if !route.starts_with("/v1/") || code == "method_not_allowed" {
        return true;
    }
    let method = if method == Method::HEAD {
        &Method::GET
    } else {
        method
    };
    // A body may come with any request.
    let codes = of(method, route, true).remove(&status);
    codes.is_some_and(|codes| codes.iter().any(|c| c.code == code))
}

/// The table of codes, in Markdown.
pub(crate) fn reference() -> String {
    let mut text = "| status | code | when | what to do |\n|---|---|---|---|\n".to_owned();
    for code in CODES {
        let statuses: Vec<String> = code.statuses.iter().map(u16::to_string).collect();
        let (when, remedy) = (code.when, code.remedy);
        text.push_str(&format!(
            "| {} | `{}` | {when} | {remedy} |\n",
            statuses.join(", "),
            code.code
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::openapi;
    use std::collections::BTreeSet;

    #[test]
    fn the_tables_name_codes_and_requests_that_exist() {
        let parts = MORE.iter().map(|(_, _, codes)| *codes);
        let used: BTreeSet<&str> = [ALL, PARAMETERS, BODY]
            .into_iter()
            .chain(parts)
            .flatten()
            .copied()
            .collect();
        for code in &used {
            assert!(find(code).is_some(), "{code}");
        }
        // The lab is not described, and a path that does not exist has no operation.
        let unused = CODES.iter().filter(|c| !used.contains(c.code));
        let unused: Vec<&str> = unused.map(|c| c.code).collect();
        assert_eq!(unused, ["bad_order", "method_not_allowed"]);
        let document = serde_json::to_value(openapi()).unwrap();
        for (method, path, codes) in MORE {
            let operation = &document["paths"][path][method.to_lowercase()];
            for code in codes.iter().filter_map(|code| find(code)) {
                let status = code.statuses[0].to_string();
                let text = operation["responses"][&status]["description"].as_str();
                let named = text.is_some_and(|t| t.contains(&format!("`{}`", code.code)));
                assert!(named, "{method} {path}: {}", code.code);
            }
        }
        let method = Method::GET;
        assert!(!is_documented(&method, "/v1/self", 409, "busy"));
        assert!(is_documented(&method, "/v1/self", 401, "unauthorized"));
    }
}
