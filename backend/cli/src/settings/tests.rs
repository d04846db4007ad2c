//! Each source, each mistake.

use std::path::PathBuf;

use super::*;

/// A settings file of its own, removed with the folder.
fn with_file(text: &str) -> (tempfile::TempDir, Sources) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.toml");
    std::fs::write(&path, text).unwrap();
    let sources = Sources {
        file: Some(path),
        ..Sources::default()
    };
    (folder, sources)
}

fn variables(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

/// The problems, without the folder of the file.
fn problems(sources: &Sources) -> Vec<(String, Option<String>)> {
    let folder = sources
        .file
        .as_ref()
        .and_then(|path| path.parent())
        .unwrap_or(std::path::Path::new("-"));
    let prefix = format!("{}/", folder.display());
    let found = load(sources).err().unwrap_or_default();
    found
        .into_iter()
        .map(|p| (p.message.replace(&prefix, ""), p.hint))
        .collect()
}

#[test]
fn flags_win_over_environment_over_file_over_defaults() {
    let (_folder, mut sources) =
        with_file("[server]\nlisten = \"127.0.0.1:1\"\nbody_timeout_secs = 9\n[log]\nlevel = \"warn\"\n");
    sources.environment = variables(&[
        ("TOOLMARK_SERVER__LISTEN", "127.0.0.1:2"),
        ("TOOLMARK_LOG__LEVEL", "debug"),
    ]);
    sources.flags = vec![("--listen", "server.listen", "127.0.0.1:3".to_owned())];
    let loaded = load(&sources).unwrap();
    assert_eq!(loaded.settings.server.listen.port(), 3);
    assert_eq!(loaded.settings.server.body_timeout_secs.get(), 9);
    assert_eq!(loaded.settings.log.level, "debug");
    assert_eq!(loaded.settings.log.format, LogFormat::Text);
    let file = sources.file.clone().unwrap();
    for (name, origin) in [
        ("server.listen", "--listen".to_owned()),
        ("server.body_timeout_secs", format!("{}:3", file.display())),
        ("log.level", "TOOLMARK_LOG__LEVEL".to_owned()),
        ("log.format", "default".to_owned()),
    ] {
        assert_eq!(loaded.origin(name).to_string(), origin);
    }
}

/// A settings file, the problem with it, and the hint.
const MISTAKES: [(&str, &str, Option<&str>); 13] = [
    (
        "\n[server]\nlisen = \"x\"\n",
        "t.toml:3: unknown setting `server.lisen`",
        Some("did you mean `server.listen`?"),
    ),
    (
        "[sever]\nlisten = \"x\"\n",
        "t.toml:2: unknown setting `sever.listen`",
        Some("did you mean `server.listen`?"),
    ),
    (
        "[store]\n\nlisten = \"x\"\n",
        "t.toml:3: unknown setting `store.listen`",
        Some("did you mean `server.listen`?"),
    ),
    (
        "listen = \"x\"\n",
        "t.toml:1: unknown setting `listen`",
        Some("did you mean `server.listen`?"),
    ),
    (
        "server.lisen = \"x\"\n",
        "t.toml:1: unknown setting `server.lisen`",
        Some("did you mean `server.listen`?"),
    ),
    (
        "[zzz]\n",
        "t.toml:1: unknown setting `zzz`",
        Some("`toolmark config show` lists every setting"),
    ),
    (
        "[server]\nlisten = 80\n",
        "t.toml:2: `server.listen` expects an IP address and a port, like 127.0.0.1:8080, found 80",
        None,
    ),
    (
        "[server]\nlisten = \"pass\"\n",
        "t.toml:2: `server.listen` expects an IP address and a port, like 127.0.0.1:8080, found other text",
        None,
    ),
    (
        "[auth]\ndev = \"yes\"\n",
        "t.toml:2: `auth.dev` expects true or false, found other text",
        None,
    ),
    (
        "[log]\nformat = [1]\n",
        "t.toml:2: `log.format` expects \"text\" or \"json\", found a list",
        None,
    ),
    (
        "[server.listen]\nport = 1\n",
        "t.toml:1: `server.listen` expects an IP address and a port, like 127.0.0.1:8080, found a table",
        None,
    ),
    (
        "server = 3\n",
        "t.toml:1: `server` is a section, found 3",
        Some("write its settings under one line `[server]`"),
    ),
    (
        "[[server]]\nlisten = 1\n",
        "t.toml:1: `server` is a section, found something else",
        Some("write its settings under one line `[server]`"),
    ),
];

#[test]
fn a_mistake_in_the_file_is_named_with_its_line() {
    for (text, message, hint) in MISTAKES {
        let (_folder, sources) = with_file(text);
        assert_eq!(
            problems(&sources),
            [(message.to_owned(), hint.map(str::to_owned))],
            "{text}"
        );
    }
}

#[test]
fn toml_errors_have_their_line_too() {
    for (text, place) in [
        ("a = 1\nb = = 2\n", "t.toml:2: "),
        ("[log]\nlevel='a'\nlevel='b'\n", "t.toml:3: "),
    ] {
        let (_folder, sources) = with_file(text);
        let found = problems(&sources);
        assert!(found[0].0.starts_with(place), "{found:?}");
    }
}

#[test]
fn a_mistake_in_the_environment_is_named() {
    for (variable, value, message, hint) in [
        (
            "TOOLMARK_SERVER__LISEN",
            "x",
            "unknown setting `TOOLMARK_SERVER__LISEN` in the environment",
            Some("did you mean `TOOLMARK_SERVER__LISTEN`?"),
        ),
        (
            "TOOLMARK_SERVER_LISTEN",
            "x",
            "TOOLMARK_SERVER_LISTEN: a setting has two underscores after its section",
            Some("did you mean `TOOLMARK_SERVER__LISTEN`?"),
        ),
        (
            "TOOLMARK_FOO",
            "1",
            "unknown setting `TOOLMARK_FOO` in the environment",
            Some("`toolmark config show` lists every setting"),
        ),
        (
            "TOOLMARK_LISTEN",
            "x",
            "unknown setting `TOOLMARK_LISTEN` in the environment",
            Some("did you mean `TOOLMARK_SERVER__LISTEN`?"),
        ),
        (
            "TOOLMARK_AUTH__DEV",
            "yes",
            "TOOLMARK_AUTH__DEV: `auth.dev` expects true or false, found other text",
            None,
        ),
        (
            "TOOLMARK_AUTH__DEV",
            "",
            "TOOLMARK_AUTH__DEV: `auth.dev` expects true or false, found nothing",
            None,
        ),
    ] {
        let sources = Sources {
            environment: variables(&[(variable, value)]),
            ..Sources::default()
        };
        assert_eq!(
            problems(&sources),
            [(message.to_owned(), hint.map(str::to_owned))],
            "{variable}"
        );
    }
}

#[test]
fn variables_that_are_no_settings_are_left_alone() {
    let set = [
        ("TOOLMARK_PORT", "tcp://10.0.0.1:80"),
        ("TOOLMARK_PORT_8080_TCP", "tcp://10.0.0.1:80"),
        ("TOOLMARK_SERVICE_HOST", "10.0.0.1"),
        ("TOOLMARK_TEST_DATA", "x"),
        ("TOOLMARK_TOKEN", "x"),
        ("SERVER__LISTEN", "x"),
        ("PATH", "/bin"),
    ];
    let sources = Sources {
        environment: variables(&set),
        ..Sources::default()
    };
    assert_eq!(load(&sources).unwrap().settings, Settings::default());
}

#[test]
fn what_a_text_must_be_is_checked_with_its_line() {
    let (_folder, sources) = with_file(
        "[store]\ndatabase_url = \"mysql://a:secret@b/c\"\nblobs_url = \"ftp://x/y\"\n[policy]\n\
         blocked_namespaces = [\"com.example*\", \"a/b\"]\n",
    );
    let found = problems(&sources);
    let words: Vec<&str> = found.iter().map(|(message, _)| message.as_str()).collect();
    assert_eq!(
        words,
        [
            "t.toml:5: `policy.blocked_namespaces`: `a/b` is no namespace",
            "t.toml:2: `store.database_url`: `mysql://a:********@b/c` is neither a PostgreSQL URL nor `sqlite:` and a file",
            "t.toml:3: `store.blobs_url`: `ftp://x/y` is neither a folder nor an S3 address",
        ]
    );
    assert!(found.iter().all(|(_, hint)| hint.is_some()));
    let (_folder, sources) = with_file("[store]\ndatabase_url = \"postgres://a@[b/c\"\n");
    assert!(
        problems(&sources)[0]
            .0
            .starts_with("t.toml:2: `store.database_url`: ")
    );
}

#[test]
fn every_problem_is_given_at_once() {
    let (_folder, mut sources) = with_file("[server]\na = 1\nb = 2\n");
    sources.environment = variables(&[("TOOLMARK_X__Y", "1")]);
    sources.flags = vec![("--listen", "server.listen", "nowhere".to_owned())];
    assert_eq!(problems(&sources).len(), 4);
}

#[test]
fn a_word_that_is_no_level_is_refused() {
    for (level, bad) in [
        ("info", None),
        ("warn,toolmark_store=debug", None),
        ("off", None),
        ("loud", Some("loud")),
        ("info,toolmark=loud", Some("toolmark=loud")),
        ("", Some("")),
    ] {
        let flags = vec![("--x", "log.level", level.to_owned())];
        let found = problems(&Sources {
            flags,
            ..Sources::default()
        });
        let message = bad.map(|bad| format!("--x: `log.level` has `{bad}`, which sets no level"));
        assert_eq!(
            found.into_iter().next().map(|problem| problem.0),
            message,
            "{level}"
        );
    }
}

#[test]
fn a_file_that_is_missing_or_too_large_is_refused() {
    let missing = Sources {
        file: Some(PathBuf::from("/nonexistent/t.toml")),
        ..Sources::default()
    };
    assert!(problems(&missing)[0].0.starts_with("cannot read `t.toml`: "));

    let most = usize::try_from(toolmark_domain::limits::SETTINGS_BYTES).unwrap();
    let (_folder, edge) = with_file(&"#".repeat(most));
    assert_eq!(problems(&edge), []);
    let (_folder, over) = with_file(&"#".repeat(most + 1));
    assert_eq!(problems(&over)[0].0, "`t.toml` is larger than 262144 bytes");
}

#[test]
fn the_environment_takes_back_what_a_file_sets() {
    let (_folder, mut sources) = with_file("[store]\ndatabase_url = \"sqlite:a\"\n");
    sources.environment = variables(&[("TOOLMARK_STORE__DATABASE_URL", "")]);
    assert_eq!(load(&sources).unwrap().settings.store.database_url, None);
}

#[test]
fn every_value_of_the_sample_is_accepted() {
    let uncommented: String = sample()
        .lines()
        .map(|line| match line.strip_prefix('#') {
            Some(rest) if rest.starts_with(|c: char| c.is_ascii_lowercase()) => format!("{rest}\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    let (_folder, sources) = with_file(&uncommented);
    let loaded = load(&sources).unwrap();
    for section in loaded.settings.sections() {
        for field in section.fields() {
            let name = format!("{}.{}", section.name(), field.key);
            assert!(
                loaded.origin(&name).to_string().contains("t.toml:"),
                "`{name}` is not in the sample"
            );
            let kept = section.get(field.key) == field.default;
            assert!(
                kept || field.example.is_some(),
                "`{name}` is not shown with its default"
            );
        }
    }
}

#[test]
fn the_sample_file_is_fresh() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/toolmark.toml");
    let kept = std::fs::read_to_string(path).unwrap();
    assert_eq!(
        kept,
        sample(),
        "write it anew: toolmark config show --sample > deploy/toolmark.toml"
    );
}
