import { afterAll, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { natsServerPath } from "../../../test/harness/bus.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemClock } from "../../base/clock.ts";
import { unpackServer } from "./carried.ts";
import { type FindOptions, findServer } from "./program.ts";

const files = temporaryDirectory("natsserver");
afterAll(() => files[Symbol.dispose]());

const find = (changes: Partial<FindOptions>) =>
  findServer({
    explicit: "",
    carried: undefined,
    directory: join(files.path, "bin"),
    searchPath: "",
    clock: systemClock,
    ...changes,
  });

/** A program that says to be some server. */
function pretend(name: string, says: string): string {
  const directory = join(files.path, name);
  mkdirSync(directory);
  const path = join(directory, "nats-server");
  writeFileSync(path, `#!/bin/sh\n${says}\n`);
  chmodSync(path, 0o755);
  return path;
}

test("the named one comes first, then the carried one, then the path", async () => {
  const named = pretend("named", "echo nats-server: v2.10.1");
  const onPath = pretend("path", "echo nats-server: v2.11.0-beta");
  const carried = new Blob(["#!/bin/sh\necho nats-server: v3.0.0\n"]);
  const searchPath = `/nowhere:${join(onPath, "..")}`;
  expect(await find({ explicit: named, carried, searchPath })).toEqual({
    path: named,
    version: "2.10.1",
    origin: "embedded_bus_path",
  });
  expect(await find({ carried, searchPath })).toMatchObject({ version: "3.0.0", origin: "this executable" });
  expect(await find({ searchPath })).toEqual({ path: onPath, version: "2.11.0", origin: "PATH" });
});

test("the server of the tests is new enough", async () => {
  expect((await find({ explicit: natsServerPath() })).version).toMatch(/^\d+\.\d+\.\d+$/);
});

test("a program that cannot run is named", async () => {
  const missing = join(files.path, "missing");
  await expect(find({ explicit: missing })).rejects.toThrow(
    `embedded_bus_path: cannot run ${missing}: no such file`,
  );
  await expect(find({ explicit: files.path })).rejects.toThrow(
    `cannot run ${files.path}: not a regular file`,
  );
  const plain = join(files.path, "plain");
  writeFileSync(plain, "text");
  await expect(find({ explicit: plain })).rejects.toThrow(`cannot run ${plain}: `);
  await expect(find({ searchPath: "/nowhere" })).rejects.toThrow(
    "no nats-server on the PATH, and none inside this svc-master",
  );
});

test.each([
  ["v2.9.9", "older"],
  ["v1.99.99", "older"],
  ["v2.8.20", "older"],
])("%s is %s than the tested versions", async (version) => {
  const path = pretend(version, `echo nats-server: ${version}`);
  await expect(find({ explicit: path })).rejects.toThrow(`${path} is ${version.slice(1)}, older than 2.9.10`);
});

test("a program that is not a nats-server is refused", async () => {
  const other = pretend("other", "echo hello");
  await expect(find({ explicit: other })).rejects.toThrow(
    `${other} is not a nats-server that runs on this host`,
  );
  const broken = pretend("broken", "echo nats-server: v2.10.0; exit 3");
  await expect(find({ explicit: broken })).rejects.toThrow("is not a nats-server that runs on this host");
});

test("an embedded server is unpacked once, repaired when modified, and replaces older ones", async () => {
  const directory = join(files.path, "unpacked");
  const first = await unpackServer(new Blob(["first"]), directory);
  expect(statSync(first).mode & 0o777).toBe(0o755);
  expect(statSync(directory).mode & 0o777).toBe(0o700);
  const { ino } = statSync(first);
  expect(await unpackServer(new Blob(["first"]), directory)).toBe(first);
  expect(statSync(first).ino).toBe(ino);

  writeFileSync(first, "other");
  await unpackServer(new Blob(["first"]), directory);
  expect(readFileSync(first, "utf8")).toBe("first");
  chmodSync(first, 0o777);
  await unpackServer(new Blob(["first"]), directory);
  expect(statSync(first).mode & 0o777).toBe(0o755);

  writeFileSync(join(directory, "mine"), "stays");
  const second = await unpackServer(new Blob(["second"]), directory);
  expect(readdirSync(directory).sort()).toEqual(["mine", second.slice(directory.length + 1)].sort());
});
