//! A signing instance of our own: authority, certificate log, transparency log and timestamp authority, with every
//! signature right, so that what is made wrong on purpose is the only thing wrong.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use sigstore_crypto::KeyPair;
use sigstore_types::{PayloadBytes, SignatureBytes, pae};
use toolmark_provenance::{Artifact, Checker, KeyList, Policy, TrustedRoots};

pub(crate) const REPOSITORY: &str = "https://github.com/acme/weather";
pub(crate) const GITHUB: &str = "https://token.actions.githubusercontent.com";
/// 2026-01-15T12:00:00Z, the beginning of every certificate here.
const BEGIN: i64 = 1_768_478_400;
const LOG_NAME: &str = "log.fixture.invalid";

/// The artifact all bundles here are about.
pub(crate) fn artifact() -> Artifact {
    Artifact::read(&b"weather"[..]).unwrap()
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    PayloadBytes::new(bytes.to_vec()).to_base64()
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

// --- DER ---

pub(crate) fn tlv(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    let length = content.len();
    if length < 128 {
        out.push(u8::try_from(length).unwrap());
    } else {
        let bytes = length.to_be_bytes();
        let first = bytes.iter().position(|byte| *byte != 0).unwrap();
        out.push(0x80 | u8::try_from(bytes.len() - first).unwrap());
        out.extend(&bytes[first..]);
    }
    out.extend(content);
    out
}

pub(crate) fn seq(parts: &[Vec<u8>]) -> Vec<u8> {
    tlv(0x30, &parts.concat())
}

pub(crate) fn set(parts: &[Vec<u8>]) -> Vec<u8> {
    tlv(0x31, &parts.concat())
}

pub(crate) fn oid(text: &str) -> Vec<u8> {
    let mut arcs = text.split('.').map(|arc| arc.parse::<u32>().unwrap());
    let (first, second) = (arcs.next().unwrap(), arcs.next().unwrap());
    let mut out = vec![u8::try_from(first * 40 + second).unwrap()];
    for arc in arcs {
        let mut groups = vec![u8::try_from(arc & 0x7f).unwrap()];
        let mut rest = arc >> 7;
        while rest > 0 {
            groups.push(u8::try_from(rest & 0x7f).unwrap() | 0x80);
            rest >>= 7;
        }
        groups.reverse();
        out.extend(groups);
    }
    tlv(0x06, &out)
}

fn utf8(text: &str) -> Vec<u8> {
    tlv(0x0c, text.as_bytes())
}

pub(crate) fn generalized(at: i64) -> Vec<u8> {
    let at = toolmark_domain::timestamp::Timestamp::from_micros(at * 1_000_000).to_string();
    let digits: String = at.chars().filter(char::is_ascii_digit).collect();
    tlv(0x18, format!("{digits}Z").as_bytes())
}

pub(crate) fn name(organization: &str, common: &str) -> Vec<u8> {
    let part = |kind: &str, text: &str| set(&[seq(&[oid(kind), utf8(text)])]);
    seq(&[part("2.5.4.10", organization), part("2.5.4.3", common)])
}

pub(crate) fn ecdsa() -> Vec<u8> {
    seq(&[oid("1.2.840.10045.4.3.2")])
}

fn extension(kind: &str, critical: bool, value: &[u8]) -> Vec<u8> {
    let mut parts = vec![oid(kind)];
    if critical {
        parts.push(tlv(0x01, &[0xff]));
    }
    parts.push(tlv(0x04, value));
    seq(&parts)
}

fn sign(key: &KeyPair, bytes: &[u8]) -> Vec<u8> {
    key.sign(bytes).unwrap().as_bytes().to_vec()
}

fn spki(key: &KeyPair) -> Vec<u8> {
    key.public_key_der().unwrap().as_bytes().to_vec()
}

fn bit_string(bytes: &[u8]) -> Vec<u8> {
    tlv(0x03, &[&[0], bytes].concat())
}

pub(crate) struct Tbs<'a> {
    pub(crate) issuer: &'a [u8],
    pub(crate) subject: &'a [u8],
    pub(crate) key: &'a KeyPair,
    pub(crate) seconds: i64,
    pub(crate) extensions: &'a [Vec<u8>],
}

