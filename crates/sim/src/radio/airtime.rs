//! Airtime of frames.

use core::time::Duration;

/// Bytes of headers around a message: MAC, LLC, IP and UDP.
const HEADERS: u64 = 64;
/// Bits of service and tail around the bytes of a frame.
const SERVICE_BITS: u64 = 22;
/// Microseconds per symbol.
const SYMBOL: u64 = 4;
/// Silence that ends an OFDM frame at 2.4 GHz.
const EXTENSION: u64 = 6;

/// Rate of broadcasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Rate {
    /// 802.11n, 52 Mb/s: the thesis's nominal rate.
    #[cfg_attr(feature = "clap", value(name = "52"))]
    Mbps52,
    /// 802.11g, 24 Mb/s.
    #[cfg_attr(feature = "clap", value(name = "24"))]
    Mbps24,
    /// 802.11g, 6 Mb/s: what cards use for broadcasts.
    #[cfg_attr(feature = "clap", value(name = "6"))]
    Mbps6,
}

impl Rate {
    /// Airtime of a message of `bytes`.
    pub fn airtime(self, bytes: usize) -> Duration {
        let (preamble, bits_per_symbol) = match self {
            Rate::Mbps52 => (36, 208),
            Rate::Mbps24 => (20, 96),
            Rate::Mbps6 => (20, 24),
        };
        let bits = SERVICE_BITS + 8 * (bytes as u64 + HEADERS);
        let symbols = bits.div_ceil(bits_per_symbol);
        Duration::from_micros(preamble + EXTENSION + SYMBOL * symbols)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn airtime_is_preamble_symbols_and_extension() {
        let us = |rate: Rate, bytes| rate.airtime(bytes).as_micros();
        // 22 + 8 * 164 = 1334 bits: 7 symbols of 208, 14 of 96, 56 of 24.
        assert_eq!(us(Rate::Mbps52, 100), 36 + 6 + 28);
        assert_eq!(us(Rate::Mbps24, 100), 20 + 6 + 56);
        assert_eq!(us(Rate::Mbps6, 100), 20 + 6 + 224);
        assert_eq!(us(Rate::Mbps6, 0), 20 + 6 + 4 * 23);
    }
}
