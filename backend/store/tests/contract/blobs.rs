//! Blobs in a directory, and in an S3-compatible store (`TOOLMARK_TEST_S3_URL`: the endpoint; skipped without it).

use bytes::Bytes;
use toolmark_domain::digest::Digest;
use toolmark_store::{BlobError, Blobs};

async fn behaves(blobs: &Blobs) {
    let bytes = Bytes::from_static(b"a manifest");
    let digest = blobs.put(bytes.clone()).await.unwrap();
    assert_eq!(digest, Digest::of(&bytes));
    assert_eq!(blobs.put(bytes.clone()).await.unwrap(), digest, "twice is once");
    assert_eq!(blobs.get(&digest).await.unwrap(), Some(bytes));
    assert_eq!(
        blobs.get_range(&digest, 2..10).await.unwrap().as_deref(),
        Some(&b"manifest"[..])
    );
    assert!(blobs.contains(&digest).await.unwrap());
    let absent = Digest::of(b"never put");
    assert_eq!(blobs.get(&absent).await.unwrap(), None);
    assert_eq!(blobs.get_range(&absent, 0..1).await.unwrap(), None);
    assert!(!blobs.contains(&absent).await.unwrap());
    blobs.delete(&digest).await.unwrap();
    blobs.delete(&digest).await.unwrap();
    assert_eq!(blobs.get(&digest).await.unwrap(), None);
    let empty = blobs.put(Bytes::new()).await.unwrap();
    assert_eq!(blobs.get(&empty).await.unwrap(), Some(Bytes::new()));
}

#[tokio::test]
async fn a_directory_keeps_bytes_by_their_digest() {
    let folder = tempfile::TempDir::new().unwrap();
    let blobs = Blobs::directory(&folder.path().join("new/blobs")).unwrap();
    behaves(&blobs).await;
    let digest = blobs.put(Bytes::from_static(b"good")).await.unwrap().to_string();
    let file = folder
        .path()
        .join("new/blobs/sha256")
        .join(&digest[..2])
        .join(&digest[2..4])
        .join(&digest);
    std::fs::write(file, b"evil").unwrap();
    let read = blobs.get(&Digest::of(b"good")).await;
    assert!(
        matches!(read, Err(BlobError::Corrupt { .. })),
        "changed bytes are noticed"
    );
}

#[tokio::test]
async fn an_s3_store_keeps_bytes_by_their_digest() {
    let Ok(endpoint) = std::env::var("TOOLMARK_TEST_S3_URL") else {
        println!("skipped: an_s3_store_keeps_bytes_by_their_digest: TOOLMARK_TEST_S3_URL is not set");
        return;
    };
    let bucket = format!("contract-{}", std::process::id());
    let client = std::process::Command::new("curl")
        .args([
            "-sf",
            "-X",
            "PUT",
            &format!("{}/{bucket}", endpoint.trim_end_matches('/')),
        ])
        .status()
        .unwrap();
    assert!(client.success(), "the bucket could not be made");
    let options = [
        ("endpoint", endpoint.as_str()),
        ("allow_http", "true"),
        ("region", "us-east-1"),
        ("access_key_id", "test"),
        ("secret_access_key", "test"),
        ("virtual_hosted_style_request", "false"),
    ];
    let options: Vec<(String, String)> = options
        .iter()
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
        .collect();
    behaves(&Blobs::url(&format!("s3://{bucket}/below/here"), &options).unwrap()).await;
}

#[test]
fn a_place_that_is_none_is_named() {
    assert!(matches!(
        Blobs::url("nonsense", &[]),
        Err(BlobError::BadUrl { .. })
    ));
    assert!(matches!(
        Blobs::url("ftp://example.com/x", &[]),
        Err(BlobError::BadUrl { .. })
    ));
}
