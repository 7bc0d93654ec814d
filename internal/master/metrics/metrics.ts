import { budgetKinds } from "../../fleet/budget/mod.ts";
import { dropCauses } from "../../fleet/reactor/mod.ts";
import { createRegistry, type MetricInfo } from "../../program/health/mod.ts";
import { countPolicy, type PolicyMetrics, type PolicyView } from "./policy.ts";
import { countRelayed, type RelayMetrics } from "./relayed.ts";
import { type RotationsView, seconds, showRotations } from "./rotations.ts";

/** The state of a master, read at each scrape. A part that has not started shows nothing. */
export interface MasterView {
  /** Current enrollments, by state. */
  enrollments?(): Record<string, number>;
  /** Number of suspended peels. */
  peelsSuspended?(): number;
  /** The log of decisions of this master. */
  decisions?(): {
    /** Records that the bus lacks. */
    lost: number;
    /** Records that this master put back. */
    restored: number;
    /** Whether the log cannot be written. */
    failed: boolean;
  };
  /** Bus users without a valid record that are refused. */
  strays?(): number;
  /** Records that no master vouches for, by what lists call them. */
  distrusted?(): Record<string, number>;
  /** Members whose heartbeat is recent. */
  peelsAlive?(): number | undefined;
  credentials?(): {
    /** The earliest expiry of all valid credentials, milliseconds since the Unix epoch. */
    soonestExpiry?: number;
    /** Number of members whose credentials have expired. */
    expired: number;
    /** How long the credentials of each member last, milliseconds. */
    left: readonly number[];
  };
  /** What is being replaced in the fleet. */
  rotations?(): RotationsView;
  jobsRunning?(): number;
  /** Rollouts that have not ended. */
  rollouts?(): {
    /** Number of rollouts, by status. */
    byStatus: Record<string, number>;
    /** The fraction of each rollout's peels whose wave has ended, 0 to 1, by rollout id. */
    progress: Record<string, number>;
    /** Number of rollouts without a driver that no master took over. */
    undriven: number;
  };
  /** By connection name. */
  bus?(): Record<string, { connected: boolean; reconnects: number }>;
  /** What the bus stores, and how much it may, by bucket, stream or object store; bytes. */
  storage?(): { bytes: Record<string, number>; limits: Record<string, number> };
  busServers?(): {
    /** Whether the storage of a server works, by name of the server. */
    healthy: Record<string, boolean>;
    /** Number of replicas that differ from the others of their stream, at the last comparison. */
    differing: number | undefined;
    /** When replicas were last compared, milliseconds since the Unix epoch. */
    comparedAt?: number;
  };
  /** Whether this master holds a lease, by lease name. */
  leases?(): Record<string, boolean>;
  reactor?(): {
    rules: number;
    /** Whether the current files could not be loaded. */
    failed: boolean;
    /** Only while this master runs the reactor. */
    breakersOpen?: number;
    /** Unfinished events, by source. Only while this master runs the reactor. */
    waiting?: Record<string, number>;
  };
  policy?(): PolicyView;
}

/** One completed request. */
export interface AnsweredRequest {
  method: string;
  /** The route as declared, with its `:name` parameters; `none` when no route matched. */
  route: string;
  status: number;
  seconds: number;
}

