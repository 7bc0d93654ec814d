import type { Random } from "../../base/id.ts";
import { fromOperatorSubject } from "../../base/names/operator-subject.ts";
import { type Claims, encodeJwt, formatCredentials, type KeyPair, newKeyPair } from "../../identity/mod.ts";

/** Subjects a user may publish and subscribe to. */
interface Permissions {
  pub: readonly string[];
  sub: readonly string[];
}

/** A master owns its account. The exports and imports of the accounts keep peels out, not this list. */
const master: Permissions = { pub: [">"], sub: [">"] };

/** Ends a connection: servers from 2.10 on. */
const endsConnections = "$SYS.REQ.SERVER.*.KICK";

/** A master's second connection: it only updates claims, follows servers and connections, and ends connections. */
const system: Permissions = {
  pub: [
    endsConnections,
    "$SYS.REQ.CLAIMS.UPDATE",
    "$SYS.REQ.ACCOUNT.*.CLAIMS.LOOKUP",
    "$SYS.REQ.SERVER.PING",
    "$SYS.REQ.SERVER.PING.>",
  ],
  sub: ["_INBOX.>", "$SYS.SERVER.>", "$SYS.ACCOUNT.>"],
};

/** Streams that are read where no master runs. */
const readable = [
  "KV_enrollments",
  "KV_revocations",
  "KV_jobs",
  "KV_facts",
  "KV_peel-heartbeat",
  "KV_master-heartbeat",
  "KV_leases",
  "KV_rollouts",
  "job-events",
];

/** The two buckets that store decisions about peels. */
const decisions = ["$KV.enrollments.>", "$KV.revocations.>"];

/**
 * An operator sends requests to masters, and reads what they answer: with JetStream it could have the server publish
 * for it, through a consumer. Masters that take signed requests only listen below the key of the user alone.
 *
 * @param user public key
 */
const admin = (user: string): Permissions => ({
  pub: [
    fromOperatorSubject(user, ">"),
    "svc.admin.*.*",
    "svc.job.request",
    "svc.job.list",
    "svc.job.*.cancel",
    "svc.target.resolve",
    "svc.rollout.*",
    "svc.binary.*",
    "svc.reactor.*",
    "svc.master.*.readyz",
  ],
  sub: ["_INBOX.>"],
});

/** What reads storage. */
const reading: readonly string[] = [
  // Confirms deliveries. One grant for all streams: servers accept JWTs of 4,096 bytes by default.
  "$JS.FC.>",
  "$KV.probe.*",
  "$JS.API.STREAM.INFO.KV_probe",
  "$JS.API.STREAM.MSG.GET.KV_probe",
  // To see whether masters will take over what an operator signs.
  "$JS.API.STREAM.MSG.GET.KV_operators",
  "$JS.API.INFO",
  "$JS.API.STREAM.NAMES",
  ...readable.flatMap((stream) => [
    `$JS.API.STREAM.INFO.${stream}`,
    `$JS.API.STREAM.MSG.GET.${stream}`,
    `$JS.API.CONSUMER.CREATE.${stream}`,
    `$JS.API.CONSUMER.CREATE.${stream}.>`,
    `$JS.API.CONSUMER.INFO.${stream}.*`,
    `$JS.API.CONSUMER.DELETE.${stream}.*`,
  ]),
];

/** An operator where no master runs: it reads storage, and `--direct-kv` also writes the two buckets of decisions. */
const direct = (user: string): Permissions => ({
  pub: [...admin(user).pub, ...reading, ...decisions],
  // To follow a job or a rollout: its record shows that it was cancelled or has ended, and its progress.
  sub: ["_INBOX.>", "svc.job.>", "$KV.jobs.*", "$KV.rollouts.*"],
});

const roles = { master: () => master, system: () => system, admin, direct } as const;

/**
 * The grants that this version uses and an operator's credentials lack: an upgrade does not change
 * credentials.
 *
 * @param claims of their JWT
 * @returns subjects; empty when nothing is missing
 */
export function lackingGrants(claims: Pick<Claims, "nats" | "sub">): string[] {
  return admin(claims.sub).pub.filter((subject) => !mayPublish(claims, subject));
}

function mayPublish({ nats }: Pick<Claims, "nats">, subject: string): boolean {
  const { allow } = (nats.pub ?? {}) as { allow?: unknown };
  // Without a list, every subject is allowed.
  if (!Array.isArray(allow) || allow.length === 0) return true;
  return allow.some((pattern) => covers(String(pattern), subject));
}

/** Whether a pattern covers a subject, including the wildcards of the subject. */
function covers(pattern: string, subject: string): boolean {
  const [tokens, others] = [pattern.split("."), subject.split(".")];
  const rest = tokens.indexOf(">");
  if (rest < 0 ? tokens.length !== others.length : others.length <= rest) return false;
  return tokens
    .slice(0, rest < 0 ? undefined : rest)
    .every((token, i) => token === others[i] || (token === "*" && others[i] !== ">"));
}

/**
 * Creates a bus user and its credentials file, which is secret.
 *
 * @param account the account of the user, which signs its JWT
 * @param issuedAt Unix seconds
 */
export function newCredentials(
  role: keyof typeof roles,
  account: KeyPair,
  issuedAt: number,
  random: Random,
): string {
  const user = newKeyPair("user", random);
  const { pub, sub } = roles[role](user.publicKey);
  const nats = {
    pub: { allow: pub },
    sub: { allow: sub },
    subs: -1,
    data: -1,
    payload: -1,
    allowed_connection_types: ["STANDARD"],
  };
  const jwt = encodeJwt({ type: "user", name: role, subject: user.publicKey, issuedAt, nats }, account);
  return formatCredentials(jwt, user.seed);
}
