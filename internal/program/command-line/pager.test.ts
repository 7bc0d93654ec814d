import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runInProcess } from "../../../test/harness/svc.ts";
import { command, group } from "./command.ts";
import { pagerFor, showWithPager } from "./pager.ts";
import { runTree } from "./run-tree.ts";

const terminal = { isTTY: true, columns: 80, rows: 10, write: () => true };
const long = "line\n".repeat(30);
const less = () => "/usr/bin/less";
const none = () => null;
const pager = (
  env: Record<string, string>,
  more: { isOff?: boolean; text?: string } = {},
  which: (program: string) => string | null = less,
) =>
  pagerFor(
    { isOff: false, text: long, ...more },
    { env: { TERM: "xterm", ...env }, stdout: terminal },
    which,
  );

test("the pager is that of svc, else that of the person, else less where it is installed", () => {
  expect(pager({ SVC_PAGER: "more", PAGER: "most" })).toBe("more");
  expect(pager({ PAGER: "most -s" })).toBe("most -s");
  expect(pager({})).toBe("less -FRX");
  expect(pager({}, {}, none)).toBeUndefined();
});

test("nothing is paged that fits, that is not for a terminal, or that nobody wants paged", () => {
  expect(pager({}, { text: "line\n".repeat(9) })).toBeUndefined();
  expect(pager({}, { text: "line\n".repeat(10) })).toBe("less -FRX");
  expect(pager({}, { isOff: true })).toBeUndefined();
  expect(pager({ SVC_PAGER: "", PAGER: "most" })).toBeUndefined();
  expect(pager({ PAGER: "cat" })).toBeUndefined();
  expect(pager({ TERM: "dumb" })).toBeUndefined();
  const pipe = { ...terminal, isTTY: false };
  expect(
    pagerFor({ isOff: false, text: long }, { env: { TERM: "xterm" }, stdout: pipe }, less),
  ).toBeUndefined();
});

test("a pager gets all of the text, and one that is closed early ends without an error", async () => {
  const directory = mkdtempSync(join(tmpdir(), "svc-pager-"));
  const env = { PATH: process.env.PATH ?? "", TARGET: join(directory, "shown") };
  // More than a pipe holds.
  const text = "x".repeat(1_000_000);
  expect(await showWithPager('cat > "$TARGET"', text, env)).toBe(true);
  expect(readFileSync(env.TARGET, "utf8")).toBe(text);
  expect(await showWithPager("true", text, env)).toBe(true);
  expect(await showWithPager("exit 3", text, env)).toBe(true);
  expect(await showWithPager("no-such-pager 2> /dev/null", text, env)).toBe(false);
  rmSync(directory, { recursive: true });
});

const tree = group({
  name: "svc",
  description: "Try results.",
  commands: () => [
    command({
      name: "list",
      description: "Print a list.",
      examples: ["svc list"],
      args: { follow: { type: "boolean", description: "Follow" } },
      run: (_, cli) => cli.print([1], () => long),
    }),
  ],
});

/** Runs the command at a terminal. @returns what the pager got, and what was written without it */
async function run(hasPager: boolean, ...argv: string[]): Promise<{ paged: string[]; written: string }> {
  const paged: string[] = [];
  let written = "";
  const stdout = { ...terminal, write: (text: string) => (written += text) };
  const page = async (_: string, text: string) => paged.push(text) > 0 && hasPager;
  const ran = await runInProcess(
    (options) => runTree(tree, { ...options, env: { TERM: "xterm", SVC_PAGER: "more" }, stdout, page }),
    ["list", ...argv],
  );
  expect([ran.exit, ran.stderr]).toEqual([0, ""]);
  return { paged, written };
}

test("a long table goes to the pager, and to the terminal where there is none", async () => {
  expect(await run(true)).toEqual({ paged: [long], written: "" });
  expect(await run(false)).toEqual({ paged: [long], written: long });
});

test.each([["--no-pager"], ["--follow"], ["--output=json"], ["--output=csv"]])(
  "%s pages nothing",
  async (flag) => {
    expect((await run(true, flag)).paged).toEqual([]);
  },
);