impl Tbs<'_> {
    fn der(&self) -> Vec<u8> {
        seq(&[
            tlv(0xa0, &tlv(0x02, &[2])),
            tlv(0x02, &[1]),
            ecdsa(),
            self.issuer.to_vec(),
            seq(&[generalized(BEGIN), generalized(BEGIN + self.seconds)]),
            self.subject.to_vec(),
            spki(self.key),
            tlv(0xa3, &seq(self.extensions)),
        ])
    }

    pub(crate) fn signed(&self, by: &KeyPair) -> Vec<u8> {
        let tbs = self.der();
        let signature = bit_string(&sign(by, &tbs));
        seq(&[tbs, ecdsa(), signature])
    }
}

fn authority(key: &KeyPair, subject: &[u8], usage: Option<&str>) -> Vec<u8> {
    let mut extensions = vec![
        extension("2.5.29.19", true, &seq(&[tlv(0x01, &[0xff])])),
        extension("2.5.29.15", true, &tlv(0x03, &[1, 0x06])),
    ];
    extensions.extend(usage.map(|usage| extension("2.5.29.37", false, &seq(&[oid(usage)]))));
    let tbs = Tbs {
        issuer: subject,
        subject,
        key,
        seconds: 10 * 365 * 86_400,
        extensions: &extensions,
    };
    tbs.signed(key)
}

/// An extra extension that marks a certificate as for timestamps.
pub(crate) fn timestamp_usage() -> Vec<Vec<u8>> {
    vec![
        extension("2.5.29.15", true, &tlv(0x03, &[7, 0x80])),
        extension("2.5.29.37", true, &seq(&[oid("1.3.6.1.5.5.7.3.8")])),
    ]
}

// --- the instance ---

pub(crate) struct Instance {
    ca: KeyPair,
    ca_name: Vec<u8>,
    ca_der: Vec<u8>,
    ct: KeyPair,
    log: KeyPair,
    /// The key that signs timestamps, its certificate, and that of its authority.
    tsa: KeyPair,
    tsa_leaf: Vec<u8>,
    tsa_der: Vec<u8>,
    pub(crate) tsa_name: Vec<u8>,
}

/// What a certificate is to say; the default is a release build that agrees with everything.
pub(crate) struct Leaf {
    /// Tag of the general name, and its text.
    pub(crate) names: Vec<(u8, String)>,
    pub(crate) claims: Vec<(u32, String)>,
    pub(crate) usage: &'static str,
}

impl Default for Leaf {
    fn default() -> Self {
        let workflow = format!("{REPOSITORY}/.github/workflows/release.yml@refs/tags/v1.2.3");
        let commit = "1".repeat(40);
        let claims = [
            (8, GITHUB),
            (9, &workflow),
            (10, &commit),
            (11, "github-hosted"),
            (12, REPOSITORY),
            (13, &commit),
            (14, "refs/tags/v1.2.3"),
            (15, "700"),
            (16, "https://github.com/acme"),
            (17, "900"),
            (18, &workflow),
            (19, &commit),
            (20, "release"),
            (21, "https://github.com/acme/weather/actions/runs/1/attempts/1"),
            (22, "public"),
        ];
        Self {
            names: vec![(0x86, workflow.clone())],
            claims: claims.map(|(number, text)| (number, text.to_owned())).to_vec(),
            usage: "1.3.6.1.5.5.7.3.3",
        }
    }
}

impl Leaf {
    /// Another text for a claim.
    pub(crate) fn with(mut self, number: u32, text: &str) -> Self {
        self.claims.retain(|(known, _)| *known != number);
        self.claims.push((number, text.to_owned()));
        self
    }

    fn extensions(&self) -> Vec<Vec<u8>> {
        let names: Vec<Vec<u8>> = self
            .names
            .iter()
            .map(|(tag, text)| tlv(*tag, text.as_bytes()))
            .collect();
        let mut all = vec![
            extension("2.5.29.15", true, &tlv(0x03, &[7, 0x80])),
            extension("2.5.29.37", false, &seq(&[oid(self.usage)])),
            extension("2.5.29.17", true, &seq(&names)),
        ];
        for (number, text) in &self.claims {
            let value = if *number < 7 {
                text.as_bytes().to_vec()
            } else {
                utf8(text)
            };
            all.push(extension(&format!("1.3.6.1.4.1.57264.1.{number}"), false, &value));
        }
        all
    }
}

