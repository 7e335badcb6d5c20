//! The token that every holder of a lock gets, with its text and byte forms.

use core::fmt;
use core::str::FromStr;

/// Digits of a token as text.
const DIGITS: usize = 32;

/// A fencing token: of two exclusive holders of a lock, the later has the larger one.
///
/// Written and parsed as exactly 32 lower-case hexadecimal digits, so that texts compare in the order of the
/// numbers. The numbers have gaps and no meaning other than their order.
///
/// ```
/// use consort_fence::Token;
///
/// let token: Token = "000000000000000000000000000000ff".parse()?;
/// assert_eq!(token, Token(255));
/// assert_eq!(Token::from_be_bytes(token.to_be_bytes()), token);
/// assert!(token.to_string() < Token(256).to_string());
/// # Ok::<(), consort_fence::ParseTokenError>(())
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u128);

impl Token {
    /// Reads a token from 16 bytes, most significant first.
    #[must_use]
    pub const fn from_be_bytes(bytes: [u8; 16]) -> Token {
        Token(u128::from_be_bytes(bytes))
    }

    /// The token as 16 bytes, most significant first; they compare in the order of the numbers.
    #[must_use]
    pub const fn to_be_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.0)
    }
}

/// Why a text is not a [`Token`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseTokenError {
    /// Too short or too long; leading zeros must not be left out.
    Length {
        /// Bytes in the text.
        found: usize,
    },
    /// A byte other than `0` to `9` and `a` to `f`. Upper case is refused because it would break the order of
    /// texts.
    Digit {
        /// Position of the byte, counted from 0.
        at: usize,
    },
}

impl fmt::Display for ParseTokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParseTokenError::Length { found } => {
                write!(
                    f,
                    "a token is {DIGITS} hexadecimal digits, this text has {found} bytes"
                )
            }
            ParseTokenError::Digit { at } => write!(
                f,
                "a token is {DIGITS} digits 0-9 and a-f in lower case, the byte at {at} is none"
            ),
        }
    }
}

impl core::error::Error for ParseTokenError {}

impl FromStr for Token {
    type Err = ParseTokenError;

    fn from_str(s: &str) -> Result<Token, ParseTokenError> {
        if s.len() != DIGITS {
            return Err(ParseTokenError::Length { found: s.len() });
        }
        let mut number = 0;
        for (at, byte) in s.bytes().enumerate() {
            let digit = match byte {
                b'0'..=b'9' => byte - b'0',
                b'a'..=b'f' => byte - b'a' + 10,
                _ => return Err(ParseTokenError::Digit { at }),
            };
            number = number << 4 | u128::from(digit);
        }
        Ok(Token(number))
    }
}

#[cfg(test)]
mod tests {
    extern crate alloc;

    use super::*;
    use alloc::format;
    use alloc::string::ToString;
    use proptest::prelude::*;

    #[test]
    fn text_and_bytes_are_pinned() {
        let token = Token(0x0123_4567_89ab_cdef_0011_2233_4455_6677);
        assert_eq!(token.to_string(), "0123456789abcdef0011223344556677");
        assert_eq!(format!("{:?}", Token(0xff)), "ff");
        assert_eq!(token.to_be_bytes()[..3], [0x01, 0x23, 0x45]);
        assert_eq!(Token(1).to_be_bytes()[15], 1);
    }

    #[test]
    fn errors_say_what_is_wrong() {
        let error = |s: &str| s.parse::<Token>().unwrap_err().to_string();
        let length = "a token is 32 hexadecimal digits, this text has";
        assert_eq!(error(""), format!("{length} 0 bytes"));
        assert_eq!(
            error("0x000000000000000000000000000000ff"),
            format!("{length} 34 bytes")
        );
        for (bad, at) in [
            ("0000000000000000000000000000000F", 31),
            ("+0000000000000000000000000000001", 0),
            ("000000000000000000000000000000 1", 30),
            ("ä000000000000000000000000000000", 0),
        ] {
            assert_eq!(
                error(bad),
                format!("a token is 32 digits 0-9 and a-f in lower case, the byte at {at} is none")
            );
        }
    }

    proptest! {
        #[test]
        fn text_and_bytes_read_back_and_compare_as_numbers(a: u128, b: u128, shift in 0..128_u32) {
            let (a, b) = (Token(a >> shift), Token(b >> shift));
            prop_assert_eq!(a.to_string().parse(), Ok(a));
            prop_assert_eq!(Token::from_be_bytes(a.to_be_bytes()), a);
            prop_assert_eq!(a.to_string().cmp(&b.to_string()), a.cmp(&b));
            prop_assert_eq!(a.to_be_bytes().cmp(&b.to_be_bytes()), a.cmp(&b));
        }

        #[test]
        fn only_what_a_token_prints_is_parsed(text in "[0-9a-fA-F+g]{30,34}|\\PC{0,40}|[0-9a-f]{32}") {
            match text.parse::<Token>() {
                Ok(token) => prop_assert_eq!(token.to_string(), text),
                Err(ParseTokenError::Length { found }) => prop_assert_ne!(found, 32),
                Err(ParseTokenError::Digit { at }) => {
                    prop_assert_eq!(text.len(), 32);
                    prop_assert!(!b"0123456789abcdef".contains(&text.as_bytes()[at]));
                }
            }
        }
    }
}
