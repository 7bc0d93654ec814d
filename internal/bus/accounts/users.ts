import type { Random } from "../../base/id.ts";
import { formatCredentials } from "../../identity/credentials.ts";
import { type Claims, encodeJwt } from "../../identity/jwt.ts";
import { type KeyPair, newKeyPair } from "../../identity/nkey.ts";

/** Subjects a user may publish and subscribe to. */
interface Permissions {
  pub: readonly string[];
  sub: readonly string[];
}

/** A master owns its account; the wall, not this list, is what keeps peels out. */
const master: Permissions = { pub: [">"], sub: [">"] };

/** A master's second connection: it updates claims and follows servers and connections, no more. */
const system: Permissions = {
  pub: [
    "$SYS.REQ.CLAIMS.UPDATE",
    "$SYS.REQ.ACCOUNT.*.CLAIMS.LOOKUP",
    "$SYS.REQ.SERVER.PING",
    "$SYS.REQ.SERVER.PING.>",
  ],
  sub: ["_INBOX.>", "$SYS.SERVER.>", "$SYS.ACCOUNT.>"],
};

/** What operators read directly, without a master. */
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

/**
 * An operator asks masters, reads records, and with `--direct-kv` writes the two buckets a decision is
 * stored in. Settings, secrets and the streams themselves are the masters' own; so are leases, apart from reading them.
 */
const admin: Permissions = {
  pub: [
    "svc.admin.enroll.*",
    "svc.job.request",
    "svc.job.list",
    "svc.job.*.cancel",
    "svc.target.resolve",
    "svc.rollout.*",
    "svc.binary.*",
    "svc.reactor.*",
    "$KV.enrollments.>",
    "$KV.revocations.>",
    "$JS.API.INFO",
    "$JS.API.STREAM.NAMES",
    ...readable.flatMap((stream) => [
      `$JS.API.STREAM.INFO.${stream}`,
      `$JS.API.STREAM.MSG.GET.${stream}`,
      `$JS.API.CONSUMER.CREATE.${stream}`,
      `$JS.API.CONSUMER.CREATE.${stream}.>`,
      `$JS.API.CONSUMER.INFO.${stream}.*`,
      `$JS.API.CONSUMER.DELETE.${stream}.*`,
      `$JS.FC.${stream}.>`,
    ]),
  ],
  // The record of a job or a rollout that is followed: a change tells that it was cancelled, or has ended; and
  // how far peels are.
  sub: ["_INBOX.>", "svc.job.>", "$KV.jobs.*", "$KV.rollouts.*"],
};

const roles = { master, system, admin } as const;

/**
 * What credentials of an operator lack that this version uses: those made by an earlier one stay as they are.
 *
 * @param claims of their JWT
 * @returns subjects, none when they lack nothing
 */
export function lackingGrants({ nats }: Pick<Claims, "nats">): string[] {
  const { allow } = (nats.pub ?? {}) as { allow?: unknown };
  // Without a list everything is allowed.
  if (!Array.isArray(allow) || allow.length === 0) return [];
  return admin.pub.filter((subject) => !allow.some((pattern) => covers(String(pattern), subject)));
}

/** Whether all that a subject means, with wildcards of its own, is within a pattern. */
function covers(pattern: string, subject: string): boolean {
  const [tokens, others] = [pattern.split("."), subject.split(".")];
  const rest = tokens.indexOf(">");
  if (rest < 0 ? tokens.length !== others.length : others.length <= rest) return false;
  return tokens
    .slice(0, rest < 0 ? undefined : rest)
    .every((token, i) => token === others[i] || (token === "*" && others[i] !== ">"));
}

/**
 * Makes a bus user and its credentials file, which is a secret.
 *
 * @param account the account it belongs to, which signs it
 * @param issuedAt Unix seconds
 */
export function newCredentials(
  role: keyof typeof roles,
  account: KeyPair,
  issuedAt: number,
  random: Random,
): string {
  const user = newKeyPair("user", random);
  const { pub, sub } = roles[role];
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
