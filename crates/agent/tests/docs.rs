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

#[test]
fn the_table_of_errors_is_current() {
    let table = format!("{}\n", consort_agent::errors_reference());
    is_current("API.md", "errors", &table);
}

/// Programs that read the log go by targets, so the page lists them all.
#[test]
fn every_target_of_the_log_is_documented() {
    let crates = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = std::fs::read_to_string(crates.join("../docs/MONITORING.md")).unwrap();
    let mut folders = ["agent", "cli", "consort"]
        .map(|c| crates.join(c).join("src"))
        .to_vec();
    let mut targets = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let source = std::fs::read_to_string(&path).unwrap_or_default();
            for rest in source.split("target: \"consort::event::").skip(1) {
                let name = rest.split('"').next().unwrap();
                targets += 1;
                assert!(
                    page.contains(&format!("`{name}`")),
                    "docs/MONITORING.md lacks {name}"
                );
            }
        }
    }
    assert!(targets > 20, "{targets}");
}
