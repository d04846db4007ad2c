//! Reads a file on a thread of its own, a batch ahead of the writer: parsing and writing then share two cores, and no
//! more than a few batches are held however large the file is.

use std::fs::File;
use std::io;
use std::path::Path;

use tokio::sync::mpsc;
use toolmark_domain::limits::{IMPORT_BATCH_BYTES, IMPORT_BATCH_ROWS, IMPORT_LINE_BYTES};

use super::Found;
use super::elements::{Element, Elements, FileFault};
use super::report::Reason;
use super::row::{self, Refusal};

/// Some elements of a file, read.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) found: Vec<Found>,
    /// How far into the file the reader was.
    pub(super) bytes: u64,
    /// Why nothing comes after this.
    pub(super) fault: Option<FileFault>,
}

/// Starts to read `path`; gives its batches and its length, where it has one.
pub(super) async fn read(path: &Path) -> io::Result<(mpsc::Receiver<Batch>, Option<u64>)> {
    let path = path.to_owned();
    let opened = tokio::task::spawn_blocking(move || {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        let length = metadata.is_file().then_some(metadata.len());
        Ok((Elements::new(file)?, length))
    });
    let (elements, length) = opened.await.map_err(io::Error::other)??;
    let (sender, receiver) = mpsc::channel(1);
    tokio::task::spawn_blocking(move || send_all(elements, &sender));
    Ok((receiver, length))
}

/// Ends early when nobody listens any more.
fn send_all(mut elements: Elements<File>, sender: &mpsc::Sender<Batch>) {
    let mut batch = Batch::default();
    let mut held = 0;
    loop {
        match elements.next() {
            Some(Ok(element)) => {
                held += element.bytes.as_ref().map_or(0, Vec::len);
                batch.found.extend(rows(element));
            }
            Some(Err(fault)) => batch.fault = Some(fault),
            None => {
                batch.bytes = elements.offset();
                let _ = sender.blocking_send(batch);
                return;
            }
        }
        if batch.found.len() >= IMPORT_BATCH_ROWS || held >= IMPORT_BATCH_BYTES || batch.fault.is_some() {
            batch.bytes = elements.offset();
            if sender.blocking_send(std::mem::take(&mut batch)).is_err() {
                return;
            }
            held = 0;
        }
    }
}

fn rows(element: Element) -> Vec<Found> {
    let place = element.place;
    let Some(bytes) = element.bytes else {
        let detail = format!("longer than {IMPORT_LINE_BYTES} bytes");
        return vec![(place, Err(Refusal::new(Reason::TooLarge, detail)))];
    };
    row::read(&bytes).into_iter().map(|row| (place, row)).collect()
}
