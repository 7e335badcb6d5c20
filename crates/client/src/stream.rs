//! Streams of server-sent events.

use core::marker::PhantomData;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde::de::DeserializeOwned;

/// The longest event, and the longest line.
const EVENT_MAX: usize = 1 << 20;

/// Why a stream of events cannot be read further.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// Open the stream again; [`Client::events_after`](crate::Client::events_after) continues after the last event that
    /// was read.
    #[error("the agent has gone without finishing its stream")]
    Gone(#[source] Box<dyn core::error::Error + Send + Sync>),
    /// The sender is no agent.
    #[error("the stream is not UTF-8")]
    NotText,
    /// The sender is no agent.
    #[error("an event of the stream has more than {EVENT_MAX} bytes")]
    TooLong,
    /// The agent speaks another version of the interface.
    #[error("an event of the stream cannot be read: {0}")]
    Strange(#[from] serde_json::Error),
}

/// Finds the data of server-sent events in bytes that arrive in pieces of any length. It does no I/O.
///
/// ```
/// let mut parser = consort_client::EventParser::default();
/// parser.push(b"id: 7\ndata: {\"ev");
/// assert_eq!(parser.next_data().unwrap(), None);
/// parser.push(b"ent\":\"up\"}\n\n");
/// assert_eq!(parser.next_data().unwrap().as_deref(), Some(r#"{"event":"up"}"#));
/// ```
#[derive(Clone, Debug, Default)]
pub struct EventParser {
    /// Bytes that were not looked at.
    rest: Vec<u8>,
    /// The data of the event that is not finished, and its id.
    data: Option<Vec<u8>>,
    id: Option<Vec<u8>>,
    last_id: Option<String>,
}

impl EventParser {
    /// Adds bytes that arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
    }

    /// The id of the last event that was returned, or of one that the sender left out after it. A reader that comes back
    /// continues there.
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// The data of the next event that has arrived as a whole; `None` if there is none yet. Other fields than `data` and
    /// `id`, and comments, are left out. After an error the stream is of no use.
    pub fn next_data(&mut self) -> Result<Option<String>, StreamError> {
        let mut start = 0;
        let mut found = None;
        while let Some(len) = self.rest[start..].iter().position(|&b| b == b'\n') {
            let line = &self.rest[start..start + len];
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            start += len + 1;
            if let Some(text) = line.strip_prefix(b"data:") {
                let text = text.strip_prefix(b" ").unwrap_or(text);
                match &mut self.data {
                    None => self.data = Some(text.to_vec()),
                    Some(data) => {
                        data.push(b'\n');
                        data.extend_from_slice(text);
                    }
                }
            } else if let Some(id) = line.strip_prefix(b"id:") {
                self.id = Some(id.strip_prefix(b" ").unwrap_or(id).to_vec());
            } else if line.is_empty() {
                // An id counts without data too.
                if let Some(id) = self.id.take() {
                    self.last_id = String::from_utf8(id).ok();
                }
                found = self.data.take();
                if found.is_some() {
                    break;
                }
            }
        }
        self.rest.drain(..start);
        if self.rest.len().max(self.data.as_ref().map_or(0, Vec::len)) > EVENT_MAX {
            return Err(StreamError::TooLong);
        }
        match found.map(String::from_utf8) {
            Some(Ok(data)) => Ok(Some(data)),
            Some(Err(_)) => Err(StreamError::NotText),
            None => Ok(None),
        }
    }
}

/// Events that an agent sends, each with a body of type `T`. The agent ends what the stream stands for, such as a lock,
/// some time after the stream is dropped.
#[derive(Debug)]
pub struct EventStream<T> {
    body: Incoming,
    parser: EventParser,
    of: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> EventStream<T> {
    pub(crate) fn new(body: Incoming) -> EventStream<T> {
        EventStream {
            body,
            parser: EventParser::default(),
            of: PhantomData,
        }
    }

    /// The id with which [`Client::events_after`](crate::Client::events_after) continues this stream, if events have ids.
    pub fn last_id(&self) -> Option<&str> {
        self.parser.last_id()
    }

    /// Waits for the next event; `None` at the end. This is cancel safe: dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<Option<T>, StreamError> {
        Ok(match self.next_json().await? {
            Some(json) => Some(serde_json::from_str(&json)?),
            None => None,
        })
    }

    /// Waits for the next event, and returns it as it was sent; `None` at the end. This is cancel safe.
    pub async fn next_json(&mut self) -> Result<Option<String>, StreamError> {
        loop {
            if let Some(json) = self.parser.next_data()? {
                return Ok(Some(json));
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Some(data) = frame.data_ref() {
                        self.parser.push(data);
                    }
                }
                Some(Err(error)) => return Err(StreamError::Gone(error.into())),
                None => return Ok(None),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &[u8] =
        b": hello\nid: 1\nevent: x\ndata: {\"a\":1}\n\nretry: 5\r\ndata:two\r\ndata:  lines\r\n\r\n\ndata: gr\xc3\xbcn\n\n";
    const EVENTS: [&str; 3] = ["{\"a\":1}", "two\n lines", "grün"];

    fn drain(parser: &mut EventParser) -> Vec<String> {
        core::iter::from_fn(|| parser.next_data().unwrap()).collect()
    }

    #[test]
    fn events_are_the_same_wherever_the_bytes_are_cut() {
        for cut in 0..=STREAM.len() {
            let mut parser = EventParser::default();
            parser.push(&STREAM[..cut]);
            let mut found = drain(&mut parser);
            parser.push(&STREAM[cut..]);
            found.extend(drain(&mut parser));
            assert_eq!(found, EVENTS, "cut at {cut}");
        }
    }

    #[test]
    fn the_last_id_is_that_of_what_was_read_or_left_out() {
        let mut parser = EventParser::default();
        parser.push(b"id: a-1\ndata: x\n\nid:a-2\ndata: y\n\nid: a-9\n\nid: a-10\ndata: ");
        assert_eq!(parser.last_id(), None);
        assert_eq!(parser.next_data().unwrap().as_deref(), Some("x"));
        assert_eq!(parser.last_id(), Some("a-1"));
        assert_eq!(drain(&mut parser), ["y"]);
        assert_eq!(parser.last_id(), Some("a-9"), "the next is not whole");
    }

    #[test]
    fn an_event_waits_for_its_end() {
        let mut parser = EventParser::default();
        parser.push(b"data: half\n");
        assert_eq!(drain(&mut parser), [""; 0]);
        parser.push(b"\n");
        assert_eq!(drain(&mut parser), ["half"]);
    }

    #[test]
    fn endless_lines_and_events_are_refused() {
        let mut parser = EventParser::default();
        parser.push(&[b'x'; EVENT_MAX + 1]);
        assert!(matches!(parser.next_data(), Err(StreamError::TooLong)));
        let mut parser = EventParser::default();
        let line = [b"data: ".as_slice(), &[b'x'; 1000], b"\n"].concat();
        let refused = (0..=EVENT_MAX / 1000).find_map(|_| {
            parser.push(&line);
            parser.next_data().err()
        });
        assert!(matches!(refused, Some(StreamError::TooLong)));
    }

    #[test]
    fn bytes_that_are_no_text_are_refused() {
        let mut parser = EventParser::default();
        parser.push(b"data: \xff\n\n");
        assert!(matches!(parser.next_data(), Err(StreamError::NotText)));
    }
}
