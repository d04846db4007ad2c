//! The style sheet, the script and the icon: part of the program, each at an address that holds its hash, so that it
//! may be cached for ever.

use std::sync::LazyLock;

use toolmark_domain::digest::Digest;

/// A static file.
#[derive(Clone, Copy, Debug)]
pub struct Asset {
    /// Its address, with a hash of its bytes.
    pub path: &'static str,
    pub media_type: &'static str,
    pub bytes: &'static [u8],
}

/// How long an asset may be kept: its address changes with its bytes.
pub const CACHE_CONTROL: &str = "public, max-age=31536000, immutable";

fn asset(stem: &str, end: &str, media_type: &'static str, bytes: &'static [u8]) -> Asset {
    let digest = Digest::of(bytes).to_string();
    let hash: String = digest.chars().take(12).collect();
    Asset {
        // Three short strings for the life of the program.
        path: Box::leak(format!("/assets/{stem}-{hash}.{end}").into_boxed_str()),
        media_type,
        bytes,
    }
}

static CSS: LazyLock<Asset> = LazyLock::new(|| {
    asset(
        "toolmark",
        "css",
        "text/css; charset=utf-8",
        include_bytes!("../static/toolmark.css"),
    )
});
static JS: LazyLock<Asset> = LazyLock::new(|| {
    asset(
        "toolmark",
        "js",
        "text/javascript; charset=utf-8",
        include_bytes!("../static/toolmark.js"),
    )
});
static ICON: LazyLock<Asset> = LazyLock::new(|| {
    asset(
        "toolmark",
        "svg",
        "image/svg+xml",
        include_bytes!("../static/toolmark.svg"),
    )
});

/// The style sheet.
pub fn css() -> Asset {
    *CSS
}

/// The script; every page works without it.
pub fn js() -> Asset {
    *JS
}

/// The icon.
pub fn icon() -> Asset {
    *ICON
}

/// The asset at this path, if there is one: `/assets/toolmark-<hash>.css`.
pub fn find(path: &str) -> Option<Asset> {
    [css(), js(), icon()].into_iter().find(|asset| asset.path == path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_asset_is_found_by_its_own_address_only() {
        for asset in [css(), js(), icon()] {
            assert_eq!(find(asset.path).map(|found| found.bytes), Some(asset.bytes));
        }
        assert!(find("/assets/toolmark-000000000000.css").is_none());
        assert!(find("/assets/../Cargo.toml").is_none());
    }

    #[test]
    fn the_script_stays_an_enhancement() {
        assert!(js().bytes.len() <= 15 * 1024, "{} bytes", js().bytes.len());
    }

    #[test]
    fn nothing_is_fetched_from_elsewhere() {
        for asset in [css(), js()] {
            let text = std::str::from_utf8(asset.bytes).unwrap();
            assert!(!text.contains("http:") && !text.contains("https:") && !text.contains("@import"));
        }
    }
}
