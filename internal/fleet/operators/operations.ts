import * as v from "valibot";
import { decodeBase64 } from "../../base/base64.ts";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { attempt, SvcError } from "../../base/errors.ts";
import { described, integer, timestamp, titled } from "../../base/schema.ts";
import { readClaims } from "../../identity/mod.ts";
import {
  decodeOperator,
  encodeOperator,
  maxOperatorBytes,
  operatorNameField,
  type SignedOperatorRecord,
} from "../../wire/operator-record.ts";
import { adminRole, type Operator } from "../../wire/operator-standing.ts";
import { type Call, operation, operatorOf, type Touch } from "../operation/mod.ts";
import { type Applied, type ApplyDeps, applyChange } from "./apply.ts";
import { minVersion } from "./change.ts";
import { type MintDeps, mintOperator } from "./mint.ts";
import type { Registry } from "./registry.ts";
import type { OperatorRevocations } from "./revocations.ts";
import type { UnsignedRequesters } from "./unsigned.ts";

export {
  type AdministratorsDeps,
  replaceAdministrators,
  showAdministrators,
} from "./administrators-operations.ts";

/** What an operator needs to reach a fleet. */
export interface FleetAddress {
  /** Public key of the masters' account, which names the fleet. */
  fleet: string;
  busUrls(): readonly string[];
  /** PEM of the roots that verify the bus. */
  caPem(): string;
  /** PEM of certificates that lead to these roots from those before them; empty without any. */
  crossPem(): string;
}

export interface OperatorReadDeps {
  registry: Pick<
    Registry,
    "judge" | "find" | "list" | "removed" | "administrators" | "standing" | "dependents" | "caughtUp"
  >;
  revocations: Pick<OperatorRevocations, "find">;
  mint: MintDeps;
  address: FleetAddress;
  clock: { now(): number };
}

/** What a fleet lacks before it can require signatures. */
export interface AdoptionDeps {
  requireSigned: boolean;
  unsigned: UnsignedRequesters;
  /** The users of the masters' account that are connected now, one for each connection. */
  connected(): Promise<readonly { name: string; jwt: string }[]>;
}

export type OperatorDeps = OperatorReadDeps & ApplyDeps & { adoption: AdoptionDeps };

const publicKey = v.pipe(v.string(), v.regex(/^U[A-Z2-7]{55}$/, "must be a public key, U…"));
const name = described(operatorNameField, "Name of the operator");

const shown = titled(
  "Operator",
  v.object({
    name: v.string(),
    public_key: v.string(),
    roles: v.array(v.string()),
    state: described(
      v.picklist(["active", "disabled", "expired", "refused", "removed"]),
      "`refused` where the record is not valid for another reason",
    ),
    reason: v.exactOptional(described(v.string(), "Why it is not active")),
    administrator: described(v.boolean(), "Whether it is in the file of administrators of the masters"),
    created_at: v.exactOptional(timestamp),
    created_by: v.exactOptional(v.string()),
    expires_at: v.exactOptional(timestamp),
    version: v.exactOptional(integer),
    released: v.exactOptional(
      described(
        v.record(v.string(), integer),
        "Of one who is disabled or removed: up to which version of each environment its releases of state files stay",
      ),
    ),
    signed_by: v.exactOptional(described(v.string(), "Key that signed the record")),
    record: v.exactOptional(described(v.string(), "The signed record, base64")),
  }),
);

const fileFields = {
  fleet: described(v.string(), "Public key of the account of the masters, which names the fleet"),
  bus_urls: v.array(v.string()),
  ca_pem: described(v.string(), "Roots that verify the bus; empty for those of the host"),
  jwt: described(v.string(), "With it the operator connects; the secret key stays with the operator"),
  jwt_expires_at: timestamp,
};

export const listOperators = operation({
  name: "operators.list",
  kind: "read",
  summary: "List operators",
  input: v.strictObject({
    removed: v.optional(
      described(
        v.boolean(),
        "Only those who were removed, with their last records; the one removed last comes last",
      ),
      false,
    ),
  }),
  output: v.object({ operators: v.array(shown) }),
  async run(deps: OperatorReadDeps, { removed }) {
    await deps.registry.caughtUp();
    const { registry } = deps;
    if (removed) return { operators: registry.removed().map(shownRemoved) };
    const names = new Set([
      ...registry.administrators().map((one) => one.name),
      ...registry.list().map((one) => one.name),
    ]);
    return { operators: [...names].sort().map((one) => summaryOf(deps, one)) };
  },
});

