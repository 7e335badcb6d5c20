//! Messages of applications.

use super::{EventView, MemberView};
use consort::Message;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Asks to tell all members something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EventRequest {
    /// What it is called: 1 to 64 bytes without spaces, commas and control characters.
    pub name: String,
    /// What it says: up to 512 bytes.
    #[serde(default)]
    pub payload: String,
}

/// A message was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SentView {
    /// Its number among the messages of this node, from 1.
    pub seq: u32,
}

/// A message as it came.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MessageView {
    /// What it is called.
    pub name: String,
    /// What it says; bytes that are no text are replaced.
    pub payload: String,
    /// The same in hexadecimal digits, when it is no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_hex: Option<String>,
    /// Its number among the messages of this life of its sender: the order in which they were sent.
    pub seq: u32,
}

/// Asks members something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct QueryRequest {
    /// What it is called: 1 to 64 bytes without spaces, commas and control characters.
    pub name: String,
    /// What it says: up to 512 bytes.
    #[serde(default)]
    pub payload: String,
    /// Only members of one of these names or ids; at most 16.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
    /// Only members that have all of these tags, `KEY` or `KEY=VALUE` each; at most 16.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// How long to wait for answers. Default 3000 (more in slower profiles), at most 300000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Whether to tell every answer at once, as server-sent events, each a `QueryUpdateView`.
    #[serde(default)]
    pub stream: bool,
}

/// A member that did not answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SilentView {
    /// Announced name.
    pub name: String,
    /// 16 hexadecimal digits.
    pub id: String,
}

/// What becomes of a query. What a field does not apply to leaves it out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QueryUpdateView {
    /// `answer`, `declined` (that member knows no such query) or `finished` (the last of all).
    pub update: String,
    /// Announced name of the member that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its answer; bytes that are no text are replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<String>,
    /// The same in hexadecimal digits, when it is no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_hex: Option<String>,
    /// How long after the query it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_ms: Option<u64>,
    /// `finished`: members that were there when it was asked and did not answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent: Option<Vec<SilentView>>,
}

/// All that was answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QueryView {
    /// In the order in which they came.
    pub answers: Vec<QueryUpdateView>,
    /// Members that know no such query.
    pub declined: Vec<SilentView>,
    /// Members that did not answer.
    pub silent: Vec<SilentView>,
}

/// A member that was reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReachedView {
    /// Announced name.
    pub name: String,
    /// 16 hexadecimal digits.
    pub id: String,
    /// How long after the question its answer came.
    pub after_ms: u64,
}

/// Who can be reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReachabilityView {
    /// The quickest first.
    pub reached: Vec<ReachedView>,
    /// Members that are listed as alive or suspect and did not answer.
    pub silent: Vec<SilentView>,
}

/// Bytes as text, and in hexadecimal digits when they are none.
pub(super) fn text(bytes: &[u8]) -> (String, Option<String>) {
    let hex = || bytes.iter().map(|b| format!("{b:02x}")).collect();
    let lossy = String::from_utf8_lossy(bytes);
    let is_text = matches!(lossy, std::borrow::Cow::Borrowed(_));
    (lossy.into_owned(), (!is_text).then(hex))
}

impl MessageView {
    /// A message of these parts.
    pub(crate) fn of(name: &str, payload: &[u8], seq: u32) -> MessageView {
        let (payload, payload_hex) = text(payload);
        MessageView {
            name: name.to_owned(),
            payload,
            payload_hex,
            seq,
        }
    }
}

impl EventView {
    /// Somebody told or asked something.
    pub(super) fn of_message(event: &str, message: &Message) -> EventView {
        let from = MemberView::stub(&message.from.to_string(), &message.from_name);
        EventView {
            member: Some(from),
            life: Some(message.life.0),
            message: Some(MessageView::of(
                &message.name,
                &message.payload,
                message.seq,
            )),
            ..EventView::named(event)
        }
    }
}

impl From<&consort::QueryUpdate> for QueryUpdateView {
    fn from(update: &consort::QueryUpdate) -> QueryUpdateView {
        use consort::QueryUpdate::{Answer, Declined, Finished};
        let kind = |kind: &str| QueryUpdateView {
            update: kind.to_owned(),
            ..QueryUpdateView::default()
        };
        match update {
            Answer {
                from,
                from_name,
                payload,
                after,
            } => {
                let (payload, payload_hex) = text(payload);
                QueryUpdateView {
                    name: Some(from_name.clone()),
                    id: Some(from.to_string()),
                    payload: Some(payload),
                    payload_hex,
                    after_ms: Some(after.as_millis() as u64),
                    ..kind("answer")
                }
            }
            Declined { from, from_name } => QueryUpdateView {
                name: Some(from_name.clone()),
                id: Some(from.to_string()),
                ..kind("declined")
            },
            Finished { silent } => QueryUpdateView {
                silent: Some(silent.iter().map(SilentView::from).collect()),
                ..kind("finished")
            },
            _ => kind("unknown"),
        }
    }
}

impl From<&(consort::NodeId, String)> for SilentView {
    fn from((id, name): &(consort::NodeId, String)) -> SilentView {
        SilentView {
            name: name.clone(),
            id: id.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn bytes_that_are_no_text_are_told_in_digits_too() {
        assert_eq!(text("grün".as_bytes()), ("grün".to_owned(), None));
        let (shown, hex) = text(&[0x61, 0xff]);
        assert_eq!(
            (shown.as_str(), hex.as_deref()),
            ("a\u{fffd}", Some("61ff"))
        );
    }
}
