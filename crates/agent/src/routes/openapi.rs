//! What the document of the interface says besides what the routes say of themselves.

use crate::api::{ErrorBody, EventView};
use utoipa::openapi::path::Operation;
use utoipa::openapi::{ContentBuilder, Info, OpenApi, Ref, ResponseBuilder, Tag};
use utoipa::{PartialSchema, ToSchema};

const DESCRIPTION: &str = "Every agent serves this interface, by default on 127.0.0.1:7718, about the group as it sees it. \
There is no authentication: whoever can reach the address controls the node. Web pages of other origins are refused. \
Within `/v1` fields are added, never removed or changed.";

const TAGS: [(&str, &str); 7] = [
    ("members", "Who is here"),
    ("tags", "What this node says of itself"),
    ("elections", "Who leads"),
    ("locks", "Whose turn it is"),
    ("topology", "Who hears whom"),
    ("events", "What happens"),
    ("monitoring", "How the node is"),
];

/// Adds what all operations share: the error that any of them may answer with.
pub(super) fn complete(mut api: OpenApi) -> OpenApi {
    api.info = Info::new("Consort agent", env!("CARGO_PKG_VERSION"));
    api.info.description = Some(DESCRIPTION.to_owned());
    let tag = |(name, text): (&str, &str)| {
        let mut tag = Tag::new(name);
        tag.description = Some(text.to_owned());
        tag
    };
    api.tags = Some(TAGS.into_iter().map(tag).collect());
    let components = api.components.get_or_insert_default();
    for (name, schema) in [
        (ErrorBody::name(), ErrorBody::schema()),
        (EventView::name(), EventView::schema()),
    ] {
        components.schemas.insert(name.into_owned(), schema);
    }
    for item in api.paths.paths.values_mut() {
        let operations = [
            &mut item.get,
            &mut item.put,
            &mut item.post,
            &mut item.delete,
            &mut item.patch,
        ];
        operations.into_iter().flatten().for_each(may_fail);
    }
    api
}

fn may_fail(operation: &mut Operation) {
    let body = ContentBuilder::new().schema(Some(Ref::from_schema_name("ErrorBody")));
    let error = ResponseBuilder::new()
        .description("What did not happen, why, and what to do")
        .content("application/json", body.build());
    let responses = &mut operation.responses.responses;
    responses.insert("default".to_owned(), error.build().into());
}