export const showOperator = operation({
  name: "operators.show",
  kind: "read",
  summary: "Show an operator, its next version, and the operators that depend on its signature",
  input: v.strictObject({ name }),
  output: v.object({
    operator: v.exactOptional(described(shown, "Absent when there is none")),
    next_version: described(integer, "The version that the next record of this name must have"),
    dependents: described(v.array(v.string()), "Operators that are valid only with this one"),
  }),
  touches: touchesName,
  async run(deps: OperatorReadDeps, { name: requested }) {
    await deps.registry.caughtUp();
    const { registry, clock } = deps;
    const isKnown = registry.find(requested) !== undefined || isListed(deps, requested);
    return {
      ...(isKnown ? { operator: summaryOf(deps, requested) } : {}),
      next_version: minVersion(registry.standing, requested, clock.now()),
      dependents: [...registry.dependents(requested, clock.now())],
    };
  },
});

export const whoAmI = operation({
  name: "operators.whoami",
  kind: "read",
  summary: "Show the caller and its roles",
  scope: "self",
  output: v.object({
    name: v.string(),
    registered: described(v.boolean(), "Whether masters know this name and, if a key signed, its key"),
    signed: described(v.boolean(), "Whether the request was signed; otherwise the name is only what it says"),
    roles: v.exactOptional(described(v.array(v.string()), "Absent for callers that are not registered")),
    public_key: v.exactOptional(v.string()),
    expires_at: v.exactOptional(timestamp),
    fleet: fileFields.fleet,
  }),
  async run({ registry, address, clock }: OperatorReadDeps, _, { caller }) {
    const who = caller.kind === "operator" ? caller : undefined;
    const named = who?.name ?? "";
    const listed = registry.administrators().find((one) => one.name === named);
    const key = who?.key ?? listed?.publicKey ?? registry.find(named)?.publicKey;
    const judged = key === undefined ? undefined : registry.judge(named, key, clock.now());
    const known = judged !== undefined && "operator" in judged ? judged.operator : undefined;
    return {
      name: named,
      registered: known !== undefined,
      signed: who?.key !== undefined,
      ...(known === undefined ? defined({ roles: who?.roles?.slice() }) : shownOperator(known)),
      fleet: address.fleet,
    };
  },
});

export const renewOperator = operation({
  name: "operators.renew",
  kind: "read",
  summary: "Make a new JWT for an operator, who alone has the key to it",
  scope: "self",
  input: v.strictObject({ name, public_key: publicKey }),
  output: v.object({
    ...fileFields,
    ca_cross_pem: v.exactOptional(
      described(v.string(), "Certificates that lead to the roots in `ca_pem` from those before them"),
    ),
  }),
  touches: touchesName,
  async run(deps: OperatorReadDeps, { name: requested, public_key }) {
    await deps.registry.caughtUp();
    const judged = deps.registry.judge(requested, public_key, deps.clock.now());
    if ("refused" in judged) throw new SvcError("forbidden", judged.refused);
    const crossPem = deps.address.crossPem();
    return { ...fileOf(deps, judged.operator), ...(crossPem === "" ? {} : { ca_cross_pem: crossPem }) };
  },
});

export const adoptionStatus = operation({
  name: "operators.adoption",
  kind: "read",
  summary: "Show what a fleet lacks before it can require signed requests",
  scope: { kind: "operators", action: "list" },
  output: v.object({
    require_signed: v.boolean(),
    signing_key: described(v.boolean(), "Whether this master has `masters-operators.seed`"),
    administrators: v.array(v.string()),
    operators: described(integer, "Those of the registry that count now"),
    unsigned: described(
      v.array(v.object({ name: v.string(), subject: v.string(), requests: integer, last_at: timestamp })),
      "Requests without a signature that this master got since its start; they would be refused",
    ),
    shared_credentials: described(
      v.array(v.object({ name: v.string(), connections: integer })),
      "Users without an operator behind them that are connected now, by the name in their credentials",
    ),
  }),
  async run({ registry, mint, adoption, clock }: OperatorDeps) {
    await registry.caughtUp();
    const now = clock.now();
    const active = registry
      .list()
      .filter((one) => "operator" in registry.judge(one.name, one.publicKey, now));
    const shared = new Map<string, number>();
    for (const { name: user, jwt } of await adoption.connected()) {
      if (programs.has(user) || isOfOperator(jwt)) continue;
      shared.set(user, (shared.get(user) ?? 0) + 1);
    }
    return {
      require_signed: adoption.requireSigned,
      signing_key: mint.signer() !== undefined,
      administrators: registry.administrators().map((one) => one.name),
      operators: active.length,
      unsigned: adoption.unsigned.list().map(({ name: requester, lastAt, ...rest }) => ({
        name: requester,
        ...rest,
        last_at: rfc3339(lastAt),
      })),
      shared_credentials: [...shared].map(([user, connections]) => ({ name: user, connections })),
    };
  },
});

