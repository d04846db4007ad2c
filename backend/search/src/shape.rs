//! The form of a tool: how long its parts are, what its parameters hold, what kind of act its name is.

use crate::analysis::{self, Word};
use crate::document::ToolDocument;
use crate::honesty;
use crate::schema::{DESCRIPTION, NAME, SERVER};
use crate::text::{GENERIC, ToolText};

/// Packed, because one is kept in memory for every tool.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shape {
    name_words: u8,
    server_words: u8,
    parameters: u8,
    required: u8,
    description_words: u16,
    act: u8,
    kinds: u16,
}

impl Shape {
    pub(crate) fn of(tool: &ToolDocument, text: &ToolText) -> Self {
        let byte = |count: usize| u8::try_from(count).unwrap_or(u8::MAX);
        let kinds = tool.parameters.iter().fold(0, |kinds, parameter| {
            let both = format!("{} {}", parameter.name, parameter.description);
            let mut kinds = kinds | kinds_of(&analysis::words(&both));
            if matches!(parameter.kind.as_str(), "number" | "integer" | "int" | "float") {
                kinds |= NUMBER;
            }
            kinds
        });
        Self {
            name_words: byte(text.words[NAME].len()),
            server_words: byte(
                text.words[SERVER]
                    .iter()
                    .filter(|word| !GENERIC.contains(&word.as_str()))
                    .count(),
            ),
            parameters: byte(tool.parameters.len()),
            required: byte(
                tool.parameters
                    .iter()
                    .filter(|parameter| parameter.required)
                    .count(),
            ),
            description_words: u16::try_from(text.words[DESCRIPTION].len()).unwrap_or(u16::MAX),
            act: act_of_name(&text.words[NAME]),
            kinds: if honesty::is_flagged(tool) {
                kinds | FLAGGED
            } else {
                kinds
            },
        }
    }

    pub(crate) fn to_values(self) -> [u64; 2] {
        let bytes = [
            self.name_words,
            self.server_words,
            self.parameters,
            self.required,
            self.act,
        ];
        let shape = bytes.iter().fold(0, |shape, &b| (shape << 8) | u64::from(b));
        [
            shape << 16 | u64::from(self.description_words),
            u64::from(self.kinds),
        ]
    }

    pub(crate) fn from_values([shape, kinds]: [u64; 2]) -> Self {
        let byte = |at: u32| u8::try_from((shape >> at) & 0xff).unwrap_or_default();
        Self {
            name_words: byte(48),
            server_words: byte(40),
            parameters: byte(32),
            required: byte(24),
            act: byte(16),
            description_words: u16::try_from(shape & 0xffff).unwrap_or_default(),
            kinds: u16::try_from(kinds & 0xffff).unwrap_or_default(),
        }
    }

    pub(crate) fn name_words(self) -> f32 {
        f32::from(self.name_words)
    }

    pub(crate) fn server_words(self) -> f32 {
        f32::from(self.server_words)
    }

    pub(crate) fn parameters(self) -> f32 {
        f32::from(self.parameters)
    }

    pub(crate) fn has_as_many_parameters(self, other: Self) -> bool {
        self.parameters == other.parameters
    }

    pub(crate) fn required(self) -> f32 {
        f32::from(self.required)
    }

    pub(crate) fn description_words(self) -> f32 {
        f32::from(self.description_words)
    }

    pub(crate) fn act(self) -> u8 {
        self.act
    }

    /// Whether its own text counts for nothing.
    pub(crate) fn flagged(self) -> bool {
        self.kinds & FLAGGED != 0
    }

    pub(crate) fn kinds(self) -> u16 {
        self.kinds & !FLAGGED
    }
}

/// Kinds of values a parameter asks for or a query brings.
const URL: u16 = 1;
const PATH: u16 = 1 << 1;
const DATE: u16 = 1 << 2;
pub(crate) const NUMBER: u16 = 1 << 3;
const EMAIL: u16 = 1 << 4;
const PLACE: u16 = 1 << 5;
const MONEY: u16 = 1 << 6;
const IDENTIFIER: u16 = 1 << 7;
const IMAGE: u16 = 1 << 8;
const PERSON: u16 = 1 << 9;
/// Not a kind of value: the tool's text is written for the ranking.
const FLAGGED: u16 = 1 << 15;

