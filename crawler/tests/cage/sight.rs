//! What a process in a cage can see: programs of this machine, what it was given, and itself.

use std::fs;

use toolmark_crawler::sandbox::{Cage, Mount};

use super::support::{PYTHON, launch, python, run, sandbox};

/// Reads everything it can find, and says which words are in it.
const LOOK: &str = "import os, sys\n\
words = [w.encode()[::-1] for w in sys.argv[1:]]\n\
found = set()\n\
for top in os.listdir('/'):\n\
\tif top in ('usr', 'lib', 'lib64', 'bin', 'sbin', 'sys'): continue\n\
\tfor folder, folders, files in os.walk('/' + top):\n\
\t\tfor name in files:\n\
\t\t\tpath = os.path.join(folder, name)\n\
\t\t\tif path.endswith(('kmsg', 'kcore', 'trace_pipe')) or path.startswith('/dev/'): continue\n\
\t\t\ttry:\n\
\t\t\t\tfd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)\n\
\t\t\t\tdata = os.read(fd, 1 << 20); os.close(fd)\n\
\t\t\texcept OSError: continue\n\
\t\t\tfor word in words:\n\
\t\t\t\tif word in data: found.add(path)\n\
print(sorted(found))\n";

#[tokio::test]
async fn no_planted_word_is_found_inside() {
    // Where clients keep tokens, another program's environment and arguments, our own data folder.
    let folder = tempfile::tempdir().unwrap();
    let secret = "tmk-planted-3c9b1e";
    for name in [
        ".npmrc",
        ".config/pip/pip.conf",
        ".cargo/credentials.toml",
        "toolmark-data/registry.db",
    ] {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, secret).unwrap();
    }
    let mut other = std::process::Command::new("/bin/sleep")
        .arg("60")
        .env("PLANTED", secret)
        .spawn()
        .unwrap();
    let reversed: String = secret.chars().rev().collect();
    let cage = Cage::new(sandbox().await);
    let ran = run(&cage, &launch(PYTHON, &["-c", LOOK, &reversed])).await;
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(ran.stdout, "[]\n", "{ran:?}");
    // The look itself finds what is there.
    let seen = Cage::new(sandbox().await).with([Mount {
        source: folder.path().join(".npmrc"),
        target: "/given/npmrc".into(),
        writable: false,
    }]);
    let ran = run(&seen, &launch(PYTHON, &["-c", LOOK, &reversed])).await;
    assert_eq!(ran.stdout, "['/given/npmrc']\n", "{ran:?}");
}

#[tokio::test]
async fn only_its_own_processes_and_user_are_there() {
    let ran = python(
        "import os\n\
         pids = [p for p in os.listdir('/proc') if p.isdigit()]\n\
         print(len(pids) <= 4, os.getuid(), os.getgid(), os.getgroups() in ([], [1000], [65534]), os.uname().nodename)\n\
         print(sorted(os.environ))\n\
         print(os.getcwd(), os.path.exists('/root'), os.path.exists('/etc/shadow'), os.path.exists('/var'))\n\
         print(sorted(os.listdir('/home')), sorted(f for f in os.listdir('/proc/self/fd') if int(f) > 3))\n\
         status = dict(l.split(':', 1) for l in open('/proc/self/status') if ':' in l)\n\
         print([status[k].strip() for k in ('CapEff', 'CapPrm', 'CapBnd', 'CapAmb', 'NoNewPrivs', 'Seccomp')])\n",
    )
    .await;
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(
        lines,
        [
            "True 1000 1000 True probe",
            "['HOME', 'LANG', 'PATH', 'PWD', 'PYTHONHASHSEED', 'TMPDIR', 'TZ', 'USER']",
            "/home/probe/0 False False False",
            "['probe'] []",
            "['0000000000000000', '0000000000000000', '0000000000000000', '0000000000000000', '1', '2']",
        ],
        "{ran:?}"
    );
}

#[tokio::test]
async fn what_it_is_shown_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("given"), "given").unwrap();
    let cage = Cage::new(sandbox().await).with([Mount {
        source: folder.path().to_owned(),
        target: "/given".into(),
        writable: false,
    }]);
    let script = "import os\n\
        print(open('/given/given').read())\n\
        for path in ('/given/x', '/x', '/usr/x', '/etc/x', '/dev/x', '/proc/sys/kernel/hostname', '/home/x'):\n\
        \ttry: open(path, 'w'); print('wrote', path)\n\
        \texcept OSError: pass\n\
        for path in ('/tmp/x', '/home/probe/x', '/home/probe/0/x', '/dev/shm/x'): open(path, 'w'); os.unlink(path)\n\
        os.chmod('/tmp', 0o700)\n";
    let ran = run(&cage, &launch(PYTHON, &["-c", script])).await;
    assert_eq!((ran.stdout.as_str(), ran.code()), ("given\n", Some(0)), "{ran:?}");
}

#[tokio::test]
async fn calls_that_reach_beyond_are_refused() {
    let ran = python(
        "import ctypes, os\n\
         libc = ctypes.CDLL(None, use_errno=True)\n\
         def go(name, number, *args):\n\
         \tr = libc.syscall(number, *args)\n\
         \tprint(name, r, ctypes.get_errno())\n\
         go('mount', 165, 0, 0, 0, 0, 0)\n\
         go('unshare', 272, 0x10000000)\n\
         go('ptrace', 101, 0, 0, 0, 0)\n\
         go('bpf', 321, 0, 0, 0)\n\
         go('io_uring', 425, 1, 0)\n\
         go('keyctl', 250, 0, 0)\n\
         go('perf', 298, 0, 0, 0, 0, 0)\n\
         go('setns', 308, 0, 0)\n\
         go('clone', 56, 0x10000000 | 17, 0, 0, 0, 0)\n\
         go('clone3', 435, 0, 0)\n",
    )
    .await;
    assert_eq!(ran.stderr, "");
    #[cfg(target_arch = "x86_64")]
    assert_eq!(
        ran.stdout,
        "mount -1 1\nunshare -1 1\nptrace -1 1\nbpf -1 1\nio_uring -1 1\nkeyctl -1 1\nperf -1 1\nsetns -1 1\nclone -1 1\nclone3 -1 38\n",
        "{ran:?}"
    );
}
