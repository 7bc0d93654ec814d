import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { recordingLog } from "../../test/harness/log.ts";
import { systemRandom } from "../base/id.ts";
import { decode, encode } from "../base/msgpack.ts";
import type { Job } from "../fleet/jobs/records/record.ts";
import { withCancelMac, withJobMac } from "../fleet/jobs/records/record-mac.ts";
import { createCommands } from "../fleet/jobs/send.ts";
import { isProven, merkleTree } from "../identity/merkle/merkle.ts";
import { newKeyPair } from "../identity/nkey.ts";
import { createRecordMac } from "../identity/record-mac.ts";
import { openSiteCommand, signForSite } from "./site-command.ts";

const key = newKeyPair("user", systemRandom);
const order = {
  ...{ kind: "dispatch" as const, jid: "job-3MPFSICSuHM6n9ASVzK0s68GQu3", deadline: 10_000 },
  body: encode({ function: "test.ping", args: {} }),
};
const { jid } = order;
const trust = { keys: [key.publicKey], now: 9_999 };
const open = (bytes: Uint8Array, peel: string) => openSiteCommand(bytes, { peel, jid }, trust);
const altered = (bytes: Uint8Array, change: Record<string, unknown>) =>
  encode({ ...(decode(bytes) as object), ...change });
const refusalOf = (run: () => unknown): unknown => {
  try {
    return run();
  } catch (thrown) {
    return (thrown as { reason?: string }).reason;
  }
};
const names = fc.uniqueArray(fc.stringMatching(/^[a-z0-9_-]{1,12}$/), { minLength: 2, maxLength: 60 });

test("every peel of the list opens it with a proof of its own, and no other peel does", () => {
  fc.assert(
    fc.property(names, (all) => {
      const [outsider = "", ...peels] = all;
      const bytes = signForSite(order, { peels }, key) ?? new Uint8Array();
      for (const peel of peels) {
        const { proof = [], ...command } = open(bytes, peel) ?? {};
        expect(command).toEqual({ ...order, peel });
        expect(isProven(peel, proof, merkleTree(peels).root)).toBe(true);
      }
      expect(open(bytes, outsider)).toBeUndefined();
      const joined = altered(bytes, { peels: [...peels, outsider] });
      expect(refusalOf(() => open(joined, outsider))).toBe("bad_signature");
    }),
    { numRuns: 30 },
  );
});

test("a part of a larger tree is proven for that tree", () => {
  fc.assert(
    fc.property(names, fc.nat(), (all, seed) => {
      const tree = merkleTree(all);
      const peels = all.filter((_, at) => at === 0 || (seed >> (at % 30)) % 2 === 1);
      const bytes = signForSite(order, { peels, part: tree.partOf(peels) }, key) ?? new Uint8Array();
      for (const peel of peels) {
        expect(isProven(peel, open(bytes, peel)?.proof ?? [], tree.root)).toBe(true);
      }
    }),
    { numRuns: 30 },
  );
});

test.each([
  ["malformed", new Uint8Array([1, 2, 3])],
  ["malformed", encode({ kind: "dispatch" })],
  ["malformed", new Uint8Array(600 * 1024)],
])("bytes without a command are refused as %s", (reason, bytes) => {
  expect(refusalOf(() => open(bytes, "web-1"))).toBe(reason);
});

test("what was changed, is signed by another key, for another job, or late, is refused", () => {
  const bytes = signForSite(order, { peels: ["web-1", "web-2"] }, key) ?? new Uint8Array();
  expect(refusalOf(() => open(altered(bytes, { body: encode("other") }), "web-1"))).toBe("bad_signature");
  expect(refusalOf(() => open(altered(bytes, { kind: "stop" }), "web-1"))).toBe("malformed");
  const foreign = signForSite(order, { peels: ["web-1"] }, newKeyPair("user", systemRandom));
  expect(refusalOf(() => open(foreign ?? bytes, "web-1"))).toBe("unknown_key");
  const replayed = () => openSiteCommand(bytes, { peel: "web-1", jid: "job-other" }, trust);
  expect(refusalOf(replayed)).toBe("misdirected");
  const late = () => openSiteCommand(bytes, { peel: "web-1", jid }, { ...trust, now: 10_000 });
  expect(refusalOf(late)).toBe("expired");
});

