//! The shape of a `server.json` body: which fields each object has, in the order upstream checks them (by name).
//! One table, read by the gate (what may come in) and by the served form (what goes out).

use crate::limits::{DESCRIPTION_CHARS, SERVER_NAME_CHARS, TITLE_CHARS};
use crate::record::PUBLISHER_META;

/// One kind of object.
pub(super) struct Object {
    /// Sorted by key.
    pub(super) fields: &'static [Field],
}

pub(super) struct Field {
    pub(super) key: &'static str,
    pub(super) need: Need,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    Required,
    Optional,
    /// Optional, and served even when it is empty.
    Kept,
}

pub(super) enum Kind {
    Text(Text),
    Flag,
    List(&'static Kind),
    Object(&'static Object),
    /// Any keys, all with the same kind of object.
    Map(&'static Object),
    /// An object we do not look into.
    Free,
}

pub(super) struct Text {
    pub(super) least: usize,
    pub(super) most: usize,
    pub(super) form: Form,
}

#[derive(Clone, Copy)]
pub(super) enum Form {
    Any,
    ServerName,
    Sha256,
    Uri,
    OneOf(&'static [&'static str]),
}

const ANY: Kind = text(0, usize::MAX, Form::Any);
const FILLED: Kind = text(1, usize::MAX, Form::Any);
const URI: Kind = text(0, usize::MAX, Form::Uri);

const fn text(least: usize, most: usize, form: Form) -> Kind {
    Kind::Text(Text { least, most, form })
}

const fn required(key: &'static str, kind: Kind) -> Field {
    let need = Need::Required;
    Field { key, need, kind }
}

const fn optional(key: &'static str, kind: Kind) -> Field {
    let need = Need::Optional;
    Field { key, need, kind }
}

const fn kept(key: &'static str, kind: Kind) -> Field {
    let need = Need::Kept;
    Field { key, need, kind }
}

pub(super) static SERVER: Object = Object {
    fields: &[
        required("$schema", text(1, usize::MAX, Form::Uri)),
        kept("_meta", Kind::Object(&META)),
        required("description", text(1, DESCRIPTION_CHARS, Form::Any)),
        optional("icons", Kind::List(&Kind::Object(&ICON))),
        required(
            "name",
            text(SERVER_NAME_CHARS.0, SERVER_NAME_CHARS.1, Form::ServerName),
        ),
        optional("packages", Kind::List(&Kind::Object(&PACKAGE))),
        optional("remotes", Kind::List(&Kind::Object(&TRANSPORT))),
        kept("repository", Kind::Object(&REPOSITORY)),
        optional("title", text(1, TITLE_CHARS, Form::Any)),
        required("version", ANY),
        optional("websiteUrl", URI),
    ],
};

pub(super) static META: Object = Object {
    fields: &[optional(PUBLISHER_META, Kind::Free)],
};

static ICON: Object = Object {
    fields: &[
        kept(
            "mimeType",
            text(
                0,
                usize::MAX,
                Form::OneOf(&[
                    "image/png",
                    "image/jpeg",
                    "image/jpg",
                    "image/svg+xml",
                    "image/webp",
                ]),
            ),
        ),
        optional("sizes", Kind::List(&ANY)),
        required("src", text(0, 255, Form::Uri)),
        kept("theme", text(0, usize::MAX, Form::OneOf(&["light", "dark"]))),
    ],
};

static REPOSITORY: Object = Object {
    fields: &[
        optional("id", ANY),
        optional("source", ANY),
        optional("subfolder", ANY),
        optional("url", URI),
    ],
};

static PACKAGE: Object = Object {
    fields: &[
        optional("environmentVariables", Kind::List(&Kind::Object(&KEY_VALUE))),
        optional("fileSha256", text(0, usize::MAX, Form::Sha256)),
        required("identifier", FILLED),
        optional("packageArguments", Kind::List(&Kind::Object(&ARGUMENT))),
        optional("registryBaseUrl", URI),
        required("registryType", FILLED),
        optional("runtimeArguments", Kind::List(&Kind::Object(&ARGUMENT))),
        optional("runtimeHint", ANY),
        required("transport", Kind::Object(&TRANSPORT)),
        optional("version", FILLED),
    ],
};

static TRANSPORT: Object = Object {
    fields: &[
        optional("headers", Kind::List(&Kind::Object(&KEY_VALUE))),
        required("type", ANY),
        optional("url", ANY),
        optional("variables", Kind::Map(&INPUT)),
    ],
};

const CHOICES: Field = optional("choices", Kind::List(&ANY));
const DEFAULT: Field = optional("default", ANY);
const DESCRIPTION: Field = optional("description", ANY);
const FORMAT: Field = optional(
    "format",
    text(
        0,
        usize::MAX,
        Form::OneOf(&["string", "number", "boolean", "filepath"]),
    ),
);
const IS_REQUIRED: Field = optional("isRequired", Kind::Flag);
const IS_SECRET: Field = optional("isSecret", Kind::Flag);
const PLACEHOLDER: Field = optional("placeholder", ANY);
const VALUE: Field = optional("value", ANY);
const VARIABLES: Field = optional("variables", Kind::Map(&INPUT));

static INPUT: Object = Object {
    fields: &[
        CHOICES,
        DEFAULT,
        DESCRIPTION,
        FORMAT,
        IS_REQUIRED,
        IS_SECRET,
        PLACEHOLDER,
        VALUE,
    ],
};

static KEY_VALUE: Object = Object {
    fields: &[
        CHOICES,
        DEFAULT,
        DESCRIPTION,
        FORMAT,
        IS_REQUIRED,
        IS_SECRET,
        required("name", ANY),
        PLACEHOLDER,
        VALUE,
        VARIABLES,
    ],
};

static ARGUMENT: Object = Object {
    fields: &[
        CHOICES,
        DEFAULT,
        DESCRIPTION,
        FORMAT,
        optional("isRepeated", Kind::Flag),
        IS_REQUIRED,
        IS_SECRET,
        optional("name", ANY),
        PLACEHOLDER,
        required("type", ANY),
        VALUE,
        optional("valueHint", ANY),
        VARIABLES,
    ],
};

impl Object {
    /// Index of the field a key stands for. Upstream takes keys in any letter case; so do we.
    pub(super) fn index_of(&self, key: &str) -> Option<usize> {
        let exact = self.fields.binary_search_by(|field| field.key.cmp(key));
        exact.ok().or_else(|| {
            self.fields
                .iter()
                .position(|field| field.key.eq_ignore_ascii_case(key))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_sorted() {
        for object in [
            &SERVER,
            &META,
            &ICON,
            &REPOSITORY,
            &PACKAGE,
            &TRANSPORT,
            &INPUT,
            &KEY_VALUE,
            &ARGUMENT,
        ] {
            assert!(object.fields.is_sorted_by(|a, b| a.key < b.key));
        }
    }
}
