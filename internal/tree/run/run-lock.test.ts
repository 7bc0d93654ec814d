import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { createRunLock } from "./run-lock.ts";

const at = Date.UTC(2026, 0, 1);
const now = () => at;

test("a concurrent run is rejected with the name of the active one; the lock is released afterwards, also after a failure", async () => {
  using directory = temporaryDirectory("lock");
  const file = join(directory.path, "states.lock");
  const lock = createRunLock({ file, now });
  const other = createRunLock({ file, now });
  const expected =
    `another run of states is active on this peel: state.apply web, since 2026-01-01T00:00:00.000Z ` +
    `(process ${process.pid}); wait until it ends, or stop it`;
  await lock.hold("state.apply web", async () => {
    await expect(lock.hold("other", async () => 1)).rejects.toThrow(expected);
    await expect(other.hold("other", async () => 1)).rejects.toThrow(expected);
  });
  await expect(lock.hold("failing", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(await other.hold("other", async () => 2)).toBe(2);
  expect(readdirSync(directory.path)).toEqual([]);
});

test.each([
  ["of a process that has ended", { pid: 2 ** 22 + 7, started: "1", what: "x", since: "" }],
  ["of another process with the same pid", { pid: process.pid, started: "1", what: "x", since: "" }],
  ["without a process", { what: "x" }],
])("a lock %s is taken over", async (_, content) => {
  using directory = temporaryDirectory("lock");
  const file = join(directory.path, "states.lock");
  writeFileSync(file, JSON.stringify(content));
  await createRunLock({ file, now }).hold("mine", async () => {
    expect(JSON.parse(readFileSync(file, "utf8")).what).toBe("mine");
    expect(readdirSync(directory.path)).toEqual(["states.lock"]);
  });
  expect(existsSync(file)).toBe(false);
});

test("nothing runs when the lock cannot be written", async () => {
  const lock = createRunLock({ file: "/nonexistent/states.lock", now });
  await expect(lock.hold("x", async () => 1)).rejects.toThrow("states are not run: cannot take the lock");
});

test("a single process needs no file", async () => {
  const lock = createRunLock({ now });
  await lock.hold("a", async () => {
    await expect(lock.hold("b", async () => 1)).rejects.toThrow("active on this peel: a, since");
  });
});
