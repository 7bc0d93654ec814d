import { expect, test } from "bun:test";
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { type StagedUpgrade, type UpgradeState, upgradeFiles } from "./files.ts";

const sha256 = "a".repeat(64);
const staged: StagedUpgrade = {
  jid: "job-1",
  sha256,
  version: "2",
  from: "1",
  readyWithinMs: 1_000,
  deadline: Date.UTC(2026, 0),
};
const state: UpgradeState = {
  current: { sha256, version: "2", packaged: sha256 },
  previous: sha256,
  trial: staged,
  outcome: {
    jid: "job-0",
    success: false,
    version: "2",
    from: "1",
    rolledBack: true,
    reason: "x",
    at: 5_000,
  },
};

test("the files of peel and watchdog read back as written, only for their owner", () => {
  using dir = temporaryDirectory("upgrade-files");
  const files = upgradeFiles(dir.path);
  expect([files.request(), files.state()]).toEqual([undefined, {}]);
  files.writeRequest(staged);
  files.writeState(state);
  expect([files.request(), files.state()]).toEqual([staged, state]);
  expect(readdirSync(files.dir).sort()).toEqual(["request.json", "state.json"]);
  for (const name of ["", "request.json", "state.json"]) {
    expect(statSync(join(files.dir, name)).mode & 0o077).toBe(0);
  }
  files.removeRequest();
  files.removeRequest();
  expect(files.request()).toBeUndefined();
});

test("a file that is damaged, or without a digest, is ignored", () => {
  using dir = temporaryDirectory("upgrade-files");
  const files = upgradeFiles(dir.path);
  for (const text of [
    "",
    "{",
    "7",
    "null",
    '{"trial": {}}',
    '{"current": {"sha256": "../../etc", "version": "", "packaged": ""}}',
  ]) {
    files.writeState(state);
    writeFileSync(join(files.dir, "state.json"), text);
    writeFileSync(join(files.dir, "request.json"), text);
    expect([files.request(), files.state()]).toEqual([undefined, {}]);
  }
});
