//! Text from other nodes: the characters that a name or a tag may have, and how other text is displayed.
//!
//! A name that moves the cursor, runs backwards or contains an invisible letter can look like another name, or like
//! something else. Such text is refused when it arrives ([`is_clean`]) and replaced when it is displayed ([`shown`]),
//! because not all displayed text was checked on arrival.

use alloc::borrow::Cow;
use alloc::string::String;

/// Whether a character may be part of a name. Characters that control, hide or reverse text may not.
pub fn is_plain(c: char) -> bool {
    let invisible = matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}');
    !c.is_control() && !invisible
}

/// Whether all characters of a text may be part of a name.
pub fn is_clean(text: &str) -> bool {
    text.chars().all(is_plain)
}

/// Makes a text of any origin safe for a terminal, a log, a page or the environment of a command: characters that may
/// not be part of a name are replaced by U+FFFD.
pub fn shown(text: &str) -> Cow<'_, str> {
    if is_clean(text) {
        return Cow::Borrowed(text);
    }
    let shown = |c| if is_plain(c) { c } else { '\u{fffd}' };
    Cow::Owned(text.chars().map(shown).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn people_write_names_in_their_own_letters() {
        for good in [
            "robot-7",
            "Rüdiger 7",
            "Ελλάδα",
            "北京",
            "עברית",
            "🤖",
            "a`$(x)<b>\"'",
        ] {
            assert!(is_clean(good), "{good}");
            assert!(matches!(shown(good), Cow::Borrowed(same) if same == good));
        }
    }

    #[test]
    fn what_controls_hides_or_reorders_is_not_plain() {
        for bad in [
            '\0',
            '\n',
            '\t',
            '\u{1b}',
            '\u{7f}',
            '\u{85}',
            '\u{9b}',
            '\u{ad}',
            '\u{200b}',
            '\u{200c}',
            '\u{200d}',
            '\u{200e}',
            '\u{200f}',
            '\u{202a}',
            '\u{202e}',
            '\u{2028}',
            '\u{2066}',
            '\u{2069}',
            '\u{feff}',
            '\u{61c}',
            '\u{e0041}',
            '\u{fe0f}',
            '\u{3164}',
        ] {
            assert!(!is_plain(bad), "{bad:?}");
        }
        assert_eq!(
            shown("a\u{1b}[2Jb\u{202e}c\n"),
            "a\u{fffd}[2Jb\u{fffd}c\u{fffd}"
        );
    }

    proptest! {
        #[test]
        fn what_is_shown_is_clean_and_as_long(text in any::<String>()) {
            let shown = shown(&text);
            prop_assert!(is_clean(&shown));
            prop_assert_eq!(shown.chars().count(), text.chars().count());
            prop_assert_eq!(super::shown(&shown), shown.clone());
            prop_assert_eq!(is_clean(&text), shown == text);
        }
    }
}
