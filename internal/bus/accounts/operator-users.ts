import { fromOperatorSubject } from "../../base/names/operator-subject.ts";
import { type AccountSigner, encodeJwt } from "../../identity/mod.ts";

// What the bus user of an operator may do. Its JWT has no subjects of its own: it has tags, and the JWT of the account
// has a template for the key that signs it. So the JWT stays small, and a thief of that key gets no more than the
// template.

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

/**
 * Encodes the JWT of an operator.
 *
 * @param signer the operators' signing key of the masters' account
 * @param subjects those that each scope may send requests to, by its name
 */
export function encodeOperatorUser(
  user: OperatorUser,
  signer: AccountSigner,
  subjects: Readonly<Record<string, readonly string[]>>,
): string {
  const tags = folded(user.scopes, subjects).map((subject) => `ask:${subject.slice("svc.".length)}`);
  // An empty list would leave the subject of the template out, which some servers take for a mistake.
  return encodeJwt(
    {
      type: "user",
      name: user.name,
      subject: user.publicKey,
      issuedAt: user.issuedAt,
      expiresAt: user.expiresAt,
      nats: { tags: tags.sort() },
    },
    signer,
  );
}

const groupOf = (subject: string) => subject.slice(0, subject.lastIndexOf("."));

/**
 * The subjects of these scopes. Where all subjects of a group are among them, a wildcard stands for the group: the JWT
 * stays small. It also stands for subjects with the name of a master, which no other pattern can.
 */
function folded(scopes: readonly string[], subjects: Readonly<Record<string, readonly string[]>>): string[] {
  const granted = new Set(
    scopes.flatMap((scope) => (Object.hasOwn(subjects, scope) ? (subjects[scope] ?? []) : [])),
  );
  const groups = Map.groupBy(new Set(Object.values(subjects).flat()), groupOf);
  return [...groups].flatMap(([group, all]) =>
    all.length > 1 && all.every((subject) => granted.has(subject))
      ? [`${group}.*`]
      : all.filter((subject) => granted.has(subject) && !subject.includes("{")),
  );
}
