import { expect, setDefaultTimeout, test } from "bun:test";
import { renameSync } from "node:fs";
import { join } from "node:path";
import { makeRepository } from "../harness/git.ts";
import { runProgram } from "../harness/process.ts";
import { temporaryDirectory } from "../harness/temporary.ts";
import { nextOf, setStage } from "./stage.ts";

setDefaultTimeout(120_000);

test("a repository is gone: it is named, and the next step shows the same error", async () => {
  using server = temporaryDirectory("server");
  const remote = makeRepository(join(server.path, "server"));
  remote.commit("main", {
    "top.sls": "base:\n  '*': [motd]\n",
    "motd.sls": "motd:\n  file.managed:\n    - name: /tmp/motd\n    - contents: hello\n",
  });
  const flags = ["--gitfs-remotes", remote.url, "--gitfs-interval", "1s"];
  await using stage = await setStage({ flags });
  await stage.sees({ status: /^base +[0-9a-f]{8,} /m });
  renameSync(remote.path, `${remote.path}.away`);
  const words = `gitfs: the last sync of ${remote.url} was \\d+ s ago: git ls-remote failed: `;
  const seen = await stage.sees({
    status: new RegExp(
      `is degraded: ${words}.*; next: git ls-remote ${remote.url}, on the host of that master`,
    ),
    doctor: new RegExp(`warn {2}masters .* is degraded: ${words}`),
    readyz: new RegExp(
      `"gitfs":\\{"status":"degraded","message":"the last sync of ${remote.url} .*"next":"git ls-remote`,
    ),
    log: /the previous content stays in force","remote":"/,
  });
  const next = nextOf(seen.doctor, "masters");
  const [, command = ""] = /^(git ls-remote [^ ,]+),/.exec(next) ?? [];
  expect((await runProgram(command.split(" "))).code).not.toBe(0);
  renameSync(`${remote.path}.away`, remote.path);
  expect((await runProgram(command.split(" "))).code).toBe(0);
  await stage.isWell();
});
