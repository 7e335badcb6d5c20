//! The encoded length of frames, which layers need in order to fill a datagram.

use postcard::ser_flavors::Size;
use serde::Serialize;

/// The longest body, because a length takes one or two varint bytes.
const BODY_MAX: usize = (1 << 14) - 1;

/// The encoded size of a frame with the body `msg`, of any layer.
pub fn frame_len<T: Serialize>(msg: &T) -> usize {
    with_head(body_len(msg))
}

/// The encoded size of `msg` alone.
pub(crate) fn body_len<T: Serialize>(msg: &T) -> usize {
    // Sizing cannot fail: the flavour is unlimited, and no serialisation of our types fails.
    postcard::serialize_with_flavor(msg, Size::default()).unwrap_or(BODY_MAX)
}

/// The size of a frame with a body of `body` bytes.
pub(crate) fn with_head(body: usize) -> usize {
    1 + length_len(body) + body
}

/// The number of bytes that the length of a body takes.
pub(crate) fn length_len(len: usize) -> usize {
    if len < 1 << 7 { 1 } else { 2 }
}
