import { expect, test } from "bun:test";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemRandom } from "../../base/id.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { signHead } from "../../wire/audit-head.ts";
import { openAuditHeads } from "./audit-heads.ts";

const key = newKeyPair("user", systemRandom);
const head = (seq: number, fill = seq, signer = key) =>
  signHead({ seq, hash: new Uint8Array(32).fill(fill), at: 1_000 * seq }, signer);

function witness(path: string, keys = [key.publicKey]) {
  const log = recordingLog();
  return { log, heads: openAuditHeads({ path, commandKeys: { current: keys }, clock: manualClock(), log }) };
}
const seqs = ({ heads }: ReturnType<typeof witness>) => heads.remembered().map(({ seq }) => seq);

test("a peel remembers heads across restarts, in a file of its own", () => {
  using dir = temporaryDirectory("heads");
  const path = join(dir.path, "audit-heads");
  const first = witness(path);
  for (const seq of [3, 9, 9, 5]) first.heads.take(head(seq));
  expect(seqs(first)).toEqual([3, 5, 9]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  // The command key may be another one by now.
  expect(witness(path, []).heads.remembered()).toEqual(first.heads.remembered());
});

test("a head counts only with the signature of a command key", () => {
  using dir = temporaryDirectory("heads");
  const one = witness(join(dir.path, "audit-heads"));
  one.heads.take(head(7, 7, newKeyPair("user", systemRandom)));
  one.heads.take(Buffer.from("junk"));
  expect(seqs(one)).toEqual([]);
  expect(one.log.records.map(({ event }) => event)).toEqual([
    "a head of the audit was refused",
    "a head of the audit was refused",
  ]);
});

test("what contradicts is kept next to what was known, and stays", () => {
  using dir = temporaryDirectory("heads");
  const one = witness(join(dir.path, "audit-heads"));
  one.heads.take(head(100));
  one.heads.take(head(100, 1));
  for (let seq = 101; seq < 400; seq++) one.heads.take(head(seq, seq % 256));
  const kept = one.heads.remembered();
  expect(kept.filter(({ seq }) => seq === 100).map(({ hash }) => String(hash).slice(0, 2))).toEqual([
    "64",
    "01",
  ]);
  expect(kept.at(-1)?.seq).toBe(399);
  expect(one.log.records.map(({ event }) => event)).toContainEqual(
    expect.stringContaining("two different entries"),
  );
});

test("few heads are kept of many, spread over all of them", () => {
  using dir = temporaryDirectory("heads");
  const one = witness(join(dir.path, "audit-heads"));
  for (let seq = 1; seq <= 1_000; seq++) one.heads.take(head(seq, seq % 256));
  const kept = seqs(one).map(Number);
  expect(kept.length).toBe(32);
  expect([kept[0], kept.at(-1)]).toEqual([1, 1_000]);
  const widest = Math.max(...kept.slice(1).map((seq, index) => seq - (kept[index] ?? 0)));
  expect(widest).toBeLessThan(300);
});

test("a damaged file counts as empty, and is replaced by the next head", () => {
  using dir = temporaryDirectory("heads");
  const path = join(dir.path, "audit-heads");
  writeFileSync(path, "{", { mode: 0o600 });
  const one = witness(path);
  expect(seqs(one)).toEqual([]);
  one.heads.take(head(4));
  expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({ v: 1, heads: [{}] });
});
