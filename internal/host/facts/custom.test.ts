import { expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  symlinkSync,
  watch,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { manualClock } from "../../../test/harness/clock.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { type Clock, systemClock } from "../../base/clock.ts";
import { readCustomFacts } from "./custom.ts";
import { runFactProgram } from "./run-program.ts";

const uid = process.getuid?.() ?? 0;

/** A facts.d with these files; a program begins with `#!`. */
function factsDirectory(path: string, files: Record<string, string>): string {
  const directory = join(path, "facts.d");
  mkdirSync(directory, { mode: 0o755 });
  chmodSync(directory, 0o755);
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(directory, name), text);
    chmodSync(join(directory, name), text.startsWith("#!") ? 0o755 : 0o644);
  }
  return directory;
}

const read = (directory: string, clock: Clock = systemClock, as = uid) =>
  readCustomFacts({
    directory,
    uid: as,
    run: (path) =>
      runFactProgram(path, {
        env: { PATH: process.env.PATH, HOME: "/nowhere", TOKEN: "secret" },
        clock,
        signal: new AbortController().signal,
      }),
  });

test("without a directory there are no facts and no problems", async () => {
  using temporary = temporaryDirectory("facts");
  expect(await read(join(temporary.path, "facts.d"))).toEqual({ layers: [], problems: [] });
});

test("files and programs are read in the order of their names; a faulty one does not affect others", async () => {
  using temporary = temporaryDirectory("facts");
  const directory = factsDirectory(temporary.path, {
    "10-static.yaml": "role: web\nrack: r1\n",
    "20-static.json": '{"role": "db"}',
    "30-program":
      '#!/bin/sh\necho \'role: program\'\necho "home: $HOME"\necho "token: $TOKEN"\necho noise >&2\n',
    "40-fails": "#!/bin/sh\necho 'never: seen'\nexit 3\n",
    "50-junk": "#!/bin/sh\necho '}{ junk'\n",
    "60-crash": "#!/bin/sh\nkill -SEGV $$\n",
    "70-long": "#!/bin/sh\nhead -c 70000 /dev/zero | tr '\\0' a\n",
    "80-partly.yml": "id: mine\nowner: me\n",
    "85-list.yaml": "- 1\n",
    "90-no-interpreter": "#!/nowhere/interpreter\n",
    README: "not executable, so not looked at",
    ".hidden.yaml": "hidden: true\n",
    "backup.yaml~": "old: true\n",
  });
  mkdirSync(join(directory, "subdirectory.yaml"));
  const { layers, problems } = await read(directory);
  expect(layers).toEqual([
    { source: join(directory, "10-static.yaml"), facts: { role: "web", rack: "r1" } },
    { source: join(directory, "20-static.json"), facts: { role: "db" } },
    { source: join(directory, "30-program"), facts: { role: "program", home: "/nowhere", token: null } },
    { source: join(directory, "80-partly.yml"), facts: { owner: "me" } },
  ]);
  const reasons = Object.fromEntries(
    problems.map(({ source, reason }) => [source.slice(directory.length + 1), reason]),
  );
  expect(reasons).toEqual({
    "40-fails": "exited with 3",
    "50-junk": expect.stringContaining("50-junk:1:"),
    "60-crash": "ended by SIGSEGV",
    "70-long": "printed more than 64 KiB",
    "80-partly.yml": "the fact id cannot be set",
    "85-list.yaml": expect.stringContaining("expected a map"),
    "90-no-interpreter": expect.stringContaining("cannot run"),
  });
});

