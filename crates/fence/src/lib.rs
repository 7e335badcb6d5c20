//! Refuses stale lock tokens: the one check that the resource behind a lock has to make.
//!
//! # Why a lease is not enough
//!
//! A lock that survives the crash of its holder has a lease: after some time without renewal it is granted to the
//! next holder. The holder knows when its lease ends, but that does not make it stop in time:
//!
//! 1. A holds the lock and reads its clock: two seconds left. It starts to write.
//! 2. A is paused: by a debugger, a swapped page, a suspended laptop, a slow disk, a queue on the way.
//! 3. The lease ends. B gets the lock and writes.
//! 4. A continues where it stopped. Its write arrives after B's and undoes it.
//!
//! No check by A helps, because the pause can always come after the check. Only the resource sees both writes.
//! Therefore the lock gives every holder a [`Token`] larger than all earlier ones, each write carries the token of
//! its writer, and the resource refuses a token smaller than one it has seen:
//!
//! ```
//! use consort_fence::{Fence, Token};
//!
//! let (a, b) = (Token(33), Token(34));
//! let mut fence = Fence::default();
//! fence.admit(a)?; // A writes
//! fence.admit(a)?; // and writes again
//! fence.admit(b)?; // A is paused, B got the lock and writes
//! assert!(fence.admit(a).is_err()); // A goes on, too late
//! # Ok::<(), consort_fence::Stale>(())
//! ```
//!
//! # What the resource has to do
//!
//! - **Check and write in one step.** Between [`Fence::admit`] and the end of the write no other write
//!   may be admitted; else the pause above has only moved. Put the fence and the data behind one
//!   `Mutex`, in one transaction, under one file lock. For this reason there is no atomic fence here:
//!   an atomic number alone would be checked in one step and the data written in another.
//! - **Store the highest token with the data**, as durable as the data, written with it or before it. A resource
//!   that restarts with its data but without the token would admit a stale writer. After a restart, start with
//!   [`Fence::restore`].
//! - **Let the holder show its token before it reads** what its write will depend on: `admit` is for
//!   every access of an exclusive holder, not only for writes. Until the resource has seen B's token, it
//!   cannot know that A's is stale: a late write of A between B's read and B's write would be lost.
//! - **One fence per lock.** Tokens of different locks are unrelated.
//!
//! In a database the check is a condition on the row that is written:
//!
//! ```sql
//! UPDATE account SET balance = 70, token = '…22' WHERE id = 7 AND token <= '…22'
//! ```
//!
//! If no row changed, the token is stale. Tokens compare as text ([`Token`]'s `Display`) or as 16 big-endian bytes
//! in the order of their numbers.
//!
//! # Readers
//!
//! Holders of a shared lock exclude writers, not each other, so they have no number of their own: their token is
//! the floor, at least that of every earlier writer. [`Fence::admit_reader`] refuses a token below the highest
//! seen: the reader's lease has expired, and a writer has used the resource since. Reading does not change the
//! fence and needs no durable write. The drawback: the last writer before the readers, paused past its lease, has a
//! token that is not stale yet, and may write between two reads. Where that matters, take the lock exclusively and
//! `admit` before the first read.
//!
//! # Examples
//!
//! `examples/file.rs` guards a file, `examples/http.rs` a value behind HTTP.
#![no_std]

mod token;

pub use token::{ParseTokenError, Token};

use core::fmt;

/// The highest token that a resource has seen; smaller tokens are refused.
///
/// It is not `Clone`: two fences in front of one resource would not protect it. To share it among threads put it
/// into a `Mutex` together with the data, and hold the mutex until the write is done:
///
/// ```
/// use consort_fence::{Fence, Stale, Token};
/// use std::sync::Mutex;
///
/// #[derive(Default)]
/// struct Store {
///     fence: Fence,
///     text: String,
/// }
///
/// fn append(store: &Mutex<Store>, token: Token, text: &str) -> Result<(), Stale> {
///     let mut store = store.lock().unwrap();
///     store.fence.admit(token)?;
///     store.text.push_str(text);
///     Ok(())
/// }
///
/// let store = Mutex::new(Store::default());
/// append(&store, Token(8), "new")?;
/// assert!(append(&store, Token(7), "old").is_err());
/// assert_eq!(store.into_inner().unwrap().text, "new");
/// # Ok::<(), Stale>(())
/// ```
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Fence {
    highest: Token,
}

impl Fence {
    /// Creates a fence that has seen `highest`, the token that was stored with the data before a restart.
    #[must_use]
    pub const fn restore(highest: Token) -> Fence {
        Fence { highest }
    }

