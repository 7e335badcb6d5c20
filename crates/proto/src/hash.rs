//! Hashes that are the same on every machine and in every version, because they are sent on the wire.

/// Mixes 64 bits so that every input bit changes about half of the output bits (splitmix64).
pub const fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Hashes two words.
pub const fn hash_pair(a: u64, b: u64) -> u64 {
    mix(mix(a) ^ b)
}

/// Hashes bytes (FNV-1a, then mixed).
pub const fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut h = 0xcbf2_9ce4_8422_2325_u64;
    let mut i = 0;
    while i < bytes.len() {
        h = (h ^ bytes[i] as u64).wrapping_mul(0x0000_0100_0000_01b3);
        i += 1;
    }
    mix(h)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_pinned_because_they_reach_the_wire() {
        assert_eq!(hash_bytes(b"consort"), 0x17a9_25fd_0323_d05a);
        assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf);
    }
}
