import { systemRandom } from "../../internal/base/id.ts";
import type { Plain } from "../../internal/base/msgpack.ts";
import { schemaOf } from "../../internal/doors/rest/json-schema.ts";
import type { InputSchema } from "../../internal/fleet/operation/operation.ts";
import { newKeyPair } from "../../internal/identity/nkey.ts";
import { encodeOperator, signOperator } from "../../internal/wire/operator-record.ts";
import { peelInputs } from "./peel-inputs.ts";
import { sampleOf } from "./sample-of.ts";
import { tokenInputs } from "./token-inputs.ts";

const key = newKeyPair("user", systemRandom).publicKey;
export const digest = "0".repeat(64);
const administrator = newKeyPair("user", systemRandom);
const anna = signOperator(
  { name: "anna", publicKey: key, roles: ["viewer"], createdAt: 0, createdBy: "root", version: 1 },
  administrator,
);
const record = Buffer.from(encodeOperator(anna)).toString("base64");
type Fields = Record<string, Plain>;

/**
 * Fields that an operation takes, and for each door some value that it does not: what the schema of its input does not
 * tell.
 */
export const inputs: Readonly<Record<string, [fields: Fields, wrong: Fields]>> = {
  "enrollments.challenge": [{ peel_id: "web-1", public_key: key }, { peel_id: "-" }],
  "enrollments.submit": [{}, { peel_id: 5 }],
  "enrollments.challenge-tpm": [
    {
      ...{ peel_id: "web-1", public_key: key, challenge_id: `chl-${"a".repeat(27)}` },
      ...{ ek_certificate: "AAAA", ak_public: "AAAA" },
    },
    { ak_public: 5 },
  ],
  "enrollments.state": [{ id: "enr-1" }, {}],
  "enrollments.follow": [{ id: "enr-1" }, {}],
  "enrollments.deliver": [{ id: "enr-1" }, {}],
  "enrollments.list": [{ state: "all", limit: 3 }, { state: "lost" }],
  "enrollments.approve": [{ id: "enr-1", force: true }, { force: "yes" }],
  "enrollments.reject": [{ id: "enr-1", reason: "unknown" }, { reason: 5 }],
  "enrollments.revoke": [{ id: "enr-1", reason: "sold" }, { reason: 5 }],
  "enrollments.label": [{ id: "enr-1", labels: { env: "lab" } }, { labels: { Env: "lab" } }],
  "enrollments.expect": [
    { hosts: [{ peel_id: "web-1", public_key: key, labels: { env: "lab" } }], ttl: "1h", check: true },
    { hosts: [] },
  ],
  "enrollments.expected": [{ limit: 3, cursor: "web-1" }, { limit: 0 }],
  "enrollments.policy-test": [
    { peel: "web-1", address: "192.0.2.7", trust: "unknown", evidence: "x509", fields: { a: "b" } },
    { address: "x" },
  ],
  "enrollments.unexpect": [{ peel: "web-1" }, { peel: "-" }],
  "enrollments.suspend": [{ id: "enr-1", reason: "floods" }, { reason: 5 }],
  "enrollments.resume": [{ id: "enr-1" }, { id: 5 }],
  "enrollments.revoke-user": [{ peel: "web-1", reason: "sold" }, { key: "U" }],
  "enrollments.clear-clone": [{ id: "enr-1" }, { id: 5 }],
  "enrollments.recover": [
    {
      ...{ id: "enr-1", challenge_id: `chl-${"a".repeat(27)}`, public_key: key, bus_public_key: key },
      ...{ signature: Buffer.alloc(64).toString("base64"), revoke_previous: true },
    },
    { revoke_previous: "yes" },
  ],
  "enrollments.by-key": [{ key }, {}],
  "enrollments.restore": [{ id: "enr-1" }, { id: 5 }],
  "enrollments.discard": [{ id: "enr-1" }, { id: 5 }],
  "jobs.create": [{ target: "*", function: "test.ping", args: { text: "a" } }, { args: "a" }],
  "samples.read": [{ period: "90d" }, { period: "1y" }],
  "jobs.list": [{ limit: 3, status: "running" }, { limit: "many" }],
  "jobs.show": [{ jid: "job-1", peel: "web-1" }, {}],
  "jobs.cancel": [{ jid: "job-1" }, {}],
  "jobs.follow": [{ jid: "job-1" }, {}],
  "rollouts.start": [{ targets: ["a1"], function: "test.ping", canary: "5%" }, { dry_run: "yes" }],
  "rollouts.list": [{ limit: 3, status: "paused" }, { status: "lost" }],
  "rollouts.show": [{ id: "rol-1" }, {}],
  "rollouts.pause": [{ id: "rol-1" }, { id: 5 }],
  "rollouts.resume": [{ id: "rol-1" }, { id: 5 }],
  "rollouts.abort": [{ id: "rol-1" }, { id: 5 }],
  "rollouts.follow": [{ id: "rol-1" }, {}],
  "reactor.reset": [{ rule: "web" }, { rule: 5 }],
  "reactor.test": [{ event: { tag: "disk/full" } }, { event: "disk/full" }],
  ...peelInputs,
  "targets.resolve": [{ target: "web-*" }, {}],
  "exports.prometheus": [{ target: "web-*", port: 9256, fact: ["os", "a:b"] }, { port: 0 }],
  "exports.inventory": [{ target: "web-*", facts: ["os"], limit: 3, cursor: "web-1" }, { facts: "" }],
  "cluster.add": [{ hosts: ["n2.example.com"] }, { hosts: [] }],
  "cluster.remove": [{ host: "n2.example.com", dry_run: true }, { host: "a b" }],
  "cluster.add-site": [
    {
      site: "berlin",
      urls: ["tls://leaf.example.com:4222"],
      link_key: key,
      system_key: key,
    },
    { site: "Berlin" },
  ],
  "sites.certificate": [
    {
      site: "berlin",
      public_key: Buffer.alloc(91).toString("base64"),
      signed_at: "2026-01-01T00:00:00.000Z",
      signature: Buffer.alloc(64).toString("base64"),
      proof: Buffer.alloc(64).toString("base64"),
    },
    { site: "berlin", public_key: "AAAA" },
  ],
  "cluster.remove-site": [{ site: "munich" }, { site: "a b" }],
  "roles.show": [{ role: "admin" }, { role: "a".repeat(64) }],
  "roles.can": [{ kind: "jobs", action: "run", target: "*", function: "test.ping" }, { kind: 5 }],
  ...tokenInputs,
  "operators.show": [{ name: "anna" }, { name: 5 }],
  "operators.add": [{ record }, { record: 5 }],
  "operators.disable": [{ name: "anna", record }, { record: 5 }],
  "operators.enable": [{ name: "anna", record }, { record: 5 }],
  "operators.roles": [{ name: "anna", record }, { record: 5 }],
  "operators.remove": [{ name: "anna", record }, { record: 5 }],
  "operators.replace-administrators": [{ statement: record }, { statement: 5 }],
  "operators.renew": [{ name: "anna", public_key: key }, { public_key: "U" }],
  "approvals.show": [{ id: "apr-1" }, { id: 5 }],
  "approvals.approve": [{ id: "apr-1" }, { id: 5 }],
  "approvals.deny": [{ id: "apr-1" }, { id: 5 }],
  "audit.list": [{ limit: 3, outcome: "done", action: "jobs.*" }, { outcome: "lost" }],
  "audit.follow": [
    { by: "ann", action: "jobs.*", peel: "web-1", outcome: "done", after: "0" },
    { outcome: "unknown", after: "-1", since: "soon" },
  ],
  "audit.show": [{ seq: "5" }, { seq: 5 }],
  "audit.chain": [{ from: 1 }, { from: 0 }],
  "enrollments.show": [{ id: "enr-1" }, { id: 5 }],
  "keys.dependents": [{ command_key: "UKEY" }, { issued_before: "yesterday" }],
  "audit.verify": [{ again: "yes" }, { again: "no" }],
  "states.status": [{ target: "web*", stale: "2h" }, {}],
  "states.drift": [
    { target: "web*", status: "failed", limit: 3 },
    { status: "fine", limit: 0, cursor: "-" },
  ],
  "states.show": [{ id: "web-1", stale: "2h" }, {}],
  "states.releases": [
    { environment: "base", commit: "abcdef" },
    { environment: "../a", commit: "HEAD" },
  ],
  "states.files": [{}, { environment: 1 }],
  "states.plan": [{ target: "web*", tree: true }, { upload: "pln-1" }],
  "states.send-plan": [{ target: "web*", environment: "base" }, { environment: "../a" }],
  "states.show-plan": [{ id: `pln-${"a".repeat(27)}` }, { id: "pln-1" }],
  "states.fetch-plan": [{ id: `pln-${"a".repeat(27)}`, part: 1 }, { part: -1 }],
  "states.release": [{ release: Buffer.from("x") }, { release: "x" }],
  "events.list": [
    { tag: "svc/job/**", limit: 3 },
    { tag: "a//b", since: "soon", after: "x", limit: 0 },
  ],
  "events.follow": [
    { source: "web-*", after: "1-2-3" },
    { tag: "a b", source: "|", since: "1" },
  ],
  "binaries.put": [{ digest, data: Buffer.from("x") }, { digest: "0" }],
  "binaries.commit": [{ manifest: Buffer.from("x") }, { manifest: "x" }],
};

/** The same for every operation: without an entry the fields are samples of those that it requires. */
export function inputsOf({
  name,
  input,
}: {
  name: string;
  input: InputSchema;
}): [fields: Fields, wrong: Fields] {
  const listed = inputs[name];
  if (listed !== undefined) return listed;
  const { properties = {}, required = [] } = schemaOf(input) as {
    properties?: Record<string, Parameters<typeof sampleOf>[0]>;
    required?: string[];
  };
  const fields = required.map((field) => [field, sampleOf(properties[field] ?? {})]);
  const wrong = Object.entries(properties).flatMap(([field, { type, enum: choices }]) => {
    if (choices !== undefined) return [[field, "none of them"]];
    return type === "number" || type === "integer" ? [[field, "many"]] : [];
  });
  return [Object.fromEntries(fields), Object.fromEntries(wrong)];
}
