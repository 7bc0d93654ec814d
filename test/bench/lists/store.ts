import { hostname } from "node:os";
import { systemClock } from "../../../internal/base/clock.ts";
import { newId, systemRandom } from "../../../internal/base/id.ts";
import { mapBounded } from "../../../internal/base/map-bounded.ts";
import { encode, type Plain } from "../../../internal/base/msgpack.ts";
import { sha256 } from "../../../internal/base/sha256.ts";
import type { Bus } from "../../../internal/bus/connection/connect.ts";
import { openBucket } from "../../../internal/bus/storage/bucket.ts";
import { eventSubject } from "../../../internal/bus/subjects/subjects.ts";
import { encodeApproval } from "../../../internal/fleet/approvals/record.ts";
import { createAuditWriter } from "../../../internal/fleet/audit/append.ts";
import { insertEnrollment } from "../../../internal/fleet/enrollment/store/store.ts";
import { createVouchers } from "../../../internal/fleet/enrollment/store/vouchers.ts";
import { encodeExpected } from "../../../internal/fleet/expected/record.ts";
import { encodeToken as encodeJoinToken } from "../../../internal/fleet/join-tokens/record.ts";
import { encodeRollout, targetsKey } from "../../../internal/fleet/rollout/record.ts";
import { encodeToken } from "../../../internal/fleet/tokens/record.ts";
import { builtinFacts, collectFacts } from "../../../internal/host/facts/collect.ts";
import { systemHost } from "../../../internal/host/facts/host.ts";
import type { KeyPair } from "../../../internal/identity/nkey.ts";
import type { RecordMac } from "../../../internal/identity/record-mac.ts";
import { encodeOperator, signOperator } from "../../../internal/wire/operator-record.ts";
import { encodeReport } from "../../../internal/wire/state-report.ts";
import type { TestOperator } from "../../harness/operators.ts";
import { storeJob } from "../store-job.ts";

/** How many of each a fleet has. */
export interface Sizes {
  peels: number;
  jobs: number;
  rollouts: number;
  approvals: number;
  operators: number;
  tokens: number;
  events: number;
  /** Entries of the audit. */
  entries: number;
}

const clock = systemClock;
const random = systemRandom;
const atOnce = 64;
const day = 24 * 3_600_000;
const systems = ["Debian", "Ubuntu", "Rocky", "SUSE"];

/** Stores a fleet as masters and peels do, and everything that can be listed of it. */
export async function storeFleet(
  bus: Bus,
  sizes: Sizes,
  {
    mac,
    root,
    signer,
    keyOf,
  }: { mac: RecordMac; root: TestOperator; signer: KeyPair; keyOf: (at: number) => KeyPair },
): Promise<
  Record<"enrollment" | "job" | "rollout" | "approval" | "joinToken", string> & { peels: string[] }
