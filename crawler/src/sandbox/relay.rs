//! The one way out of a cage, during an install: bytes sent to a port inside go to a local socket outside, where our
//! own proxy decides what becomes of them. The cage does not look at them.

use std::ffi::{OsStr, OsString};
use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;

/// Most connections at a time; more are closed at once.
const CONNECTIONS: usize = 64;

/// The socket outside, by a handle: once the cage is built, its path does not lead there any more.
pub(super) struct Outside {
    folder: OwnedFd,
    name: OsString,
}

impl Outside {
    pub(super) fn find(socket: &OsStr) -> io::Result<Self> {
        let path = Path::new(socket);
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::Error::other("the relay has no socket"));
        };
        let folder = open(folder, OFlag::O_PATH | OFlag::O_CLOEXEC, Mode::empty())?;
        Ok(Self {
            folder,
            name: name.to_owned(),
        })
    }

    fn path(&self) -> PathBuf {
        let folder = self.folder.as_raw_fd().to_string();
        Path::new("/proc/self/fd").join(folder).join(&self.name)
    }

    /// Takes connections from now on.
    pub(super) fn serve(self, listener: TcpListener) {
        // The handle lives as long as the thread.
        thread::spawn(move || serve(&listener, &self.path()));
    }
}

fn serve(listener: &TcpListener, path: &Path) {
    let open = Arc::new(AtomicUsize::new(0));
    for inside in listener.incoming().flatten() {
        if open.load(Ordering::Relaxed) >= CONNECTIONS {
            continue;
        }
        let Ok(outside) = UnixStream::connect(path) else {
            continue;
        };
        open.fetch_add(1, Ordering::Relaxed);
        let count = Arc::clone(&open);
        thread::spawn(move || {
            pass(&inside, &outside);
            count.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

/// Both ways, until both are done.
fn pass(inside: &TcpStream, outside: &UnixStream) {
    thread::scope(|scope| {
        scope.spawn(|| {
            // An end that is gone ends the connection.
            let _ = io::copy(&mut &*inside, &mut &*outside);
            let _ = outside.shutdown(Shutdown::Write);
        });
        let _ = io::copy(&mut &*outside, &mut &*inside);
        let _ = inside.shutdown(Shutdown::Write);
    });
}
