//! The queue of work that must happen once for a fact. A job row is written in the transaction of its cause.

use sqlx::{FromRow, QueryBuilder};
use toolmark_domain::timestamp::Timestamp;
use uuid::Uuid;

use crate::pools::Tx;
use crate::{Store, StoreError, ids};

/// A job to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewJob {
    pub name: &'static str,
    /// What it is about; a second waiting job of the same name and key is not added.
    pub key: String,
    /// JSON text.
    pub payload: String,
    /// Higher goes first.
    pub priority: i64,
    pub run_at: Timestamp,
    pub max_attempts: i64,
}

/// A job a worker holds.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Job {
    pub id: Uuid,
    pub name: String,
    pub key: String,
    pub payload: String,
    /// This one included.
    pub attempts: i64,
    pub max_attempts: i64,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobOutcome {
    Done,
    /// Try again at this time; dead when the attempts are used up.
    Failed {
        error: String,
        retry_at: Timestamp,
    },
}

impl Tx {
    /// Adds a job; returns whether it was added (not when the same one already waits).
    pub(crate) async fn enqueue(&mut self, job: &NewJob, at: Timestamp) -> Result<bool, StoreError> {
        const INSERT: &str = "insert into jobs \
             (id, name, key, payload, priority, state, run_at, max_attempts, created_at) \
             values ($1, $2, $3, $4, $5, 'waiting', $6, $7, $8) \
             on conflict (name, key) where state = 'waiting' do nothing";
        let added = on!(tx self, db => sqlx::query(INSERT)
            .bind(ids::new_id())
            .bind(job.name)
            .bind(job.key.as_str())
            .bind(job.payload.as_str())
            .bind(job.priority)
            .bind(job.run_at.as_micros())
            .bind(job.max_attempts)
            .bind(at.as_micros())
            .execute(db).await.map(|done| done.rows_affected()))?;
        Ok(added > 0)
    }
}

impl Tx {
    /// Adds jobs, each as [`Self::enqueue`] does.
    pub(crate) async fn enqueue_all(
        &mut self,
        jobs: impl Iterator<Item = &NewJob>,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        for job in jobs {
            self.enqueue(job, at).await?;
        }
        Ok(())
    }
}

impl Store {
    /// Adds a job outside any other unit of work.
    pub async fn enqueue(&self, job: &NewJob, at: Timestamp) -> Result<bool, StoreError> {
        let mut tx = self.begin().await?;
        let added = tx.enqueue(job, at).await?;
        tx.commit().await?;
        Ok(added)
    }

    /// Takes the most urgent due job of one of these names, for `lease_secs`; a job whose worker's lease ended is due
    /// again.
    pub async fn claim_job(
        &self,
        worker: &str,
        names: &[&str],
        at: Timestamp,
        lease_secs: i64,
    ) -> Result<Option<Job>, StoreError> {
        const EXPIRE: &str = "update jobs set state = 'waiting', worker = null, lease_until = null, \
             last_error = 'the worker stopped' \
             where state = 'running' and lease_until < $1 \
             and not exists (select 1 from jobs twin where twin.name = jobs.name and twin.key = jobs.key \
                             and twin.state = 'waiting')";
        let skip = self.dialect("", " for update skip locked");
        let mut tx = self.begin().await?;
        on!(tx &mut tx, db => sqlx::query(EXPIRE).bind(at.as_micros()).execute(db).await.map(|_| ()))?;
        let job: Option<Job> = on!(tx &mut tx, db => {
            let mut claim = QueryBuilder::new("update jobs set state = 'running', worker = ");
            claim.push_bind(worker).push(", lease_until = ").push_bind(at.plus_secs(lease_secs).as_micros());
            claim.push(", attempts = attempts + 1 where id = (select id from jobs where state = 'waiting' and run_at <= ");
            claim.push_bind(at.as_micros()).push(" and name in (");
            let mut list = claim.separated(", ");
            for name in names {
                list.push_bind(*name);
            }
            claim.push(") order by priority desc, run_at limit 1").push(skip);
            claim.push(") returning id, name, key, payload, attempts, max_attempts");
            claim.build_query_as().fetch_optional(db).await
        })?;
        tx.commit().await?;
        Ok(job)
    }

    /// Says how an attempt ended. Returns false when the job is no longer this worker's.
    pub async fn finish_job(
        &self,
        id: Uuid,
        worker: &str,
        outcome: &JobOutcome,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        const DONE: &str = "update jobs set state = 'done', finished_at = $1, lease_until = null \
             where id = $2 and worker = $3 and state = 'running'";
        // A twin that was enqueued meanwhile does the work; two waiting ones of a key cannot be.
        const FAILED: &str = "update jobs set state = case when attempts >= max_attempts or exists \
             (select 1 from jobs twin where twin.name = jobs.name and twin.key = jobs.key and twin.state = 'waiting') \
             then 'dead' else 'waiting' end, \
             finished_at = case when attempts >= max_attempts then $1 end, \
             run_at = $2, last_error = $3, lease_until = null \
             where id = $4 and worker = $5 and state = 'running'";
        let mut tx = self.begin().await?;
        let changed = match outcome {
            JobOutcome::Done => on!(tx &mut tx, db => sqlx::query(DONE)
                .bind(at.as_micros()).bind(id).bind(worker)
                .execute(db).await.map(|done| done.rows_affected()))?,
            JobOutcome::Failed { error, retry_at } => on!(tx &mut tx, db => sqlx::query(FAILED)
                .bind(at.as_micros()).bind(retry_at.as_micros()).bind(error.as_str()).bind(id).bind(worker)
                .execute(db).await.map(|done| done.rows_affected()))?,
        };
        tx.commit().await?;
        Ok(changed > 0)
    }

    /// How many jobs wait, run and are dead.
    pub async fn job_counts(&self) -> Result<[i64; 3], StoreError> {
        const COUNTS: &str = "select state, count(*) from jobs where state <> 'done' group by state";
        let rows: Vec<(String, i64)> = on!(read self, db => sqlx::query_as(COUNTS).fetch_all(db).await)?;
        let of = |state: &str| rows.iter().find(|row| row.0 == state).map_or(0, |row| row.1);
        Ok([of("waiting"), of("running"), of("dead")])
    }
}
