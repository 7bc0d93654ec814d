import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { manualClock } from "../../../../test/harness/clock.ts";
import {
  applyState,
  planState,
  proveHonest,
  proveIdle,
  stateContext,
} from "../../../../test/harness/honesty.ts";
import { memoryFiles } from "../../../../test/harness/states.ts";
import { temporaryDirectory } from "../../../../test/harness/temporary.ts";
import { openDirectory } from "../../../base/files/opened-directory.ts";
import { archiveStates } from "./archive.ts";
import { formatOf } from "./archive-format.ts";
import { withinLimits } from "./archive-limits.ts";
import { memberProblem } from "./archive-program.ts";

const extracted = [archiveStates, "archive.extracted"] as const;

function run(cwd: string, ...argv: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(argv, { cwd });
  if (exitCode !== 0) throw new Error(`${argv.join(" ")}: ${stderr}`);
}

/** An archive of `app/run.sh`, `app/lib/täxt` and a link, next to its target directory. */
function makeArchive(root: string, name: string): { archive: string; target: string } {
  const source = join(root, "source");
  mkdirSync(join(source, "app/lib"), { recursive: true });
  writeFileSync(join(source, "app/run.sh"), "#!/bin/sh\n");
  chmodSync(join(source, "app/run.sh"), 0o4755);
  writeFileSync(join(source, "app/lib/täxt"), "text\n");
  symlinkSync("lib/täxt", join(source, "app/link"));
  const archive = join(root, name);
  if (name.endsWith(".zip")) zip(source, archive);
  else run(source, "tar", "-caf", archive, "app");
  return { archive, target: join(root, "target") };
}

function zip(source: string, archive: string): void {
  const script = `
import sys, zipfile, os
with zipfile.ZipFile(sys.argv[1], "w") as z:
    for at, dirs, files in os.walk("app"):
        for name in dirs: z.write(os.path.join(at, name))
        for name in files: z.write(os.path.join(at, name))`;
  run(source, "python3", "-c", script, archive);
}

test.each(["a.tar", "a.tar.gz", "a.tgz", "a.tar.xz"])("%s is extracted, once", async (name) => {
  using directory = temporaryDirectory("archive");
  const { archive, target } = makeArchive(directory.path, name);
  const before = readdirSync(tmpdir()).filter((each) => each.startsWith("svc-archive-"));
  const plan = await proveHonest(directory.path, ...extracted, target, { source: [archive], user: "daemon" });
  expect(plan.changes[target]).toMatchObject({ extracted: archive });
  expect(readFileSync(join(target, "app/link"), "utf8")).toBe("text\n");
  const stats = statSync(join(target, "app/run.sh"));
  expect([(stats.mode & 0o7777).toString(8), stats.uid === 0]).toEqual(["755", false]);
  expect(readdirSync(target)).toEqual(["app"]);
  expect(readdirSync(tmpdir()).filter((each) => each.startsWith("svc-archive-"))).toEqual(before);
});

test("an archive of the tree is extracted without its leading directory, again when a file is missing", async () => {
  using directory = temporaryDirectory("archive");
  const { archive, target } = makeArchive(directory.path, "a.tar.gz");
  const bytes = readFileSync(archive);
  const files = { ...memoryFiles({ "a.tgz": "" }), read: () => Promise.resolve(bytes) };
  const context = stateContext({ files });
  const source_hash = `sha256=${createHash("sha256").update(bytes).digest("hex")}`;
  const args = { source: ["salt://a.tgz"], source_hash, options: "--strip-components=1" };
  await proveHonest(directory.path, ...extracted, target, args, context);
  expect(readdirSync(target).sort()).toEqual(["lib", "link", "run.sh"]);
  run(target, "rm", "lib/täxt");
  const plan = await proveHonest(directory.path, ...extracted, target, args, context);
  expect(plan.changes[target]).toMatchObject({ missing: ["lib/täxt"] });
  const wrong = { ...args, source_hash: "0".repeat(64), if_missing: join(target, "no") };
  await expect(applyState(...extracted, target, wrong, context)).rejects.toThrow(
    "does not match source_hash",
  );
});

