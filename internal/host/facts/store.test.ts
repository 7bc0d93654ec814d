import { expect, test } from "bun:test";
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { manualClock } from "../../../test/harness/clock.ts";
import { fixtureHost } from "../../../test/harness/facts.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import type { Plain } from "../../base/msgpack.ts";
import type { FactTable } from "./fact.ts";
import { encodeFacts, maxFactsBytes } from "./merge.ts";
import { openFactStore } from "./store.ts";

async function opened(
  dataDir: string,
  options: { table?: FactTable; run?: () => Promise<string>; isSecret?: (value: Plain) => boolean } = {},
) {
  const log = recordingLog();
  const store = await openFactStore({
    dataDir,
    host: fixtureHost(),
    own: () => ({ id: "web-1.example.com", svc_version: "0.0.0" }),
    run: options.run ?? (() => Promise.reject(new Error("nothing to run"))),
    clock: manualClock(),
    log,
    isSecret: options.isSecret ?? (() => false),
    table: options.table ?? { os: () => "Debian", mounts: () => ({ "/": { fstype: "ext4" } }) },
  });
  return { store, log };
}

function custom(dataDir: string, name: string, text: string, mode = 0o644): void {
  const directory = join(dataDir, "facts.d");
  mkdirSync(directory, { recursive: true, mode: 0o755 });
  writeFileSync(join(directory, name), text);
  chmodSync(join(directory, name), mode);
}

test("set facts override custom ones, which override built-in ones; the id is protected", async () => {
  using temporary = temporaryDirectory("facts");
  custom(temporary.path, "a.yaml", "os: custom\nrole: web\nid: forged\n");
  writeFileSync(join(temporary.path, "facts.yaml"), "role: db\n");
  const { store, log } = await opened(temporary.path);
  await store.ready;
  expect(store.items()).toEqual({
    id: "web-1.example.com",
    svc_version: "0.0.0",
    os: "custom",
    role: "db",
    mounts: { "/": { fstype: "ext4" } },
  });
  expect(store.get("mounts:/:fstype")).toBe("ext4");
  expect(store.get("missing", "fallback")).toBe("fallback");
  expect(log.records.map(({ fields }) => fields.reason)).toEqual(["the fact id cannot be set"]);
});

test("built-in facts are available at once; facts of a program when it has ended", async () => {
  using temporary = temporaryDirectory("facts");
  custom(temporary.path, "tell", "#!/bin/sh\n", 0o755);
  const reported = Promise.withResolvers<string>();
  const { store } = await opened(temporary.path, { run: () => reported.promise });
  let changes = 0;
  store.onChange(() => changes++);
  expect(store.get("os")).toBe("Debian");
  expect(store.get("told")).toBeUndefined();
  reported.resolve("told: 1\n");
  await store.ready;
  expect(store.get("told")).toBe(1);
  expect(changes).toBe(1);
});

test("set writes a file that only the owner can read, and null removes the fact", async () => {
  using temporary = temporaryDirectory("facts");
  const { store } = await opened(temporary.path);
  await store.ready;
  const seen: unknown[] = [];
  const forget = store.onChange(() => seen.push(store.get("os")));
  store.set("os", { name: "mine", tags: ["a", "b"] });
  const file = join(temporary.path, "facts.yaml");
  expect(readFileSync(file, "utf8")).toBe("os:\n  name: mine\n  tags:\n    - a\n    - b\n");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect((await opened(temporary.path)).store.get("os:tags:1")).toBe("b");
  store.set("os", { tags: ["a", "b"], name: "mine" });
  store.set("os", null);
  expect(store.get("os")).toBe("Debian");
  expect(seen).toEqual([{ name: "mine", tags: ["a", "b"] }, "Debian"]);
  forget();
  store.set("other", 1);
  expect(seen).toHaveLength(2);
});

test("an invalid fact is not set, and nothing is written", async () => {
  using temporary = temporaryDirectory("facts");
  const { store } = await opened(temporary.path);
  await store.ready;
  expect(() => store.set("id", "forged")).toThrow("the fact id cannot be set");
  expect(() => store.set("a:b", 1)).toThrow("is not a valid fact name");
  expect(() => store.set("huge", "x".repeat(maxFactsBytes))).toThrow("the fact huge is too large");
  expect(statSync(join(temporary.path, "facts.yaml"), { throwIfNoEntry: false })).toBeUndefined();
  expect(store.get("huge")).toBeUndefined();
});

