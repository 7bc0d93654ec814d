import { expect, test } from "bun:test";
import { chmodSync, existsSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { planState, proveHonest, proveIdle, stateContext } from "../../../../test/harness/honesty.ts";
import { memoryFiles } from "../../../../test/harness/states.ts";
import { temporaryDirectory } from "../../../../test/harness/temporary.ts";
import type { Plain } from "../../../base/msgpack.ts";
import { fileStates } from "./index.ts";

interface Case {
  state: string;
  args: Record<string, Plain>;
  before: string;
  /** Equal to `before` when nothing has to change. */
  after: string;
}

const ini = "[a]\n  x=1\n[b]\n  y=2\n";
const sshd = "#Port 22\nPermitRootLogin yes # x\n# UseDNS no\nUseDNS yes\n";
const cases: Case[] = [
  { state: "comment", args: { regex: "^b" }, before: "a\nb\nbc\n", after: "a\n#b\n#bc\n" },
  { state: "comment", args: { regex: "^b$", char: ";" }, before: "b\nbc\n", after: ";b\nbc\n" },
  { state: "comment", args: { regex: "b" }, before: "a b\n#b\n", after: "#a b\n#b\n" },
  { state: "comment", args: { regex: "^b" }, before: "#b\n", after: "#b\n" },
  { state: "comment", args: { regex: "^z", ignore_missing: true }, before: "a", after: "a" },
  { state: "uncomment", args: { regex: "^b" }, before: "# b\n  #bc\n#a b\n", after: "b\n  bc\n#a b\n" },
  { state: "uncomment", args: { regex: "b" }, before: "#a b c\n", after: "a b c\n" },
  { state: "uncomment", args: { regex: "^b$" }, before: "#b\n#bc\n", after: "b\n#bc\n" },
  { state: "uncomment", args: { regex: "^b" }, before: "b\n", after: "b\n" },
  {
    state: "keyvalue",
    args: { key: "PermitRootLogin", value: "no", separator: " " },
    before: sshd,
    after: sshd.replace("yes # x", "no"),
  },
  {
    state: "keyvalue",
    args: { key_values: { Port: 2222, UseDNS: "no" }, separator: " ", uncomment: "#" },
    before: sshd,
    after: sshd.replace("#Port 22", "Port 2222").replace("UseDNS yes", "UseDNS no"),
  },
  {
    state: "keyvalue",
    args: { key: "c", value: true, append_if_not_found: true },
    before: "a = 1\nb=2",
    after: "a = 1\nb=2\nc=true\n",
  },
  {
    state: "keyvalue",
    args: { key: "A", value: 2, key_ignore_case: true, count: 0 },
    before: "  a = 1\na=1\n",
    after: "  a = 2\na=2\n",
  },
  { state: "keyvalue", args: { key: "c", value: "1" }, before: "a=1", after: "a=1" },
  {
    state: "keyvalue",
    args: { key_values: { PermitRootLogin: "no" }, separator: " ", append_if_not_found: true },
    before: "Port 22\nMatch User joe\n  PasswordAuthentication no",
    after: "Port 22\nPermitRootLogin no\nMatch User joe\n  PasswordAuthentication no\n",
  },
  {
    state: "keyvalue",
    args: { key: "b", value: "1", append_if_not_found: true },
    before: "a=1\nMatch x\n",
    after: "a=1\nMatch x\nb=1\n",
  },
  {
    state: "keyvalue",
    args: { key: "a", value: "x", value_ignore_case: true },
    before: "a=X\n",
    after: "a=X\n",
  },
  { state: "append", args: { text: ["b", "c"] }, before: "a\nb\n", after: "a\nb\nc\n" },
  { state: "append", args: { text: ["b\nc"] }, before: "a", after: "a\nb\nc\n" },
  { state: "append", args: { text: ["a  b"] }, before: " a b\n", after: " a b\n" },
  {
    state: "append",
    args: { text: ["a  b"], ignore_whitespace: false },
    before: "a b\n",
    after: "a b\na  b\n",
  },
  { state: "prepend", args: { text: ["x", "a"] }, before: "a\nb\n", after: "x\na\nb\n" },
  { state: "prepend", args: { text: ["b"], header: true }, before: "a\nb\n", after: "b\na\nb\n" },
  { state: "prepend", args: { text: ["a", "b"], header: true }, before: "a\nb\nc\n", after: "a\nb\nc\n" },

  {
    state: "replace",
    args: { pattern: "^#?Port .*", repl: "Port 22" },
    before: "x\n#Port 1\n",
    after: "x\nPort 22\n",
  },
  {
    state: "replace",
    args: { pattern: "^x.*", repl: "x1", count: 1 },
    before: "x0\nx0\n",
    after: "x1\nx0\n",
  },
  {
    state: "replace",
    args: { pattern: "(?P<key>\\w+)=(\\d)", repl: "\\g<key>:\\2" },
    before: "a=1\nb=2\n",
    after: "a:1\nb:2\n",
  },
  {
    state: "replace",
    args: { pattern: "server {", repl: "server  {" },
    before: "server {\n",
    after: "server  {\n",
  },
  { state: "replace", args: { pattern: "(?i)ON$", repl: "off" }, before: "x on\n", after: "x off\n" },
  {
    state: "replace",
    args: { pattern: "a.b", repl: "-", flags: ["DOTALL"] },
    before: "a\nb\n",
    after: "-\n",
  },
  { state: "replace", args: { pattern: "\\Ax", repl: "y" }, before: "x\nx\n", after: "y\nx\n" },
  {
    state: "replace",
    args: { pattern: "x$", repl: "\\1", backslash_literal: true },
    before: "x\n",
    after: "\\1\n",
  },
  {
    state: "replace",
    args: { pattern: "^no", repl: "new", append_if_not_found: true },
    before: "a",
    after: "a\nnew\n",
  },
  {
    state: "replace",
    args: { pattern: "^no", repl: "new", not_found_content: "other", prepend_if_not_found: true },
    before: "a\n",
    after: "other\na\n",
  },
  {
    state: "replace",
    args: { pattern: "^no", repl: "new", append_if_not_found: true },
    before: "new",
    after: "new",
  },
  { state: "replace", args: { pattern: "^no", repl: "new" }, before: "a\n", after: "a\n" },
  {
    state: "replace",
    args: { pattern: "^\\[[^]]*\\]$", repl: "[all]" },
    before: "[web]\na\n[db]\nb\n",
    after: "[all]\na\n[all]\nb\n",
  },
  {
    state: "replace",
    args: { pattern: "listen \\[([^]]+)\\]:80;", repl: "listen [\\1]:8080;" },
    before: "listen [2001:db8::1]:80;\n",
    after: "listen [2001:db8::1]:8080;\n",
  },
  { state: "line", args: { mode: "delete", match: "^[]#;]" }, before: "]x\n#y\n;z\nkeep\n", after: "keep\n" },
  {
    state: "blockreplace",
    args: { marker_start: "S", marker_end: "E", content: ["x = 1"], insert_after_match: "^\\[[^]]+\\]$" },
    before: "[main]\ny = 2\n",
    after: "[main]\nS\nx = 1\nE\ny = 2\n",
  },
  { state: "comment", args: { regex: "^[^]]{,2}$" }, before: "ab\na]\nabc\n", after: "#ab\na]\nabc\n" },
  { state: "comment", args: { regex: "(?i)^(B)\\1$" }, before: "bb\nb\n", after: "#bb\nb\n" },
  { state: "uncomment", args: { regex: "(?i)^(B)\\1$" }, before: "#  bb\n#b\n", after: "bb\n#b\n" },

  {
    state: "line",
    args: { mode: "ensure", content: "z=3", after: "\\[a\\]" },
    before: ini,
    after: "[a]\nz=3\n  x=1\n[b]\n  y=2\n",
  },
  { state: "line", args: { mode: "ensure", content: "y=2", after: "\\[a\\]" }, before: ini, after: ini },
  {
    state: "line",
    args: { mode: "ensure", content: "y=2", after: "\\[a\\]", before: "\\[b\\]" },
    before: ini,
    after: "[a]\n  x=1\ny=2\n[b]\n  y=2\n",
  },
  {
    state: "line",
    args: { mode: "ensure", content: "z=3", before: "y=" },
    before: ini,
    after: "[a]\n  x=1\n[b]\n  z=3\n  y=2\n",
  },
  { state: "line", args: { mode: "ensure", content: "end", location: "end" }, before: "a", after: "a\nend" },
  {
    state: "line",
    args: { mode: "insert", content: "a", location: "start" },
    before: "b\na\n",
    after: "a\nb\na\n",
  },
  {
    state: "line",
    args: { mode: "insert", content: "b", location: "end" },
    before: "a\nb\n",
    after: "a\nb\n",
  },
  { state: "line", args: { mode: "insert", content: "n", after: "a" }, before: "a\nb\n", after: "a\nn\nb\n" },
  {
    state: "line",
    args: { mode: "insert", content: "n", after: "a", before: "c" },
    before: "a\nn\nb\nc\n",
    after: "a\nn\nb\nn\nc\n",
  },
  {
    state: "line",
    args: { mode: "replace", match: "^ *x=", content: "x=9" },
    before: ini,
    after: "[a]\n  x=9\n[b]\n  y=2\n",
  },
  { state: "line", args: { mode: "replace", match: "^no", content: "x=9" }, before: ini, after: ini },
  { state: "line", args: { mode: "delete", match: "=" }, before: ini, after: "[a]\n[b]\n" },
  { state: "line", args: { mode: "delete", content: "x=1" }, before: ini, after: "[a]\n[b]\n  y=2\n" },
  { state: "line", args: { mode: "delete", match: "." }, before: "a\n", after: "" },

  {
    state: "blockreplace",
    args: { content: ["one", "two"], append_if_not_found: true },
    before: "a\n",
    after: "a\n#-- start managed zone --\none\ntwo\n#-- end managed zone --\n",
  },
  {
    state: "blockinfile",
    args: { marker_start: "START", marker_end: "END", content: ["new\n"] },
    before: "a\n# START 1\nold\nold\n# END 1\nb",
    after: "a\n# START 1\nnew\n# END 1\nb",
  },
  {
    state: "blockreplace",
    args: { marker_start: "S", marker_end: "E" },
    before: "S\nx\nE\n",
    after: "S\nE\n",
  },
  {
    state: "blockreplace",
    args: { marker_start: "S", marker_end: "E", content: ["x"], insert_after_match: "^a" },
    before: "a\nb\n",
    after: "a\nS\nx\nE\nb\n",
  },
  {
    state: "blockreplace",
    args: { marker_start: "S", marker_end: "E", content: ["x"], insert_before_match: "^b" },
    before: "a\nb\n",
    after: "a\nS\nx\nE\nb\n",
  },
];

const windows = "first\r\nsecond\r\n";
const endings: Case[] = [
  {
    state: "blockreplace",
    args: { marker_start: "S", marker_end: "E", content: ["one\r\ntwo"], append_if_not_found: true },
    before: windows,
    after: `${windows}S\r\none\r\ntwo\r\nE\r\n`,
  },
  {
    state: "blockreplace",
    args: { marker_start: "S", marker_end: "E", content: ["one"] },
    before: "S\r\nold\r\nE\r\n",
    after: "S\r\none\r\nE\r\n",
  },
  { state: "append", args: { text: ["last"] }, before: windows, after: `${windows}last\r\n` },
  { state: "append", args: { text: ["last"] }, before: "a\r\nb", after: "a\r\nb\r\nlast\r\n" },
  {
    state: "append",
    args: { text: ["first\r\n"], ignore_whitespace: false },
    before: "first\nx\n",
    after: "first\nx\n",
  },
  { state: "append", args: { text: ["x"] }, before: "a\r\nb\nc\nd\n", after: "a\r\nb\nc\nd\nx\n" },
  { state: "prepend", args: { text: ["zero"] }, before: windows, after: `zero\r\n${windows}` },
  {
    state: "line",
    args: { mode: "ensure", content: "new", after: "^first$" },
    before: windows,
    after: "first\r\nnew\r\nsecond\r\n",
  },
  { state: "line", args: { mode: "delete", match: "^first$" }, before: windows, after: "second\r\n" },
  {
    state: "keyvalue",
    args: { key_values: { a: 2, c: 3 }, append_if_not_found: true },
    before: "a = 1\r\nb=1\r\n",
    after: "a = 2\r\nb=1\r\nc=3\r\n",
  },
  { state: "comment", args: { regex: "^second$" }, before: windows, after: "first\r\n#second\r\n" },
  { state: "comment", args: { regex: "^.*$" }, before: "a\n", after: "#a\n" },
  { state: "uncomment", args: { regex: "^b$" }, before: "a\r\n#b\r\n", after: "a\r\nb\r\n" },
  {
    state: "replace",
    args: { pattern: "^(\\w+)$", repl: "\\1;" },
    before: windows,
    after: "first;\r\nsecond;\r\n",
  },
  {
    state: "replace",
    args: { pattern: "^x", repl: "new", append_if_not_found: true },
    before: windows,
    after: `${windows}new\r\n`,
  },
  { state: "replace", args: { pattern: "\\r$", repl: "" }, before: windows, after: "first\nsecond\n" },
  { state: "replace", args: { pattern: "\\r\\n", repl: "\\n" }, before: "a\r\nb\n", after: "a\nb\n" },
  { state: "replace", args: { pattern: "\\s+$", repl: "" }, before: "a \r\nb\r\n", after: "a\r\nb" },
];

test.each([...cases, ...endings])(
  "file.$state with $args makes $after of $before",
  async ({ state, args, before, after }) => {
    using directory = temporaryDirectory("edit");
    const path = join(directory.path, "file");
    writeFileSync(path, before);
    chmodSync(path, 0o640);
    const prove = before === after ? proveIdle : proveHonest;
    await prove(directory.path, fileStates, `file.${state}`, path, args);
    expect(readFileSync(path, "utf8")).toBe(after);
    expect(statSync(path).mode & 0o7777).toBe(0o640);
  },
);

test("some states create a missing file, and the others fail", async () => {
  using directory = temporaryDirectory("edit");
  const path = join(directory.path, "d/file");
  const replace = { pattern: "a", repl: "b" };
  await expect(planState(fileStates, "file.replace", path, replace)).rejects.toThrow(
    `${path} does not exist`,
  );
  await proveIdle(directory.path, fileStates, "file.replace", path, { ...replace, ignore_if_missing: true });
  await expect(planState(fileStates, "file.line", path, { mode: "delete", match: "x" })).rejects.toThrow(
    "does not exist",
  );
  await proveHonest(directory.path, fileStates, "file.append", path, { text: ["a"], makedirs: true });
  const created = join(directory.path, "line");
  const line = { mode: "ensure", content: "x", location: "end", create: true };
  await proveHonest(directory.path, fileStates, "file.line", created, line);
  expect(readFileSync(created, "utf8")).toBe("x\n");
});

test("lines come from the tree through a template", async () => {
  using directory = temporaryDirectory("edit");
  const path = join(directory.path, "file");
  const context = stateContext({ files: memoryFiles({ lines: "{{ a }}\nb\n" }) });
  const args = { source: "salt://lines", template: "jinja", context: { a: 1 } };
  await proveHonest(directory.path, fileStates, "file.append", path, args, context);
  expect(readFileSync(path, "utf8")).toBe("1\nb\n");
  const block = { ...args, marker_start: "S", marker_end: "E", prepend_if_not_found: true };
  await proveHonest(directory.path, fileStates, "file.blockreplace", path, block, context);
  expect(readFileSync(path, "utf8")).toBe("S\n1\nb\nE\n1\nb\n");
});

test("a link is only edited with follow_symlinks, and binary content never", async () => {
  using directory = temporaryDirectory("edit");
  const [target, link] = [join(directory.path, "t"), join(directory.path, "l")];
  writeFileSync(target, "a\n");
  symlinkSync("t", link);
  const args = { text: ["b"] };
  await expect(planState(fileStates, "file.append", link, args)).rejects.toThrow("follow_symlinks: true");
  await proveHonest(directory.path, fileStates, "file.append", link, {
    ...args,
    follow_symlinks: true,
    backup: ".old",
  });
  expect([readFileSync(target, "utf8"), readFileSync(`${target}.old`, "utf8")]).toEqual(["a\nb\n", "a\n"]);
  expect(existsSync(`${link}.old`)).toBe(false);
  writeFileSync(target, new Uint8Array([0xff]));
  await expect(planState(fileStates, "file.append", target, args)).rejects.toThrow("is not valid UTF-8");
});

test.each([
  ["file.replace", { pattern: "(", repl: "" }, "pattern: "],
  ["file.replace", { pattern: "a", repl: "\\2" }, "repl: the pattern has no group 2"],
  ["file.replace", { pattern: "a", repl: "\\g<n>" }, "repl: the pattern has no group n"],
  ["file.replace", { pattern: "(?x)a", repl: "" }, "the flag x is not supported"],
  ["file.replace", { pattern: "a", repl: "", flags: ["NO"] }, "flags: expected any of"],
  ["file.line", { mode: "ensure", content: "a\nb", location: "end" }, "content: expected one line"],
  ["file.line", { mode: "ensure", content: "a" }, "give location, before or after"],
  ["file.line", { mode: "insert", content: "a", after: "no" }, "no line that matches after"],
  ["file.line", { mode: "delete" }, "give match or content"],
  ["file.blockreplace", {}, "set append_if_not_found: true to add them"],
  ["file.blockreplace", { marker_start: "a" }, "the start marker without the end marker"],
  ["file.blockreplace", { insert_after_match: "no" }, "no line matches insert_after_match"],
  ["file.append", {}, "give either text or source"],
])("%s with %p is refused", async (state, args, message) => {
  using directory = temporaryDirectory("edit");
  const path = join(directory.path, "file");
  writeFileSync(path, "a\n");
  const plan = planState(fileStates, state, path, args as Record<string, Plain>);
  await expect(plan).rejects.toThrow(message);
});

test("a tree of files is created with modes and templates, and other files are cleaned", async () => {
  using directory = temporaryDirectory("recurse");
  const path = join(directory.path, "out");
  const files = memoryFiles({
    "web/a": "a\n",
    "web/sub/b": "{{ v }}\n",
    "web/sub/c.swp": "c\n",
    other: "x\n",
  });
  const context = stateContext({ files });
  const args = {
    source: "svc://web",
    exclude_pat: ["*.swp"],
    template: "jinja",
    context: { v: "b" },
    file_mode: "0640",
    dir_mode: "0750",
    user: "daemon",
  };
  const plan = await proveHonest(directory.path, fileStates, "file.recurse", path, args, context);
  expect(Object.keys(plan.changes)).toEqual(["", "/sub", "/a", "/sub/b"].map((each) => `${path}${each}`));
  expect(readFileSync(join(path, "sub/b"), "utf8")).toBe("b\n");
  expect(existsSync(join(path, "sub/c.swp"))).toBe(false);
  writeFileSync(join(path, "sub/left"), "x");
  rmSync(join(path, "sub/b"));
  writeFileSync(join(path, "sub/x.swp"), "x");
  const cleaned = await proveHonest(
    directory.path,
    fileStates,
    "file.recurse",
    path,
    { ...args, clean: true },
    context,
  );
  expect(Object.keys(cleaned.changes)).toEqual([join(path, "sub/left"), join(path, "sub/b")]);
  expect(existsSync(join(path, "sub/x.swp"))).toBe(true);
  await expect(planState(fileStates, "file.recurse", path, { source: "svc://no" }, context)).rejects.toThrow(
    "no files found below svc://no",
  );
});
