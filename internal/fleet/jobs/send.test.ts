import { describe, expect, test } from "bun:test";
import { recordingLog } from "../../../test/harness/log.ts";
import { systemRandom } from "../../base/id.ts";
import { decode, encode } from "../../base/msgpack.ts";
import { isProven, merkleTree } from "../../identity/merkle.ts";
import { type KeyPair, newKeyPair } from "../../identity/nkey.ts";
import { createRecordMac } from "../../identity/record-mac.ts";
import { decodeCall, decodeEvidence } from "../../wire/call.ts";
import { openCommand } from "../../wire/command.ts";
import type { Job } from "./record.ts";
import { withCancelMac, withJobMac } from "./record-mac.ts";
import { createCommands } from "./send.ts";

// A fleet in which some peels open commands that are signed once for many, and some are of an earlier version.

const key = newKeyPair("user", systemRandom);
const mac = createRecordMac(newKeyPair("account", systemRandom));
const [current, earlier] = [
  ["web-1", "web-2", "web-3"],
  ["db-1", "db-2"],
];
const targets = [...current, ...earlier];
const envelope = systemRandom(200);
const plain: Job = withJobMac(mac, {
  ...{ jid: "job-3MPFSICSuHM6n9ASVzK0s68GQu3", function: "cmd.run", args: { command: "id" }, targets },
  ...{ metadata: {}, timeoutMs: 1_000, createdAt: 0, createdBy: "ann", requestId: "r-1", deadline: 1_000 },
});
const signed: Job = { ...plain, request: { subject: "svc.job.request", envelope } };

/** Commands of a master, with what it sent by peel, and how often it signed. */
function master(able: readonly string[] = current, resends?: () => boolean) {
  const sent = new Map<string, Uint8Array>();
  let signatures = 0;
  const counting: KeyPair = {
    ...key,
    sign(message) {
      signatures++;
      return key.sign(message);
    },
  };
  const commands = createCommands({
    bus: { publish: (subject, data) => sent.set(subject.split(".").at(-1) ?? "", data) },
    ...{ key: counting, mac, log: recordingLog() },
    recordsOf: (operator) => [encode(operator)],
    opensProofs: (peel) => able.includes(peel),
    ...(resends === undefined ? {} : { resends }),
  });
  return {
    commands,
    sent,
    get signatures() {
      return signatures;
    },
    opened: (peel: string) =>
      openCommand(sent.get(peel) ?? new Uint8Array(), { peel }, { keys: [key.publicKey], now: 0 }),
  };
}
const isForMany = (bytes: Uint8Array | undefined) => "proof" in (decode(bytes ?? new Uint8Array()) as object);

test("one signature is for all peels that open it, and each other one has its own", () => {
  const at = master();
  at.commands.send("dispatch", plain, targets);
  expect(at.signatures).toBe(1 + earlier.length);
  for (const peel of targets) {
    expect(decodeCall(at.opened(peel).body)).toEqual({ function: "cmd.run", args: { command: "id" } });
    expect(isForMany(at.sent.get(peel))).toBe(current.includes(peel));
  }
});

test("a peel of an earlier version gets the bytes of earlier versions", () => {
  const [mixed, none] = [master(), master([])];
  for (const job of [plain, signed]) {
    mixed.commands.send("dispatch", job, targets);
    none.commands.send("dispatch", job, targets);
    for (const peel of earlier) expect(mixed.sent.get(peel)).toEqual(none.sent.get(peel) ?? Buffer.of());
  }
});

test("what is sent again, and what answers a hello, is signed for the peel alone", () => {
  const [mixed, none] = [master(), master([])];
  for (const job of [plain, signed]) {
    mixed.commands.sendSingly("dispatch", job, targets);
    none.commands.send("dispatch", job, targets);
    expect(mixed.sent).toEqual(none.sent);
    for (const peel of targets) {
      expect(mixed.commands.sign("dispatch", job, peel)).toEqual(none.sent.get(peel));
    }
  }
});

test("a command to one peel needs no proof", () => {
  const at = master();
  at.commands.send("dispatch", plain, ["web-1", "db-1"]);
  expect([isForMany(at.sent.get("web-1")), at.signatures]).toEqual([false, 2]);
  at.commands.send("dispatch", plain, []);
  expect(at.signatures).toBe(2);
});

describe("a job that an operator signed", () => {
  test("has one body and one proof for both signatures", () => {
    const at = master();
    at.commands.send("dispatch", signed, targets);
    const { root } = merkleTree(targets);
    const bodies = current.map((peel) => {
      const { proof, body } = at.opened(peel);
      expect(isProven(peel, proof ?? [], root)).toBe(true);
      return Buffer.from(body).toString("hex");
    });
    expect(new Set(bodies).size).toBe(1);
    const evidence = decodeEvidence(at.opened("web-1").body);
    expect(Buffer.from(evidence?.request ?? []).equals(envelope)).toBe(true);
    expect(evidence?.proof).toBeUndefined();
    // Peels of an earlier version find theirs in the body.
    const own = decodeEvidence(at.opened("db-1").body)?.proof;
    expect(isProven("db-1", own ?? [], root)).toBe(true);
  });

  test("keeps to the tree of all its targets, also when it is sent to some of them", () => {
    const at = master();
    at.commands.send("dispatch", signed, ["web-1", "web-3"]);
    const { proof } = at.opened("web-3");
    expect(isProven("web-3", proof ?? [], merkleTree(targets).root)).toBe(true);
  });
});

test("a command says that it is sent again where a master does so, in each form, and is else that of earlier versions", () => {
  let resends = false;
  const at = master(current, () => resends);
  const before = master();
  for (const job of [plain, signed]) {
    at.commands.send("dispatch", job, targets);
    before.commands.send("dispatch", job, targets);
    expect(at.sent).toEqual(before.sent);
  }
  resends = true;
  for (const job of [plain, signed]) {
    for (const send of [at.commands.send, at.commands.sendSingly]) {
      send("dispatch", job, targets);
      for (const peel of targets) expect(decodeCall(at.opened(peel).body).resends).toBe(true);
    }
  }
  at.commands.send("stop", withCancelMac(mac, { ...plain, cancelledAt: 5, cancelledBy: "bob" }), targets);
  expect(at.opened("web-1").body.length).toBe(0);
});

test("a cancellation is signed once as well", () => {
  const at = master();
  const cancelled = withCancelMac(mac, { ...signed, cancelledAt: 5, cancelledBy: "bob" });
  at.commands.send("stop", cancelled, targets);
  expect(at.signatures).toBe(1 + earlier.length);
  for (const peel of targets) expect(at.opened(peel).kind).toBe("stop");
});

test("nothing is signed about a job that no master made", () => {
  const at = master();
  const forged = { ...plain, args: { command: "reboot" } };
  at.commands.send("dispatch", forged, targets);
  at.commands.sendSingly("dispatch", forged, targets);
  expect([at.sent.size, at.signatures]).toEqual([0, 0]);
});
