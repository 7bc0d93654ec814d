import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { encodeBase64 } from "../../base/base64.ts";
import { systemClock } from "../../base/clock.ts";
import { makeDirectory } from "../../base/files/file.ts";
import { systemRandom } from "../../base/id.ts";
import { type BootstrapDocument, createDocument, rotationMessage } from "../../identity/bootstrap/mod.ts";
import { createAuthority } from "../../identity/ca/create.ts";
import { type AuthorityInForce, loadInForce } from "../../identity/ca/in-force.ts";
import { activateRotation, finishRotation, startRotation } from "../../identity/ca/rotate.ts";
import { newKeyPair } from "../../identity/mod.ts";
import { parseHeldRoots } from "../trust/follow-roots.ts";
import { createRefusedStatements } from "../trust/refused-statements.ts";
import { createRoots } from "../trust/roots.ts";

// The files of a peel that was off during whole rotations, and then reads what the masters say.

const [clock, random] = [systemClock, systemRandom];
const rootValidityMs = 1000 * 24 * 3_600_000;
const files = temporaryDirectory("across-rotations");
const key = newKeyPair("user", random);
/** After no rotation, one and two, and in the third. */
const states: AuthorityInForce[] = [];

beforeAll(async () => {
  const dir = join(files.path, "ca");
  await createAuthority({ dir, organization: "Fleet", rootValidityMs, clock, random });
  const start = () => startRotation({ dir, rootValidityMs, withoutRootKey: false, clock, random });
  for (let rotations = 0; rotations < 2; rotations++) {
    states.push(await loadInForce(dir));
    await start();
    await activateRotation(dir);
    await finishRotation(dir);
  }
  states.push(await loadInForce(dir));
  await start();
  states.push(await loadInForce(dir));
});
afterAll(() => files[Symbol.dispose]());

const at = (index: number): AuthorityInForce => {
  const found = states[index];
  if (found === undefined) throw new Error(`no state ${index}`);
  return found;
};
function documentOf({ root, rotation, crosses }: AuthorityInForce): BootstrapDocument {
  const base = { fingerprint: root.pin, nats_urls: [], command_keys: [key.publicKey] };
  const ca_cross_pem = crosses.join("\n");
  if (rotation === undefined) return createDocument({ ...base, ca_bundle_pem: root.pem, ca_cross_pem }, 0);
  const message = rotationMessage(rotation.phase, root.pin, rotation.next.pin);
  return createDocument(
    {
      ...base,
      ...{ ca_bundle_pem: root.pem + rotation.next.pem, ca_cross_pem },
      fingerprints: [root.pin, rotation.next.pin],
      trust_rotation: {
        ...{ phase: rotation.phase, next_fingerprint: rotation.next.pin, key: key.publicKey },
        signature: encodeBase64(key.sign(message)),
      },
    },
    0,
  );
}
const pem = ({ root }: AuthorityInForce) => root.pem.trim();

let count = 0;
/** A peel with the first root in these files. */
function sleeper(where: readonly ("anchor" | "busCa" | "enrollCa")[], config: { pins?: string[] } = {}) {
  const dir = join(files.path, `peel-${++count}`);
  makeDirectory(dir, 0o700);
  const paths = {
    anchor: join(dir, "enroll-ca.crt"),
    busCa: join(dir, "bus-ca.crt"),
    enrollCa: join(dir, "ca.crt"),
  };
  for (const name of where) writeFileSync(paths[name], at(0).root.pem);
  const enroll_ca = where.includes("enrollCa") ? paths.enrollCa : "";
  const log = recordingLog();
  const roots = createRoots({
    ways: () => ({ config: { enroll_ca, enroll_ca_pin: config.pins ?? [], bus_ca: "" }, env: {} }),
    files: paths,
    refusedStatements: createRefusedStatements({ clock }),
    clock,
    log,
  });
  const text = (name: keyof typeof paths) => readFileSync(paths[name], "utf8");
  return { roots, text, paths, held: () => parseHeldRoots(text("anchor")) };
}

test.each([
  ["by its anchor", ["anchor", "busCa"], false],
  ["by a pin", ["busCa"], true],
  ["by enroll_ca", ["enrollCa", "busCa"], false],
] as const)("a peel that verified masters %s follows one rotation, and two", (_, where, isPinned) => {
  for (const after of [1, 2]) {
    const { roots, text, held } = sleeper(where, isPinned ? { pins: [at(0).root.pin] } : {});
    const document = documentOf(at(after));
    expect(roots.kept().map((each) => each.trim())).toEqual([pem(at(0))]);
    expect(roots.differs(document)).toBe(true);
    expect(roots.take(document, at(after).root.pin, [])).toBe(false);
    expect(held()).toEqual({ ancestors: [at(0).root.pin], roots: [pem(at(after))] });
    expect(text("busCa")).toBe(`${pem(at(after))}\n`);
    expect(roots.differs(document)).toBe(false);
    expect(roots.trusted()).toEqual([at(after).root.pin]);
    // The way back is closed.
    expect(roots.take(documentOf(at(0)), at(0).root.pin, [])).toBe(false);
    expect(roots.trusted()).toEqual([at(after).root.pin]);
  }
});

test("a rotation that runs when the peel wakes up is followed too, by a command key that it knows", () => {
  const document = documentOf(at(3));
  const known = sleeper(["anchor", "busCa"]);
  known.roots.take(document, at(2).root.pin, [key.publicKey]);
  expect(known.roots.trusted()).toEqual([at(2).root.pin, at(3).rotation?.next.pin ?? ""]);
  const unknown = sleeper(["anchor", "busCa"]);
  unknown.roots.take(document, at(2).root.pin, []);
  expect(unknown.roots.trusted()).toEqual([at(2).root.pin]);
  expect(unknown.roots.take(document, at(2).root.pin, [])).toBe(true);
});

test("without a certificate of what it trusts, or without one that leads on, nothing changes", () => {
  const bare = sleeper([], { pins: [at(0).root.pin] });
  expect(bare.roots.kept()).toEqual([]);
  expect(bare.roots.take(documentOf(at(1)), at(1).root.pin, [])).toBe(false);
  expect(bare.roots.trusted()).toEqual([at(0).root.pin]);
  const { roots, text, paths } = sleeper(["anchor", "busCa"]);
  const { ca_cross_pem: _, ...alone } = documentOf(at(1));
  expect(roots.differs(alone)).toBe(false);
  roots.take(alone, at(1).root.pin, []);
  expect([text("anchor"), text("busCa")]).toEqual([at(0).root.pem, at(0).root.pem]);
  rmSync(paths.anchor);
});
