//! What is sent to and said by the operations of alerts.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolmark_registry::{Delivery, Endpoint, StoredAttempt, Subscription};
use utoipa::{IntoParams, ToSchema};

/// One of them, by its id. (Only described: handlers take the segment as it is, so that an id of the wrong form is one
/// that does not exist.)
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "it is a description")]
pub(super) struct ById {
    #[param(pattern = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
    id: String,
}

/// Where messages go.
#[derive(Clone, Copy, Serialize, Deserialize, ToSchema)]
#[schema(as = Channel)]
#[serde(rename_all = "lowercase")]
pub(super) enum ChannelWord {
    Webhook,
    Email,
}

/// The form of a webhook's body: ours, or what an incoming webhook of Slack takes.
#[derive(Clone, Copy, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = Shape)]
#[serde(rename_all = "lowercase")]
pub(super) enum ShapeWord {
    #[default]
    Standard,
    Slack,
}

/// When a match is told: at once, at the full hour, at midnight UTC.
#[derive(Clone, Copy, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = Cadence)]
#[serde(rename_all = "lowercase")]
pub(super) enum CadenceWord {
    #[default]
    Instant,
    Hourly,
    Daily,
}

/// An endpoint to be made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewEndpoint)]
pub(super) struct NewEndpointBody {
    /// Whose it is; may be left out when the token names one owner.
    #[serde(default)]
    #[schema(nullable = false, pattern = "^[A-Za-z0-9._-]+$", max_length = 100)]
    pub(super) owner: Option<String>,
    /// For people.
    #[schema(min_length = 1, max_length = 100)]
    pub(super) label: String,
    pub(super) channel: ChannelWord,
    /// An https URL on a public address, or a mail address.
    #[schema(max_length = 2000)]
    pub(super) address: String,
    #[serde(default)]
    #[schema(required = false)]
    pub(super) shape: ShapeWord,
}

/// An endpoint.
#[derive(Serialize, ToSchema)]
#[schema(as = Endpoint)]
pub(super) struct EndpointFacts {
    pub(super) id: String,
    pub(super) owner: String,
    pub(super) label: String,
    /// `webhook` or `email`.
    pub(super) channel: &'static str,
    pub(super) address: String,
    /// `standard` or `slack`.
    pub(super) shape: &'static str,
    /// `unconfirmed`, `active` or `paused`.
    pub(super) state: &'static str,
    /// Why it is paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) state_reason: Option<String>,
    #[schema(format = DateTime)]
    pub(super) state_at: String,
    /// Since when every attempt failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, format = DateTime)]
    pub(super) failing_since: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, format = DateTime)]
    pub(super) last_success_at: Option<String>,
    #[schema(format = DateTime)]
    pub(super) created_at: String,
}

impl From<Endpoint> for EndpointFacts {
    fn from(endpoint: Endpoint) -> Self {
        Self {
            id: endpoint.id.to_string(),
            owner: endpoint.owner,
            label: endpoint.label,
            channel: endpoint.channel.as_str(),
            address: endpoint.address,
            shape: endpoint.shape.as_str(),
            state: endpoint.state.as_str(),
            state_reason: endpoint.state_reason,
            state_at: endpoint.state_at.to_string(),
            failing_since: endpoint.failing_since.map(|at| at.to_string()),
            last_success_at: endpoint.last_success_at.map(|at| at.to_string()),
            created_at: endpoint.created_at.to_string(),
        }
    }
}

/// An endpoint that was made, with its key.
#[derive(Serialize, ToSchema)]
pub(super) struct MadeEndpoint {
    #[serde(flatten)]
    pub(super) endpoint: EndpointFacts,
    /// `whsec_…`, of a webhook; it is not shown again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) secret: Option<String>,
}

/// A page of endpoints.
#[derive(Serialize, ToSchema)]
pub(super) struct EndpointPage {
    pub(super) endpoints: Vec<EndpointFacts>,
    /// For the page after this one; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) next_cursor: Option<String>,
}

/// How a key is replaced.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Rotation)]
pub(super) struct RotationBody {
    /// Seconds the old key signs beside the new one; a day unless given, 0 ends it now.
    #[serde(default)]
    #[schema(nullable = false, minimum = 0, maximum = 2_592_000)]
    pub(super) overlap_secs: Option<i64>,
}

