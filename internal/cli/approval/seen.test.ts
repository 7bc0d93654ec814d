import { expect, test } from "bun:test";
import { systemRandom } from "../../base/id.ts";
import { encode } from "../../base/msgpack.ts";
import { sha256 } from "../../base/sha256.ts";
import { merkleTree } from "../../identity/merkle/mod.ts";
import { newKeyPair } from "../../identity/mod.ts";
import { signRequest } from "../../wire/signed-request.ts";
import { seenOf } from "./seen.ts";

// A stolen master shows a request to those who shall agree. What it shows must be what was signed.

const key = newKeyPair("user", systemRandom);
const subject = "svc.job.request";
const targets = ["web-1", "web-2"];
const body = encode({
  ...{
    target: "web-*",
    function: "cmd.run",
    args: { command: "id\u202e" },
    operator: "root",
    request_id: "r",
  },
  targets_digest: merkleTree(targets).root,
});
const envelope = signRequest(
  subject,
  { body, operator: "ann", sentAt: Date.UTC(2026, 0, 1), nonce: systemRandom(16) },
  key,
);
const signed = (bytes: Uint8Array, at = subject) => ({
  subject: at,
  envelope: Buffer.from(bytes).toString("base64"),
});
const shown = { asked_by: "ann", request: {}, targets, expires_at: "2026-01-02T00:00:00.000Z" };
const said: string[] = [];
const cli = { say: (line: string) => void said.push(line) };

test("what was signed is said, and its digest agreed to", () => {
  expect(seenOf(shown, signed(envelope), cli)).toEqual({ request_digest: sha256(envelope) });
  expect(said).toEqual([
    "ann wants to run cmd.run on 2 peels (target web-*), signed at 2026-01-01T00:00:00.000Z; others can agree until 2026-01-02T00:00:00.000Z",
    "  argument command: id\\u202e",
  ]);
});

test("state files that were signed are said, and no others agreed to", () => {
  const snapshot = sha256("files");
  const targets_digest = merkleTree(targets).root;
  const fields = { function: "state.apply", args: {}, targets_digest, snapshot };
  const bytes = signRequest(
    subject,
    { body: encode(fields), operator: "ann", sentAt: Date.UTC(2026, 0, 1), nonce: systemRandom(16) },
    key,
  );
  const showing = (digest: Uint8Array) => {
    const content = { environment: "base", commit: "local", snapshot: Buffer.from(digest) };
    return seenOf({ ...shown, content }, signed(bytes), cli);
  };
  expect(showing(snapshot)).toEqual({ request_digest: sha256(bytes) });
  const short = Buffer.from(snapshot).toString("hex").slice(0, 12);
  expect(said.at(-1)).toContain(
    `ann wants to run state.apply on 2 peels with state files ${short}, signed at`,
  );
  expect(() => showing(sha256("other"))).toThrow("ann signed other state files than the master shows");
});

test("nobody agrees to what was not signed", () => {
  const changed = Buffer.from(envelope);
  const at = changed.indexOf("cmd.run");
  changed.write("cmd.rux", at);
  const digest = (of: Partial<typeof shown>, what = signed(envelope)) =>
    seenOf({ ...shown, ...of }, what, cli);
  expect(() => digest({}, signed(changed))).toThrow("ann did not sign the request that the master shows");
  expect(() => digest({}, signed(envelope, "svc.rollout.start"))).toThrow("ann did not sign the request");
  expect(() => digest({ asked_by: "ben" })).toThrow("ben did not sign the request");
  expect(() => digest({ targets: ["web-1"] })).toThrow("ann signed other peels than the master shows");
  expect(() => digest({ targets: [] })).toThrow("ann signed other peels");
  expect(() => digest({}, { subject, envelope: "AAAA" })).toThrow(
    "a signed request must be a MessagePack map",
  );
});

test("of ids that were signed together the shown one alone is agreed to, and no other", () => {
  const at = "svc.admin.enroll.revoke";
  const fields = { ids: ["enr-1", "enr-2"], reason: "sold", operator: "root", request_id: "r" };
  const bytes = signRequest(
    at,
    { body: encode(fields), operator: "ann", sentAt: Date.UTC(2026, 0, 1), nonce: systemRandom(16) },
    key,
  );
  const { targets: _, ...about } = { ...shown, about: "web-2.example.com" };
  const showing = (request: Record<string, string>) => seenOf({ ...about, request }, signed(bytes, at), cli);
  expect(showing({ id: "enr-2" })).toEqual({ request_digest: sha256(bytes), signed_id: "enr-2" });
  expect(said.slice(-3)).toEqual([
    "ann wants to revoke web-2.example.com, signed at 2026-01-01T00:00:00.000Z; others can agree until 2026-01-02T00:00:00.000Z",
    "  id: enr-2",
    "  reason: sold",
  ]);
  for (const request of [{ id: "enr-3" }, {}]) {
    expect(() => showing(request as Record<string, string>)).toThrow(
      "ann signed other ids than the master shows",
    );
  }
});
