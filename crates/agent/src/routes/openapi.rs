//! The parts of the OpenAPI document that the routes do not describe themselves.

use crate::access::{Role, role_of};
use crate::api::{ErrorBody, EventView};
use crate::codes;
use axum::http::Method;
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{ContentBuilder, Info, OpenApi, Ref, ResponseBuilder, Tag};
use utoipa::{PartialSchema, ToSchema};

const DESCRIPTION: &str = "Every agent serves this interface, by default on 127.0.0.1:7718, about the group as it sees it. \
Where it has a file of tokens it asks for one (`Authorization: Bearer TOKEN`) whose role is at least `x-role`; otherwise \
whoever can reach the address controls the node. Web pages of other origins are refused. \
Within `/v1` fields are added, never removed or changed.";

const TAGS: [(&str, &str); 8] = [
    ("members", "Who is here"),
    ("tags", "What this node says of itself"),
    ("elections", "Who leads"),
    ("locks", "Whose turn it is"),
    ("messages", "What applications tell and ask each other"),
    ("topology", "Who hears whom"),
    ("events", "What happens"),
    ("monitoring", "How the node is"),
];

/// Adds the errors that each operation may return, and the role that it takes.
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
    components.add_security_scheme(
        "token",
        SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)),
    );
    for (path, item) in &mut api.paths.paths {
        let operations = [
            (Method::GET, &mut item.get),
            (Method::PUT, &mut item.put),
            (Method::POST, &mut item.post),
            (Method::DELETE, &mut item.delete),
            (Method::PATCH, &mut item.patch),
        ];
        for (method, operation) in operations {
            if let Some(operation) = operation {
                may_fail(operation, &method, path);
                takes(operation, role_of(&method, path));
            }
        }
    }
    api
}

/// Names the role that a token needs, if one is required.
fn takes(operation: &mut Operation, role: Option<Role>) {
    let Some(role) = role else {
        return;
    };
    let shown = SecurityRequirement::new("token", Vec::<String>::new());
    operation.security = Some(vec![SecurityRequirement::default(), shown]);
    let extensions = Extensions::builder().add("x-role", role.to_string());
    operation.extensions = Some(extensions.build());
}

/// Adds a response for each status that an error may have, with the codes.
fn may_fail(operation: &mut Operation, method: &Method, path: &str) {
    let errors = codes::of(method, path, operation.request_body.is_some());
    for (status, codes) in errors {
        let told = codes.iter().map(|c| format!("`{}`: {}", c.code, c.when));
        let body = ContentBuilder::new().schema(Some(Ref::from_schema_name("ErrorBody")));
        let error = ResponseBuilder::new()
            .description(told.collect::<Vec<_>>().join("; "))
            .content("application/json", body.build());
        let responses = &mut operation.responses.responses;
        let other = responses.entry(status.to_string());
        other.or_insert_with(|| error.build().into());
    }
}
