import { expect, test } from "bun:test";
import { existsSync, rmdirSync } from "node:fs";
import { systemRandom } from "../../internal/base/id.ts";
import { openPrivateRoot } from "../harness/private-root.ts";

test.each([false, true])(
  "what is changed in a private root stays there, from its first moment (systemd: %p)",
  async (systemd) => {
    const path = `/svc-test-${Buffer.from(systemRandom(8)).toString("hex")}`;
    const root = await openPrivateRoot({ systemd });
    try {
      expect(await root.run(["mkdir", path])).toEqual({ code: 0, stdout: "", stderr: "" });
      expect(await root.run(["ls", "-d", path])).toMatchObject({ stdout: `${path}\n` });
      // Of the machine's own file systems only the repository is there, to be read.
      const { stdout: mounts } = await root.run(["cat", "/proc/mounts"]);
      expect(mounts.split("\n").filter((line) => /^\/dev\/\S+ \S+ \S+ rw/.test(line))).toEqual([]);
      expect(existsSync(path)).toBe(false);
    } finally {
      if (existsSync(path)) rmdirSync(path);
      await root[Symbol.asyncDispose]();
    }
    // When it no longer exists, commands do not run on the machine instead.
    expect((await root.run(["true"])).code).not.toBe(0);
  },
);