/// The statement of the default build.
pub(crate) fn statement() -> Value {
    let sha512 = hex::encode(artifact().sha512.unwrap());
    json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": "pkg:npm/%40acme/weather@1.2.3", "digest": {"sha512": sha512}}],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {"externalParameters": {"workflow": {
                "repository": REPOSITORY, "ref": "refs/tags/v1.2.3", "path": ".github/workflows/release.yml"}}},
            "runDetails": {"builder": {"id": "https://github.com/actions/runner/github-hosted"}},
        },
    })
}

impl Instance {
    pub(crate) fn new() -> Self {
        Self::named("fixture")
    }

    pub(crate) fn named(organization: &str) -> Self {
        let key = || KeyPair::generate_ecdsa_p256().unwrap();
        let (ca, tsa_ca, tsa) = (key(), key(), key());
        let ca_name = name(organization, "authority");
        let tsa_name = name(organization, "time authority");
        let subject = name(organization, "time");
        let tsa_leaf = Tbs {
            issuer: &tsa_name,
            subject: &subject,
            key: &tsa,
            seconds: 365 * 86_400,
            extensions: &timestamp_usage(),
        }
        .signed(&tsa_ca);
        Self {
            ca_der: authority(&ca, &ca_name, Some("1.3.6.1.5.5.7.3.3")),
            tsa_der: authority(&tsa_ca, &tsa_name, None),
            ca,
            ca_name,
            ct: key(),
            log: key(),
            tsa,
            tsa_leaf,
            tsa_name,
        }
    }

    pub(crate) fn root(&self) -> Value {
        let window = json!({"start": "2026-01-01T00:00:00Z"});
        let log = |key: &KeyPair| {
            json!({"baseUrl": "https://fixture.invalid", "hashAlgorithm": "SHA2_256",
                "publicKey": {"rawBytes": base64(&spki(key)), "keyDetails": "PKIX_ECDSA_P256_SHA_256",
                    "validFor": window},
                "logId": {"keyId": base64(&sha256(&spki(key)))}})
        };
        let authority = |chain: &[&[u8]]| {
            let chain: Vec<Value> = chain.iter().map(|der| json!({"rawBytes": base64(der)})).collect();
            json!({"subject": {"organization": "fixture", "commonName": "x"}, "uri": "https://fixture.invalid",
                "certChain": {"certificates": chain}, "validFor": window})
        };
        json!({
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [log(&self.log)],
            "certificateAuthorities": [authority(&[&self.ca_der])],
            "ctlogs": [log(&self.ct)],
            "timestampAuthorities": [authority(&[&self.tsa_leaf, &self.tsa_der])],
        })
    }

    pub(crate) fn checker(&self) -> Checker {
        let roots = TrustedRoots::only("fixture", self.root().to_string().as_bytes()).unwrap();
        Checker::new(roots, KeyList::pinned().unwrap(), Policy::default())
    }

    /// A certificate with its proof of publication.
    pub(crate) fn certificate(&self, leaf: &Leaf, key: &KeyPair) -> Vec<u8> {
        let empty = seq(&[]);
        let mut extensions = leaf.extensions();
        let tbs = |extensions: &[Vec<u8>]| {
            Tbs {
                issuer: &self.ca_name,
                subject: &empty,
                key,
                seconds: 600,
                extensions,
            }
            .der()
        };
        let precertificate = tbs(&extensions);
        let at = u64::try_from(BEGIN * 1000).unwrap().to_be_bytes();
        let mut signed = vec![0, 0];
        signed.extend(at);
        signed.extend([0, 1]);
        signed.extend(sha256(&spki(&self.ca)));
        signed.extend(&u32::try_from(precertificate.len()).unwrap().to_be_bytes()[1..]);
        signed.extend(&precertificate);
        signed.extend([0, 0]);
        let signature = sign(&self.ct, &signed);
        let short = |length: usize| u16::try_from(length).unwrap().to_be_bytes();
        let mut sct = vec![0];
        sct.extend(sha256(&spki(&self.ct)));
        sct.extend(at);
        sct.extend([0, 0, 4, 3]);
        sct.extend(short(signature.len()));
        sct.extend(signature);
        let mut list = short(sct.len() + 2).to_vec();
        list.extend(short(sct.len()));
        list.extend(sct);
        extensions.push(extension("1.3.6.1.4.1.11129.2.4.2", false, &tlv(0x04, &list)));
        let tbs = tbs(&extensions);
        let signature = bit_string(&sign(&self.ca, &tbs));
        seq(&[tbs, ecdsa(), signature])
    }

