import { expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import {
  applyState,
  planState,
  proveHonest,
  proveIdle,
  snapshot,
  stateContext,
} from "../../../../test/harness/honesty.ts";
import { memoryFiles } from "../../../../test/harness/states.ts";
import { temporaryDirectory } from "../../../../test/harness/temporary.ts";
import type { FileSource } from "../../files/mod.ts";
import { fileStates } from "./index.ts";

const managed = [fileStates, "file.managed"] as const;
const mode = (path: string) => (statSync(path).mode & 0o7777).toString(8);

test("a missing file is created with its content, mode and owner", async () => {
  using directory = temporaryDirectory("managed");
  const path = join(directory.path, "motd");
  const plan = await proveHonest(directory.path, ...managed, path, {
    contents: ["one", "two"],
    mode: "0640",
    user: "daemon",
    group: "daemon",
    show_changes: true,
  });
  expect(plan.changes).toEqual({
    [path]: {
      created: true,
      diff: `--- /dev/null\n+++ ${path}\n@@ -0,0 +1,2 @@\n+one\n+two\n`,
      mode: "0640",
      user: "daemon",
      group: "daemon",
    },
  });
  expect(readFileSync(path, "utf8")).toBe("one\ntwo\n");
  expect(mode(path)).toBe("640");
  expect(statSync(path).uid).not.toBe(0);
});

test("a file that differs is replaced and keeps its mode and owner unless they are given", async () => {
  using directory = temporaryDirectory("managed");
  const path = join(directory.path, "motd");
  writeFileSync(path, "one\ntwo\nthree\n");
  chmodSync(path, 0o604);
  const plan = await proveHonest(directory.path, ...managed, path, { contents: ["one\n2\nthree\n"] });
  expect(plan.changes).toEqual({
    [path]: { diff: `--- ${path}\n+++ ${path}\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n` },
  });
  expect(mode(path)).toBe("604");
});

test("a file with the longest name that the file system has is created and replaced", async () => {
  using directory = temporaryDirectory("managed");
  const path = join(directory.path, "n".repeat(255));
  await proveHonest(directory.path, ...managed, path, { contents: ["one"] });
  await proveHonest(directory.path, ...managed, path, { contents: ["two"] });
  expect(readFileSync(path, "utf8")).toBe("two\n");
});

test("mode and owner alone are set on the file itself", async () => {
  using directory = temporaryDirectory("managed");
  const path = join(directory.path, "motd");
  writeFileSync(path, "text\n");
  const { ino } = statSync(path);
  const args = { contents: ["text"], mode: "4755", user: "nobody", group: "0" };
  const plan = await proveHonest(directory.path, ...managed, path, args);
  expect(plan.changes).toEqual({
    [path]: { mode: { old: "0644", new: "4755" }, user: { old: "root", new: "nobody" } },
  });
  expect(statSync(path).ino).toBe(ino);
  expect(mode(path)).toBe("4755");
});

test("templates of lines and of a block know the environment, unless the state says otherwise", async () => {
  using directory = temporaryDirectory("managed");
  const path = join(directory.path, "lines");
  const text = ["{{ saltenv }} {{ name|default('unnamed') }}"];
  const template = { template: "jinja" };
  await applyState(fileStates, "file.append", path, { text, ...template });
  await applyState(fileStates, "file.append", path, { text, ...template, context: { saltenv: "dev" } });
  await applyState(fileStates, "file.blockreplace", path, {
    ...{ content: text, ...template, append_if_not_found: true, marker_start: "<", marker_end: ">" },
  });
  expect(readFileSync(path, "utf8")).toBe("base unnamed\ndev unnamed\n<\nbase unnamed\n>\n");
});

test("content comes from the first existing source, rendered as a template", async () => {
  using directory = temporaryDirectory("managed");
  const path = join(directory.path, "web.conf");
  const files = memoryFiles({ "web/site.conf": "os {{ grains.os }} port {{ port }}\n" });
  const context = stateContext({ files });
  const args = {
    source: ["svc://web/none.conf", "salt://web/site.conf"],
    template: "jinja",
    defaults: { port: 80 },
    context: { port: 8080 },
  };
  await proveHonest(directory.path, ...managed, path, args, context);
  expect(readFileSync(path, "utf8")).toBe("os Debian port 8080\n");
  await expect(planState(...managed, path, { source: ["svc://web/none.conf"] }, context)).rejects.toThrow(
    "source svc://web/none.conf does not exist (environment base)",
  );
});

test("a template knows the name, the source and the attributes of its file, unless the state says otherwise", async () => {
  using directory = temporaryDirectory("managed");
  const path = join(directory.path, "web.conf");
  const files = memoryFiles({ "web.conf": "{{ source }} {{ name }} {{ mode }} {{ user }} {{ saltenv }}\n" });
  const context = stateContext({ files });
  const args = { source: ["salt://web.conf"], template: "jinja", mode: "0644" };
  await proveHonest(directory.path, ...managed, path, args, context);
  expect(readFileSync(path, "utf8")).toBe(`salt://web.conf ${path} 0644 None base\n`);
  const own = { ...args, context: { source: "mine" } };
  await proveHonest(directory.path, ...managed, path, own, context);
  expect(readFileSync(path, "utf8")).toBe(`mine ${path} 0644 None base\n`);
});

test("an unchanged source is compared by its digest and never read", async () => {
  using directory = temporaryDirectory("managed");
  const path = join(directory.path, "a");
  const files = memoryFiles({ a: "same\n" });
  const context = stateContext({ files });
  await proveHonest(directory.path, ...managed, path, { source: ["svc://a"] }, context);
  const unread = { ...files, read: () => Promise.reject(new Error("read")) };
  await proveIdle(directory.path, ...managed, path, { source: ["svc://a"] }, stateContext({ files: unread }));
});

test("the source of a new file is read once, and its digest is not asked for", async () => {
  using directory = temporaryDirectory("managed");
  const path = join(directory.path, "a");
  const files = memoryFiles({ a: "new\n" });
  const reads: string[] = [];
  const counted: FileSource = {
    ...files,
    stat: () => ({
      size: 4,
      executable: false,
      get digest(): string {
        throw new Error("asked for its digest");
      },
    }),
    read: (name) => {
      reads.push(name);
      return files.read(name);
    },
  };
  const context = stateContext({ files: counted });
  const { changes } = await applyState(...managed, path, { source: ["svc://a"] }, context);
  expect(changes).toEqual({
    [path]: { created: true, diff: `--- /dev/null\n+++ ${path}\n@@ -0,0 +1 @@\n+new\n` },
  });
  expect([readFileSync(path, "utf8"), reads]).toEqual(["new\n", ["a"]]);
});

test("content from settings is not in the diff, and missing settings are named", async () => {
  using directory = temporaryDirectory("managed");
  const path = join(directory.path, "key");
  const context = stateContext({ settings: { tls: { key: "hush" } } });
  const plan = await proveHonest(directory.path, ...managed, path, { contents_pillar: "tls:key" }, context);
  expect(JSON.stringify(plan)).not.toContain("hush");
  expect(readFileSync(path, "utf8")).toBe("hush\n");
  await expect(planState(...managed, path, { contents_settings: "tls:no" }, context)).rejects.toThrow(
    "setting tls:no does not exist",
  );
});

test.each([
  [{ mode: "0600" }, 0o644, false],
  [{ mode: "0640" }, 0o644, false],
  [{ mode: "0644" }, 0o600, false],
  [{}, 0o600, false],
  [{ mode: "0644" }, 0o644, true],
  [{ mode: "0600", show_changes: true }, 0o600, true],
  [{ show_changes: false }, 0o644, false],
])(
  "the diff of a file that is not readable for all users is hidden: %p over %p",
  async (args, before, shown) => {
    using directory = temporaryDirectory("managed");
    const path = join(directory.path, "key");
    writeFileSync(path, "old-hush\n");
    chmodSync(path, before);
    const plan = await proveHonest(directory.path, ...managed, path, { contents: ["new-hush"], ...args });
    const text = JSON.stringify(plan);
    expect([text.includes("old-hush"), text.includes("new-hush")]).toEqual([shown, shown]);
  },
);

test("a symbolic link is replaced, and followed only on request", async () => {
  using directory = temporaryDirectory("managed");
  const [target, link, other] = ["target", "link", "other"].map((name) => join(directory.path, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(target, "mine\n");
  symlinkSync("target", link);
  symlinkSync("target", other);
  const plan = await proveHonest(directory.path, ...managed, link, { contents: ["new"] });
  expect(plan.changes[link]).toMatchObject({ type: { old: "symbolic link to target", new: "file" } });
  expect(readFileSync(target, "utf8")).toBe("mine\n");
  await proveHonest(directory.path, ...managed, other, { contents: ["new"], follow_symlinks: true });
  expect(lstatSync(other).isSymbolicLink()).toBe(true);
  expect(readFileSync(target, "utf8")).toBe("new\n");
});

test("a hard link to the file keeps the old content", async () => {
  using directory = temporaryDirectory("managed");
  const [path, other] = [join(directory.path, "a"), join(directory.path, "b")];
  writeFileSync(path, "old\n");
  linkSync(path, other);
  await proveHonest(directory.path, ...managed, path, { contents: ["new"] });
  expect(readFileSync(other, "utf8")).toBe("old\n");
});

test("parents are created on request; otherwise the run fails, not the plan", async () => {
  using directory = temporaryDirectory("managed");
  const path = join(directory.path, "a/b/c");
  const plan = await planState(...managed, path, { contents: ["x"] });
  expect(plan.changes).not.toEqual({});
  await expect(plan.apply?.() ?? Promise.resolve()).rejects.toThrow(
    "a/b does not exist; set makedirs: true to create it",
  );
  const args = { contents: ["x"], makedirs: true, dir_mode: "0750", user: "daemon" };
  await proveHonest(directory.path, ...managed, path, args);
  expect(mode(join(directory.path, "a"))).toBe("750");
  expect(statSync(join(directory.path, "a/b")).uid).toBe(statSync(path).uid);
});

test("replace: false keeps an existing file, and create: false a missing one", async () => {
  using directory = temporaryDirectory("managed");
  const path = join(directory.path, "a");
  await proveIdle(directory.path, ...managed, path, { contents: ["x"], create: false });
  await proveHonest(directory.path, ...managed, path, { contents: ["x"], replace: false });
  await proveIdle(directory.path, ...managed, path, { contents: ["y"], replace: false });
  await proveHonest(directory.path, ...managed, path, { contents: ["y"], replace: false, mode: "0600" });
  expect(readFileSync(path, "utf8")).toBe("x\n");
});

test("a backup of the previous file is kept with its mode", async () => {
  using directory = temporaryDirectory("managed");
  const path = join(directory.path, "a");
  writeFileSync(path, "old\n");
  chmodSync(path, 0o600);
  await applyState(...managed, path, { contents: ["new"], mode: "0644", backup: ".bak" });
  expect(readFileSync(`${path}.bak`, "utf8")).toBe("old\n");
  expect(mode(`${path}.bak`)).toBe("600");
});

test("check_cmd rejects a bad file and leaves no files behind", async () => {
  using directory = temporaryDirectory("managed");
  const path = join(directory.path, "sudoers");
  const check_cmd = "grep -q good";
  await proveHonest(directory.path, ...managed, path, { contents: ["good"], check_cmd });
  const before = snapshot(directory.path);
  const plan = await planState(...managed, path, { contents: ["bad"], check_cmd });
  await expect(plan.apply?.() ?? Promise.resolve()).rejects.toThrow(
    "check_cmd rejected the new file: grep -q good exited with 1",
  );
  expect(snapshot(directory.path)).toEqual(before);
});

test("an owner that does not exist yet fails the run, not the plan", async () => {
  using directory = temporaryDirectory("managed");
  const path = join(directory.path, "a");
  const plan = await planState(...managed, path, { contents: ["x"], user: "svc-test-nobody" });
  expect(plan.comment).toContain("this host has no user svc-test-nobody yet");
  await expect(plan.apply?.() ?? Promise.resolve()).rejects.toThrow("this host has no user svc-test-nobody");
  expect(existsSync(path)).toBe(false);
});

test("for binary content only the size is reported", async () => {
  using directory = temporaryDirectory("managed");
  const path = join(directory.path, "a");
  writeFileSync(path, new Uint8Array([1, 0, 2]));
  const plan = await proveHonest(directory.path, ...managed, path, { contents: ["x"] });
  expect(plan.changes[path]).toEqual({ diff: "not shown line by line: 3 bytes before, 2 bytes after" });
});

test("entries that a file must not replace are rejected", async () => {
  using directory = temporaryDirectory("managed");
  const path = join(directory.path, "a");
  mkdirSync(path);
  await expect(planState(...managed, path, { contents: ["x"] })).rejects.toThrow(`${path} is a directory`);
  for (const name of ["relative", "/a/../b", "/a/./b", "/a\0"]) {
    await expect(planState(...managed, name, { contents: ["x"] })).rejects.toThrow(
      "name: expected an absolute",
    );
  }
});

test.each([
  [{ mode: 644 }, "mode: expected"],
  [{ mode: "0999" }, "mode: expected three or four octal digits such as 0644, or keep"],
  [{ contents: ["x"], source: ["svc://x"] }, "give only one of source, contents"],
  [{ source: ["http://x/y"] }, "source_hash: a digest is required for an http:// source"],
  [{ source: ["https://x/y"] }, "source_hash: missing"],
  [{ source: ["https://x/y"], source_hash: "md5=d41d" }, "source_hash: expected"],
  [{ backup: "minion" }, "backup: expected"],
])("arguments %p are refused", async (args, message) => {
  await expect(planState(...managed, "/tmp/svc-test-never", args)).rejects.toThrow(message);
});

test("a local source can be pinned by its digest, and is rejected when it differs", async () => {
  using directory = temporaryDirectory("managed");
  const [source, path] = [join(directory.path, "s"), join(directory.path, "p")];
  writeFileSync(source, "text\n");
  chmodSync(source, 0o711);
  const args = { source: [source], mode: "keep" };
  await proveHonest(directory.path, ...managed, path, args);
  expect(mode(path)).toBe("755");
  writeFileSync(path, "other");
  const wrong = { ...args, source_hash: `sha256=${"0".repeat(64)}` };
  await expect(applyState(...managed, path, wrong)).rejects.toThrow("does not match source_hash");
  expect(readFileSync(path, "utf8")).toBe("other");
  expect(readdirSync(directory.path).sort()).toEqual(["p", "s"]);
});
