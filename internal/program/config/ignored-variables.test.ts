import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ignoredVariables, readVariables } from "./ignored-variables.ts";

test("what nothing reads is named with the nearest name that is read, and without its value", () => {
  const env = {
    SVC_DATADIR: "/x",
    SVC_HEALTH_ADDR: ":1",
    SVC_JOIN_TOKEN: "secret",
    PATH: "/bin",
    svc_x: "1",
  };
  expect(ignoredVariables("svc-peel", env)).toEqual([
    "SVC_DATADIR (did you mean SVC_DATA_DIR?)",
    "SVC_HEALTH_ADDR",
  ]);
  expect(ignoredVariables("svc-master", { SVC_DATA_DIR: "/x", SVC_JOIN_TOKEN: "x" })).toEqual([
    "SVC_JOIN_TOKEN",
  ]);
  expect(ignoredVariables("svc", { SVC_DATA_DIR: "/x", SVC_PAGER: "cat", SVC_CONFIGS: "x" })).toEqual([
    "SVC_CONFIGS (did you mean SVC_CONFIG?)",
  ]);
});

/** Names of the journal, and of programs that are started here. */
const others = [
  "SVC_CODE_FILE",
  "SVC_EVENT",
  "SVC_FIELD",
  "SVC_GIT_PASSWORD",
  "SVC_GIT_USERNAME",
  "SVC_TRUNCATED",
  "SVC_VERIFY_TIME",
];

test("every variable that a program names is in the table", () => {
  const root = join(import.meta.dir, "../../..");
  const named = new Set<string>();
  for (const folder of ["internal", "cmd"]) {
    for (const file of new Bun.Glob("**/*.ts").scanSync(join(root, folder))) {
      if (/\.test\.ts$|ignored-variables/.test(file)) continue;
      const text = readFileSync(join(root, folder, file), "utf8");
      for (const [name] of text.matchAll(/\bSVC_[A-Z][A-Z_]*\b/g)) named.add(name);
    }
  }
  const known = [...Object.values(readVariables).flat(), ...others];
  expect([...named].filter((name) => !known.includes(name))).toEqual([]);
  expect(
    Object.values(readVariables)
      .flat()
      .filter((name) => !named.has(name)),
  ).toEqual([]);
});
