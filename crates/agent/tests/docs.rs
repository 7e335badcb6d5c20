//! Pages that are made from the code are current.

use std::path::PathBuf;

/// `UPDATE_DOCS=1 cargo test -p consort-agent --test docs` writes it anew.
fn is_current(page: &str, mark: &str, reference: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(page);
    let text = std::fs::read_to_string(&path).unwrap();
    let start = text.find(&format!("<!-- {mark}:")).unwrap();
    let start = start + text[start..].find('\n').unwrap() + 1;
    let stop = start + text[start..].find("<!-- end -->").unwrap();
    let reference = format!("\n{reference}");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let new = format!("{}{reference}{}", &text[..start], &text[stop..]);
        std::fs::write(path, new).unwrap();
        return;
    }
    assert!(
        text[start..stop] == reference,
        "docs/{page} is not current: UPDATE_DOCS=1 cargo test -p consort-agent --test docs"
    );
}

#[test]
fn the_reference_of_settings_is_current() {
    let reference = consort_agent::config_reference();
    is_current("CONFIGURATION.md", "settings", &reference);
}

#[test]
fn the_table_of_roles_is_current() {
    let table = format!("{}\n", consort_agent::roles_reference());
    is_current("API.md", "roles", &table);
}
