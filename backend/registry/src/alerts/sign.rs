//! Signing as the Standard Webhooks specification has it: HMAC-SHA256 over `id.timestamp.body`, one signature for each
//! valid key.

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// What a key begins with where it is shown.
const PREFIX: &str = "whsec_";

/// A key as it is shown, once.
pub(crate) fn shown(secret: &[u8]) -> String {
    format!("{PREFIX}{}", STANDARD.encode(secret))
}

/// The value of `webhook-signature`.
pub(crate) fn signature(secrets: &[Vec<u8>], id: &str, timestamp: i64, body: &[u8]) -> String {
    let mut content = format!("{id}.{timestamp}.").into_bytes();
    content.extend_from_slice(body);
    let one = |secret: &Vec<u8>| {
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), &content);
        format!("v1,{}", STANDARD.encode(tag))
    };
    secrets.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_specification() {
        // The pair that the specification's reference libraries test themselves with.
        let secret = STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signed = signature(
            std::slice::from_ref(&secret),
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1_614_265_330,
            br#"{"test": 2432232314}"#,
        );
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        assert_eq!(shown(&secret), "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let two = signature(&[secret.clone(), vec![1; 32]], "a", 1, b"x");
        assert_eq!(two.split(' ').filter(|one| one.starts_with("v1,")).count(), 2);
    }
}