/// A new key.
#[derive(Serialize, ToSchema)]
pub(super) struct NewSecret {
    /// `whsec_…`; it is not shown again.
    pub(super) secret: String,
    /// Until when the old ones sign too.
    #[schema(format = DateTime)]
    pub(super) old_until: String,
}

/// What the mail said.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Confirmation)]
pub(super) struct ConfirmationBody {
    #[schema(max_length = 100)]
    pub(super) code: String,
}

/// Events to be sent again.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Replay)]
pub(super) struct ReplayBody {
    /// The first event number.
    #[schema(minimum = 1)]
    pub(super) from: i64,
    /// The last one; the newest unless given.
    #[serde(default)]
    #[schema(nullable = false, minimum = 1)]
    pub(super) to: Option<i64>,
    /// Whether what was delivered is sent again too.
    #[serde(default)]
    #[schema(required = false)]
    pub(super) delivered: bool,
}

/// Whether a delivery that was delivered is sent again.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ReplayOne)]
pub(super) struct ReplayOneBody {
    #[serde(default)]
    #[schema(required = false)]
    pub(super) delivered: bool,
}

/// How many messages go out.
#[derive(Serialize, ToSchema)]
pub(super) struct Replayed {
    pub(super) messages: u64,
}

/// A message on its way.
#[derive(Serialize, ToSchema)]
pub(super) struct OnItsWay {
    /// Of the delivery: its log is at `/api/v1/deliveries/{id}`.
    pub(super) delivery: String,
}

/// Which events are wanted. An empty list asks for nothing in particular; of another one entry has to fit. `servers`,
/// `namespaces` and `lock` together say which servers are meant.
#[derive(Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
#[schema(as = Filter)]
pub(super) struct FilterBody {
    /// Whole names.
    #[schema(required = false, max_items = 2000)]
    pub(super) servers: Vec<String>,
    /// Namespaces; `*` stands for any characters.
    #[schema(required = false, max_items = 2000)]
    pub(super) namespaces: Vec<String>,
    /// Names of the servers in a lock file.
    #[schema(required = false, max_items = 2000)]
    pub(super) lock: Vec<String>,
    /// Kinds of events, as in the feed.
    #[schema(required = false, max_items = 2000)]
    pub(super) kinds: Vec<String>,
    /// Ids of rules, as on `/docs/rules`.
    #[schema(required = false, max_items = 2000)]
    pub(super) rules: Vec<String>,
    /// Names of tools; `*` stands for any characters.
    #[schema(required = false, max_items = 2000)]
    pub(super) tools: Vec<String>,
    /// The least severity; all unless given.
    #[schema(required = false, nullable = false)]
    pub(super) severity: Option<SeverityWord>,
}

/// How much an event matters.
#[derive(Clone, Copy, Serialize, Deserialize, ToSchema)]
#[schema(as = Severity)]
#[serde(rename_all = "lowercase")]
pub(super) enum SeverityWord {
    Info,
    Low,
    Medium,
    High,
    Critical,
}

/// A subscription to be made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewSubscription)]
pub(super) struct NewSubscriptionBody {
    /// Id of the endpoint.
    #[schema(pattern = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
    pub(super) endpoint: String,
    /// For people.
    #[schema(min_length = 1, max_length = 100)]
    pub(super) label: String,
    #[serde(default)]
    #[schema(required = false)]
    pub(super) filter: FilterBody,
    #[serde(default)]
    #[schema(required = false)]
    pub(super) cadence: CadenceWord,
}

/// What a subscription is from now on; its endpoint stays.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SubscriptionChange)]
pub(super) struct SubscriptionBody {
    #[schema(min_length = 1, max_length = 100)]
    pub(super) label: String,
    #[serde(default)]
    #[schema(required = false)]
    pub(super) filter: FilterBody,
    #[serde(default)]
    #[schema(required = false)]
    pub(super) cadence: CadenceWord,
}