/** The metrics of a master. Names and labels are a stable interface: alerts depend on them. */
export interface MasterMetrics extends PolicyMetrics, RelayMetrics {
  /** A request completed; for a stream, it began. */
  httpRequest(request: AnsweredRequest): void;
  /** Time from an operator's request for a job to its last command handed to the bus, seconds. */
  jobDispatched(seconds: number): void;
  /** Time from the creation of a job that this master dispatched to one return, seconds. */
  jobReturned(seconds: number): void;
  /** This master wrote the result of a job, or updated it because of late returns. */
  jobSettled(job: { status: string; counts: Counts }, before: { counts: Counts } | undefined): void;
  /** Time from an operator's revocation to the end of the peel's connection, seconds. */
  revocationSeconds(seconds: number): void;
  rateLimited(budget: string): void;
  keyMismatch(): void;
  /** A new peel was asked to come later, because too many enrollments are pending. */
  pendingTableFull(): void;
  /** A peel asked for new credentials: it got them, or was refused. */
  credentialsRenewal(outcome: RenewalOutcome): void;
  /** A record was marked because two hosts appear to hold its identity. */
  cloneSuspected(): void;
  /** A status stream was opened. Call the returned function once when it is closed. */
  streamOpened(): () => void;
  /** @param epochMs expiry of the certificate */
  certificateNotAfter(certificate: "enroll" | "intermediate" | "root", epochMs: number): void;
  /** The renewal or replacement of the listener's certificate succeeded or failed. */
  certificateRenewal(result: "ok" | "failed"): void;
  /**
   * A peel's schedule sent a result: it was stored as a job, was a repeat, was refused, or was beyond
   * the budget of the peel.
   */
  scheduleResult(result: "stored" | "repeated" | "refused" | "dropped"): void;
  /** The result of compiling a peel's settings: `written`, `unchanged`, `failed`, … */
  settingsRenewal(result: string): void;
  /** A wave of a rollout began on this master. */
  rolloutWave(): void;
  /** A rollout ended on this master. */
  rolloutEnded(status: string): void;
  /** This master took over a rollout. */
  rolloutTaken(from: "silent" | "given_back"): void;
  /** Events, rule firings or actions were dropped. */
  reactorDropped(cause: string, count?: number): void;
  /** A rule fired for an event. */
  reactorFired(rule: string): void;
  /** An action succeeded, failed, or will be retried. */
  reactorAction(action: string, result: "ok" | "failed" | "again"): void;
  /** An event was redelivered while in progress, or after it was finished. */
  reactorRepeated(): void;
  /** Time from the storage of an event on the bus to the end of an action for it, seconds. */
  reactorReacted(seconds: number): void;
  reactorBreakerOpened(): void;
  /** Messages of a stream were removed early, to make room. */
  messagesDiscarded(stream: string, count: number): void;
  /** A message of a peel was beyond its budget. */
  budgetExceeded(budget: string): void;
  /** This master suspended a peel because it flooded. */
  peelSuspended(): void;
  /** The embedded bus exited and was restarted. */
  busRestarted(): void;
  /** The text of `/metrics`. */
  render(): Promise<string>;
  /** All metrics. */
  catalog(): MetricInfo[];
}

/** What became of a request for new credentials. */
const renewalOutcomes = [
  "renewed",
  "rekeyed",
  "recovered",
  "repeated",
  "clone_suspected",
  "bad_request",
  "unauthorized",
  "not_found",
  "forbidden",
  "rate_limited",
  "unavailable",
] as const;
type RenewalOutcome = (typeof renewalOutcomes)[number];

/** Targets of a job by outcome. */
type Counts = Readonly<Record<string, number | undefined>>;

const dayMs = 24 * 60 * 60 * 1000;
const fast = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
const slow = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600];

/** Maximum number of rules with their own label value. */
const mostRuleNames = 2_000;

/**
 * Creates the metrics of a master.
 *
 * @param view asked at each scrape, so that it shows the parts that have started by then
 */
