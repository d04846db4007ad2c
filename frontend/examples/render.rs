//! Writes every sample page and its assets below a folder, for looking at: `cargo run --example render -- FOLDER`.

use std::path::Path;

#[path = "../tests/pages/samples.rs"]
mod samples;

fn main() -> std::io::Result<()> {
    let folder = std::env::args()
        .nth(1)
        .ok_or_else(|| std::io::Error::other("name a folder"))?;
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder.join("assets"))?;
    for asset in [
        toolmark_frontend::assets::css(),
        toolmark_frontend::assets::js(),
        toolmark_frontend::assets::icon(),
    ] {
        std::fs::write(folder.join(asset.path.trim_start_matches('/')), asset.bytes)?;
    }
    for (name, page) in samples::pages() {
        let html = page.render().map_err(std::io::Error::other)?;
        std::fs::write(folder.join(format!("{name}.html")), html)?;
    }
    Ok(())
}
