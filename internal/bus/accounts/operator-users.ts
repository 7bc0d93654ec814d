import { fromOperatorSubject } from "../../base/operator-subject.ts";
import { type AccountSigner, encodeJwt } from "../../identity/mod.ts";

// What the bus user of an operator may do. Its JWT has no subjects of its own: it has tags, and the JWT of the account
// has a template for the key that signs it. So the JWT stays small, and a thief of that key gets no more than the
// template. The tags come from this table, and from nothing else.

/** Requests to masters: subjects below `svc.`. */
interface Grant {
  ask: readonly string[];
}

const enroll = (action: string): Grant => ({ ask: [`admin.enroll.${action}`] });
const asks = (...ask: string[]): Grant => ({ ask });
/** To sign what runs on peels, an operator first asks which peels these are, and how many others must agree. */
const starting = (...ask: string[]): Grant => asks(...ask, "target.resolve", "admin.role.can");

/** Who starts a rollout watches it, and the jobs of its waves. */
const watching = ["rollout.show", "admin.rollouts.follow", "admin.jobs.follow"];

/**
 * The subjects of each scope, by its name. A scope without a row has no subject of the bus.
 * @internal exported for the tests that compare it with the scopes and the bindings
 */
export const grantsOfScopes: Readonly<Record<string, readonly Grant[]>> = {
  "jobs run": [starting("job.request", "admin.jobs.follow")],
  "jobs list": [asks("job.list")],
  "jobs show": [asks("admin.jobs.follow")],
  "jobs cancel": [asks("job.*.cancel")],
  "enrollments list": [
    enroll("list"),
    enroll("strays"),
    asks("admin.peel.survey"),
    enroll("expected"),
    enroll("ways"),
    enroll("policy-test"),
  ],
  "enrollments show": [enroll("show")],
  "enrollments approve": [enroll("approve")],
  "enrollments reject": [enroll("reject")],
  "enrollments revoke": [enroll("revoke")],
  "enrollments label": [enroll("label")],
  "enrollments expect": [enroll("expect"), enroll("unexpect")],
  "enrollments suspend": [enroll("suspend")],
  "enrollments resume": [enroll("resume")],
  "enrollments clear-clone": [enroll("clear-clone")],
  "enrollments restore": [enroll("restore")],
  "enrollments discard": [enroll("discard")],
  "enrollments revoke-user": [enroll("revoke-user")],
  "rollouts list": [asks("rollout.list")],
  "rollouts show": [asks("rollout.show", "admin.rollouts.follow")],
  "keys read": [asks("admin.key.*")],
  "masters read": [asks("admin.master.*")],
  "rollouts start": [starting("rollout.start", ...watching)],
  "rollouts pause": [asks("rollout.pause")],
  "rollouts resume": [asks("rollout.resume")],
  "rollouts abort": [asks("rollout.abort")],
  "upgrades start": [starting("rollout.start", "job.request", ...watching)],
  "approvals list": [asks("admin.approval.list")],
  "approvals show": [asks("admin.approval.show")],
  "approvals approve": [asks("admin.approval.approve")],
  "approvals deny": [asks("admin.approval.deny")],
  "reactor status": [asks("reactor.status")],
  "reactor rules": [asks("reactor.rules")],
  "reactor test": [asks("reactor.test")],
  "reactor reset": [asks("reactor.reset")],
  "facts read": [asks("admin.peel.*")],
  "states read": [asks("admin.states.*")],
  "settings render": [asks("admin.settings.show", "admin.settings.explain")],
  "settings reveal": [asks("admin.settings.reveal", "admin.settings.reveal-explained")],
  "facts resolve": [asks("target.resolve")],
  "events read": [asks("admin.event.list", "admin.events.follow")],
  "binaries put": [asks("binary.*")],
  "roles read": [asks("admin.role.*")],
  "tokens list": [asks("admin.token.list")],
  "tokens create": [asks("admin.token.create")],
  "tokens revoke": [asks("admin.token.revoke")],
  "join-tokens list": [asks("admin.join-token.list")],
  "join-tokens show": [asks("admin.join-token.show")],
  "join-tokens create": [asks("admin.join-token.create")],
  "join-tokens revoke": [asks("admin.join-token.revoke")],
  "cluster read": [asks("admin.cluster.status", "admin.cluster.check", "admin.cluster.lint")],
  "cluster add": [asks("admin.cluster.add", "admin.cluster.add-site")],
  "cluster remove": [
    asks("admin.cluster.remove", "admin.cluster.remove-foreign", "admin.cluster.remove-site"),
  ],
  "console use": [asks("admin.console.link")],
  "operators list": [asks("admin.operator.list", "admin.operator.adoption", "admin.operator.administrators")],
  "operators show": [asks("admin.operator.show")],
  "operators add": [asks("admin.operator.add")],
  "operators disable": [asks("admin.operator.disable")],
  "operators enable": [asks("admin.operator.enable")],
  "operators roles": [asks("admin.operator.roles")],
  "operators remove": [asks("admin.operator.remove")],
  "operators administrators": [asks("admin.operator.replace-administrators")],
  "audit read": [asks("admin.audit.*")],
  "audit verify": [asks("admin.audit.*")],
};