test("zip archives are extracted too", async () => {
  using directory = temporaryDirectory("archive");
  const { archive, target } = makeArchive(directory.path, "a.zip");
  await proveHonest(directory.path, ...extracted, target, { source: [archive] });
  expect(readFileSync(join(target, "app/run.sh"), "utf8")).toBe("#!/bin/sh\n");
});

test("with overwrite it is extracted again, with what its files are now", async () => {
  using directory = temporaryDirectory("archive");
  const { archive, target } = makeArchive(directory.path, "a.tar.gz");
  await applyState(...extracted, target, { source: [archive] });
  writeFileSync(join(target, "app/run.sh"), "changed\n");
  expect((await planState(...extracted, target, { source: [archive] })).changes).toEqual({});
  const { changes } = await applyState(...extracted, target, { source: [archive], overwrite: true });
  expect(changes[target]).toMatchObject({ extracted: archive });
  expect(readFileSync(join(target, "app/run.sh"), "utf8")).toBe("#!/bin/sh\n");
});

test("with if_missing the archive is not inspected", async () => {
  using directory = temporaryDirectory("archive");
  const { archive, target } = makeArchive(directory.path, "a.tar");
  const args = { source: [archive], if_missing: join(target, "app/run.sh") };
  await proveHonest(directory.path, ...extracted, target, args);
  run(directory.path, "rm", archive);
  await proveIdle(directory.path, ...extracted, target, args);
});

test("neither the archive nor its digest is fetched to see that all of it is missing", async () => {
  using directory = temporaryDirectory("archive");
  const target = join(directory.path, "app");
  // Nothing listens there.
  const source = "https://127.0.0.1:9/app.tar.gz";
  const args = { source: [source], source_hash: "https://127.0.0.1:9/sums" };
  const plan = await planState(...extracted, target, args);
  expect(plan.changes).toEqual({ [target]: { extracted: source } });
  await expect(plan.apply?.()).rejects.toThrow("127.0.0.1:9/sums");
  expect(existsSync(target)).toBe(false);
});

test("nothing is written outside the directory, by a name, a link, or an existing link", async () => {
  using directory = temporaryDirectory("archive");
  const [source, outside, target] = ["source", "outside", "target"].map((name) => {
    const path = join(directory.path, name);
    mkdirSync(path);
    return path;
  }) as [string, string, string];
  const pack = (name: string, script: string) => {
    const archive = join(directory.path, name);
    const head = "import sys, tarfile, io\nt = tarfile.open(sys.argv[1], 'w')\n";
    const add =
      "def add(name, **more):\n  i = tarfile.TarInfo(name); i.size = 0\n  for k in more: setattr(i, k, more[k])\n  t.addfile(i)\n";
    run(source, "python3", "-c", `${head}${add}${script}\nt.close()`, archive);
    return { source: [archive], enforce_toplevel: false };
  };
  const attempts = [
    pack("up.tar", "add('../escaped')"),
    pack("absolute.tar", `add('${outside}/escaped')`),
    pack("link.tar", `add('a', type=tarfile.SYMTYPE, linkname='${outside}')\nadd('a/escaped')`),
    pack("hard.tar", `add('h', type=tarfile.LNKTYPE, linkname='${outside}/secret')`),
    pack("device.tar", "add('d', type=tarfile.FIFOTYPE)"),
  ];
  writeFileSync(join(outside, "secret"), "mine\n");
  for (const args of attempts) {
    await applyState(...extracted, target, args).catch(() => undefined);
    expect(readdirSync(outside)).toEqual(["secret"]);
    expect(existsSync(join(directory.path, "escaped"))).toBe(false);
    expect(readdirSync(target).filter((name) => name.startsWith("."))).toEqual([]);
  }
  expect(statSync(join(outside, "secret")).nlink).toBe(1);
  expect(existsSync(join(target, "d"))).toBe(false);
  await expect(planState(...extracted, target, attempts[0])).rejects.toThrow("is outside the directory");
  await expect(planState(...extracted, target, attempts[1])).rejects.toThrow("is an absolute path");

  const { archive } = makeArchive(directory.path, "a.tar");
  run(target, "rm", "-rf", "app");
  symlinkSync(outside, join(target, "app"));
  const linked = applyState(...extracted, target, { source: [archive] });
  await expect(linked).rejects.toThrow("symbolic link");
  expect(readdirSync(outside)).toEqual(["secret"]);
});

