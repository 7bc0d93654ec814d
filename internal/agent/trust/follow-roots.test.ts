import { beforeAll, describe, expect, test } from "bun:test";
import { testAuthority } from "../../../test/harness/impostor.ts";
import { encodeBase64 } from "../../base/base64.ts";
import { systemRandom } from "../../base/id.ts";
import { type BootstrapDocument, createDocument, rotationMessage } from "../../identity/bootstrap/mod.ts";
import { newKeyPair } from "../../identity/mod.ts";
import {
  countingRoots,
  followInFile,
  followRoots,
  formatHeldRoots,
  type HeldRoots,
  parseHeldRoots,
} from "./follow-roots.ts";

const key = newKeyPair("user", systemRandom);
const other = newKeyPair("user", systemRandom);
/** Three roots of one fleet, one after the other. */
let pems: string[];
let pins: string[];

beforeAll(async () => {
  const made = await Promise.all(["one", "two", "three"].map((name) => testAuthority(name)));
  pems = made.map(({ rootPem }) => rootPem.trim());
  pins = made.map(({ pin }) => pin);
});

const held = (...at: number[]): HeldRoots => ({ ancestors: [], roots: at.map((i) => pems[i] ?? "") });
const pin = (at: number) => pins[at] ?? "";

/** What masters serve while they rotate from one root to the next, or with one root. */
function documentOf(current: number, next?: number, change: Partial<BootstrapDocument> = {}) {
  const base = { nats_urls: [], command_keys: [key.publicKey], fingerprint: pin(current) };
  if (next === undefined)
    return createDocument({ ...base, ca_bundle_pem: `${pems[current]}\n`, ...change }, 0);
  return createDocument(
    {
      ...base,
      ca_bundle_pem: `${pems[current]}\n${pems[next]}\n`,
      fingerprints: [pin(current), pin(next)],
      trust_rotation: statement("start", current, next),
      ...change,
    },
    0,
  );
}
function statement(phase: string, current: number, next: number, signer = key) {
  return {
    phase,
    next_fingerprint: pin(next),
    signature: encodeBase64(signer.sign(rotationMessage(phase, pin(current), pin(next)))),
    key: signer.publicKey,
  };
}
const follow = (from: HeldRoots, document: BootstrapDocument, keys = [key.publicKey]) =>
  followRoots(from, document, keys, Date.UTC(2026, 0, 1));

test("a rotation from start to finish: both, then the next alone, which remembers what it followed", () => {
  const started = follow(held(0), documentOf(0, 1));
  expect(started).toEqual({ kind: "replace", held: held(0, 1) });
  const activate = documentOf(0, 1, { trust_rotation: statement("activate", 0, 1) });
  expect(follow(held(0, 1), activate)).toEqual({ kind: "keep" });
  const finished = follow(held(0, 1), documentOf(1));
  expect(finished).toEqual({ kind: "replace", held: { ancestors: [pin(0)], roots: held(1).roots } });
  // A master that has not noticed the end does not bring the old root back.
  expect(follow({ ancestors: [pin(0)], ...{ roots: held(1).roots } }, activate)).toEqual({ kind: "keep" });
});

test("a rotation that is aborted leaves the current root alone, and the next one does not become an ancestor", () => {
  expect(follow(held(0, 1), documentOf(0))).toEqual({ kind: "replace", held: held(0) });
});

test("a second rotation follows the first, and another next root replaces the one that was aborted", () => {
  const first: HeldRoots = { ancestors: [pin(0)], roots: held(1).roots };
  expect(follow(first, documentOf(1, 2))).toEqual({
    kind: "replace",
    held: { ancestors: [pin(0)], roots: held(1, 2).roots },
  });
  expect(follow(held(0, 1), documentOf(0, 2))).toEqual({ kind: "replace", held: held(0, 2) });
});

test("a peel that was off from start to finish is not moved by anything it cannot verify", () => {
  expect(follow(held(0), documentOf(1))).toEqual({ kind: "keep" });
  expect(follow(held(0), documentOf(1, 2))).toEqual({ kind: "keep" });
});