> {
  const open = (name: string) => openBucket(bus, name);
  const numbers = (count: number) => Array.from({ length: count }, (_, at) => at);
  const each = <Made>(count: number, store: (at: number) => Promise<Made>) =>
    mapBounded(numbers(count), { atOnce }, store);
  const now = clock.now();
  const peels = numbers(sizes.peels).map((at) => `web-${`${at}`.padStart(6, "0")}_example_com`);
  const peel = (at: number) => peels[at % peels.length] ?? "";
  const template = (await collectFacts(builtinFacts, systemHost(hostname(), {}), clock)).facts;

  const enrollments = { ...(await open("enrollments")), vouchers: createVouchers(mac) };
  const [facts, compliance] = [await open("facts"), await open("compliance")];
  const enrollmentIds = await each(sizes.peels, async (at) => {
    const id = newId("enr", now - at, random);
    const times = { createdAt: now - at, updatedAt: now - at, credsExpiresAt: now + 90 * day };
    await insertEnrollment(
      enrollments,
      {
        ...{ id, peelId: peel(at), publicKey: "U", curvePublicKey: "X" },
        ...{ ...times, state: "active", address: "192.0.2.7", labels: { env: "prod" } },
      },
      undefined,
    );
    const own: Plain = { os: systems[at % 4] ?? "", osrelease: `${10 + (at % 5)}`, host: `host-${at}` };
    await facts.put(peel(at), encode({ ...template, ...own }));
    const failed = at % 20 === 0 ? 1 : 0;
    const state = { id: "nginx", function: "pkg.installed" };
    await compliance.put(
      peel(at),
      encodeReport({
        ...{ run_at: new Date(now - 60_000).toISOString(), trigger: "schedule", environment: "base" },
        ...{ commit: "c0ffee0", test: false, ok: 20, changed: at % 3, failed, skipped: 0, would_change: 0 },
        ...{ duration_ms: 900, drift: at % 3 === 0 ? [] : [state] },
        failures: failed === 0 ? [] : [{ ...state, file: "nginx.sls", line: 3, comment: "no such package" }],
      }),
    );
    return id;
  });

  const expected = await open("expected");
  const key = (at: number) => keyOf(at).publicKey;
  await each(sizes.peels, (at) => {
    const peelId = `new-${at}_example_com`;
    const host = { peelId, publicKey: key(at), by: `operator-${at % 20}`, at: now, endsAt: now + day };
    return expected.create(peelId, encodeExpected(mac, host));
  });

  const jobs = await open("jobs");
  const made = await each(sizes.jobs, (number) => storeJob(jobs, peels, number));

  const rollouts = await open("rollouts");
  const rolloutIds = await each(sizes.rollouts, async (at) => {
    const createdAt = now - at * 60_000;
    const id = newId("rol", createdAt, random);
    const job = { jid: newId("job", createdAt, random), createdAt, counts: { ok: 100 } };
    const plan = { bounds: [100], waveWaitMs: 0, maxFailures: 0, timeoutMs: 60_000, deadline: now };
    await rollouts.create(
      id,
      encodeRollout({
        ...{ id, function: "state.apply", args: {}, target: "web-*", metadata: {}, plan },
        ...{ status: "completed", step: "soaking", waves: [{ job, begunAt: createdAt, gone: 0 }] },
        ...{ failures: 0, forbidden: [], token: 1, heartbeatAt: createdAt, createdAt, createdBy: "ann" },
        finishedAt: createdAt,
      }),
    );
    await rollouts.create(targetsKey(id), encode(peels.slice(0, 100)));
    return id;
  });

  const approvals = await open("approvals");
  const approvalIds = await each(sizes.approvals, async (at) => {
    const id = newId("apr", now - at * 1_000, random);
    const asker = {
      name: `operator-${at % 20}`,
      person: "ann",
      door: "bus",
      roles: ["admin"],
      at: now,
    } as const;
    await approvals.create(
      id,
      encodeApproval(mac, {
        ...{ id, operation: "jobs.create", input: { function: "cmd.run", target: "*" }, rule: "two" },
        ...{
          targets: peels.slice(0, 100),
          needs: 1,
          asker,
          agreed: [],
          state: "waiting",
          expiresAt: now + day,
        },
      }),
    );
    return id;
  });

  const joinTokens = await open("join-tokens");
  const joinIds = await each(sizes.tokens, async (at) => {
    const id = newId("jtk", now - at * 1_000, random);
    const token = { id, digest: sha256(Buffer.from(id)), peel: "web-*", uses: 5, createdAt: now };
    const more = { expiresAt: now + day, labels: {}, createdBy: "ann", hold: false };
    await joinTokens.create(id, encodeJoinToken(mac, { ...token, ...more }));
    return id;
  });
  const tokens = await open("tokens");
  await each(sizes.tokens, (at) => {
    const name = `ci-${at}`;
    const token = {
      id: newId("tok", now, random),
      name,
      digest: sha256(Buffer.from(name)),
      roles: ["viewer"],
    };
    const by = { createdBy: "root", creator: "registered", createdAt: now, expiresAt: now + day } as const;
    return tokens.create(name, encodeToken(mac, { ...token, ...by }));
  });
  const operators = await open("operators");
  await each(sizes.operators, (at) => {
    const record = { name: `operator-${at}`, publicKey: key(at), roles: ["viewer"], createdAt: now };
    const signed = signOperator({ ...record, createdBy: "root", version: 1 }, root.key);
    return operators.put(record.name, encodeOperator(signed));
  });

  const audit = createAuditWriter({
    ...{ bus, master: "bench", signer, keys: () => [signer.publicKey], clock, log: bus.log },
  });
  await each(sizes.entries, (at) =>
    audit.append({
      ...{ operator: `operator-${at % 20}`, key: "", via: "bus", action: "jobs.create", outcome: "done" },
      ...{
        subjects: { peel: peel(at) },
        requestId: `request-${at}`,
        requestDigest: sha256(Buffer.from(`${at}`)),
      },
    }),
  );

  await each(sizes.events, async (at) => {
    const subject = eventSubject(peel(at), "site.deploy");
    await bus.nats.request(subject, encode({ tag: "site/deploy", data: { at } }), { timeout: 30_000 });
  });
  const last = (ids: readonly string[]) => ids.at(-1) ?? "";
  return {
    peels,
    ...{
      enrollment: last(enrollmentIds),
      job: last(made),
      rollout: last(rolloutIds),
      approval: last(approvalIds),
      joinToken: last(joinIds),
    },
  };
}
