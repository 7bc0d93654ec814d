import { expect, test } from "bun:test";
import { statSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { lockFile } from "./lock-file.ts";

test("one holder at a time, and another one after the release", () => {
  using directory = temporaryDirectory("lock");
  const path = join(directory.path, "lock");
  const first = lockFile(path);
  expect(first).toBeDefined();
  expect(lockFile(path)).toBeUndefined();
  expect(statSync(path).mode & 0o777).toBe(0o600);
  first?.release();
  const second = lockFile(path);
  expect(second).toBeDefined();
  second?.release();
});

test("the lock of a process that was killed is free", async () => {
  using directory = temporaryDirectory("lock");
  const path = join(directory.path, "lock");
  const program = `import { lockFile } from ${JSON.stringify(join(import.meta.dir, "lock-file.ts"))};
    console.log(lockFile(${JSON.stringify(path)}) !== undefined);
    setInterval(() => {}, 1000);`;
  const child = Bun.spawn([process.execPath, "-e", program], { stdout: "pipe", stderr: "ignore" });
  const { value } = await child.stdout.getReader().read();
  expect(Buffer.from(value ?? []).toString()).toBe("true\n");
  expect(lockFile(path)).toBeUndefined();
  child.kill("SIGKILL");
  await child.exited;
  const own = lockFile(path);
  expect(own).toBeDefined();
  own?.release();
});
