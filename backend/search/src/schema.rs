//! The fields of the index, and what a tool becomes in them.

use tantivy::TantivyDocument;
use tantivy::schema::{FAST, Field, IndexRecordOption, STRING, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{PreTokenizedString, Token};

use crate::document::ToolDocument;
use crate::family;
use crate::labels::Labels;
use crate::meaning::WIDTH;
use crate::shape::Shape;
use crate::text::ToolText;

/// Fields that are scored as one.
pub(crate) const FIELDS: usize = 6;
pub(crate) const NAME: usize = 0;
pub(crate) const SERVER: usize = 1;
pub(crate) const DESCRIPTION: usize = 2;
pub(crate) const PARAMETERS: usize = 3;
pub(crate) const SERVER_DESCRIPTION: usize = 4;
pub(crate) const PARAMETER_TEXT: usize = 5;
pub(crate) const NAMES: [&str; FIELDS] = [
    "name",
    "server",
    "description",
    "parameters",
    "server_text",
    "parameter_text",
];

/// Raised whenever the same tool would become other terms: an index of another layout is built again.
pub(crate) const LAYOUT: &str = "toolmark.search/2";

#[derive(Clone, Debug)]
pub(crate) struct Fields {
    /// In the order of [`NAME`] and on.
    pub(crate) text: [Field; FIELDS],
    /// Pairs of neighbouring words of name and description.
    pub(crate) pairs: Field,
    /// Spellings under which the tool is found by name.
    pub(crate) keys: Field,
    /// The same read backwards, to repair a slip in the first half.
    pub(crate) keys_reversed: Field,
    /// Words of name, title and server as they are written, to complete and respell what is typed.
    pub(crate) surfaces: Field,
    pub(crate) id: Field,
    /// The server's name as it is: what is taken out together.
    pub(crate) of_server: Field,
    pub(crate) facts: Field,
    /// Directions of the whole tool and of its name, eight bytes a value.
    pub(crate) meaning: Field,
}

/// What ranking knows of a tool beside its words.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Facts {
    /// Same for every tool of a server.
    pub(crate) server: u64,
    /// Same for every spelling of a name.
    pub(crate) name: u64,
    /// A sketch of the description: equal bytes count the words two descriptions share.
    pub(crate) sketch: [u64; 2],
    pub(crate) seen: u64,
    pub(crate) changed: u64,
    pub(crate) labels: Labels,
    pub(crate) trust: u64,
    pub(crate) shape: Shape,
}

impl Facts {
    /// Values of the column, in order.
    const COUNT: usize = 10;

    fn to_values(self) -> [u64; Self::COUNT] {
        let [shape, kinds] = self.shape.to_values();
        let [low, high] = self.sketch;
        [
            self.server,
            self.name,
            low,
            high,
            self.seen,
            self.changed,
            self.labels.bits(),
            self.trust,
            shape,
            kinds,
        ]
    }

    /// Reads what [`Self::to_values`] wrote; a column that is too short is another layout.
    pub(crate) fn from_values(values: &[u64]) -> Option<Self> {
        let &[
            server,
            name,
            low,
            high,
            seen,
            changed,
            labels,
            trust,
            shape,
            kinds,
        ] = values
        else {
            return None;
        };
        Some(Self {
            server,
            name,
            sketch: [low, high],
            seen,
            changed,
            labels: Labels::from_bits(labels),
            trust,
            shape: Shape::from_values([shape, kinds]),
        })
    }
}

/// The schema and its fields.
pub(crate) fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let counted = indexed(IndexRecordOption::WithFreqs, true);
    let plain = indexed(IndexRecordOption::Basic, false);
    let text = NAMES.map(|name| builder.add_text_field(name, counted.clone()));
    let fields = Fields {
        text,
        pairs: builder.add_text_field("pairs", plain.clone()),
        keys: builder.add_text_field("keys", plain.clone()),
        keys_reversed: builder.add_text_field("keys_reversed", plain.clone()),
        surfaces: builder.add_text_field("surfaces", plain),
        id: builder.add_text_field("id", STRING | FAST),
        of_server: builder.add_text_field("of_server", STRING),
        facts: builder.add_u64_field("facts", FAST),
        meaning: builder.add_u64_field("meaning", FAST),
    };
    (builder.build(), fields)
}

fn indexed(record: IndexRecordOption, norms: bool) -> TextOptions {
    TextOptions::default().set_indexing_options(
        TextFieldIndexing::default()
            .set_tokenizer("raw")
            .set_index_option(record)
            .set_fieldnorms(norms),
    )
}

/// The tool as the engine takes it.
pub(crate) fn document(fields: &Fields, tool: &ToolDocument) -> TantivyDocument {
    let text = ToolText::of(tool);
    let mut out = TantivyDocument::default();
    out.add_text(fields.id, &tool.id);
    out.add_text(fields.of_server, &tool.server);
    for (field, words) in fields.text.iter().zip(&text.words) {
        add(&mut out, *field, words.iter().map(String::as_str));
    }
    add(&mut out, fields.pairs, text.pairs.iter().map(String::as_str));
    let backwards: Vec<String> = text.keys.iter().map(|key| key.chars().rev().collect()).collect();
    add(&mut out, fields.keys, text.keys.iter().map(String::as_str));
    add(
        &mut out,
        fields.keys_reversed,
        backwards.iter().map(String::as_str),
    );
    add(
        &mut out,
        fields.surfaces,
        text.surfaces.iter().map(String::as_str),
    );
    let facts = Facts {
        server: family::hash(&tool.server),
        // A server in an index of servers is nobody's copy: two of one name are two.
        name: family::hash(if tool.id == tool.server {
            &tool.id
        } else {
            &text.name_key
        }),
        sketch: family::sketch(&text.described),
        seen: tool.first_seen,
        changed: tool.changed,
        labels: tool.labels,
        trust: u64::from(tool.trust),
        shape: Shape::of(tool, &text),
    };
    for value in facts.to_values() {
        out.add_u64(fields.facts, value);
    }
    for value in meaning_values(&text) {
        out.add_u64(fields.meaning, value);
    }
    out
}

/// Words are ours to make, so the engine gets them ready.
fn add<'a>(out: &mut TantivyDocument, field: Field, words: impl Iterator<Item = &'a str>) {
    let tokens: Vec<Token> = words
        .enumerate()
        .map(|(position, word)| Token {
            text: word.to_owned(),
            position,
            ..Token::default()
        })
        .collect();
    if !tokens.is_empty() {
        out.add_pre_tokenized_text(
            field,
            PreTokenizedString {
                text: String::new(),
                tokens,
            },
        );
    }
}

/// Bytes of meaning kept of a tool: the whole, then the name.
pub(crate) const MEANING: usize = 2 * WIDTH;

fn meaning_values(text: &ToolText) -> impl Iterator<Item = u64> {
    let bytes: Vec<u8> = text
        .meaning
        .iter()
        .flatten()
        .map(|value| value.cast_unsigned())
        .collect();
    let number = |bytes: &[u8]| bytes.iter().fold(0, |number, &b| number << 8 | u64::from(b));
    bytes.chunks(8).map(number).collect::<Vec<u64>>().into_iter()
}

/// Reads what [`document`] wrote of a tool's meaning.
pub(crate) fn meaning_of(values: impl Iterator<Item = u64>, out: &mut Vec<i8>) -> usize {
    let before = out.len();
    out.extend(values.flat_map(u64::to_be_bytes).map(u8::cast_signed));
    out.len() - before
}