/** Users of the account that are programs. */
const programs: ReadonlySet<string> = new Set(["master", "system"]);

/** Whether masters made a JWT for an operator: those have tags in place of subjects. */
function isOfOperator(jwt: string): boolean {
  return attempt(() => Array.isArray(readClaims(jwt).nats.tags), false);
}

const record = described(
  v.pipe(v.string(), v.maxLength(2 * maxOperatorBytes), v.minLength(1)),
  "The signed record, base64 of its MessagePack",
);
const signedInput = v.strictObject({ name, record });
const changed = {
  operator: v.exactOptional(described(shown, "Absent when it was removed")),
  closed_in_ms: v.exactOptional(
    described(v.number(), "When the last live connection ended; absent when there was none"),
  ),
};

export const addOperator = operation({
  name: "operators.add",
  kind: "change",
  summary: "Add an operator",
  description: "The record is signed by an operator with role `admin`; masters only verify and store it.",
  input: v.strictObject({ record }),
  output: v.object({ operator: shown, ...fileFields }),
  touches: ({ record: text }) => touchOf(readRecord(text)),
  async run(deps: OperatorDeps, { record: text }, call) {
    const added = readRecord(text);
    await applyChange(deps, "add", added);
    note(call, "added", added, {});
    return { operator: summaryOf(deps, added.name), ...fileOf(deps, activeOf(deps, added.name)) };
  },
});

export const disableOperator = operation({
  name: "operators.disable",
  kind: "change",
  summary: "Disable an operator, and close its connection",
  input: signedInput,
  output: v.object(changed),
  touches: touchesRecord,
  run: (deps: OperatorDeps, input, call) => change(deps, "disable", input, call),
});

export const enableOperator = operation({
  name: "operators.enable",
  kind: "change",
  summary: "Enable an operator again",
  input: signedInput,
  output: v.object(changed),
  touches: touchesRecord,
  run: (deps: OperatorDeps, input, call) => change(deps, "enable", input, call),
});

export const setOperatorRoles = operation({
  name: "operators.roles",
  kind: "change",
  summary: "Change the roles of an operator",
  description:
    "With the same roles it only signs the record again. Where roles are taken away, the JWTs of the operator end, and `jwt` is the next one.",
  input: signedInput,
  output: v.object({ operator: shown, closed_in_ms: changed.closed_in_ms, ...fileFields }),
  touches: touchesRecord,
  async run(deps: OperatorDeps, input, call) {
    const { operator = summaryOf(deps, input.name), ...rest } = await change(deps, "roles", input, call);
    return { operator, ...rest, ...fileOf(deps, activeOf(deps, input.name)) };
  },
});

export const removeOperator = operation({
  name: "operators.remove",
  kind: "change",
  summary: "Remove an operator, and close its connection",
  description:
    "The record is the next version of the operator, disabled: it proves who removes it. It stays on the bus, so that what it says in `released` stays released.",

  input: signedInput,
  output: v.object(changed),
  touches: touchesRecord,
  run: (deps: OperatorDeps, input, call) => change(deps, "remove", input, call),
});

function touchesName({ name: touched }: { name: string }): Touch {
  return { operator: touched };
}

/** The version is part of what is touched: the audit remembers the greatest. */
function touchOf({ name: touched, version }: SignedOperatorRecord): Touch {
  return { operator: touched, version };
}

function touchesRecord(input: v.InferOutput<typeof signedInput>): Touch {
  return touchOf(readNamed(input));
}

/** @throws SvcError `bad_request` */
function readRecord(text: string): SignedOperatorRecord {
  const bytes = decodeBase64(text);
  if (bytes === undefined) throw new SvcError("bad_request", "record must be base64 with padding");
  return decodeOperator(bytes);
}