export function createMasterMetrics(view: () => MasterView): MasterMetrics {
  const registry = createRegistry();
  const { counted, counter, gauge, gaugeBy, histogram } = registry;
  gaugeBy("svc_enrollments", "Enrollments, by state", "state", () => view().enrollments?.());
  gauge(
    "svc_decisions_lost",
    "Decisions that the bus has lost and that are not put back yet",
    () => view().decisions?.().lost,
  );
  counted(
    "svc_decisions_restored_total",
    "Decisions that this master put back on the bus",
    () => view().decisions?.().restored ?? 0,
  );
  gauge("svc_decisions_log_failed", "1 while this master cannot write its log of decisions", () => {
    const failed = view().decisions?.().failed;
    return failed === undefined ? undefined : Number(failed);
  });
  gauge("svc_strays", "Users of the bus that are refused because no valid record has their key", () =>
    view().strays?.(),
  );
  gaugeBy(
    "svc_enrollments_distrusted",
    "Enrollment records that no master vouches for, by what lists call them; TAMPERED ones count for nothing",
    "trust",
    () => view().distrusted?.(),
  );
  gauge("svc_peels_alive", "Members of the fleet whose heartbeat is recent", () => view().peelsAlive?.());
  gauge("svc_peels_suspended", "Peels that are suspended", () => view().peelsSuspended?.());
  gauge(
    "svc_peel_credentials_soonest_expiry_timestamp_seconds",
    "When the first of all good peel credentials end, seconds since the Unix epoch; NaN when there are none",
    () => seconds(view().credentials?.().soonestExpiry),
  );
  gauge(
    "svc_peel_credentials_expired",
    "Members of the fleet whose credentials have ended",
    () => view().credentials?.().expired,
  );
  registry.snapshot(
    "svc_credentials_days_left",
    "Days until the credentials of each member of the fleet end, at the time of the scrape",
    [0, 1, 3, 7, 14, 30, 60, 90, 180, 365],
    () =>
      view()
        .credentials?.()
        .left.map((ms) => ms / dayMs),
  );
  showRotations(registry, () => view().rotations?.());
  gauge("svc_jobs_running", "Jobs that have not ended", () => view().jobsRunning?.());
  gaugeBy(
    "svc_rollouts",
    "Rollouts that have not ended, by status",
    "status",
    () => view().rollouts?.().byStatus,
  );
  gaugeBy(
    "svc_rollout_progress_ratio",
    "Fraction of the peels of a running rollout whose wave has ended, 0 to 1",
    "rollout",
    () => view().rollouts?.().progress,
  );
  gauge(
    "svc_rollouts_undriven",
    "Rollouts that have not ended, and that no master drives or takes over",
    () => view().rollouts?.().undriven,
  );
  gaugeBy("svc_bus_connected", "1 while the connection to the bus is up", "connection", () =>
    mapValues(view().bus?.(), ({ connected }) => Number(connected)),
  );
  registry.countedBy(
    "svc_bus_reconnects_total",
    "Times a connection to the bus came back",
    "connection",
    () => mapValues(view().bus?.(), ({ reconnects }) => reconnects),
  );
  gaugeBy(
    "svc_storage_bytes",
    "What a bucket, stream or object store on the bus holds",
    "asset",
    () => view().storage?.().bytes,
  );
  gaugeBy(
    "svc_storage_limit_bytes",
    "What a bucket, stream or object store on the bus may hold",
    "asset",
    () => view().storage?.().limits,
  );
  gaugeBy(
    "svc_bus_server_healthy",
    "1 while the storage of a bus server works, 0 while JetStream is off there or does not work",
    "server",
    () => mapValues(view().busServers?.().healthy, Number),
  );
  gauge(
    "svc_bus_replicas_differing",
    "Replicas that differ from the others of their stream, at the last comparison",
    () => view().busServers?.().differing,
  );
  gauge(
    "svc_bus_replicas_compared_timestamp_seconds",
    "When the replicas of the streams were last compared, seconds since the Unix epoch",
    () => seconds(view().busServers?.().comparedAt),
  );
  gaugeBy("svc_lease_held", "1 on the master that holds the lease; one master holds each", "lease", () =>
    mapValues(view().leases?.(), Number),
  );

  const requests = histogram(
    "svc_http_request_seconds",
    "Time to serve a request on the HTTPS listener; for a stream, until it began",
    ["method", "route", "status"],
    fast,
  );
  const limited = counter("svc_http_rate_limited_total", "Requests rejected by the rate limit", ["budget"]);
  const dispatched = histogram(
    "svc_job_dispatch_seconds",
    "Time from the request for a job until every command was handed to the bus",
    [],
    fast,
  );
  const returned = histogram(
    "svc_job_return_seconds",
    "Time from the creation of a job to the return of a target, on the master that dispatched it",
    [],
    slow,
  );
  const jobs = counter("svc_jobs_total", "Jobs whose result this master wrote, by status", ["status"]);
  const targets = counter(
    "svc_job_targets_total",
    "Targets of jobs whose result this master wrote, by outcome; a late return is also counted under its outcome",
    ["outcome"],
  );
  const revocation = histogram(
    "svc_revocation_close_seconds",
    "Time from the operator's command to the end of the revoked peel's connection",
    [],
    fast,
  );
  const mismatches = counter(
    "svc_enrollment_key_mismatch_total",
    "Enrollments repeated with another public key while one was pending",
    [],
  );
  const full = counter(
    "svc_enrollments_deferred_total",
    "Enrollments of new peels that were asked to come later, because too many are pending",
    [],
  );
  const renewedCredentials = counter(
    "svc_credentials_renewals_total",
    "Requests of peels for new credentials, by outcome: renewed, rekeyed, recovered, repeated, or why they were refused",
    ["outcome"],
  );
  const clones = counter(
    "svc_enrollment_clones_total",
    "Enrollments that this master marked because two hosts appear to hold their identity",
    [],
  );
  const streams = registry.level("svc_enroll_streams", "Open enrollment status streams", []);
  const notAfter = registry.level(
    "svc_certificate_not_after_timestamp_seconds",
    "Expiry of a certificate, seconds since the Unix epoch",
    ["certificate"],
  );
  const renewals = counter(
    "svc_certificate_renewals_total",
    "Renewals of the enrollment certificate since the start, by result",
    ["result"],
  );
  const scheduleResults = counter(
    "svc_schedule_results_total",
    "Results of the schedules of peels, by result",
    ["result"],
  );
  const settings = counter(
    "svc_settings_compiled_total",
    "Settings of one peel compiled by this master, by result",
    ["result"],
  );
  const rolloutWaves = counter("svc_rollout_waves_total", "Waves of rollouts that began on this master", []);
  const rollouts = counter("svc_rollouts_ended_total", "Rollouts whose result this master wrote, by status", [
    "status",
  ]);
  const takeovers = counter(
    "svc_rollout_takeovers_total",
    "Rollouts that this master took over from a silent driver, or from a driver that released them",
    ["from"],
  );
  const dropped = counter(
    "svc_reactor_dropped_total",
    "Events, rule firings and actions that the reactor dropped, by cause",
    ["cause"],
  );
  const fires = counter("svc_reactor_fires_total", "Events for which a rule fired, by rule", ["rule"]);
  const actions = counter(
    "svc_reactor_actions_total",
    "Actions of rules, by kind and result; each retry is counted",
    ["action", "result"],
  );
  const repeated = counter(
    "svc_reactor_repeated_total",
    "Events that were redelivered while in progress, or after they were finished",
    [],
  );
  const reacted = histogram(
    "svc_reactor_reaction_seconds",
    "Time from the storage of an event on the bus to the end of an action for it",
    [],
    slow,
  );
  const breakersOpened = counter(
    "svc_reactor_breaker_opened_total",
    "Times the circuit breaker of a rule opened because it fired too often",
    [],
  );
  gauge("svc_reactor_rules", "Rules of the reactor that are in force", () => view().reactor?.().rules);
  gauge(
    "svc_reactor_rules_failed",
    "1 while the rule files contain an error, so that the last good rules stay in force, or a refused rule",
    () => flag(view().reactor?.().failed),
  );
  gauge(
    "svc_reactor_breakers_open",
    "Rules whose breaker is open, on the master that reacts",
    () => view().reactor?.().breakersOpen,
  );
  gaugeBy(
    "svc_reactor_waiting_events",
    "Events that are not handled yet, by source, on the master that runs the reactor",
    "source",
    () => view().reactor?.().waiting,
  );
  const exceeded = counter(
    "svc_budget_exceeded_total",
    "Messages and requests of peels beyond their budget, by budget; they were dropped, delayed or refused",
    ["budget"],
  );
  const suspensions = counter("svc_budget_suspensions_total", "Peels that this master suspended", []);
  const policy = countPolicy(registry, () => view().policy?.());
  const ruleNames = new Set<string>();
  const busRestarts = counter("svc_embedded_bus_restarts_total", "Restarts of the embedded bus", []);
  const discarded = counter(
    "svc_storage_discarded_messages_total",
    "Messages that this master removed early from a stream that was nearly full",
    ["stream"],
  );
  // Counters start at 0 instead of missing, so that the first event is an increase.
  for (const budget of ["strict", "relaxed"]) limited.inc({ budget }, 0);
  for (const status of ["completed", "failed", "cancelled"]) jobs.inc({ status }, 0);
  for (const outcome of ["ok", "failed", "busy", "offline", "timeout", "lost", "cancelled"]) {
    targets.inc({ outcome }, 0);
  }
  for (const result of ["ok", "failed"]) renewals.inc({ result }, 0);
  for (const result of ["stored", "repeated", "refused", "dropped"]) scheduleResults.inc({ result }, 0);
  for (const result of ["written", "unchanged", "failed"]) settings.inc({ result }, 0);
  for (const cause of dropCauses) dropped.inc({ cause }, 0);
  discarded.inc({ stream: "job-events" }, 0);
  for (const budget of [...budgetKinds, "unknown_jobs"]) exceeded.inc({ budget }, 0);
  for (const status of ["completed", "failed", "aborted"]) rollouts.inc({ status }, 0);
  for (const outcome of renewalOutcomes) renewedCredentials.inc({ outcome }, 0);
  for (const from of ["silent", "given_back"]) takeovers.inc({ from }, 0);
  return {
    httpRequest: ({ seconds, ...labels }) => requests.observe(labels, seconds),
    jobDispatched: (seconds) => dispatched.observe(seconds),
    jobReturned: (seconds) => returned.observe(seconds),
    jobSettled({ status, counts }, before) {
      if (before === undefined) jobs.inc({ status });
      for (const [outcome, count = 0] of Object.entries(counts)) {
        targets.inc({ outcome }, Math.max(0, count - (before?.counts[outcome] ?? 0)));
      }
    },
    revocationSeconds: (seconds) => revocation.observe(seconds),
    rateLimited: (budget) => limited.inc({ budget }),
    keyMismatch: () => mismatches.inc(),
    pendingTableFull: () => full.inc(),
    credentialsRenewal: (outcome) => renewedCredentials.inc({ outcome }),
    cloneSuspected: () => clones.inc(),
    streamOpened() {
      streams.inc();
      return () => streams.dec();
    },
    certificateNotAfter: (certificate, epochMs) => notAfter.set({ certificate }, epochMs / 1000),
    certificateRenewal: (result) => renewals.inc({ result }),
    scheduleResult: (result) => scheduleResults.inc({ result }),
    settingsRenewal: (result) => settings.inc({ result }),
    rolloutWave: () => rolloutWaves.inc(),
    rolloutEnded: (status) => rollouts.inc({ status }),
    rolloutTaken: (from) => takeovers.inc({ from }),
    reactorDropped: (cause, count = 1) => dropped.inc({ cause }, count),
    reactorFired(rule) {
      // Rule names come from files that change, and a label value is never removed.
      if (ruleNames.size < mostRuleNames) ruleNames.add(rule);
      fires.inc({ rule: ruleNames.has(rule) ? rule : "(other)" });
    },
    reactorAction: (action, result) => actions.inc({ action, result }),
    reactorRepeated: () => repeated.inc(),
    reactorReacted: (seconds) => reacted.observe(seconds),
    reactorBreakerOpened: () => breakersOpened.inc(),
    messagesDiscarded: (stream, count) => discarded.inc({ stream }, count),
    budgetExceeded: (budget) => exceeded.inc({ budget }),
    peelSuspended: () => suspensions.inc(),
    busRestarted: () => busRestarts.inc(),
    ...policy,
    ...countRelayed(registry),
    render: registry.render,
    catalog: registry.catalog,
  };
}

function flag(value: boolean | undefined): number | undefined {
  return value === undefined ? undefined : Number(value);
}

function mapValues<T>(
  record: Readonly<Record<string, T>> | undefined,
  value: (item: T) => number,
): Record<string, number> {
  return Object.fromEntries(Object.entries(record ?? {}).map(([key, item]) => [key, value(item)]));
}
