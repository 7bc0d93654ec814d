import { expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readTar, type TarFile, writeTar } from "./tar.ts";

const long = `${"directory/".repeat(12)}ä-file.sls`;
const files: TarFile[] = [
  { path: "top.sls", executable: false, data: Buffer.from("base:\n") },
  { path: "bin/run", executable: true, data: Buffer.alloc(700, "x") },
  { path: long, executable: false, data: new Uint8Array() },
];
const plain = ({ path, executable, data }: TarFile) => [path, executable, Buffer.from(data).toString()];

test("what is written is read, also by tar", () => {
  const archive = writeTar(files);
  expect(readTar(archive, 10).files.map(plain)).toEqual(files.map(plain));
  const directory = mkdtempSync(join(tmpdir(), "tar-"));
  try {
    const found = Bun.spawnSync(["tar", "-xf", "-", "-C", directory], { stdin: archive });
    expect(found.stderr.toString()).toBe("");
    expect(readFileSync(join(directory, long), "utf8")).toBe("");
    expect(statSync(join(directory, "bin/run")).mode & 0o100).toBe(0o100);
    symlinkSync("top.sls", join(directory, "link.sls"));
    for (const format of ["ustar", "pax", "gnu"]) {
      const names = readdirSync(directory).filter((name) => format !== "ustar" || name !== "directory");
      const packed = Bun.spawnSync(["tar", `--format=${format}`, "-cf", "-", "-C", directory, ...names]);
      const { files: read, leftOut } = readTar(packed.stdout, 10);
      expect([format, leftOut]).toEqual([format, ["link.sls"]]);
      const paths = files.map(({ path }) => path).filter((path) => format !== "ustar" || path !== long);
      expect(read.map(({ path }) => path).sort()).toEqual(paths.sort());
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test("what is not an archive, or ends early, is refused", () => {
  const archive = writeTar(files);
  expect(() => readTar(Buffer.alloc(1024, "a"), 10)).toThrow("not a tar archive");
  expect(() => readTar(archive.subarray(0, 1024 + 512 + 100), 10)).toThrow("ends in the middle");
  expect(() => readTar(archive.subarray(0, 1024 + 100), 10)).toThrow("middle of a header");
  expect(() => readTar(archive, 2)).toThrow("more than 2 files");
  expect(readTar(new Uint8Array(), 2).files).toEqual([]);
});
