import { expect, test } from "bun:test";
import {
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fixedFacts } from "../../../test/harness/facts.ts";
import { startHostileHome } from "../../../test/harness/hostile-home.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemClock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { systemOf } from "./system.ts";

const call = { clock: systemClock, signal: new AbortController().signal, facts: fixedFacts({}) };
const host = () => systemOf({ ...call, cache: new Map() });

test("a file of another user is read as what it is, and never through a link", () => {
  using directory = temporaryDirectory("system");
  const [home, secret] = [join(directory.path, "alice"), join(directory.path, "shadow")];
  mkdirSync(join(home, ".ssh"), { recursive: true });
  writeFileSync(secret, "secret of root\n", { mode: 0o600 });
  for (const path of [home, join(home, ".ssh")]) chownSync(path, 1, 1);
  const keys = join(home, ".ssh/authorized_keys");
  expect(host().readOwn(keys)).toBeUndefined();
  writeFileSync(keys, "ssh-rsa AAAA\n");
  expect(host().readOwn(keys)).toBe("ssh-rsa AAAA\n");
  renameSync(keys, `${keys}.old`);
  symlinkSync(secret, keys);
  expect(() => host().readOwn(keys)).toThrow("is not a regular file");
  expect(() => host().readOwn(home)).toThrow("is not a regular file");
  renameSync(join(home, ".ssh"), join(home, "ssh"));
  symlinkSync(directory.path, join(home, ".ssh"));
  expect(() => host().readOwn(join(home, ".ssh/shadow"))).toThrow(
    "is a symbolic link that another user can change",
  );
});

test("files and links of the system are written, replaced and removed", () => {
  using directory = temporaryDirectory("system");
  const path = (name: string) => join(directory.path, name);
  const system = host();
  system.makeDirectories(path("a/b"));
  system.write(path("a/b/file"), "one\n");
  system.write(path("a/b/file"), "two\n");
  system.link(path("a/b/link"), "file");
  system.link(path("a/b/link"), "other");
  expect(readFileSync(path("a/b/file"), "utf8")).toBe("two\n");
  expect([lstatSync(path("a/b/file")).mode & 0o777, system.linkTarget(path("a/b/link"))]).toEqual([
    0o644,
    "other",
  ]);
  system.remove(path("a/b/link"));
  system.remove(path("a/b/link"));
  expect(readdirSync(path("a/b"))).toEqual(["file"]);
  expect(() => system.write(path("missing/file"), "")).toThrow(
    `cannot write ${path("missing/file")}: no such file`,
  );
});

test("bytes that are not UTF-8 stay in a file that is read and written", () => {
  using directory = temporaryDirectory("system");
  const path = join(directory.path, "hosts");
  const line = Buffer.from("10.0.0.1 a # caf\xe9 \xff\n", "latin1");
  writeFileSync(path, line);
  const system = host();
  const text = system.read(path) ?? "";
  expect(text).toContain("10.0.0.1 a # caf");
  expect(system.readOwn(path)).toBe(text);
  system.write(path, `${text}10.0.0.2 é\n`);
  expect(readFileSync(path)).toEqual(Buffer.concat([line, Buffer.from("10.0.0.2 é\n")]));
});

test("nothing is written or read outside while a user replaces the directories", async () => {
  await using hostile = await startHostileHome(64);
  const system = host();
  for (const file of hostile.files(1_000)) {
    const path = join(hostile.target, file);
    const steps = [
      () => expect(system.readOwn(path) ?? "").not.toContain("outside"),
      () => system.write(path, "written\n"),
      () => system.link(`${path}.link`, "/nowhere"),
      () => system.makeDirectories(`${path}.d/below`),
      () => system.remove(path),
    ];
    for (const step of steps) {
      try {
        step();
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(SvcError);
      }
    }
  }
  hostile.expectNothingOutside();
});
