//! The HTTP side, through a running server. Every module runs on SQLite and, where the environment names a server, on
//! PostgreSQL.

/// Writes one test for each engine from an async function that takes a [`toolmark_tests::app::Builder`].
macro_rules! on_both_engines {
    ($($name:ident)+) => {
        mod on_sqlite {
            $(#[tokio::test]
            async fn $name() {
                super::$name(toolmark_tests::app::TestApp::builder()).await;
            })+
        }
        mod on_postgres {
            $(#[tokio::test]
            async fn $name() {
                match toolmark_tests::app::Builder::postgres().await {
                    Some(builder) => super::$name(builder).await,
                    None => println!("skipped: {}: TOOLMARK_TEST_POSTGRES_URL is not set", stringify!($name)),
                }
            })+
        }
    };
}

mod cors;
mod official_list;
mod official_publish;
mod official_status;
mod own_api;
mod pages;
mod problems;
mod versions;