    /// A whole bundle over a payload.
    pub(crate) fn bundle_over(&self, leaf: &Leaf, payload_type: &str, payload: &[u8]) -> Value {
        let key = KeyPair::generate_ecdsa_p256().unwrap();
        let certificate = self.certificate(leaf, &key);
        let signature = sign(&key, &pae(payload_type, payload));
        let pem = sigstore_types::DerCertificate::new(certificate.clone()).to_pem();
        json!({
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": {
                "certificate": {"rawBytes": base64(&certificate)},
                "tlogEntries": [self.entry(payload, &signature, &pem)],
                "timestampVerificationData": {"rfc3161Timestamps": []},
            },
            "dsseEnvelope": {
                "payload": base64(payload), "payloadType": payload_type,
                "signatures": [{"sig": base64(&signature), "keyid": ""}],
            },
        })
    }

    /// The bundle of a statement.
    pub(crate) fn bundle(&self, leaf: &Leaf, statement: &Value) -> Value {
        let payload = statement.to_string();
        self.bundle_over(leaf, "application/vnd.in-toto+json", payload.as_bytes())
    }

    /// A bundle signed by a registry's key that the bundle names by `hint` and the envelope by `keyid`.
    pub(crate) fn bundle_by_key(&self, key: &KeyPair, hint: &str, keyid: &str, statement: &Value) -> Value {
        let kind = "application/vnd.in-toto+json";
        let payload = statement.to_string().into_bytes();
        let signature = sign(key, &pae(kind, &payload));
        let pem = key.public_key_der().unwrap().to_pem();
        json!({
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": {
                "publicKey": {"hint": hint},
                "tlogEntries": [self.entry(&payload, &signature, &pem)],
            },
            "dsseEnvelope": {
                "payload": base64(&payload), "payloadType": kind,
                "signatures": [{"sig": base64(&signature), "keyid": keyid}],
            },
        })
    }

    fn entry(&self, payload: &[u8], signature: &[u8], pem: &str) -> Value {
        let digest = hex::encode(sha256(payload));
        let body = json!({"apiVersion": "0.0.1", "kind": "dsse", "spec": {
            "envelopeHash": {"algorithm": "sha256", "value": digest},
            "payloadHash": {"algorithm": "sha256", "value": digest},
            "signatures": [{"signature": base64(signature), "verifier": base64(pem.as_bytes())}]}});
        self.logged("dsse", &body)
    }

    /// The annotations of cosign's first form, over a payload: signature, certificate and the log's promise.
    pub(crate) fn cosign(&self, leaf: &Leaf, payload: &[u8]) -> Value {
        let key = KeyPair::generate_ecdsa_p256().unwrap();
        let certificate = self.certificate(leaf, &key);
        let pem = sigstore_types::DerCertificate::new(certificate).to_pem();
        let signature = base64(&sign(&key, payload));
        let body = json!({"apiVersion": "0.0.1", "kind": "hashedrekord", "spec": {
            "data": {"hash": {"algorithm": "sha256", "value": hex::encode(sha256(payload))}},
            "signature": {"content": signature, "publicKey": {"content": base64(pem.as_bytes())}}}});
        let entry = self.logged("hashedrekord", &body);
        let number = |name: &str| entry[name].as_str().unwrap().parse::<i64>().unwrap();
        let log = json!({
            "SignedEntryTimestamp": entry["inclusionPromise"]["signedEntryTimestamp"],
            "Payload": {"body": entry["canonicalizedBody"], "integratedTime": number("integratedTime"),
                "logIndex": number("logIndex"), "logID": hex::encode(sha256(&spki(&self.log)))},
        });
        json!({
            "dev.cosignproject.cosign/signature": signature,
            "dev.sigstore.cosign/certificate": pem,
            "dev.sigstore.cosign/bundle": log.to_string(),
        })
    }

    fn logged(&self, kind: &str, body: &Value) -> Value {
        let body = serde_json_canonicalizer::to_vec(body).unwrap();
        let id = sha256(&spki(&self.log));
        let (at, index) = (BEGIN + 20, 100_001);
        let promise = json!({"body": base64(&body), "integratedTime": at, "logIndex": index,
            "logID": hex::encode(id)});
        let promise = sign(&self.log, &serde_json_canonicalizer::to_vec(&promise).unwrap());
        let other = sha256(b"\0other leaf");
        let leaf = sha256(&[&[0], body.as_slice()].concat());
        let root = sha256(&[&[1], other.as_slice(), leaf.as_slice()].concat());
        let note = format!("{LOG_NAME} - 1\n2\n{}\n", base64(&root));
        let signed = [&id[..4], &sign(&self.log, note.as_bytes())].concat();
        let checkpoint = format!("{note}\n\u{2014} {LOG_NAME} {}\n", base64(&signed));
        json!({
            "logIndex": index.to_string(), "logId": {"keyId": base64(&id)},
            "kindVersion": {"kind": kind, "version": "0.0.1"}, "integratedTime": at.to_string(),
            "inclusionPromise": {"signedEntryTimestamp": base64(&promise)},
            "inclusionProof": {"logIndex": "1", "rootHash": base64(&root), "treeSize": "2",
                "hashes": [base64(&other)], "checkpoint": {"envelope": checkpoint}},
            "canonicalizedBody": base64(&body),
        })
    }

    /// A timestamp over a signature, by a certificate of the time authority or by one given, which then is in the bag.
    pub(crate) fn timestamp(&self, signature: &[u8], forged: Option<(&KeyPair, Vec<u8>)>) -> Vec<u8> {
        let (key, certificate) = forged.unwrap_or((&self.tsa, self.tsa_leaf.clone()));
        let digest_algorithm = seq(&[oid("2.16.840.1.101.3.4.2.1")]);
        let info = seq(&[
            tlv(0x02, &[1]),
            oid("1.3.6.1.4.1.57264.2"),
            seq(&[digest_algorithm.clone(), tlv(0x04, &sha256(signature))]),
            tlv(0x02, &[7]),
            generalized(BEGIN + 20),
        ]);
        let attributes = [
            seq(&[
                oid("1.2.840.113549.1.9.3"),
                set(&[oid("1.2.840.113549.1.9.16.1.4")]),
            ]),
            seq(&[oid("1.2.840.113549.1.9.4"), set(&[tlv(0x04, &sha256(&info))])]),
            seq(&[
                oid("1.2.840.113549.1.9.16.2.47"),
                set(&[seq(&[seq(&[seq(&[tlv(0x04, &sha256(&certificate))])])])]),
            ]),
        ];
        let mut sorted = attributes.to_vec();
        sorted.sort();
        let token_signature = sign(key, &set(&sorted));
        let signer = seq(&[
            tlv(0x02, &[1]),
            seq(&[self.tsa_name.clone(), tlv(0x02, &[1])]),
            digest_algorithm.clone(),
            tlv(0xa0, &sorted.concat()),
            ecdsa(),
            tlv(0x04, &token_signature),
        ]);
        let data = seq(&[
            tlv(0x02, &[3]),
            set(&[digest_algorithm]),
            seq(&[oid("1.2.840.113549.1.9.16.1.4"), tlv(0xa0, &tlv(0x04, &info))]),
            tlv(0xa0, &certificate),
            set(&[signer]),
        ]);
        let token = seq(&[oid("1.2.840.113549.1.7.2"), tlv(0xa0, &data)]);
        seq(&[seq(&[tlv(0x02, &[0])]), token])
    }
}

/// The signature of a bundle's envelope.
pub(crate) fn signature_of(bundle: &Value) -> Vec<u8> {
    let text = bundle["dsseEnvelope"]["signatures"][0]["sig"].as_str().unwrap();
    SignatureBytes::from_base64(text).unwrap().as_bytes().to_vec()
}