test("an archive with several top-level entries is only extracted on request", async () => {
  using directory = temporaryDirectory("archive");
  const { target } = makeArchive(directory.path, "unused.tar");
  const archive = join(directory.path, "flat.tar");
  run(join(directory.path, "source/app"), "tar", "-cf", archive, "run.sh", "lib");
  await expect(planState(...extracted, target, { source: [archive] })).rejects.toThrow(
    "enforce_toplevel: false",
  );
  await proveHonest(directory.path, ...extracted, target, { source: [archive], enforce_toplevel: false });
});

test("an invalid archive is a failure that leaves no files", async () => {
  using directory = temporaryDirectory("archive");
  const [archive, target] = [join(directory.path, "a.tar"), join(directory.path, "t")];
  writeFileSync(archive, "text");
  await expect(planState(...extracted, target, { source: [archive] })).rejects.toThrow(
    "cannot extract the archive",
  );
  await expect(planState(...extracted, target, { source: ["/tmp/svc-test-no"] })).rejects.toThrow(
    "source /tmp/svc-test-no does not exist",
  );
  writeFileSync(join(directory.path, "a"), "text");
  await expect(planState(...extracted, target, { source: [join(directory.path, "a")] })).rejects.toThrow(
    "archive_format: missing",
  );
  await expect(
    planState(...extracted, target, { source: [archive], options: "--to-command=x" }),
  ).rejects.toThrow("options: only --strip-components=N is supported");
  expect(existsSync(target)).toBe(false);
});

describe("beyond its limits an archive leaves nothing", () => {
  const python = (root: string, script: string, ...argv: string[]) =>
    run(root, "python3", "-c", script, ...argv);
  /** What is in the target and in the temporary directory of archives. */
  const left = (target: string) => [
    existsSync(target) ? readdirSync(target) : [],
    readdirSync(tmpdir()).filter((each) => each.startsWith("svc-archive-")),
  ];

  test.each(["a.tar.gz", "a.zip"])(
    "%s, by bytes and by files, and at its limits it is extracted",
    async (name) => {
      using directory = temporaryDirectory("archive");
      const { archive, target } = makeArchive(directory.path, name);
      const before = left(target)[1];
      const source = [archive];
      for (const [limits, reason] of [
        [{ max_bytes: 14 }, "its files have more than 14; raise max_bytes"],
        [{ max_bytes: "1 KiB", max_files: 3 }, "it has more than 3 files and directories; raise max_files"],
      ] as const) {
        await expect(applyState(...extracted, target, { source, ...limits })).rejects.toThrow(reason);
        expect(left(target)).toEqual([[], before ?? []]);
        expect(readdirSync(directory.path).sort()).toEqual([name, "source"]);
      }
      await proveHonest(directory.path, ...extracted, target, { source, max_bytes: "1KiB", max_files: 5 });
    },
  );

  test("an archive that lies about its size is stopped, long before it is extracted", async () => {
    using directory = temporaryDirectory("archive");
    const [archive, target] = [join(directory.path, "liar.zip"), join(directory.path, "target")];
    python(
      directory.path,
      `
import struct, sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED) as z: z.writestr("app/zeros", bytes(50000000))
said = open(sys.argv[1], "rb").read().replace(struct.pack("<I", 50000000), struct.pack("<I", 10))
open(sys.argv[1], "wb").write(said)`,
      archive,
    );
    const plan = applyState(...extracted, target, { source: [archive], max_bytes: "1MiB" });
    await expect(plan).rejects.toThrow("its files have more than 1MiB; raise max_bytes");
    expect(readdirSync(directory.path)).toEqual(["liar.zip"]);
    const deep = join(target, "deep/er");
    const again = applyState(...extracted, deep, { source: [archive], max_bytes: "1MiB" });
    await expect(again).rejects.toThrow("raise max_bytes");
    expect(readdirSync(directory.path)).toEqual(["liar.zip"]);
    // What was there before stays.
    mkdirSync(target);
    const into = applyState(...extracted, deep, { source: [archive], max_bytes: "1MiB" });
    await expect(into).rejects.toThrow("raise max_bytes");
    expect([readdirSync(directory.path).sort(), readdirSync(target)]).toEqual([["liar.zip", "target"], []]);
  });

  test("what extracts is stopped at the next look", async () => {
    using directory = temporaryDirectory("archive");
    using into = openDirectory(directory.path);
    const clock = manualClock();
    const context = { ...stateContext(), clock };
    const extracting = withinLimits({ bytes: 10, files: 5 }, into, context, ({ signal }) => {
      writeFileSync(join(directory.path, "a"), "0123456789");
      clock.advance(1_000);
      expect(signal.aborted).toBe(false);
      writeFileSync(join(directory.path, "b"), "0");
      clock.advance(1_000);
      signal.throwIfAborted();
      return Promise.resolve();
    });
    await expect(extracting).rejects.toThrow("its files have more than 10;");
  });

  test("a limit that is not a size is refused", async () => {
    const wrong = planState(...extracted, "/x", { source: ["/a.tar"], max_bytes: "2 GB" });
    await expect(wrong).rejects.toThrow('max_bytes: "2 GB" is not a size');
  });
});