describe("what is not followed", () => {
  const malformed = { kind: "refuse", reason: "malformed" } as const;
  test("a signature of an unknown command key, even of one that the same document names", () => {
    const forged = documentOf(0, 1, {
      trust_rotation: statement("start", 0, 1, other),
      command_keys: [other.publicKey],
    });
    expect(follow(held(0), forged)).toEqual({ kind: "refuse", reason: "unknown-key" });
    expect(follow(held(0), forged, [key.publicKey, other.publicKey])).toMatchObject({ kind: "replace" });
  });

  test("a statement for another phase, other roots, or in another name", () => {
    const bad: Partial<BootstrapDocument>[] = [
      { trust_rotation: { ...statement("start", 0, 1), phase: "activate" } },
      { trust_rotation: { ...statement("finish", 0, 1) } },
      { trust_rotation: statement("start", 0, 2) },
      { trust_rotation: statement("start", 1, 0) },
      { trust_rotation: { ...statement("start", 0, 1, other), key: key.publicKey } },
      { trust_rotation: { ...statement("start", 0, 1), signature: "junk" } },
      { trust_rotation: { ...statement("start", 0, 1), signature: "" } },
    ];
    for (const change of bad) expect(follow(held(0), documentOf(0, 1, change))).toEqual(malformed);
    const { trust_rotation: _, ...unsigned } = documentOf(0, 1);
    expect(follow(held(0), unsigned)).toEqual(malformed);
  });

  test("pins and certificates that do not fit together", () => {
    for (const change of [
      { ca_bundle_pem: `${pems[0]}\n` },
      { ca_bundle_pem: `${pems[0]}\n${pems[2]}\n` },
      { ca_bundle_pem: `${pems[0]}\n${pems[1]}\n${pems[2]}\n` },
      { ca_bundle_pem: "junk" },
      { fingerprints: [pin(0), pin(1), pin(2)] },
      { fingerprints: [pin(0), pin(0)] },
    ]) {
      expect(follow(held(0), documentOf(0, 1, change))).toEqual(malformed);
    }
    expect(follow(held(0), documentOf(0, undefined, { ca_bundle_pem: "", fingerprint: "" }))).toEqual({
      kind: "keep",
    });
  });
});

test("the file keeps roots and ancestors, and a damaged one has none", () => {
  const some: HeldRoots = { ancestors: [pin(0), pin(1)], roots: held(2).roots };
  expect(parseHeldRoots(formatHeldRoots(some))).toEqual(some);
  expect(parseHeldRoots(`${pems[0]}\n`)).toEqual(held(0));
  for (const text of ["", "junk", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]) {
    expect(parseHeldRoots(text)).toEqual({ ancestors: [], roots: [] });
  }
});

describe("what an operator configured counts", () => {
  const rotated = () => held(0, 1);
  test("the roots that followed it do, those before do not", () => {
    expect(countingRoots(rotated(), undefined)).toEqual(rotated().roots);
    expect(countingRoots(rotated(), [pin(0)])).toEqual(rotated().roots);
    expect(countingRoots(rotated(), [pin(1)])).toEqual(held(1).roots);
    expect(countingRoots({ ancestors: [pin(0)], roots: held(1).roots }, [pin(0)])).toEqual(held(1).roots);
    expect(countingRoots({ ancestors: [pin(0), pin(1)], roots: held(2).roots }, [pin(1)])).toEqual(
      held(2).roots,
    );
  });
  test("a pin of none of them, and a root of the first contact, leave it to the rung", () => {
    expect(countingRoots(rotated(), [pin(2)])).toEqual([]);
    expect(countingRoots(held(0), [pin(0)])).toEqual([]);
  });
});

test("the file for the bus follows, keeps roots of others, and is not touched where it has none of these", () => {
  const one = `${pems[0]}\n`;
  const both = followInFile(one, held(0, 1));
  expect(both).toBe(`${pems[0]}\n${pems[1]}\n`);
  expect(followInFile(both ?? "", held(0, 1))).toBeUndefined();
  expect(followInFile(both ?? "", { ancestors: [pin(0)], roots: held(1).roots })).toBe(`${pems[1]}\n`);
  expect(followInFile(`${pems[2]}\n${one}`, held(0, 1))).toBe(`${pems[2]}\n${pems[0]}\n${pems[1]}\n`);
  expect(followInFile(`${pems[2]}\n`, held(0, 1))).toBeUndefined();
  expect(followInFile("", held(0, 1))).toBeUndefined();
});