/**
 * What all scopes about enrollments together may ask: also each master about its log of decisions, whose name is a part
 * of the last token, where no wildcard can stand for it alone.
 */
const allOfEnrollments = "admin.enroll.*";

/**
 * What everyone who is registered may ask: about itself, and whether the masters are well.
 * @internal exported for the test that compares it with the bindings
 */
export const everyones: readonly string[] = [
  "svc.admin.operator.whoami",
  "svc.admin.operator.renew",
  "svc.admin.role.can",
  "svc.master.*.readyz",
];

/** Where an operator acknowledges parts of an answer that streams; the rest is a secret of the stream. */
const acknowledged = "svc.admin.follow.*";

/** The prefix of the reply subjects of an operator: no other one may subscribe below it. */
export const operatorInboxPrefix = (publicKey: string): string => `_INBOX.${publicKey}`;

// Servers put a value only where it is a whole token of the subject.
const template = {
  pub: {
    allow: [
      ...[...everyones, acknowledged, "svc.{{tag(ask)}}"].map((subject) =>
        fromOperatorSubject("{{subject()}}", subject),
      ),
    ],
  },
  sub: {
    allow: [`${operatorInboxPrefix("{{subject()}}")}.>`],
  },
  subs: -1,
  data: -1,
  payload: -1,
  allowed_connection_types: ["STANDARD"],
};

/** The entry of a signing key of operators in the JWT of the masters' account. */
export function operatorScope(signingKey: string): Readonly<Record<string, unknown>> {
  return { kind: "user_scope", key: signingKey, role: "operator", template };
}

/** A JWT that an operator connects with; its secret half never leaves the operator. */
export interface OperatorUser {
  name: string;
  /** `U…` */
  publicKey: string;
  /** Names of the scopes that its roles have: `jobs run`. Unknown ones have no subject. */
  scopes: readonly string[];
  /** Unix seconds. */
  issuedAt: number;
  /** Unix seconds. */
  expiresAt: number;
}

/** Encodes the JWT of an operator. @param signer the operators' signing key of the masters' account */
export function encodeOperatorUser(user: OperatorUser, signer: AccountSigner): string {
  const tags = new Set<string>();
  const isWhole = Object.keys(grantsOfScopes)
    .filter((scope) => scope.startsWith("enrollments "))
    .every((scope) => user.scopes.includes(scope));
  if (isWhole) tags.add(`ask:${allOfEnrollments}`);
  for (const scope of user.scopes) {
    const grants = Object.hasOwn(grantsOfScopes, scope) ? grantsOfScopes[scope] : undefined;
    for (const grant of grants ?? []) {
      for (const [tag, values] of Object.entries(grant)) {
        for (const value of values as readonly string[]) {
          if (!isWhole || !value.startsWith("admin.enroll.")) tags.add(`${tag}:${value}`);
        }
      }
    }
  }
  // An empty list would leave the subject of the template out, which some servers take for a mistake.
  return encodeJwt(
    {
      type: "user",
      name: user.name,
      subject: user.publicKey,
      issuedAt: user.issuedAt,
      expiresAt: user.expiresAt,
      nats: { tags: [...tags].sort() },
    },
    signer,
  );
}
