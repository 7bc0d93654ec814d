import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startImpostor, type TestAuthority, testAuthority } from "../../../test/harness/impostor.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { nthStatement, recoveryKey } from "../../../test/harness/succession.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemClock } from "../../base/clock.ts";
import { makeDirectory, secretMode, writeFileAtomic } from "../../base/files/file.ts";
import { newId, systemRandom } from "../../base/id.ts";
import { newKeyPair } from "../../identity/mod.ts";
import { signSuccession } from "../../identity/succession/mod.ts";
import { identityFiles } from "../identity/mod.ts";
import { checkPeel } from "./check.ts";

// What svc-peel check reports of the identity of this host, without any server of its fleet.

const nobody = "https://127.0.0.1:1";
let own: TestAuthority;
let next: TestAuthority;
beforeAll(async () => {
  [own, next] = await Promise.all([testAuthority("Own"), testAuthority("Next")]);
});
const made: ReturnType<typeof temporaryDirectory>[] = [];
afterAll(() => {
  for (const one of made) one[Symbol.dispose]();
});

/** A data directory of the peel web-1 with these files of its identity. */
function host(texts: Partial<Record<keyof ReturnType<typeof identityFiles>, string>> = {}) {
  const directory = temporaryDirectory("peel-check");
  made.push(directory);
  const auth = join(directory.path, "auth");
  makeDirectory(auth, 0o700);
  const files = new Map(Object.entries(identityFiles(auth, "web-1")));
  for (const [name, text] of Object.entries(texts)) writeFileAtomic(files.get(name) ?? "", text, secretMode);
  return directory.path;
}

async function check(dir: string, ...flags: string[]) {
  return checkOn("web-1", dir, ...flags);
}

async function checkOn(hostname: string, dir: string, ...flags: string[]) {
  const results = await checkPeel({
    argv: ["--bus-url", "tls://127.0.0.1:1", ...flags],
    env: { SVC_DATA_DIR: dir },
    hostname,
    clock: systemClock,
    log: recordingLog(),
  });
  for (const { step, level, next } of results) {
    // What is skipped names the step it needs.
    if (level === "fail" || level === "warn") expect([step, next ?? ""]).not.toEqual([step, ""]);
  }
  return (step: string) => results.find((one) => one.step === step);
}

test("masters: one that refuses connections is named once, in words of this program", async () => {
  expect((await check(host(), "--master-url", nobody))("masters")).toEqual({
    ...{ step: "masters", level: "fail", message: "https://127.0.0.1:1: connection refused" },
    next: "start the master, open its port in the firewalls, or correct master_url",
  });
});

test("identity: the peel is named by its configuration, by what it enrolled as, and by its host", async () => {
  const named = async (dir: string, ...flags: string[]) =>
    (await check(dir, "--master-url", nobody, ...flags))("identity");
  const empty = host();
  expect(await named(empty)).toEqual({ step: "identity", level: "ok", message: "this is the peel web-1" });
  expect((await named(empty, "--id", "Db.Example.com"))?.message).toBe("this is the peel Db.Example.com");
  expect(readdirSync(join(empty, "auth"))).toEqual([]);
  const pinned = host();
  writeFileSync(join(pinned, "auth", "node-id"), "kept_example_com\n");
  expect((await named(pinned))?.message).toBe("this is the peel kept.example.com");
  writeFileSync(join(pinned, "auth", "node-id"), "no peel\n");
  expect(await named(pinned)).toMatchObject({
    level: "fail",
    message: expect.stringContaining("node-id does not contain a peel id"),
    next: "set id, or --id",
  });
});

test("identity: a host without a name of its own gets a message, and what needs one is not checked", async () => {
  const found = await checkOn("localhost", host(), "--master-url", nobody);
  expect(found("identity")).toMatchObject({
    level: "fail",
    message: expect.stringContaining("the host name is localhost"),
    next: "set id, or --id",
  });
  for (const step of ["masters", "succession", "enrollment"]) {
    expect(found(step)).toMatchObject({ level: "skip", message: "not checked: it needs identity" });
  }
});

const id = newId("enr", systemClock.now(), systemRandom);
const seed = newKeyPair("user", systemRandom).seed;
test.each([
  ["never enrolled", {}, [], "skip", "not enrolled yet", "svc enroll approve"],
  [
    "lost, with seed and masters",
    { enrollment: id, seed },
    ["--master-url", nobody],
    "fail",
    "missing",
    "recovers them by itself, as long as",
  ],
  ["lost, without a master", { enrollment: id, seed }, [], "fail", "missing", "set master_url"],
  [
    "lost, with the seed",
    { enrollment: id },
    ["--master-url", nobody],
    "fail",
    "missing",
    "svc enroll revoke",
  ],
  [
    "damaged",
    { enrollment: id, seed, credentials: "nothing" },
    ["--master-url", nobody],
    "fail",
    "web-1.creds",
    "recovers them by itself, as long as",
  ],
] as const)("enrollment: credentials that are %s", async (_, texts, flags, level, message, nextStep) => {
  const found = (await check(host(texts), ...flags))("enrollment");
  expect(found).toMatchObject({ level, message: expect.stringContaining(message) });
  expect(found?.next).toContain(nextStep);
});

/** A peel of the fleet `own`, whose master URL leads to a server of another one. */
async function succession(statement: unknown, keys: readonly string[] = [recoveryKey.publicKey]) {
  await using master = startImpostor({
    tls: await next.issue(),
    answer: (_, { pathname }) =>
      pathname.endsWith("/succession") && statement !== undefined
        ? Response.json(statement)
        : new Response("{}", { status: 404 }),
  });
  const dir = host({
    anchor: own.rootPem,
    ...(keys.length > 0 ? { recoveryKeys: `${keys.join("\n")}\n` } : {}),
  });
  const found = await check(dir, "--master-url", master.url);
  expect(found("masters")?.level).toBe("fail");
  return found("succession");
}
const good = () => nthStatement(1, { ca_bundle_pem: next.rootPem, fingerprint: next.pin });

test("succession: a statement that the peel follows, and one that it refuses, with the reason", async () => {
  expect(await succession(good())).toMatchObject({
    level: "warn",
    message: expect.stringContaining("serial 1 that this peel accepts"),
    next: expect.stringContaining("start the peel"),
  });
  const { signature: _, key: __, ...fields } = good();
  expect(await succession(signSuccession(fields, newKeyPair("user", systemRandom)))).toMatchObject({
    level: "fail",
    message: expect.stringContaining("is not a recovery key of this peel"),
    next: expect.stringContaining("docs/succession.md"),
  });
  expect((await succession({ v: "x\nok  all  well" }))?.level).toBe("fail");
  expect(await succession(undefined)).toMatchObject({ level: "warn", next: "see the step masters" });
  expect(await succession(good(), [])).toMatchObject({
    level: "warn",
    message: expect.stringContaining("knows no recovery key"),
    next: expect.stringContaining("recovery.pub"),
  });
});

test("succession: while masters can be verified, or cannot be reached, none is needed", async () => {
  const found = await check(host({ anchor: own.rootPem }), "--master-url", nobody);
  expect(found("succession")).toMatchObject({ level: "ok", message: "none is needed" });
});
