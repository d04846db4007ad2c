//! `toolmark admin`: tokens of publishers.

use anyhow::{Context as _, anyhow};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use toolmark_domain::permission::{Action, Permission};
use toolmark_registry::{By, Clock as _, Registry, StoredToken, SystemClock, TokenError, TokenRequest};

use crate::Global;
use crate::opening;
use crate::outcome::{Failure, Outcome};
use crate::output::{Format, print, print_json, table};

const SECS_PER_DAY: i64 = 24 * 60 * 60;

#[derive(Debug, Subcommand)]
pub(crate) enum AdminCommand {
    /// Make, list and revoke tokens
    #[command(subcommand)]
    Token(TokenCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token and print it, once
    Create(CreateArgs),
    /// List all tokens, without their text
    List(ListArgs),
    /// Revoke a token
    Revoke(RevokeArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  toolmark admin token create --label 'release job' --publish 'com.example/*' --days 30")]
pub(crate) struct CreateArgs {
    /// What the token is for
    #[arg(long)]
    label: String,
    /// Names it may publish: a whole name, or the beginning of one and `*`; may be repeated
    #[arg(long, value_name = "PATTERN")]
    publish: Vec<String>,
    /// Names whose versions it may edit and whose status it may change; may be repeated
    #[arg(long, value_name = "PATTERN")]
    edit: Vec<String>,
    /// Owners whose alerts it may manage: a name of your choice such as `security-team`, or `*`; may be repeated
    #[arg(long, value_name = "OWNER")]
    subscribe: Vec<String>,
    /// Days until it expires
    #[arg(long, default_value_t = 90, value_parser = clap::value_parser!(u16).range(1..=3650))]
    days: u16,
    /// Form of the answer
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  toolmark admin token list --format json")]
pub(crate) struct ListArgs {
    /// Form of the answer
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  toolmark admin token revoke 01980000-0000-7000-8000-000000000000")]
pub(crate) struct RevokeArgs {
    /// The id that `list` shows
    id: String,
}

pub(crate) fn run(global: &Global, command: &AdminCommand) -> Result<Outcome, Failure> {
    let AdminCommand::Token(command) = command;
    let loaded = global.start(Vec::new())?;
    super::block_on(async {
        let registry = match command {
            TokenCommand::Create(_) => opening::registry(&loaded.settings).await?,
            // Only what is there has tokens.
            TokenCommand::List(_) | TokenCommand::Revoke(_) => opening::existing(&loaded.settings).await?,
        };
        let outcome = match command {
            TokenCommand::Create(args) => create(&registry, args).await,
            TokenCommand::List(args) => list(&registry, args).await,
            TokenCommand::Revoke(args) => revoke(&registry, args).await,
        };
        registry.close().await;
        outcome
    })?
}

/// Who does it, for the audit log.
fn by() -> By {
    By {
        actor: "operator".to_owned(),
        method: "cli".to_owned(),
    }
}

async fn create(registry: &Registry, args: &CreateArgs) -> Result<Outcome, Failure> {
    let grant = |action: Action, patterns: &[String]| {
        let patterns = patterns.iter().cloned();
        patterns
            .map(move |resource| Permission { action, resource })
            .collect::<Vec<_>>()
    };
    let request = TokenRequest {
        label: args.label.clone(),
        permissions: [
            grant(Action::Publish, &args.publish),
            grant(Action::Edit, &args.edit),
            grant(Action::Subscribe, &args.subscribe),
        ]
        .concat(),
        expires_at: Some(SystemClock.now().plus_secs(i64::from(args.days) * SECS_PER_DAY)),
    };
    let (text, stored) = registry.create_token(request, &by()).await.map_err(refused)?;
    match args.format {
        Format::Text => {
            print(&format!("{text}\n"))?;
            let expiry = stored
                .expires_at
                .map_or_else(|| "never".to_owned(), |at| at.to_string());
            eprintln!("id {}, expires {expiry}; the token is not shown again", stored.id);
        }
        Format::Json => {
            let mut answer = facts(&stored);
            answer["token"] = Value::from(text);
            print_json(&answer)?;
        }
    }
    Ok(Outcome::Yes)
}

fn refused(error: TokenError) -> Failure {
    match error {
        TokenError::NoPermission => Failure::unreadable(error).hint(
            "give `--publish 'namespace/*'`, `--edit 'namespace/*'`, `--subscribe OWNER` or several of them",
        ),
        TokenError::BadLabel | TokenError::BadPattern(_) | TokenError::Expired => Failure::unreadable(error),
        TokenError::Store(_) => Failure::from(anyhow::Error::new(error)),
    }
}

async fn list(registry: &Registry, args: &ListArgs) -> Result<Outcome, Failure> {
    let tokens = registry.list_tokens().await.map_err(Failure::unknown)?;
    match args.format {
        Format::Text if tokens.is_empty() => print("there are no tokens\n")?,
        Format::Text => {
            let now = SystemClock.now();
            let rows = tokens.iter().map(|token| {
                let state = match token {
                    StoredToken {
                        revoked_at: Some(_), ..
                    } => "revoked",
                    StoredToken {
                        expires_at: Some(at), ..
                    } if *at <= now => "expired",
                    _ => "valid",
                };
                let grants = token.permissions.iter();
                let grants: Vec<String> = grants
                    .map(|grant| format!("{} {}", grant.action.as_str(), grant.resource))
                    .collect();
                [
                    token.id.to_string(),
                    state.to_owned(),
                    token.hint.clone(),
                    token.label.clone(),
                    grants.join(", "),
                ]
                .to_vec()
            });
            print(&table(&rows.collect::<Vec<_>>()))?;
        }
        Format::Json => print_json(&json!({
            "schema": "toolmark.tokens/1",
            "tokens": tokens.iter().map(facts).collect::<Vec<_>>(),
        }))?,
    }
    Ok(Outcome::Yes)
}

fn facts(token: &StoredToken) -> Value {
    json!({
        "id": token.id.to_string(),
        "label": token.label,
        "hint": token.hint,
        "permissions": token.permissions,
        "created_at": token.created_at,
        "expires_at": token.expires_at,
        "revoked_at": token.revoked_at,
        "last_used_at": token.last_used_at,
    })
}

async fn revoke(registry: &Registry, args: &RevokeArgs) -> Result<Outcome, Failure> {
    let id = args
        .id
        .parse()
        .with_context(|| format!("`{}` is no id", args.id))
        .map_err(Failure::unreadable)?;
    if !registry.revoke_token(id, &by()).await.map_err(Failure::unknown)? {
        let error = anyhow!("there is no token `{}` that is not revoked", args.id);
        return Err(Failure::from(error).hint("`toolmark admin token list` shows every token"));
    }
    print(&format!("revoked {}\n", args.id))?;
    Ok(Outcome::Yes)
}
