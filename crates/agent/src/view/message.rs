//! Bodies about application messages.

use super::{named, stub};
use crate::api::{EventView, MessageView, QueryUpdateView, SilentView};
use consort::message::Message;

/// Bytes as text, and in hexadecimal digits if they are not valid text.
fn text(bytes: &[u8]) -> (String, Option<String>) {
    let hex = || bytes.iter().map(|b| format!("{b:02x}")).collect();
    let lossy = String::from_utf8_lossy(bytes);
    let is_text = matches!(lossy, std::borrow::Cow::Borrowed(_));
    (lossy.into_owned(), (!is_text).then(hex))
}

/// A view of a message with these parts.
pub(crate) fn message(name: &str, payload: &[u8], seq: u32) -> MessageView {
    let (payload, payload_hex) = text(payload);
    MessageView {
        name: name.to_owned(),
        payload,
        payload_hex,
        seq,
    }
}

/// An event about an application event or query.
pub(crate) fn of_message(event: &str, message: &Message) -> EventView {
    let from = stub(&message.from.to_string(), &message.from_name);
    EventView {
        member: Some(from),
        life: Some(message.life.0),
        message: Some(self::message(&message.name, &message.payload, message.seq)),
        ..named(event)
    }
}

/// An update of a query.
pub(crate) fn query_update(update: &consort::message::QueryUpdate) -> QueryUpdateView {
    use consort::message::QueryUpdate::{Answer, Declined, Finished};
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
            silent: Some(silent.iter().map(self::silent).collect()),
            ..kind("finished")
        },
        _ => kind("unknown"),
    }
}

/// A member that did not answer.
pub(crate) fn silent((id, name): &(consort::NodeId, String)) -> SilentView {
    SilentView {
        name: name.clone(),
        id: id.to_string(),
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
