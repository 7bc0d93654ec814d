import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemRandom } from "../../base/id.ts";
import { encodeJwt, formatCredentials, newKeyPair } from "../../identity/mod.ts";
import { damagedEvent, readPeelCredentials, reportDamagedFiles } from "./damaged-file.ts";
import { identityFiles } from "./identity.ts";

/** The files of an enrolled peel. */
function enrolled(dir: string) {
  const files = identityFiles(join(dir, "auth"), "web-1");
  mkdirSync(join(dir, "auth"));
  const key = newKeyPair("user", systemRandom);
  const issuer = newKeyPair("account", systemRandom);
  const claims = { type: "user", name: "web-1", subject: key.publicKey, issuedAt: 1, nats: {} } as const;
  writeFileSync(files.credentials, formatCredentials(encodeJwt(claims, issuer), key.seed));
  writeFileSync(files.seed, `${newKeyPair("user", systemRandom).seed}\n`);
  writeFileSync(files.commandKeys, `${newKeyPair("user", systemRandom).publicKey}\n`);
  return { files, busCa: join(dir, "auth/bus-ca.crt") };
}

test("credentials are read whole, and whatever changed in them names the file and what to do", () => {
  using directory = temporaryDirectory("damaged");
  const { credentials } = enrolled(directory.path).files;
  const whole = readFileSync(credentials);
  expect(readPeelCredentials(credentials)).toBe(whole.toString());
  const jwtAt = whole.indexOf("eyJ");
  const damages: (() => void)[] = [
    () => writeFileSync(credentials, ""),
    () => writeFileSync(credentials, Buffer.alloc(whole.length)),
    () => truncateSync(credentials, jwtAt + 100),
    () => writeFileSync(credentials, Buffer.from(whole).fill("A", whole.length - 60, whole.length - 58)),
    ...[60, 120, 200].map(
      (at) => () =>
        writeFileSync(
          credentials,
          Buffer.from(whole).fill(whole[jwtAt + at] === 65 ? "B" : "A", jwtAt + at, jwtAt + at + 1),
        ),
    ),
    () => rmSync(credentials),
  ];
  for (const damage of damages) {
    writeFileSync(credentials, whole);
    damage();
    expect(() => readPeelCredentials(credentials)).toThrow(
      /web-1\.creds is damaged: .+; where it reaches a master, the peel recovers it by itself; otherwise restore it from a backup, or revoke the peel with svc enroll revoke/,
    );
  }
});

test("damaged files are reported by name, and whole ones are not", () => {
  using directory = temporaryDirectory("damaged");
  const { files, busCa } = enrolled(directory.path);
  const report = () => {
    const log = recordingLog();
    reportDamagedFiles(files, busCa, log);
    expect(log.records.every(({ level, event }) => level === "error" && event === damagedEvent)).toBe(true);
    return log.records.map(({ fields }) => fields);
  };
  expect(report()).toEqual([]);
  const noise = Buffer.from([0xff, 0x00, 0xc1, 0x01]);
  for (const file of [files.seed, files.commandKeys, files.anchor, busCa]) writeFileSync(file, noise);
  expect(report().map(({ file, reason }) => [file, reason])).toEqual(
    [files.seed, files.commandKeys, files.anchor, busCa].map((file) => [file, "it is not text"]),
  );
  for (const file of [files.anchor, busCa]) rmSync(file);
  writeFileSync(files.commandKeys, `${newKeyPair("user", systemRandom).publicKey}\nUX\n`);
  rmSync(files.seed);
  expect(report()).toMatchObject([
    { file: files.seed, reason: "it is missing", next: expect.stringContaining("enrolls again") },
    { file: files.commandKeys, reason: "a line of it is not the public key of a user" },
  ]);
  // A host that has not enrolled yet has no seed.
  rmSync(files.credentials);
  rmSync(files.commandKeys);
  expect(report()).toEqual([]);
});
