import { afterAll, beforeAll, expect, test } from "bun:test";
import { enrollPeel } from "../../internal/agent/joining/enroll.ts";
import { createMasterClient } from "../../internal/agent/joining/master-client.ts";
import { systemClock } from "../../internal/base/clock.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { newKeyPair } from "../../internal/identity/nkey.ts";
import { createTrust } from "../../internal/identity/trust/anchor.ts";
import type { Rung } from "../../internal/identity/trust/ladder.ts";
import { spkiPin } from "../../internal/identity/trust/pin.ts";
import { startBus, type TestBus } from "../harness/bus.ts";
import { cli } from "../harness/cli.ts";
import { freshAddress, send } from "../harness/client.ts";
import { startImpostor, testAuthority } from "../harness/impostor.ts";
import { startMaster, type TestMaster, testToken } from "../harness/master.ts";
import { observedLog, operate } from "../harness/peel-connection.ts";

// What an operator sees about the CA that a peel trusted.

let bus: TestBus;
let master: TestMaster;

beforeAll(async () => {
  bus = await startBus();
  master = await startMaster(bus);
});
afterAll(async () => {
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

/** What the log of a peel says of an enrollment that waits for approval. */
interface Pending {
  enrollment_id: string;
  fingerprint: string;
}

/** Submits an enrollment over this rung and returns what the peel logged; the peel then leaves. */
async function submit(peelId: string, url: string, rung: Rung): Promise<Pending> {
  const log = observedLog();
  const stopping = new AbortController();
  const shared = { clock: systemClock, jitter: () => 0, log, signal: stopping.signal };
  const trust = createTrust({ ...shared, rung, storeAnchor: () => {} });
  const ended = enrollPeel({
    ...shared,
    masters: createMasterClient({ ...shared, urls: [url], trust }),
    peelId,
    key: newKeyPair("user", systemRandom),
    hostname: "test",
    metadata: {},
  });
  ended.catch(() => {});
  const pending = await log.logged("enrollment pending: waiting for an operator's approval");
  stopping.abort(new Error("seen enough"));
  await ended.catch(() => {});
  return pending.fields as unknown as Pending;
}

async function listed(id: string): Promise<Record<string, string> | undefined> {
  const { json } = await send(master.url, master.ca, {
    path: "/api/v1/enrollments",
    headers: { authorization: `Bearer ${testToken}` },
    from: freshAddress(),
  });
  return (json as Record<string, string>[]).find((summary) => summary.id === id);
}

async function trustOf(id: string): Promise<unknown> {
  return (await listed(id))?.trust;
}

const file = () => ({ path: bus.caFile, pem: bus.caPem });
const rungs: Record<string, () => Rung> = {
  enroll_ca: () => ({ rung: 1, ca: file() }),
  enroll_ca_pin: () => ({ rung: 2, pins: [spkiPin(bus.caPem)] }),
  anchor: () => ({ rung: 3, ca: file() }),
  first_use: () => ({ rung: 4, firstUse: true }),
};

test.each(Object.entries(rungs))(
  "the rung %s attests the fleet's root; log and list show one fingerprint",
  async (name, rung) => {
    // A master of its own: all peels of this test share one address, and its rate budget.
    await using own = await startMaster(bus);
    const { enrollment_id: id, fingerprint } = await submit(`by_${name}`, own.url, rung());
    // What the operator compares before an approval is the same on both sides.
    expect(fingerprint).toMatch(/^\S+$/);
    expect(await listed(id)).toMatchObject({ trust: "ok", fingerprint });
  },
);

test("a man in the middle at first use is seen, and the approval refused", async () => {
  const attacker = await testAuthority("Test");
  await using between = startImpostor({
    tls: await attacker.issue(),
    async answer(request, url) {
      if (url.pathname === "/api/v1/enroll/ca") {
        return Response.json({ v: 1, ca_bundle_pem: attacker.rootPem, fingerprint: spkiPin(bus.caPem) });
      }
      const { status, text } = await send(master.url, master.ca, {
        method: request.method,
        path: `${url.pathname}${url.search}`,
        headers: { "content-type": "application/json" },
        body: await request.text(),
        from: freshAddress(),
      });
      return new Response(text, { status });
    },
  });
  const { enrollment_id: id } = await submit("deceived", between.url, { rung: 4, firstUse: true });
  expect(await trustOf(id)).toBe("MISMATCH!");
  expect((await operate(master, id, "approve")).status).toBe(409);
  const shown = await cli(bus, "enroll", "show", id, "--output", "json");
  expect(JSON.parse(shown.stdout)).toMatchObject({
    trusted_ca_spki: spkiPin(attacker.rootPem),
    fleet_ca_spki: [spkiPin(bus.caPem)],
  });
});