test("a broken file of set facts disables those facts, and is not overwritten", async () => {
  using temporary = temporaryDirectory("facts");
  const file = join(temporary.path, "facts.yaml");
  writeFileSync(file, "role: [web\n");
  const { store, log } = await opened(temporary.path);
  await store.ready;
  expect(store.get("os")).toBe("Debian");
  expect(log.records).toMatchObject([{ level: "warn", fields: { source: file } }]);
  expect(() => store.set("role", "db")).toThrow("facts.yaml:");
  expect(readFileSync(file, "utf8")).toBe("role: [web\n");
});

test("a changed byte in a file of facts does not become another fact, and the log says what to do, once", async () => {
  using temporary = temporaryDirectory("facts");
  const file = join(temporary.path, "facts.yaml");
  writeFileSync(file, Buffer.from("role: web\n", "latin1").fill(0xe5, 7, 8));
  custom(temporary.path, "a.yaml", "site: east\n");
  writeFileSync(join(temporary.path, "facts.d/a.yaml"), Buffer.from("site: east\n").fill(0xff, 8, 9));
  const { store, log } = await opened(temporary.path);
  await store.ready;
  await store.refresh();
  expect([store.get("role"), store.get("site")]).toEqual([undefined, undefined]);
  expect(log.records.map(({ fields }) => fields)).toEqual([
    { source: file, reason: expect.stringMatching(/not UTF-8 text; correct or delete the file/) },
    { source: join(temporary.path, "facts.d/a.yaml"), reason: expect.stringContaining("not UTF-8 text") },
  ]);
});

test("too much together: the largest custom facts are left out with a warning", async () => {
  using temporary = temporaryDirectory("facts");
  custom(temporary.path, "a.yaml", `large: ${"x".repeat(150_000)}\nsmall: 1\n`);
  custom(temporary.path, "b.yaml", `larger: ${"x".repeat(160_000)}\n`);
  const { store, log } = await opened(temporary.path);
  await store.ready;
  expect(Object.keys(store.items()).sort()).toEqual(["id", "large", "mounts", "os", "small", "svc_version"]);
  expect(encodeFacts(store.items()).length).toBeLessThanOrEqual(maxFactsBytes);
  expect(log.records).toMatchObject([
    { fields: { source: "larger", reason: expect.stringContaining("exceed 256 KiB in total") } },
  ]);
});

test("a failure is logged once, and again after it was resolved", async () => {
  using temporary = temporaryDirectory("facts");
  let broken = true;
  const table = {
    os: () => {
      if (broken) throw new Error("unreadable");
      return "Debian";
    },
  };
  const { store, log } = await opened(temporary.path, { table });
  await store.ready;
  await store.refresh();
  expect(log.records).toMatchObject([
    { event: "fact not collected", fields: { source: "os", reason: "unreadable" } },
  ]);
  broken = false;
  expect(await store.refresh()).toBe(true);
  expect(await store.refresh()).toBe(false);
  broken = true;
  expect(await store.refresh()).toBe(true);
  expect(store.get("os")).toBeUndefined();
  expect(log.records).toHaveLength(2);
});

test("a refresh during a refresh starts another one, shared by concurrent callers", async () => {
  using temporary = temporaryDirectory("facts");
  let collected = 0;
  const { store } = await opened(temporary.path, { table: { count: () => ++collected } });
  await store.ready;
  const before = collected;
  await Promise.all([store.refresh(), store.refresh(), store.refresh(), store.refresh()]);
  expect(collected - before).toBe(2);
});

test("a fact of a state or a script with a secret is left out; one that an operator sent, and what is collected, stays", async () => {
  using temporary = temporaryDirectory("facts");
  custom(temporary.path, "a.yaml", "script: the hunter2\nos: hunter2\nrole: web\n");
  let secret = "hunter2";
  const isSecret = (value: Plain) => JSON.stringify(value).includes(secret);
  const open = () =>
    opened(temporary.path, { isSecret, table: { os: () => "Debian", name: () => "hunter2" } });
  const { store } = await open();
  await store.ready;
  const own = { id: "web-1.example.com", svc_version: "0.0.0", name: "hunter2" };
  expect(store.items()).toEqual({ ...own, os: "Debian", role: "web" });
  expect(store.collected()).toEqual({ ...own, os: "Debian" });
  store.set("guess", "hunter2", { asSent: true });
  store.set("state", ["hunter2"]);
  expect(store.items()).toMatchObject({ guess: "hunter2" });
  expect(store.get("state")).toBeUndefined();
  // Also after a restart; what a state stores in its place is judged again.
  const { store: again } = await open();
  await again.ready;
  expect(again.get("guess")).toBe("hunter2");
  again.set("guess", "hunter2!");
  expect(again.get("guess")).toBeUndefined();
  // It comes back when its value is not a secret any longer.
  secret = "another";
  expect(await again.refresh()).toBe(true);
  expect(again.items()).toMatchObject({ guess: "hunter2!", state: ["hunter2"], script: "the hunter2" });
});
