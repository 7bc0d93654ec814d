import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfigFile } from "./read-file.ts";

test("reads UTF-8 text up to 1 MiB, and rejects other files with a reason", () => {
  const dir = mkdtempSync(join(tmpdir(), "svc-config-"));
  try {
    const path = join(dir, "c.yaml");
    expect(readConfigFile(path)).toBeUndefined();
    writeFileSync(path, "id: ä");
    expect(readConfigFile(path)).toBe("id: ä");
    writeFileSync(path, Uint8Array.of(0x61, 0xff));
    expect(() => readConfigFile(path)).toThrow(`${path}: not UTF-8 text`);
    writeFileSync(path, Buffer.alloc(1024 * 1024 + 1, "#"));
    expect(() => readConfigFile(path)).toThrow(`${path}: larger than 1 MiB`);
    expect(() => readConfigFile("/dev/zero")).toThrow("/dev/zero: larger than 1 MiB");
    expect(() => readConfigFile(dir)).toThrow(`cannot read the configuration ${dir}: is a directory`);
    const link = join(dir, "link.yaml");
    symlinkSync(join(dir, "nowhere"), link);
    expect(() => readConfigFile(link)).toThrow(
      `cannot read the configuration ${link}: it is a link to ${dir}/nowhere, which does not exist`,
    );
    const loop = join(dir, "loop.yaml");
    symlinkSync(loop, loop);
    expect(() => readConfigFile(loop)).toThrow(`${loop}: it is a link that leads to itself`);
    expect(() => readConfigFile(join(path, "x"))).toThrow("a component of the path is not a directory");
  } finally {
    rmSync(dir, { recursive: true });
  }
});
