import { expect, test } from "bun:test";
import { chmodSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { recordingLog } from "../../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../../test/harness/temporary.ts";
import { findOperator, warnOfTokenFiles } from "./tokens.ts";

function files(tokens: Record<string, string>) {
  const directory = temporaryDirectory("tokens");
  const entries = Object.entries(tokens).map(([username, token]) => {
    const path = join(directory.path, username);
    writeFileSync(path, token, { mode: 0o600 });
    return { username, token_file: path };
  });
  return { entries, [Symbol.dispose]: () => directory[Symbol.dispose]() };
}

test("finds whose token it is", () => {
  using set = files({ ann: "token-of-ann\n", bob: "  token-of-bob  " });
  expect(findOperator(set.entries, "Bearer token-of-ann")).toBe("ann");
  expect(findOperator(set.entries, "bearer token-of-bob")).toBe("bob");
});

test("refuses everything else", () => {
  using set = files({ ann: "token-of-ann", nobody: "", blank: " \n" });
  for (const header of [
    null,
    "",
    "Bearer",
    "Bearer ",
    "Bearer  token-of-ann",
    "Bearer token-of-an",
    "Bearer token-of-ann2",
    "Bearer token-of-ann token-of-ann",
    "Basic token-of-ann",
    "token-of-ann",
    `Bearer ${"a".repeat(5000)}`,
  ]) {
    expect(findOperator(set.entries, header)).toBeUndefined();
  }
});

test("a token file is read again each time", () => {
  using set = files({ ann: "old" });
  const path = set.entries[0]?.token_file ?? "";
  expect(findOperator(set.entries, "Bearer old")).toBe("ann");
  writeFileSync(path, "new");
  expect(findOperator(set.entries, "Bearer old")).toBeUndefined();
  expect(findOperator(set.entries, "Bearer new")).toBe("ann");
  rmSync(path);
  expect(findOperator(set.entries, "Bearer new")).toBeUndefined();
});

test("warns of files that others can read, that are missing and that are empty, without their content", () => {
  using set = files({ fine: "secret-a", group: "secret-b", others: "secret-c", missing: "x", empty: "" });
  const at = (name: string) => set.entries.find(({ username }) => username === name)?.token_file ?? "";
  chmodSync(at("group"), 0o640);
  chmodSync(at("others"), 0o604);
  rmSync(at("missing"));
  const log = recordingLog();
  warnOfTokenFiles(set.entries, log);
  const warned = log.records.map(({ level, fields }) => [level, fields.username]);
  expect(warned).toEqual([
    ["warn", "group"],
    ["warn", "others"],
    ["warn", "missing"],
    ["warn", "empty"],
  ]);
  expect(JSON.stringify(log.records)).not.toContain("secret-");
});
