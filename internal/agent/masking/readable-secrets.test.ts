import { expect, test } from "bun:test";
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import type { Plain } from "../../base/msgpack.ts";
import { createMask } from "./mask.ts";
import { warnOfReadable } from "./readable-secrets.ts";

const secret = "hunter2-of-the-database";
const mask = createMask({ strong: [secret], weak: ["weak"] });
const ended = { success: true, retcode: 0, started_at: "", duration_ms: 1 };

test("a file that a state wrote with a secret and that every user may read is a warning", () => {
  using directory = temporaryDirectory("readable");
  const put = (name: string, text: string, mode: number) => {
    const path = join(directory.path, name);
    writeFileSync(path, text);
    chmodSync(path, mode);
    return path;
  };
  const open = put("open", `a ${secret}`, 0o644);
  const closed = put("closed", secret, 0o640);
  const plain = put("plain", "weak", 0o600 | 0o004);
  const link = join(directory.path, "link");
  symlinkSync(open, link);
  mkdirSync(join(directory.path, "dir"));
  const paths = [open, closed, plain, link, join(directory.path, "dir"), "/does/not/exist", "no path"];
  const changes = Object.fromEntries(paths.map((path) => [path, { diff: "" }]));
  const states = (result: boolean | null): Plain => [
    { id: "a", at: "web.sls:3", result, changes },
    { id: "b", at: "web.sls:3", result, changes: { [open]: {} } },
  ];
  const warningsOf = (value: Plain) =>
    (warnOfReadable(mask, { ...ended, return: value }).return as { warnings?: string[] }).warnings;
  expect(warningsOf({ states: states(true), warnings: ["before"] })).toEqual([
    "before",
    `web.sls:3: ${open} holds a secret value of the settings, and every user of the host may read it (mode 0644)`,
    `web.sls:3: ${plain} holds a secret value of the settings, and every user of the host may read it (mode 0604)`,
  ]);
  // Nothing was written.
  for (const value of [{ states: states(null) }, { states: states(false) }])
    expect(warningsOf(value)).toBeUndefined();
  expect(warnOfReadable(mask, { ...ended, return: "text" })).toEqual({ ...ended, return: "text" });
});