    /// Admits the access of an exclusive holder, and from now on refuses every smaller token.
    ///
    /// An equal token is admitted: a holder may write many times. Perform it in one step with the write. If the
    /// write fails afterwards, nothing has to be undone.
    ///
    /// # Errors
    ///
    /// [`Stale`] if a larger token has been admitted. The fence is unchanged; so must be the data.
    pub fn admit(&mut self, token: Token) -> Result<(), Stale> {
        self.admit_reader(token)?;
        self.highest = token;
        Ok(())
    }

    /// Admits a read by a holder of the shared lock, whose token is the floor. The fence does not change.
    ///
    /// # Errors
    ///
    /// [`Stale`] if a larger token has been admitted: a writer came after this reader's lease.
    ///
    /// ```
    /// use consort_fence::{Fence, Token};
    ///
    /// let mut fence = Fence::restore(Token(33));
    /// fence.admit_reader(Token(33))?; // after the writer 33
    /// fence.admit(Token(34))?;
    /// assert!(fence.admit_reader(Token(33)).is_err());
    /// # Ok::<(), consort_fence::Stale>(())
    /// ```
    pub const fn admit_reader(&self, token: Token) -> Result<(), Stale> {
        let highest = self.highest;
        if token.0 < highest.0 {
            return Err(Stale { token, highest });
        }
        Ok(())
    }

    /// The highest token admitted so far, to be stored with the data; zero if there was none.
    #[must_use]
    pub const fn highest(&self) -> Token {
        self.highest
    }
}

/// The refusal of a token: the lock has had another holder since. The process that presented it must stop, and may
/// acquire the lock again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stale {
    /// The token that was refused.
    pub token: Token,
    /// The highest token seen.
    pub highest: Token,
}

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stale { token, highest } = self;
        write!(
            f,
            "token {token} is stale, {highest} was seen: the lock has passed on, acquire it again"
        )
    }
}

impl core::error::Error for Stale {}

#[cfg(test)]
mod tests {
    extern crate alloc;

    use super::*;
    use alloc::string::ToString;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    #[test]
    fn a_smaller_token_is_refused_and_changes_nothing() {
        let mut fence = Fence::restore(Token(7));
        let stale = Stale {
            token: Token(6),
            highest: Token(7),
        };
        assert_eq!(fence.admit(Token(6)), Err(stale));
        assert_eq!(fence.admit_reader(Token(6)), Err(stale));
        assert_eq!(fence, Fence::restore(Token(7)));
    }

    #[test]
    fn the_same_holder_writes_several_times() {
        let mut fence = Fence::default();
        for _ in 0..3 {
            assert_eq!(fence.admit(Token(7)), Ok(()));
        }
        assert_eq!(fence.highest(), Token(7));
    }

    #[test]
    fn a_reader_does_not_raise_the_fence() {
        let mut fence = Fence::restore(Token(7));
        assert_eq!(fence.admit_reader(Token(7)), Ok(()));
        assert_eq!(fence.admit_reader(Token(9)), Ok(()));
        assert_eq!(fence.admit(Token(8)), Ok(()));
    }

    #[test]
    fn the_refusal_names_both_tokens_and_the_remedy() {
        let text = Fence::restore(Token(0xab)).admit(Token(0xaa));
        assert_eq!(
            text.unwrap_err().to_string(),
            "token 000000000000000000000000000000aa is stale, 000000000000000000000000000000ab was \
             seen: the lock has passed on, acquire it again"
        );
    }

    /// An access or a restart, as generated by the property test.
    #[derive(Clone, Debug)]
    enum Op {
        Write(Token),
        Read(Token),
        Restart,
    }

    fn op() -> impl Strategy<Value = Op> {
        // Few values, so that equal tokens are common, at both ends of the range.
        let token = prop_oneof![0..6_u128, u128::MAX - 3..=u128::MAX].prop_map(Token);
        prop_oneof![
            4 => token.clone().prop_map(Op::Write),
            2 => token.prop_map(Op::Read),
            1 => Just(Op::Restart),
        ]
    }

    proptest! {
        #[test]
        fn admits_exactly_what_no_larger_write_precedes(ops in prop::collection::vec(op(), 0..40)) {
            let mut fence = Fence::default();
            let mut written = Vec::<Token>::new();
            for op in ops {
                let newest = |token: Token| written.iter().all(|&w| w <= token);
                match op {
                    Op::Write(token) => {
                        let admitted = fence.admit(token).is_ok();
                        prop_assert_eq!(admitted, newest(token));
                        if admitted {
                            written.push(token);
                        }
                    }
                    Op::Read(token) => {
                        prop_assert_eq!(fence.admit_reader(token).is_ok(), newest(token));
                    }
                    Op::Restart => fence = Fence::restore(fence.highest()),
                }
            }
            prop_assert!(written.is_sorted());
        }
    }
}