/// A subscription.
#[derive(Serialize, ToSchema)]
#[schema(as = Subscription)]
pub(super) struct SubscriptionFacts {
    pub(super) id: String,
    pub(super) owner: String,
    /// Id of the endpoint.
    pub(super) endpoint: String,
    pub(super) label: String,
    #[schema(value_type = FilterBody)]
    pub(super) filter: Value,
    /// `instant`, `hourly` or `daily`.
    pub(super) cadence: &'static str,
    /// Events with a greater number are told.
    pub(super) since_seq: i64,
    /// What it would tell, as feeds.
    pub(super) feed: String,
    #[schema(format = DateTime)]
    pub(super) created_at: String,
    #[schema(format = DateTime)]
    pub(super) updated_at: String,
}

impl From<Subscription> for SubscriptionFacts {
    fn from(subscription: Subscription) -> Self {
        Self {
            id: subscription.id.to_string(),
            owner: subscription.owner,
            endpoint: subscription.endpoint.to_string(),
            label: subscription.label,
            filter: serde_json::to_value(&subscription.filter).unwrap_or_default(),
            cadence: subscription.cadence.as_str(),
            since_seq: subscription.since_seq,
            feed: format!("/feeds/{}.atom", subscription.id),
            created_at: subscription.created_at.to_string(),
            updated_at: subscription.updated_at.to_string(),
        }
    }
}

/// A page of subscriptions.
#[derive(Serialize, ToSchema)]
pub(super) struct SubscriptionPage {
    pub(super) subscriptions: Vec<SubscriptionFacts>,
    /// For the page after this one; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) next_cursor: Option<String>,
}

/// A message, and how far it has come.
#[derive(Serialize, ToSchema)]
#[schema(as = Delivery)]
pub(super) struct DeliveryFacts {
    pub(super) id: String,
    /// What receivers see as `webhook-id`, the same for every attempt and replay.
    pub(super) message_id: String,
    /// Id of the endpoint.
    pub(super) endpoint: String,
    /// `event`, `digest` or `test`.
    pub(super) kind: String,
    /// The event; of a digest its last one; 0 for a test.
    pub(super) event_seq: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) server: Option<String>,
    /// `held` and `gathered` (for a digest), `queued` (behind another one, or the endpoint is paused), `waiting`,
    /// `sending`, `delivered`, `dead`.
    pub(super) state: &'static str,
    /// When the next attempt is due, or the digest.
    #[schema(format = DateTime)]
    pub(super) due_at: String,
    pub(super) attempts: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) last_error: Option<String>,
    #[schema(format = DateTime)]
    pub(super) created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, format = DateTime)]
    pub(super) finished_at: Option<String>,
}

impl From<Delivery> for DeliveryFacts {
    fn from(delivery: Delivery) -> Self {
        Self {
            id: delivery.id.to_string(),
            message_id: format!("msg_{}", delivery.id.simple()),
            endpoint: delivery.endpoint.to_string(),
            kind: delivery.kind,
            event_seq: delivery.event_seq,
            server: Some(delivery.server).filter(|server| !server.is_empty()),
            state: delivery.state.as_str(),
            due_at: delivery.due_at.to_string(),
            attempts: delivery.attempts,
            last_error: delivery.last_error,
            created_at: delivery.created_at.to_string(),
            finished_at: delivery.finished_at.map(|at| at.to_string()),
        }
    }
}

/// One attempt.
#[derive(Serialize, ToSchema)]
#[schema(as = Attempt)]
pub(super) struct AttemptEntry {
    #[schema(format = DateTime)]
    pub(super) at: String,
    pub(super) took_ms: i64,
    /// Of the receiver's answer, when there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) status: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) error: Option<String>,
    /// The beginning of the receiver's answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) answer: Option<String>,
}

impl From<StoredAttempt> for AttemptEntry {
    fn from(attempt: StoredAttempt) -> Self {
        Self {
            at: attempt.at.to_string(),
            took_ms: attempt.took_ms,
            status: attempt.status,
            error: attempt.error,
            answer: attempt.answer,
        }
    }
}

/// A delivery with its attempts, oldest first.
#[derive(Serialize, ToSchema)]
pub(super) struct WholeDelivery {
    #[serde(flatten)]
    pub(super) delivery: DeliveryFacts,
    pub(super) log: Vec<AttemptEntry>,
}

/// A page of the delivery log, newest first.
#[derive(Serialize, ToSchema)]
pub(super) struct DeliveryPage {
    pub(super) deliveries: Vec<DeliveryFacts>,
    /// For the page after this one; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) next_cursor: Option<String>,
}
