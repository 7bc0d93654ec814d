import { expect, test } from "bun:test";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { svc as run } from "../../../test/harness/svc.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemClock } from "../../base/clock.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { chunkBytes } from "../../host/binary/manifest.ts";
import { headBytes } from "../../host/binary/platform.ts";
import { readBinary } from "./read-binary.ts";

const svc = (...argv: string[]) => run(["upgrade", ...argv]);

test.each<[string[], number, string]>([
  [["*"], 2, "--binary is required"],
  [["*", "--binary", "/nonexistent"], 1, "--binary: cannot read /nonexistent"],
  [["*", "--binary", "/tmp"], 1, "--binary: cannot read /tmp"],
  [["*", "--binary", "/etc/passwd"], 1, "/etc/passwd is not an executable for Linux on x64 or arm64"],
  [["*", "--binary", process.execPath], 1, `${process.execPath} is not an svc-peel that runs here`],
  [["*", "--binary", "/x", "--ready-within", "15m"], 2, "--timeout: must be longer than --ready-within"],
  [["*", "--binary", "/x", "--ready-within", "soon"], 2, "--ready-within: "],
  [["*", "--binary", "/x", "--canary", "all"], 2, "--canary: "],
  [["*", "--binary", "/x", "--async", "--dry-run"], 2, "give --async or --dry-run, not both"],
])("%p is refused before anything is sent", async (argv, exit, message) => {
  const refused = await svc(...argv);
  expect(refused.stderr).toContain(message);
  expect([refused.exit, refused.stdout]).toEqual([exit, ""]);
});

/** An executable of this machine, said to be for the other kind of processor. */
function foreign(path: string) {
  copyFileSync(process.execPath, path);
  const bytes = readFileSync(path).subarray(0, headBytes + 2 * chunkBytes);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const [x64, arm64] = [62, 183];
  const isX64 = view.getUint16(18, true) === x64;
  view.setUint16(18, isX64 ? arm64 : x64, true);
  writeFileSync(path, bytes);
  return { bytes, platform: isX64 ? "linux-arm64" : "linux-x64" };
}

test("a binary for another machine is read and not run", async () => {
  using directory = temporaryDirectory("upgrade");
  const path = join(directory.path, "svc-peel");
  const { bytes, platform } = foreign(path);
  await using binary = await readBinary(path, { clock: systemClock });
  expect(binary.manifest).toMatchObject({
    platform: expect.stringContaining(platform),
    version: "",
    size: bytes.length,
    sha256: sha256Hex(bytes),
  });
  expect(binary.manifest.chunks).toHaveLength(3);
  expect(Buffer.from(await binary.chunk(2)).equals(bytes.subarray(2 * chunkBytes))).toBe(true);
});

test("a file that changes while it is uploaded is noticed", async () => {
  using directory = temporaryDirectory("upgrade");
  const path = join(directory.path, "svc-peel");
  const { bytes } = foreign(path);
  await using binary = await readBinary(path, { clock: systemClock });
  bytes.fill(0, chunkBytes + 1, chunkBytes + 9);
  bytes.fill(1, chunkBytes + 9, chunkBytes + 19);
  writeFileSync(path, bytes);
  await binary.chunk(0);
  await expect(binary.chunk(1)).rejects.toThrow(`--binary: ${path} changed while it was uploaded`);
});
