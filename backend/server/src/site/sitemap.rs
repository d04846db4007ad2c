//! `/sitemap.xml`: an index of parts, each of at most [`PART`] servers. A part is named by the server it starts after,
//! so that no part needs to count those before it.

use std::fmt::Write as _;

use axum::extract::State;
use axum::response::Response;
use http::HeaderValue;
use toolmark_frontend::paths;

use super::base;
use crate::extract::{Ask, Segments};
use crate::lists::store_problem;
use crate::problem::{Code, Problem};
use crate::state::App;

/// Servers of one part. The protocol allows 50,000 addresses and 50 MB.
const PART: u32 = 10_000;
/// Parts of the index; the protocol allows 50,000.
const PARTS: usize = 5_000;
const XML: HeaderValue = HeaderValue::from_static("application/xml");
const NAMESPACE: &str = "http://www.sitemaps.org/schemas/sitemap/0.9";

pub(crate) async fn sitemap_index(State(app): State<App>, ask: Ask) -> Result<Response, Problem> {
    let base = base(&app, &ask);
    let key = format!("sitemap,{base}");
    let entry = app.lists.page_as(&app.registry, key, XML, async {
        let mut out =
            format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<sitemapindex xmlns=\"{NAMESPACE}\">\n");
        let mut after = String::new();
        for _ in 0..PARTS {
            let _ = writeln!(
                out,
                "<sitemap><loc>{base}/sitemap/{}.xml</loc></sitemap>",
                hex::encode(&after)
            );
            let names = app.registry.list_names(Some(&after), PART).await?;
            match names.into_iter().nth(PART as usize - 1) {
                Some((last, _)) => after = last,
                None => break,
            }
        }
        out.push_str("</sitemapindex>\n");
        Ok(out)
    });
    Ok(entry.await?.respond(ask.headers()))
}

pub(crate) async fn sitemap_part(
    State(app): State<App>,
    Segments([part]): Segments<1>,
    ask: Ask,
) -> Result<Response, Problem> {
    let after = part
        .strip_suffix(".xml")
        .and_then(|part| String::from_utf8(hex::decode(part).ok()?).ok())
        .filter(|after| after.len() <= 200 && !after.contains('\0'))
        .ok_or_else(|| Problem::new(Code::RouteNotFound, "no such part of the sitemap"))?;
    let names = app.registry.list_names(Some(&after), PART).await;
    let names = names.map_err(|error| store_problem(&error))?;
    let base = base(&app, &ask);
    let mut out = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns=\"{NAMESPACE}\">\n");
    for (name, changed_at) in names {
        if let Ok(name) = toolmark_domain::name::ServerName::parse(&name) {
            let path = paths::server(&name);
            let _ = writeln!(
                out,
                "<url><loc>{base}{path}</loc><lastmod>{changed_at}</lastmod></url>"
            );
        }
    }
    out.push_str("</urlset>\n");
    Ok(crate::answer::text(out, XML, ask.headers()))
}
