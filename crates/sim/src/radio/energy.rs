//! Energy of listening, sending and receiving.

use core::time::Duration;

/// Watts while sending.
const TRANSMIT: f64 = 2.5;
/// Watts while a frame is received.
const RECEIVE: f64 = 1.0;
/// Watts while listening, whether the channel is busy or not.
const LISTEN: f64 = 0.5;

/// How long a radio was in each state; the rest of the time it listened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meter {
    /// Sending.
    pub transmit: Duration,
    /// Receiving a frame, whether it was destroyed or not.
    pub receive: Duration,
}

/// Joules by state. The thesis's constants; radios here neither sleep nor take time to switch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Energy {
    /// Sending.
    pub transmit: f64,
    /// Receiving.
    pub receive: f64,
    /// Listening.
    pub listen: f64,
    /// Energy of sending and receiving beyond that of listening.
    pub above: f64,
}

impl Meter {
    /// Energy of a radio that was on for this long.
    pub fn energy(&self, on: Duration) -> Energy {
        let (transmit, receive) = (self.transmit.as_secs_f64(), self.receive.as_secs_f64());
        let listen = (on.as_secs_f64() - transmit - receive).max(0.0);
        Energy {
            transmit: TRANSMIT * transmit,
            receive: RECEIVE * receive,
            listen: LISTEN * listen,
            above: (TRANSMIT - LISTEN) * transmit + (RECEIVE - LISTEN) * receive,
        }
    }
}
