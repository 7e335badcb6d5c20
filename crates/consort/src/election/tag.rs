//! Candidacies whose attribute follows a tag of the node.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The number of levels into which a tag's value is sorted. Finer differences do not replace leaders.
const LEVELS: u32 = 16;

/// A numeric tag that the attribute of a candidacy follows: see
/// [`ElectionOptions::attribute_tag`](super::ElectionOptions::attribute_tag).
///
/// The range between two bounds is divided into 16 levels; values beyond a bound count as that bound.
///
/// ```
/// use consort::election::AttributeTag;
///
/// let battery = AttributeTag::highest("battery");
/// assert_eq!(battery.attribute(&[("battery".into(), "100".into())].into()), Ok(0));
/// assert_eq!(battery.attribute(&[("battery".into(), "12".into())].into()), Ok(14));
/// assert!(battery.attribute(&[("battery".into(), "full".into())].into()).is_err());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct AttributeTag {
    tag: Arc<str>,
    highest: bool,
    min: f64,
    max: f64,
}

/// Why a tag gives no attribute.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TagValueError {
    /// Set the tag.
    #[error("this node has no tag `{tag}`, which its candidacy follows; set it to a number")]
    Missing {
        /// The key of the tag.
        tag: String,
    },
    /// Set the tag to a number.
    #[error("tag {tag} = `{value}` is no number, and a candidacy follows it; set it to a number")]
    NotANumber {
        /// The key of the tag.
        tag: String,
        /// The value of the tag.
        value: String,
    },
}

/// The error for bounds of an [`AttributeTag`] that are not finite or not in order.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("the least value of the tag, {min}, must be below the greatest, {max}")]
pub struct TagRangeError {
    /// The lower bound that was given.
    pub min: f64,
    /// The upper bound that was given.
    pub max: f64,
}

impl AttributeTag {
    /// The candidate with the highest value is preferred. The range is 0 to 100.
    pub fn highest(tag: impl Into<Arc<str>>) -> AttributeTag {
        AttributeTag {
            tag: tag.into(),
            highest: true,
            min: 0.0,
            max: 100.0,
        }
    }

    /// The candidate with the lowest value is preferred. The range is 0 to 100.
    pub fn lowest(tag: impl Into<Arc<str>>) -> AttributeTag {
        AttributeTag {
            highest: false,
            ..AttributeTag::highest(tag)
        }
    }

    /// Divides the range from `min` to `max` into levels.
    pub fn between(mut self, min: f64, max: f64) -> Result<AttributeTag, TagRangeError> {
        if !(min < max && (max - min).is_finite()) {
            return Err(TagRangeError { min, max });
        }
        (self.min, self.max) = (min, max);
        Ok(self)
    }

    /// The attribute of a node with `tags`: 0 is the best of 16 levels.
    pub fn attribute(&self, tags: &BTreeMap<String, String>) -> Result<u32, TagValueError> {
        let tag = || self.tag.to_string();
        let text = tags
            .get(&*self.tag)
            .ok_or_else(|| TagValueError::Missing { tag: tag() })?;
        let value: f64 = text
            .trim()
            .parse()
            .ok()
            .filter(|value: &f64| value.is_finite())
            .ok_or_else(|| TagValueError::NotANumber {
                tag: tag(),
                value: text.clone(),
            })?;
        let levels = f64::from(LEVELS);
        let level = (value - self.min) / (self.max - self.min) * levels;
        let level = level.clamp(0.0, levels - 1.0) as u32;
        Ok(if self.highest {
            LEVELS - 1 - level
        } else {
            level
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_sorted_into_levels_within_their_range() {
        let tags = |value: &str| BTreeMap::from([("t".to_owned(), value.to_owned())]);
        let celsius = AttributeTag::lowest("t").between(-40.0, 120.0).unwrap();
        for (value, attribute) in [
            ("-1e9", 0),
            ("-40", 0),
            ("-29", 1),
            ("119", 15),
            ("1e300", 15),
        ] {
            assert_eq!(celsius.attribute(&tags(value)), Ok(attribute), "{value}");
        }
        for bad in ["", "12 %", "NaN", "inf"] {
            assert!(celsius.attribute(&tags(bad)).is_err(), "{bad}");
        }
        let missing = TagValueError::Missing {
            tag: "t".to_owned(),
        };
        assert_eq!(celsius.attribute(&BTreeMap::new()), Err(missing));
        for (min, max) in [
            (1.0, 1.0),
            (2.0, 1.0),
            (f64::MIN, f64::MAX),
            (0.0, f64::NAN),
        ] {
            assert!(AttributeTag::highest("t").between(min, max).is_err());
        }
    }
}
