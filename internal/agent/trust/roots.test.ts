import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { type TestAuthority, testAuthority } from "../../../test/harness/impostor.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { encodeBase64 } from "../../base/base64.ts";
import { systemClock } from "../../base/clock.ts";
import { systemRandom } from "../../base/id.ts";
import { createDocument, rotationMessage } from "../../identity/bootstrap/mod.ts";
import { newKeyPair } from "../../identity/mod.ts";
import { createRefusedStatements } from "./refused-statements.ts";
import { createRoots } from "./roots.ts";

const files = temporaryDirectory("roots");
afterAll(() => files[Symbol.dispose]());
const [key, thief] = [newKeyPair("user", systemRandom), newKeyPair("user", systemRandom)];
let current: TestAuthority;
let next: TestAuthority;
beforeAll(async () => {
  [current, next] = await Promise.all([testAuthority("one"), testAuthority("two")]);
});

/** The document of a master whose root is rotated, with a statement that this key signed. */
function rotating(signer: typeof key, named = signer) {
  const message = rotationMessage("start", current.pin, next.pin);
  return createDocument(
    {
      ...{ nats_urls: [], command_keys: [key.publicKey] },
      ...{ fingerprint: current.pin, fingerprints: [current.pin, next.pin] },
      ca_bundle_pem: `${current.rootPem.trim()}\n${next.rootPem.trim()}\n`,
      trust_rotation: {
        ...{ phase: "start", next_fingerprint: next.pin, key: named.publicKey },
        signature: encodeBase64(signer.sign(message)),
      },
    },
    0,
  );
}

test("a rotation that is refused is noted with its reason, until one is followed or none runs", () => {
  const anchor = join(files.path, "enroll-ca.crt");
  writeFileSync(anchor, current.rootPem);
  const clock = systemClock;
  const refusedStatements = createRefusedStatements({ clock });
  const roots = createRoots({
    ways: () => ({ config: { enroll_ca: "", enroll_ca_pin: [], bus_ca: "" }, env: {} }),
    files: { anchor, busCa: join(files.path, "bus-ca.crt") },
    refusedStatements,
    clock,
    log: recordingLog(),
  });
  const take = (document: ReturnType<typeof rotating>) => {
    roots.take(document, current.pin, [key.publicKey]);
    return refusedStatements.current().map(({ kind, reason }) => [kind, reason]);
  };
  expect(take(rotating(thief))).toEqual([
    ["rotation", expect.stringContaining("does not know the command key")],
  ]);
  expect(take(rotating(thief, key))).toEqual([
    ["rotation", expect.stringContaining("signature does not match")],
  ]);
  expect(roots.trusted()).toEqual([current.pin]);
  const before = createDocument(
    {
      ...{ nats_urls: [], command_keys: [key.publicKey] },
      ...{ fingerprint: current.pin, ca_bundle_pem: current.rootPem },
    },
    0,
  );
  expect(take(before)).toEqual([]);
  expect(take(rotating(thief))).toHaveLength(1);
  expect(take(rotating(key))).toEqual([]);
  expect(roots.trusted()).toEqual([current.pin, next.pin]);
});
