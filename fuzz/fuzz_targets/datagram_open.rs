#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| consort_fuzz::datagram_open(data));

#[cfg(not(fuzzing))]
fn main() {}