test("a hostile part is refused, whatever it says", () => {
  const bytes = signForSite(order, { peels: ["web-1", "web-2"] }, key) ?? new Uint8Array();
  for (const part of [
    { size: Number.MAX_SAFE_INTEGER, places: [7, 9], beside: [systemRandom(32)] },
    { size: 2, places: [0], beside: [] },
    { size: 4, places: [5, 9], beside: [new Uint8Array(3)] },
  ]) {
    const found = refusalOf(() => open(altered(bytes, { part }), "web-1"));
    expect(["bad_signature", "malformed"]).toContain(found as string);
  }
});

test("a list that is too long for one message is not made into a command for a site", () => {
  const peels = Array.from({ length: 40_000 }, (_, at) => `a-name-of-a-host-${at}`);
  expect(signForSite(order, { peels }, key)).toBeUndefined();
});

describe("a master", () => {
  const mac = createRecordMac(newKeyPair("account", systemRandom));
  const berlin = ["b-1", "b-2", "b-3", "b-4", "b-5"];
  const targets = [...berlin, "m-1", "m-2", "x-1"];
  const job: Job = withJobMac(mac, {
    ...{ jid, function: "test.ping", args: {}, targets, metadata: {}, timeoutMs: 1_000, createdAt: 0 },
    ...{ createdBy: "ann", deadline: 10_000 },
  });
  const sending = (sitesOf?: (peel: string) => string[]) => {
    const sent: string[] = [];
    let bytes = new Uint8Array();
    const commands = createCommands({
      bus: {
        publish(subject, data) {
          sent.push(subject);
          if (subject.startsWith("svc.site.")) bytes = Uint8Array.from(data);
        },
      },
      ...{ key, mac, log: recordingLog() },
      siteOf: (peel) => ({ b: "berlin", m: "munich" })[peel[0] ?? ""],
      ...(sitesOf === undefined ? {} : { sitesOf }),
    });
    return { commands, sent, bytes: () => bytes };
  };
  const own = (peel: string) => `svc.job.${jid}.dispatch.${peel}`;

  test("sends one command for the peels of a site, and one for each other peel", () => {
    const { commands, sent, bytes } = sending();
    commands.send("dispatch", job, targets);
    expect(sent.toSorted()).toEqual(
      [`svc.site.berlin.dispatch.${jid}`, ...["m-1", "m-2", "x-1"].map(own)].toSorted(),
    );
    for (const peel of berlin) expect(open(bytes(), peel)?.peel).toBe(peel);
    expect(open(bytes(), "m-1")).toBeUndefined();
  });

  test("sends what is for one peel to the sites at which it may be as well, and to no other site", () => {
    const { commands, sent } = sending(
      (peel) => ({ m: ["munich"], x: ["berlin", "oslo"] })[peel[0] ?? ""] ?? [],
    );
    commands.send("dispatch", job, targets);
    const toSites = ["munich.m-1", "munich.m-2", "berlin.x-1", "oslo.x-1"].map((one) => {
      const [site, peel = ""] = one.split(".");
      return `svc.to.${site}.${own(peel)}`;
    });
    expect(sent.filter((subject) => subject.startsWith("svc.to.")).sort()).toEqual(toSites.sort());
    sent.length = 0;
    commands.resend("stop", withCancelMac(mac, job), ["m-1"]);
    expect(sent.map((subject) => subject.replace(jid, "JID"))).toEqual([
      "svc.job.JID.stop.m-1",
      "svc.to.munich.svc.job.JID.stop.m-1",
    ]);
  });

  test("sends it with the tree that an operator signed for", () => {
    const request = { subject: "svc.job.request", envelope: systemRandom(200) };
    const signed = withJobMac(mac, { ...job, request });
    const { commands, bytes } = sending();
    commands.send("dispatch", signed, targets);
    for (const peel of berlin) {
      expect(isProven(peel, open(bytes(), peel)?.proof ?? [], merkleTree(targets).root)).toBe(true);
    }
  });

  test("sends again, and stops, with a message for each peel", () => {
    const { commands, sent } = sending();
    commands.resend("dispatch", job, berlin);
    expect(sent).toEqual(berlin.map(own));
    sent.length = 0;
    commands.send("stop", { ...job }, berlin);
    expect(sent.some((subject) => subject.startsWith("svc.site."))).toBe(false);
  });
});
