import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  applyState,
  planState,
  proveHonest,
  proveIdle,
  stateContext,
} from "../../../../test/harness/honesty.ts";
import { temporaryDirectory } from "../../../../test/harness/temporary.ts";
import type { Plain } from "../../../base/msgpack.ts";
import { fileStates } from "./index.ts";

const dataset = { b: [1, { c: "ü" }], a: { z: true, y: null, x: "yes" } };

test.each<[string, Record<string, Plain>, string]>([
  [
    "json",
    { dataset, formatter: "json" },
    '{\n  "a": {\n    "x": "yes",\n    "y": null,\n    "z": true\n  },\n  "b": [\n    1,\n    {\n      "c": "ü"\n    }\n  ]\n}\n',
  ],
  ["yaml", { dataset }, "a:\n  x: 'yes'\n  y: null\n  z: true\nb:\n- 1\n- c: ü\n"],
  ["toml", { dataset: { s: { b: [1, "x"] }, a: "ü" }, formatter: "toml" }, 'a = "ü"\n\n[s]\nb = [1, "x"]\n'],
  [
    "options",
    { dataset: { b: 1, a: 2 }, serializer: "json", serializer_opts: [{ indent: 4 }, { sort_keys: false }] },
    '{\n    "b": 1,\n    "a": 2\n}\n',
  ],
  [
    "sections",
    { dataset: { s: { Key: true, n: 3 } }, formatter: "configparser" },
    "[s]\nkey = True\nn = 3\n\n",
  ],
])("data is written as %s", async (_, args, text) => {
  using directory = temporaryDirectory("serialize");
  const path = join(directory.path, "x");
  await proveHonest(directory.path, fileStates, "file.serialize", path, args);
  expect(readFileSync(path, "utf8")).toBe(text);
});

test("what an existing file says in addition is kept on request", async () => {
  using directory = temporaryDirectory("serialize");
  const path = join(directory.path, "x");
  writeFileSync(path, "a: {x: 1, y: 2}\nb: 3\n");
  const args = { dataset: { a: { x: 9 } }, merge_if_exists: true };
  await proveHonest(directory.path, fileStates, "file.serialize", path, args);
  expect(readFileSync(path, "utf8")).toBe("a: {x: 9, y: 2}\nb: 3\n");
  writeFileSync(path, "");
  await proveHonest(directory.path, fileStates, "file.serialize", path, args);
  expect(readFileSync(path, "utf8")).toBe("a:\n  x: 9\n");
  writeFileSync(path, '{"id": 175928847299117063}');
  await proveHonest(directory.path, fileStates, "file.serialize", path, { ...args, formatter: "json" });
  expect(readFileSync(path, "utf8")).toBe('{"id": 175928847299117063, "a": {"x":9}}');
  writeFileSync(path, "b: 1.0\r\n");
  await proveHonest(directory.path, fileStates, "file.serialize", path, args);
  expect(readFileSync(path, "utf8")).toBe("b: 1.0\r\na:\r\n  x: 9\r\n");
  writeFileSync(path, "when = 2024-01-01\n");
  await proveHonest(directory.path, fileStates, "file.serialize", path, { ...args, formatter: "toml" });
  expect(readFileSync(path, "utf8")).toBe("when = 2024-01-01\n\n[a]\nx = 9\n");
  writeFileSync(path, "- 1\n");
  await expect(planState(fileStates, "file.serialize", path, args)).rejects.toThrow("must both be maps");
});

test("a whole number that is not the one of the state is refused", async () => {
  const plan = planState(fileStates, "file.serialize", "/no/x", { dataset: { id: 175928847299117060 } });
  await expect(plan).rejects.toThrow("id: a whole number beyond 2^53 is not exact; write it in quotes");
});

test("data of a setting is not shown, and a missing setting is named", async () => {
  using directory = temporaryDirectory("serialize");
  const path = join(directory.path, "x");
  const context = stateContext({ settings: { a: { key: "topsecret" } } });
  const args = { dataset_pillar: "a", formatter: "json" };
  const plan = await planState(fileStates, "file.serialize", path, args, context);
  expect(JSON.stringify(plan.changes)).not.toContain("topsecret");
  await plan.apply?.();
  expect(readFileSync(path, "utf8")).toContain("topsecret");
  await expect(
    planState(fileStates, "file.serialize", path, { dataset_pillar: "no" }, context),
  ).rejects.toThrow("setting no does not exist");
});

test("a file is moved, but not over another one, and not a second time", async () => {
  using directory = temporaryDirectory("rename");
  const [from, path] = [join(directory.path, "from"), join(directory.path, "new/to")];
  const call = [directory.path, fileStates, "file.rename", path, { source: from, makedirs: true }] as const;
  expect(await proveIdle(...call)).toContain("does not exist and is not moved");
  writeFileSync(from, "x");
  await proveHonest(...call);
  expect(readFileSync(path, "utf8")).toBe("x");
  writeFileSync(from, "y");
  expect(await proveIdle(...call)).toContain("set force: true");
  await proveHonest(directory.path, fileStates, "file.rename", path, { source: from, force: true });
  expect(readFileSync(path, "utf8")).toBe("y");
  mkdirSync(from);
  await expect(planState(fileStates, "file.rename", join(from, "x"), { source: from })).rejects.toThrow(
    "is inside",
  );
  await expect(
    planState(fileStates, "file.rename", join(directory.path, "x"), { source: "/etc" }),
  ).rejects.toThrow("is never removed");
});

test("a file of another user is not moved to where only root writes", async () => {
  using directory = temporaryDirectory("rename");
  const shared = join(directory.path, "shared");
  mkdirSync(shared, { mode: 0o777 });
  Bun.spawnSync(["chmod", "777", shared]);
  writeFileSync(join(shared, "x"), "x");
  const path = join(directory.path, "mine");
  const plan = await planState(fileStates, "file.rename", path, { source: join(shared, "x") });
  await expect(plan.apply?.()).rejects.toThrow("can be replaced by another user");
  expect(existsSync(path)).toBe(false);
});

test("the times of a file are set to those that are given", async () => {
  using directory = temporaryDirectory("touch");
  const path = join(directory.path, "x");
  await proveHonest(directory.path, fileStates, "file.touch", path, { mtime: 1000 });
  expect(statSync(path).mtimeMs).toBe(1_000_000);
  utimesSync(path, 5, 6);
  await proveIdle(directory.path, fileStates, "file.touch", path);
  await applyState(fileStates, "file.touch", path, { atime: 7 });
  expect(statSync(path)).toMatchObject({ atimeMs: 7000, mtimeMs: 6000 });
});

test.each([
  ["json", '{"a": 1}', '{"a": 1, "z": 2}'],
  ["yaml", "a: 1\r\n", "a: 1\r\nz: 2\r\n"],
  ["toml", "a = 1\n", "a = 1\nz = 2\n"],
])("a byte order mark in front of %s stays", async (serializer, before, after) => {
  using directory = temporaryDirectory("serialize");
  const path = join(directory.path, "x");
  writeFileSync(path, `\ufeff${before}`);
  const args = { dataset: { z: 2 }, merge_if_exists: true, serializer };
  await proveHonest(directory.path, fileStates, "file.serialize", path, args);
  expect(readFileSync(path, "utf8")).toBe(`\ufeff${after}`);
});