function readNamed({ name: named, record: text }: v.InferOutput<typeof signedInput>): SignedOperatorRecord {
  const found = readRecord(text);
  if (found.name === named) return found;
  throw new SvcError("bad_request", `the record is of ${found.name}, and the request is for ${named}`);
}

async function change(
  deps: OperatorDeps,
  what: "disable" | "enable" | "roles" | "remove",
  input: v.InferOutput<typeof signedInput>,
  call: Call,
): Promise<{ operator?: v.InferOutput<typeof shown>; closed_in_ms?: number }> {
  const found = readNamed(input);
  const applied = await applyChange(deps, what, found);
  const done = { disable: "disabled", enable: "enabled", roles: "given roles", remove: "removed" }[what];
  note(call, done, found, applied);
  return {
    ...(what === "remove" ? {} : { operator: summaryOf(deps, found.name) }),
    ...defined({ closed_in_ms: applied.closedInMs }),
  };
}

function note(call: Call, done: string, changedRecord: SignedOperatorRecord, { closedInMs }: Applied): void {
  call.log.info(`operator ${done}`, {
    changed: changedRecord.name,
    roles: changedRecord.roles.join(","),
    version: changedRecord.version,
    signed_by: changedRecord.key,
    operator: operatorOf(call),
    closed_in_ms: closedInMs,
  });
}

function isListed({ registry }: OperatorReadDeps, requested: string): boolean {
  return registry.administrators().some((one) => one.name === requested);
}

function activeOf({ registry, clock }: OperatorReadDeps, requested: string): Operator {
  const judged = registry.judge(requested, registry.find(requested)?.publicKey ?? "", clock.now());
  if ("refused" in judged) throw new SvcError("conflict", judged.refused);
  return judged.operator;
}

/** What the file of an operator holds besides the name and the keys. */
function fileOf(deps: OperatorReadDeps, operator: Operator) {
  const { address, revocations, mint, clock } = deps;
  const revokedAt = revocations.find(operator.publicKey)?.revokedAt;
  const { jwt, expiresAt } = mintOperator(mint, operator, clock.now(), revokedAt);
  return {
    fleet: address.fleet,
    bus_urls: [...address.busUrls()],
    ca_pem: address.caPem(),
    jwt,
    jwt_expires_at: rfc3339(expiresAt),
  };
}

function shownOperator({ roles, publicKey: key, expiresAt }: Operator) {
  return {
    roles: [...roles],
    public_key: key,
    ...defined({ expires_at: expiresAt === undefined ? undefined : rfc3339(expiresAt) }),
  };
}

function summaryOf({ registry, clock }: OperatorReadDeps, requested: string): v.InferOutput<typeof shown> {
  const at = clock.now();
  const listed = registry.administrators().find((one) => one.name === requested);
  const found = registry.find(requested);
  const key = listed?.publicKey ?? found?.publicKey ?? "";
  const judged = registry.judge(requested, key, at);
  const isOver = found?.expiresAt !== undefined && found.expiresAt <= at;
  const state =
    "operator" in judged ? "active" : found?.disabled === true ? "disabled" : isOver ? "expired" : "refused";
  return {
    name: requested,
    public_key: key,
    roles: listed === undefined ? [...(found?.roles ?? [])] : [adminRole],
    state,
    ...defined({ reason: "refused" in judged ? judged.refused : undefined }),
    administrator: listed !== undefined,
    ...(found === undefined ? {} : shownRecord(found)),
  };
}

/** The name of one who was removed may be that of another operator now. */
function shownRemoved(last: SignedOperatorRecord): v.InferOutput<typeof shown> {
  const { name: removed, publicKey: key, roles } = last;
  return {
    ...{ name: removed, public_key: key, roles: [...roles] },
    ...{ state: "removed", administrator: false },
    ...shownRecord(last),
  };
}

function shownRecord(found: SignedOperatorRecord) {
  const { createdAt, createdBy, expiresAt, released, version, key } = found;
  return {
    created_at: rfc3339(createdAt),
    created_by: createdBy,
    ...defined({ expires_at: expiresAt === undefined ? undefined : rfc3339(expiresAt) }),
    version,
    ...defined({ released: released && { ...released } }),
    signed_by: key,
    record: Buffer.from(encodeOperator(found)).toString("base64"),
  };
}