test("archive formats and member paths are recognized", () => {
  expect(["a.tar", "a.TGZ", "https://x/a.tar.xz?x=1", "a.zip", "a.txt"].map(formatOf)).toEqual([
    "tar",
    "tar.gz",
    "tar.xz",
    "zip",
    undefined,
  ]);
  expect(
    ["a/b", "..a/b", "a..", "a/../b", "/a", "..\\a", "C:\\a"].map(
      (path) => memberProblem(path) === undefined,
    ),
  ).toEqual([true, true, true, false, false, false, false]);
});

test.each(["a.tar", "a.zip"])(
  "all files of %s are extracted, once, whatever bytes their names have",
  async (name) => {
    using directory = temporaryDirectory("archive");
    const { path } = directory;
    const script = `
import os, sys, zipfile
names = [b"app/caf\\xe9", b"app/sub\\xe8/f", "app/t\u00e4xt".encode(), b"app/back\\\\slash"]
os.makedirs(b"app/sub\\xe8")
for name in names: open(name, "w").close()
class Raw(zipfile.ZipInfo):
    def _encodeFilenameFlags(self): return os.fsencode(self.filename), self.flag_bits
if sys.argv[1].endswith(".zip"):
    with zipfile.ZipFile(sys.argv[1], "w") as z:
        for name in names[:2]:
            info = Raw(os.fsdecode(name)); info.create_system = 3; info.external_attr = 0o644 << 16
            z.writestr(info, "")`;
    mkdirSync(join(path, "source"));
    run(join(path, "source"), "python3", "-c", script, join(path, name));
    if (name.endsWith(".tar")) run(join(path, "source"), "tar", "-cf", join(path, name), "app");
    const target = join(path, "target");
    const args = { source: [join(path, name)] };
    await applyState(...extracted, target, args);
    const found = Bun.spawnSync(["find", ".", "-type", "f"], { cwd: target, env: { LC_ALL: "C" } }).stdout;
    const latin = found.toString("latin1");
    expect(latin).toContain("./app/caf\xe9\n");
    expect(latin).toContain("./app/sub\xe8/f\n");
    expect((await planState(...extracted, target, args)).apply).toBeUndefined();
    expect(readdirSync(target)).toEqual(["app"]);
    rmSync(Buffer.concat([Buffer.from(`${target}/app/`), Buffer.from("caf\xe9", "latin1")]));
    const { changes } = await planState(...extracted, target, args);
    expect(changes[target]).toMatchObject({ missing: ["app/caf\\xe9"] });
  },
);
