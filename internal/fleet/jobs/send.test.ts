import { describe, expect, test } from "bun:test";
import { recordingLog } from "../../../test/harness/log.ts";
import { systemRandom } from "../../base/id.ts";
import { encode } from "../../base/msgpack.ts";
import { isProven, merkleTree } from "../../identity/merkle/merkle.ts";
import { type KeyPair, newKeyPair } from "../../identity/nkey.ts";
import { createRecordMac } from "../../identity/record-mac.ts";
import { decodeCall, decodeEvidence } from "../../wire/call.ts";
import { openCommand } from "../../wire/command.ts";
import type { Job } from "./records/record.ts";
import { withCancelMac, withJobMac } from "./records/record-mac.ts";
import { createCommands } from "./send.ts";

const key = newKeyPair("user", systemRandom);
const mac = createRecordMac(newKeyPair("account", systemRandom));
const targets = ["web-1", "web-2", "web-3", "db-1", "db-2"];
const envelope = systemRandom(200);
const plain: Job = withJobMac(mac, {
  ...{ jid: "job-3MPFSICSuHM6n9ASVzK0s68GQu3", function: "cmd.run", args: { command: "id" }, targets },
  ...{ metadata: {}, timeoutMs: 1_000, createdAt: 0, createdBy: "ann", requestId: "r-1", deadline: 1_000 },
});
const signed: Job = { ...plain, request: { subject: "svc.job.request", envelope } };

/** Commands of a master, with what it sent by peel, and how often it signed. */
function master(resends?: () => boolean) {
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
test("one signature is for all peels, also when they are sent again", () => {
  const at = master();
  for (const send of [at.commands.send, at.commands.resend]) {
    at.sent.clear();
    send("dispatch", plain, targets);
    for (const peel of targets) {
      expect(decodeCall(at.opened(peel).body)).toEqual({ function: "cmd.run", args: { command: "id" } });
    }
  }
  expect(at.signatures).toBe(2);
  at.commands.send("dispatch", plain, []);
  expect(at.signatures).toBe(2);
});

test("what answers a hello is signed for the peel alone, as a command to one peel", () => {
  const at = master();
  for (const job of [plain, signed]) {
    for (const peel of targets) {
      at.commands.send("dispatch", job, [peel]);
      expect(at.opened(peel).proof).toEqual([]);
      expect(at.commands.sign("dispatch", job, peel)).toEqual(at.sent.get(peel));
    }
  }
});

describe("a job that an operator signed", () => {
  test("has one body and one proof for both signatures", () => {
    const at = master();
    at.commands.send("dispatch", signed, targets);
    const { root } = merkleTree(targets);
    const bodies = targets.map((peel) => {
      const { proof, body } = at.opened(peel);
      expect(isProven(peel, proof, root)).toBe(true);
      return Buffer.from(body).toString("hex");
    });
    expect(new Set(bodies).size).toBe(1);
    const evidence = decodeEvidence(at.opened("web-1").body);
    expect(Buffer.from(evidence?.request ?? []).equals(envelope)).toBe(true);
    expect(evidence?.proof).toBeUndefined();
  });

  test("keeps to the tree of all its targets, also when it is sent to some of them", () => {
    const at = master();
    at.commands.send("dispatch", signed, ["web-1", "web-3"]);
    const { proof } = at.opened("web-3");
    expect(isProven("web-3", proof, merkleTree(targets).root)).toBe(true);
  });
});

test("a command says that it is sent again where a master does so", () => {
  let resends = false;
  const at = master(() => resends);
  for (const job of [plain, signed]) {
    at.commands.send("dispatch", job, targets);
    for (const peel of targets) expect(decodeCall(at.opened(peel).body).resends).toBeUndefined();
  }
  resends = true;
  for (const job of [plain, signed]) {
    for (const send of [at.commands.send, at.commands.resend]) {
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
  expect(at.signatures).toBe(1);
  for (const peel of targets) expect(at.opened(peel).kind).toBe("stop");
});

test("the key that returns are sealed to is in each command, and cannot be changed, added or taken away", () => {
  const at = master();
  const sealing = withJobMac(mac, { ...signed, sealTo: "XANN" });
  at.commands.send("dispatch", sealing, targets);
  for (const peel of targets) expect(decodeCall(at.opened(peel).body).sealTo).toBe("XANN");
  at.sent.clear();
  const { sealTo: _, ...without } = sealing;
  for (const changed of [{ ...sealing, sealTo: "XEVE" }, without, { ...signed, sealTo: "XEVE" }]) {
    at.commands.send("dispatch", changed, targets);
    at.commands.resend("dispatch", changed, targets);
  }
  expect(at.sent.size).toBe(0);
});

test("nothing is signed about a job that no master made", () => {
  const at = master();
  const forged = { ...plain, args: { command: "reboot" } };
  at.commands.send("dispatch", forged, targets);
  at.commands.resend("dispatch", forged, targets);
  expect([at.sent.size, at.signatures]).toEqual([0, 0]);
});