test("a hanging program is stopped after 10 s with its children, and the others are used", async () => {
  using temporary = temporaryDirectory("facts");
  const directory = factsDirectory(temporary.path, {
    "a.yaml": "role: web\n",
    hangs: "#!/bin/sh\nsleep 1000 &\ntouch ../started\nsleep 1000\n",
  });
  const started = Promise.withResolvers<void>();
  const watcher = watch(temporary.path, (_, name) => name === "started" && started.resolve());
  const limit = manualClock();
  // This test only controls the timeout; ending the processes takes real time.
  const isLimit = (ms: number) => ms === 10_000;
  const after: Clock["after"] = (ms, run) => (isLimit(ms) ? limit : systemClock).after(ms, run);
  const reading = read(directory, { ...systemClock, after });
  await started.promise;
  watcher.close();
  expect(processesIn(directory).length).toBeGreaterThan(0);
  limit.advance(10_000);
  expect(await reading).toEqual({
    layers: [{ source: join(directory, "a.yaml"), facts: { role: "web" } }],
    problems: [{ source: join(directory, "hangs"), reason: "stopped after 10 s" }],
  });
  expect(processesIn(directory)).toEqual([]);
});

test.each([
  ["a program that anyone can write", "tell", 0o777],
  ["a program that its group can write", "tell", 0o775],
  ["a directory that anyone can write", "", 0o777],
  ["a directory that anyone can write, even if sticky", "", 0o1777],
])("%s is not run, and the mode is named", async (_, name, mode) => {
  using temporary = temporaryDirectory("facts");
  const ran = join(temporary.path, "ran");
  const directory = factsDirectory(temporary.path, { tell: `#!/bin/sh\ntouch ${ran}\necho a: 1\n` });
  chmodSync(join(directory, name), mode);
  const { layers, problems } = await read(directory);
  expect(layers).toEqual([]);
  expect(problems).toEqual([
    {
      source: join(directory, "tell"),
      reason: `not run: ${join(directory, name)} has mode ${mode.toString(8).padStart(4, "0")}: remove write permission for group and others`,
    },
  ]);
  expect(readdirSync(temporary.path)).toEqual(["facts.d"]);
});

test("a link does not hide the location of a program, or who can write there", async () => {
  using temporary = temporaryDirectory("facts");
  const directory = factsDirectory(temporary.path, {});
  const open = join(temporary.path, "open");
  mkdirSync(open);
  writeFileSync(join(open, "tell"), "#!/bin/sh\necho a: 1\n", { mode: 0o755 });
  chmodSync(open, 0o777);
  symlinkSync(join(open, "tell"), join(directory, "tell"));
  expect((await read(directory)).problems[0]?.reason).toContain(`${open} has mode 0777`);
  chmodSync(open, 0o755);
  expect((await read(directory)).layers).toEqual([{ source: join(directory, "tell"), facts: { a: 1 } }]);
});

test("a program of another user is not run", async () => {
  using temporary = temporaryDirectory("facts");
  const directory = factsDirectory(temporary.path, { tell: "#!/bin/sh\necho a: 1\n" });
  // Only root can change the owner of files; for others, the reader is another user instead.
  if (uid === 0) chownSync(join(directory, "tell"), 65_534, 65_534);
  const as = uid === 0 ? 0 : uid + 1;
  const { layers, problems } = await read(directory, systemClock, as);
  expect(layers).toEqual([]);
  expect(problems[0]?.reason).toContain(`change the owner to root or ${as}`);
});

test("at most 64 files are read", async () => {
  using temporary = temporaryDirectory("facts");
  const names = Array.from({ length: 65 }, (_, at) => `f${String(at).padStart(2, "0")}.yaml`);
  const directory = factsDirectory(
    temporary.path,
    Object.fromEntries(names.map((name, at) => [name, `n${at}: ${at}\n`])),
  );
  const { layers, problems } = await read(directory);
  expect(layers).toHaveLength(64);
  expect(problems).toEqual([{ source: directory, reason: "only the first 64 of 65 files are read" }]);
});

/** The processes whose working directory is this one. */
function processesIn(directory: string): string[] {
  return readdirSync("/proc").filter((name) => {
    try {
      return /^\d+$/.test(name) && readlinkSync(`/proc/${name}/cwd`) === directory;
    } catch {
      return false;
    }
  });
}
