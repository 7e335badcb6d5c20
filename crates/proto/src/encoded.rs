//! How long frames are when they are encoded: what layers need to know of the wire to fill a datagram.

use postcard::ser_flavors::Size;
use serde::Serialize;

/// Longest body: lengths are one or two bytes of varint.
const BODY_MAX: usize = (1 << 14) - 1;

/// Encoded size of a frame with the body `msg`, of whatever layer.
pub fn frame_len<T: Serialize>(msg: &T) -> usize {
    with_head(body_len(msg))
}

/// Encoded size of `msg` alone.
pub(crate) fn body_len<T: Serialize>(msg: &T) -> usize {
    // Sizing cannot fail: the flavour has no end, and our types have no custom serialisation.
    postcard::serialize_with_flavor(msg, Size::default()).unwrap_or(BODY_MAX)
}

/// The size of a body with layer and length.
pub(crate) fn with_head(body: usize) -> usize {
    1 + length_len(body) + body
}

/// How many bytes the length of a body takes.
pub(crate) fn length_len(len: usize) -> usize {
    if len < 1 << 7 { 1 } else { 2 }
}
