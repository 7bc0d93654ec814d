import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { acceptorMain, nthStatement, trustFiles } from "../../../test/harness/succession.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemClock } from "../../base/clock.ts";
import type { SignedSuccession } from "../../identity/succession/mod.ts";
import { openAccepted } from "./accepted.ts";

const files = temporaryDirectory("accepted");
afterAll(() => files[Symbol.dispose]());
let count = 0;
const fresh = () => {
  const dir = join(files.path, `peel-${++count}`);
  mkdirSync(dir);
  return trustFiles(dir);
};
type Files = ReturnType<typeof fresh>;

/** What each file holds by a statement. */
const trustOf = (paths: Files, statement: SignedSuccession): [path: string, text: string][] => [
  [paths.anchor, statement.ca_bundle_pem],
  [paths.busCa, statement.ca_bundle_pem],
  [paths.commandKeys, `${statement.command_keys.join("\n")}\n`],
  [paths.recoveryKeys, `${statement.recovery_keys.join("\n")}\n`],
];
const write = (all: readonly [path: string, text: string][]) => {
  for (const [path, text] of all) writeFileSync(path, text);
};
const read = (all: readonly [path: string, text: string][]) =>
  all.map(([path]) => [path, readFileSync(path, "utf8")]);

test("a peel that never accepted one has none, and nothing is written", () => {
  const paths = fresh();
  expect(openAccepted(paths).statement).toBeUndefined();
  expect(existsSync(paths.anchor)).toBe(false);
});

test("everything is replaced, for the owner alone where it matters, and stays", () => {
  const paths = fresh();
  write(trustOf(paths, nthStatement(1)));
  const accepted = openAccepted(paths);
  const next = nthStatement(2);
  accepted.accept(next);
  expect(accepted.statement).toEqual(next);
  expect(read(trustOf(paths, next))).toEqual(trustOf(paths, next));
  for (const path of [paths.succession, paths.recoveryKeys]) expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(openAccepted(paths).statement).toEqual(next);
});

test("a crash after any write leaves the old trust or the new one, whole", () => {
  const [old, next] = [nthStatement(1), nthStatement(2)];
  const steps = trustOf(fresh(), next).length;
  for (let written = 0; written <= steps; written++) {
    const paths = fresh();
    write(trustOf(paths, old));
    writeFileSync(paths.succession, JSON.stringify({ applied: false, statement: next }));
    write(trustOf(paths, next).slice(0, written));
    expect(openAccepted(paths).statement).toEqual(next);
    expect(read(trustOf(paths, next))).toEqual(trustOf(paths, next));
  }
});

test("a file that was written by half, at any byte, changes nothing", () => {
  const paths = fresh();
  const [old, next] = [nthStatement(1), nthStatement(2)];
  openAccepted(paths).accept(old);
  const bytes = Buffer.from(JSON.stringify({ applied: false, statement: next }));
  // As the writer names it until it is complete.
  const half = join(paths.succession, "..", ".succession.json.0123456789ab");
  for (let end = 0; end <= bytes.length; end += 11) {
    writeFileSync(half, bytes.subarray(0, end));
    expect(openAccepted(paths).statement).toEqual(old);
  }
  expect(read(trustOf(paths, old))).toEqual(trustOf(paths, old));
});

test("a damaged statement at any byte is reported: without it the peel would trust the fleet before", () => {
  const paths = fresh();
  openAccepted(paths).accept(nthStatement(1));
  const bytes = readFileSync(paths.succession);
  for (let end = 0; end < bytes.length - 2; end += 13) {
    writeFileSync(paths.succession, bytes.subarray(0, end));
    expect(() => openAccepted(paths)).toThrow(`${paths.succession} is damaged`);
  }
  writeFileSync(paths.succession, bytes.toString("utf8").replace("master-1", "master-2"));
  expect(() => openAccepted(paths)).toThrow("its signature is not valid");
});

test("what was learned after it stays, and a lost anchor comes back", () => {
  const paths = fresh();
  const statement = nthStatement(1);
  openAccepted(paths).accept(statement);
  writeFileSync(paths.commandKeys, "rotated\n");
  writeFileSync(paths.anchor, "two roots\n");
  openAccepted(paths);
  expect([readFileSync(paths.commandKeys, "utf8"), readFileSync(paths.anchor, "utf8")]).toEqual([
    "rotated\n",
    "two roots\n",
  ]);
  rmSync(paths.anchor);
  openAccepted(paths);
  expect(readFileSync(paths.anchor, "utf8")).toBe(statement.ca_bundle_pem);
});

test("a disk that is full leaves a peel that completes it at the next start", () => {
  const paths = fresh();
  const [old, next] = [nthStatement(1), nthStatement(2)];
  write(trustOf(paths, old));
  rmSync(paths.commandKeys);
  // It cannot be replaced by a file.
  mkdirSync(join(paths.commandKeys, "x"), { recursive: true });
  expect(() => openAccepted(paths).accept(next)).toThrow(`cannot write ${paths.commandKeys}`);
  expect(() => openAccepted(paths)).toThrow(`cannot write ${paths.commandKeys}`);
  rmSync(paths.commandKeys, { recursive: true });
  expect(openAccepted(paths).statement).toEqual(next);
  expect(read(trustOf(paths, next))).toEqual(trustOf(paths, next));
});

test("a peel that is killed at any moment has one trust", async () => {
  const dir = join(files.path, "killed");
  mkdirSync(dir);
  const paths = trustFiles(dir);
  let serial = 0;
  for (let round = 0; round < 4; round++) {
    const child = Bun.spawn([process.execPath, acceptorMain, dir], { stdout: "pipe", stderr: "inherit" });
    await child.stdout.getReader().read();
    // It writes all the time; the moment is another one in each round.
    const until = systemClock.monotonic() + round * 3.7;
    while (systemClock.monotonic() < until) await Promise.resolve();
    child.kill("SIGKILL");
    await child.exited;
    const { statement } = openAccepted(paths);
    if (statement === undefined) throw new Error("it accepted none");
    expect(statement).toEqual(nthStatement(statement.serial));
    expect(read(trustOf(paths, statement))).toEqual(trustOf(paths, statement));
    expect(statement.serial).toBeGreaterThan(serial);
    serial = statement.serial;
  }
});
