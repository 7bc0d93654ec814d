import { afterAll, expect, test } from "bun:test";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { sshKeys } from "../../../test/harness/ssh-keys.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { proveSsh } from "../../agent/evidence/ssh.ts";
import { systemRandom } from "../../base/id.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { createRecordMac } from "../../identity/record-mac.ts";
import { loadMasterConfig } from "../../program/config/master.ts";
import { createEvidence, inspectEvidence } from "./evidence.ts";

// The files by which a master verifies evidence, while people change them.

const directory = temporaryDirectory("evidence");
afterAll(() => directory[Symbol.dispose]());
const key = sshKeys(directory.path).make("ed25519");
const challenge = Buffer.alloc(32, 7);
const { publicKey } = newKeyPair("user", systemRandom);
const good = `web-1.example.com ${key.publicKey}\n`;

function setUp(flags: readonly string[]) {
  const loaded = loadMasterConfig(flags, {}, () => undefined);
  if (loaded.kind !== "run") throw new Error("does not run");
  const log = recordingLog();
  const recordMac = createRecordMac(newKeyPair("account", systemRandom));
  const evidence = createEvidence(loaded.values, {
    clock: manualClock(),
    random: systemRandom,
    recordMac,
    log,
  });
  const { public_key: sshKey = "", signature = "" } = proveSsh(key.path, { challenge, publicKey });
  const submission = {
    ...{
      peelId: "web-1_example_com",
      publicKey,
      curvePublicKey: "",
      challengeId: "",
      signature: new Uint8Array(),
    },
    evidence: { type: "ssh" as const, publicKey: sshKey, signature },
  };
  return { evidence, log, config: loaded.values, verify: () => evidence.verify(submission, challenge) };
}

test("nothing is accepted by default", async () => {
  const { evidence, config, verify } = setUp([]);
  expect(evidence.types).toEqual([]);
  expect(await inspectEvidence(config)).toEqual([]);
  expect(await verify()).toBeUndefined();
});

test("a changed file counts at once, a broken one refuses for now and is logged once, and its correction counts", async () => {
  const path = join(directory.path, "known_hosts");
  const { evidence, log, config, verify } = setUp(["--enroll-evidence-ssh-known-hosts", path]);
  expect(evidence.types).toEqual(["ssh"]);
  const replace = (text: string) => {
    writeFileSync(`${path}.next`, text);
    renameSync(`${path}.next`, path);
  };
  const unavailable = "this master cannot verify evidence now: its log has the reason";
  await expect(verify()).rejects.toThrow(unavailable);
  await expect(inspectEvidence(config)).rejects.toThrow("no such file");
  replace(good);
  expect(await verify()).toMatchObject({ type: "ssh" });
  replace(`${good}@revoked * ${key.publicKey}\n`);
  await expect(verify()).rejects.toThrow("is revoked");
  replace(`${good}broken\n`);
  for (let time = 0; time < 3; time++) await expect(verify()).rejects.toThrow(unavailable);
  await expect(inspectEvidence(config)).rejects.toThrow(`${path}, line 2`);
  replace(good);
  expect(await verify()).toMatchObject({ type: "ssh" });
  expect(log.records.map(({ fields }) => fields.error)).toEqual([
    expect.stringContaining("no such file"),
    expect.stringContaining("line 2"),
  ]);
});
