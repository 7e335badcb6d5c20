//! The tags of this node, and the candidacies that follow them.

use super::Driver;
use crate::election::{AttributeTag, ElectionOptions};
use crate::error::SetTagsError;
use consort_proto::election::{Candidacy, Order};
use consort_proto::membership::Meta;
use consort_proto::{Command, ElectionId};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) type Tags = BTreeMap<String, String>;

/// A change of the tags.
#[derive(Debug)]
pub(crate) enum TagChange {
    Replace(Tags),
    /// Sets each key to its value, or removes it if there is none.
    Merge(BTreeMap<String, Option<String>>),
}

impl TagChange {
    fn apply(self, mut tags: Tags) -> Tags {
        match self {
            TagChange::Replace(new) => new,
            TagChange::Merge(changes) => {
                for (key, value) in changes {
                    match value {
                        Some(value) => tags.insert(key, value),
                        None => tags.remove(&key),
                    };
                }
                tags
            }
        }
    }
}

/// A candidacy that follows a tag.
pub(super) struct Follower {
    election: ElectionId,
    name: Arc<str>,
    tag: AttributeTag,
    candidacy: Candidacy,
}

impl Driver {
    /// Announces changed tags, all or none, and adjusts the candidacies that follow them.
    pub(super) async fn change_tags(&mut self, change: TagChange) -> Result<Tags, SetTagsError> {
        let mut meta = Meta::clone(self.node.membership().meta());
        meta.tags = change.apply(meta.tags);
        meta.check(usize::from(self.meta_max))?;
        let mut attributes = Vec::with_capacity(self.followers.len());
        for follower in &self.followers {
            let attribute = follower.tag.attribute(&meta.tags);
            attributes.push(attribute.map_err(|source| SetTagsError::Followed {
                election: follower.name.to_string(),
                source,
            })?);
        }
        let tags = meta.tags.clone();
        self.command(Command::SetMeta(meta)).await;
        let mut moved = Vec::new();
        for (follower, attribute) in self.followers.iter_mut().zip(attributes) {
            if follower.candidacy.attribute != attribute {
                follower.candidacy.attribute = attribute;
                moved.push(Order::Campaign(follower.election, follower.candidacy));
            }
        }
        for order in moved {
            self.command(Command::Election(order)).await;
        }
        Ok(tags)
    }

    /// The candidacy in an election follows the tag in `options` from now on, if there is one.
    pub(super) fn follow_tag(&mut self, name: &Arc<str>, options: &ElectionOptions) {
        self.unfollow_tag(name);
        if let Some(tag) = &options.attribute_tag {
            self.followers.push(Follower {
                election: ElectionId::of(name),
                name: Arc::clone(name),
                tag: tag.clone(),
                candidacy: options.candidacy,
            });
        }
    }

    /// The candidacy in an election no longer follows a tag.
    pub(super) fn unfollow_tag(&mut self, name: &str) {
        let id = ElectionId::of(name);
        self.followers.retain(|f| f.election != id);
    }
}
