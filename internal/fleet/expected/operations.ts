import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { parseLifetimeWithin } from "../../base/lifetime.ts";
import { displayPeelId, encodePeelId, isPeelId } from "../../base/names/peel-id.ts";
import { conflict, retryOnConflict } from "../../base/retry-on-conflict.ts";
import { described, timestamp, titled } from "../../base/schema.ts";
import { keyFingerprint } from "../../identity/mod.ts";
import { publicKeyField } from "../../wire/public-keys.ts";
import { labelsField } from "../enrollment/record/mod.ts";
import { limitField, operation, operatorOf } from "../operation/mod.ts";
import { makerOf } from "../roles/mod.ts";
import { type AddDeps, addHosts, outcomes } from "./add.ts";
import type { ExpectedHost } from "./record.ts";
import { findExpected } from "./store.ts";

export type ExpectedDeps = AddDeps;

/** Hosts of one request: with labels they fit into a message. */
export const maxHosts = 500;
/** How long a host may be expected. */
export const expectedTtl = { min: "1m", max: "366d" } as const;
const maxListed = 1_000;

const peelId = v.pipe(
  // A description behind the transformation would be lost.
  described(v.string(), "Peel id, with dots or encoded"),
  v.transform(encodePeelId),
  v.check(isPeelId, "must be 2 to 255 letters, digits, dots and hyphens, a letter or digit first and last"),
);

const expectedStates = ["open", "used", "ended"] as const;

const shown = titled(
  "ExpectedHost",
  v.object({
    peel_id: described(v.string(), "Encoded peel id"),
    public_key: described(v.string(), "The key that the host has to prove"),
    fingerprint: described(v.string(), "Short fingerprint of that key"),
    labels: v.exactOptional(labelsField),
    state: described(v.picklist(expectedStates), "`open`, `used` by a host that joined, or `ended` unused"),
    expected_by: described(v.string(), "The operator who expects it"),
    expected_at: timestamp,
    expires_at: timestamp,
    enrollment: v.exactOptional(described(v.string(), "Id of the enrollment that used it")),
  }),
);
export type ShownHost = v.InferOutput<typeof shown>;

export const expectHosts = operation({
  name: "enrollments.expect",
  kind: "decide",
  summary: "Expect hosts, so that they are enrolled when they prove their keys",
  description:
    "Each entry admits one host, once. All hosts of a request are checked before any is written. The entry of a host that is already expected is renewed.",
  input: v.strictObject({
    hosts: described(
      v.pipe(
        v.array(
          titled(
            "HostToExpect",
            v.strictObject({ peel_id: peelId, public_key: publicKeyField, labels: v.optional(labelsField) }),
          ),
        ),
        v.minLength(1, `must have 1 to ${maxHosts} hosts`),
        v.maxLength(maxHosts, `must have 1 to ${maxHosts} hosts`),
      ),
      `The hosts: at most ${maxHosts} in one request`,
    ),
    ttl: v.optional(described(v.string(), "How long they are expected: 1m to 366d"), "720h"),
    check: v.optional(described(v.boolean(), "Say what would be done, and write nothing"), false),
  }),
  output: v.object({
    hosts: v.array(
      titled(
        "HostOutcome",
        v.object({
          peel_id: v.string(),
          outcome: described(
            v.picklist(outcomes),
            "`added`; `renewed` when it was expected already; `waits` when it is added, and asked to join before; `member` when its peel id is enrolled, and nothing was written",
          ),
        }),
      ),
    ),
  }),
  touches: ({ hosts }) => ({ peels: { peels: hosts.map((host) => host.peel_id) } }),
  async run(deps: ExpectedDeps, { hosts, ttl, check }, call) {
    const by = operatorOf(call);
    const named = hosts.map(({ peel_id, public_key: publicKey, labels }) => ({
      ...{ peelId: peel_id, publicKey },
      ...defined({ labels }),
    }));
    const ttlMs = parseLifetimeWithin(ttl, expectedTtl, "ttl");
    const found = await addHosts(deps, {
      ...{ hosts: named, by, ttlMs, checks: check },
      ...defined({ maker: makerOf(call) }),
    });
    if (!check) call.log.info("hosts expected", { operator: by, hosts: hosts.length, ttl });
    return {
      hosts: named.map(({ peelId }, at) => ({ peel_id: peelId, outcome: found[at] ?? "added" })),
    };
  },
});

export const listExpected = operation({
  name: "enrollments.expected",
  kind: "read",
  summary: "List the hosts that are expected, by peel id",
  scope: { kind: "enrollments", action: "list" },
  input: v.strictObject({
    limit: limitField(maxListed),
    cursor: v.optional(described(v.string(), "Where the page starts, from the previous page")),
  }),
  output: v.object({ hosts: v.array(shown), next: v.exactOptional(v.string()) }),
  async run(deps: ExpectedDeps, { limit, cursor = "" }) {
    const now = deps.clock.now();
    const found: ExpectedHost[] = [];
    for (const { peelId: key, host } of await deps.view.all()) {
      if (found.length > limit) break;
      if (key > cursor && host !== undefined) found.push(host);
    }
    const page = found.slice(0, limit);
    const next = found.length > limit ? page.at(-1)?.peelId : undefined;
    return { hosts: page.map((host) => show(host, now)), ...defined({ next }) };
  },
});

export const unexpectHost = operation({
  name: "enrollments.unexpect",
  kind: "decide",
  summary: "Expect a host no more",
  description: "A host that has joined stays a member.",
  scope: { kind: "enrollments", action: "expect" },
  input: v.strictObject({ peel: peelId }),
  output: v.object({ host: shown }),
  touches: ({ peel }) => ({ peel }),
  async run(deps: ExpectedDeps, { peel }, call) {
    const name = displayPeelId(peel);
    const attempt = async () => {
      const found = await findExpected(deps, peel);
      if (found === undefined) {
        throw new SvcError("not_found", `${name} is not expected; svc enroll expected list shows who is`);
      }
      return (await deps.bucket.remove(peel, found.revision)) ? found.host : conflict;
    };
    const host = await retryOnConflict(attempt, {
      exhausted: `the entry of ${name} is being changed by others`,
    });
    call.log.info("host not expected any more", { operator: operatorOf(call), peel_id: peel });
    return { host: show(host, deps.clock.now()) };
  },
});

/** How an entry is shown. One that a master took a moment ago, or before it crashed, is shown as used. */
export function show(host: ExpectedHost, now: number): ShownHost {
  const state = host.takenBy !== undefined ? "used" : host.endsAt <= now ? "ended" : "open";
  return {
    peel_id: host.peelId,
    public_key: host.publicKey,
    fingerprint: keyFingerprint(host.publicKey),
    ...defined({ labels: host.labels }),
    state,
    expected_by: host.by,
    expected_at: rfc3339(host.at),
    expires_at: rfc3339(host.endsAt),
    ...defined({ enrollment: host.takenBy }),
  };
}