fn kinds_of(words: &[Word]) -> u16 {
    words.iter().fold(0, |kinds, word| {
        kinds
            | match word.surface.as_str() {
                "url" | "uri" | "link" | "website" | "webpage" | "domain" | "href" => URL,
                "path" | "file" | "filename" | "directory" | "folder" | "filepath" => PATH,
                "date" | "datetime" | "time" | "day" | "month" | "year" | "timestamp" | "deadline" => DATE,
                "email" | "mail" | "recipient" => EMAIL,
                "city" | "location" | "country" | "address" | "latitude" | "longitude" | "lat" | "lon"
                | "lng" | "state" | "region" | "zip" | "destination" | "origin" | "place" => PLACE,
                "price" | "amount" | "cost" | "currency" | "budget" | "fee" | "salary" => MONEY,
                "id" | "ids" | "uuid" | "identifier" | "code" => IDENTIFIER,
                "image" | "photo" | "picture" | "images" => IMAGE,
                "person" | "customer" | "patient" | "employee" | "username" => PERSON,
                _ => 0,
            }
    })
}

/// The kinds of values a query brings, by its words and its marks.
pub(crate) fn kinds_of_query(text: &str, words: &[Word]) -> u16 {
    let mut kinds = kinds_of(words);
    for part in text.split_whitespace() {
        if part.contains("://") || part.starts_with("www.") {
            kinds |= URL;
        } else if part.matches('/').count() >= 2 || part.starts_with('/') && part.len() > 2 {
            kinds |= PATH;
        }
        if part.contains('@') && part.contains('.') {
            kinds |= EMAIL;
        }
        if part.contains(['$', '€', '£']) {
            kinds |= MONEY;
        }
        if part.bytes().any(|b| b.is_ascii_digit()) {
            kinds |= NUMBER;
            let joints = part.matches(['-', '/']).count();
            if joints == 2 && part.bytes().filter(u8::is_ascii_digit).count() >= 4 {
                kinds |= DATE;
            }
            if part.bytes().any(|b| b.is_ascii_alphabetic()) {
                kinds |= IDENTIFIER;
            }
        }
    }
    kinds
}

/// The kind of act a word names; 0 when it names none.
pub(crate) fn act_of(stem: &str) -> u8 {
    match stem {
        "get" | "fetch" | "retriev" | "read" | "view" | "show" | "describ" | "obtain" | "check"
        | "inspect" => 1,
        "list" | "enumer" | "brows" => 2,
        "search" | "find" | "queri" | "lookup" | "look" | "discov" => 3,
        "creat" | "add" | "new" | "make" | "insert" | "regist" | "provis" | "generat" | "build" | "open"
        | "start" | "schedul" | "book" => 4,
        "updat" | "edit" | "modifi" | "chang" | "set" | "renam" | "patch" | "configur" | "replac"
        | "move" => 5,
        "delet" | "remov" | "destroy" | "drop" | "clear" | "cancel" | "stop" | "close" | "archiv" => 6,
        "send" | "post" | "publish" | "share" | "notifi" | "repli" | "messag" | "upload" | "write"
        | "save" => 7,
        "calcul" | "comput" | "convert" | "translat" | "transform" | "analyz" | "compar" | "estim"
        | "predict" | "evalu" | "solv" | "simul" | "valid" | "verifi" => 8,
        "run" | "execut" | "invok" | "call" | "deploy" | "launch" | "play" => 9,
        _ => 0,
    }
}

/// The first act among the first or the last words of a name.
fn act_of_name(words: &[String]) -> u8 {
    let acts = || words.iter().map(|word| act_of(word));
    acts().find(|act| *act > 0).unwrap_or_default()
}
