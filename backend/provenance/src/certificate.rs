//! What a signing certificate says, beyond what the verifier reads: every name it is for, who issued it, claims given
//! twice.

use sigstore_crypto::{CertificateInfo, parse_certificate_info};
use sigstore_types::DerCertificate;
use x509_cert::Certificate;
use x509_cert::der::Decode as _;
use x509_cert::der::asn1::{PrintableStringRef, Utf8StringRef};
use x509_cert::der::oid::ObjectIdentifier;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::name::Name;

const ORGANIZATION: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.10");

/// One name a certificate is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SubjectName {
    Uri(String),
    Email(String),
    Other,
}

/// A signing certificate as read.
pub(crate) struct Signing {
    pub(crate) info: CertificateInfo,
    pub(crate) issuer: Name,
    pub(crate) names: Vec<SubjectName>,
    /// Some extension stands twice, so readers may disagree about it.
    pub(crate) repeated: bool,
}

/// Reads a certificate, or nothing where it is none.
pub(crate) fn read(der: &DerCertificate) -> Option<Signing> {
    let info = parse_certificate_info(der).ok()?;
    let certificate = Certificate::from_der(der.as_bytes()).ok()?.tbs_certificate;
    let names = match certificate.get::<SubjectAltName>() {
        Ok(Some((_, names))) => names.0.iter().map(subject_name).collect(),
        Ok(None) => Vec::new(),
        Err(_) => return None,
    };
    let extensions = certificate.extensions.as_deref().unwrap_or_default();
    let repeated = extensions
        .iter()
        .enumerate()
        .any(|(at, one)| extensions[..at].iter().any(|other| other.extn_id == one.extn_id));
    Some(Signing {
        info,
        issuer: certificate.issuer,
        names,
        repeated,
    })
}

fn subject_name(name: &GeneralName) -> SubjectName {
    match name {
        GeneralName::UniformResourceIdentifier(uri) => SubjectName::Uri(uri.to_string()),
        GeneralName::Rfc822Name(email) => SubjectName::Email(email.to_string()),
        _ => SubjectName::Other,
    }
}

/// The organization in a distinguished name.
pub(crate) fn organization(name: &Name) -> Option<String> {
    let attributes = name.0.iter().flat_map(|part| part.0.iter());
    let value = attributes
        .filter(|attribute| attribute.oid == ORGANIZATION)
        .map(|attribute| &attribute.value)
        .next()?;
    let utf8 = value
        .decode_as::<Utf8StringRef<'_>>()
        .map(|text| text.as_str().to_owned());
    let printable = || {
        value
            .decode_as::<PrintableStringRef<'_>>()
            .map(|text| text.as_str().to_owned())
    };
    utf8.or_else(|_| printable()).ok()
}
