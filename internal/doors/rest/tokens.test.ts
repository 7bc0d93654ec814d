import { expect, test } from "bun:test";
import { chmodSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { SvcError } from "../../base/errors.ts";
import { type Bearers, signIn, type TokenEntry, tokenFiles, warnOfTokenFiles } from "./tokens.ts";

const clock = manualClock();
const find = async (
  entries: readonly TokenEntry[],
  authorization: string | null,
  read?: (path: string) => string | undefined,
): Promise<string | undefined> => {
  try {
    return (await signIn([tokenFiles(entries, clock, read)], authorization)).name;
  } catch (thrown) {
    if (thrown instanceof SvcError && thrown.message === "a valid bearer token is required") return undefined;
    throw thrown;
  }
};

function files(tokens: Record<string, string>) {
  const directory = temporaryDirectory("tokens");
  const entries = Object.entries(tokens).map(([username, token]) => {
    const path = join(directory.path, username);
    writeFileSync(path, token, { mode: 0o600 });
    return { username, token_file: path };
  });
  return { entries, [Symbol.dispose]: () => directory[Symbol.dispose]() };
}

test("finds whose token it is", async () => {
  using set = files({ ann: "token-of-ann\n", bob: "  token-of-bob  " });
  expect(await find(set.entries, "Bearer token-of-ann")).toBe("ann");
  expect(await find(set.entries, "bearer token-of-bob")).toBe("bob");
});

test("refuses everything else", async () => {
  using set = files({ ann: "token-of-ann", nobody: "", blank: " \n" });
  for (const header of [
    null,
    "",
    "Bearer",
    "Bearer ",
    "Bearer  token-of-ann",
    "Bearer token-of-an",
    "Bearer token-of-ann2",
    "Bearer token-of-ann token-of-ann",
    "Basic token-of-ann",
    "token-of-ann",
    `Bearer ${"a".repeat(9000)}`,
  ]) {
    expect(await find(set.entries, header)).toBeUndefined();
  }
});

test("a master that has no file descriptor left does not call a token wrong", async () => {
  const entries = [
    { username: "ann", token_file: "/ann" },
    { username: "bob", token_file: "/bob" },
  ];
  const read = (path: string) => {
    if (path === "/bob") return "token-of-bob";
    throw Object.assign(new Error("EMFILE: too many open files"), { code: "EMFILE" });
  };
  expect(await find(entries, "Bearer token-of-bob", read)).toBe("bob");
  expect(find(entries, "Bearer token-of-ann", read)).rejects.toThrow("cannot be read now");
  expect(await find(entries, null, read)).toBeUndefined();
});

test("a token file is read again each time", async () => {
  using set = files({ ann: "old" });
  const path = set.entries[0]?.token_file ?? "";
  expect(await find(set.entries, "Bearer old")).toBe("ann");
  writeFileSync(path, "new");
  expect(await find(set.entries, "Bearer old")).toBeUndefined();
  expect(await find(set.entries, "Bearer new")).toBe("ann");
  rmSync(path);
  expect(await find(set.entries, "Bearer new")).toBeUndefined();
});

test("warns of files that others can read, that are missing and that are empty, without their content", async () => {
  using set = files({ fine: "secret-a", group: "secret-b", others: "secret-c", missing: "x", empty: "" });
  const at = (name: string) => set.entries.find(({ username }) => username === name)?.token_file ?? "";
  chmodSync(at("group"), 0o640);
  chmodSync(at("others"), 0o604);
  rmSync(at("missing"));
  const log = recordingLog();
  warnOfTokenFiles(set.entries, log);
  const warned = log.records.map(({ level, fields }) => [level, fields.username]);
  expect(warned).toEqual([
    ["warn", "group"],
    ["warn", "others"],
    ["warn", "missing"],
    ["warn", "empty"],
  ]);
  expect(JSON.stringify(log.records)).not.toContain("secret-");
});

test("the roles of an entry are those of its requests, and a token without roles has the role admin", async () => {
  using set = files({ ann: "token-of-ann", bob: "token-of-bob" });
  const [ann, bob] = set.entries as [TokenEntry, TokenEntry];
  const kinds = [tokenFiles([ann, { ...bob, roles: ["viewer"] }], clock)];
  const bearer = { kind: "file" } as const;
  expect(await signIn(kinds, "Bearer token-of-ann")).toEqual({ name: "ann", roles: ["admin"], bearer });
  expect(await signIn(kinds, "Bearer token-of-bob")).toEqual({ name: "bob", roles: ["viewer"], bearer });
});

test("a token ends at its time, and only its holder learns that", async () => {
  using set = files({ ann: "token-of-ann" });
  const time = manualClock();
  const entries = set.entries.map((entry) => ({ ...entry, expires: time.now() + 1_000 }));
  const kinds = [tokenFiles(entries, time)];
  time.advance(999);
  expect(await signIn(kinds, "Bearer token-of-ann")).toMatchObject({ name: "ann" });
  time.advance(1);
  expect(signIn(kinds, "Bearer token-of-ann")).rejects.toMatchObject({
    kind: "unauthorized",
    message:
      "the token of ann expired at 2026-01-01T00:00:01.000Z: who configures this master can give another (api.tokens), or an operator with svc token create",
  });
  expect(signIn(kinds, "Bearer token-of-bob")).rejects.toThrow("a valid bearer token is required");
  const log = recordingLog();
  warnOfTokenFiles(
    entries.map((entry) => ({ ...entry, roles: ["viewr"] })),
    log,
    { clock: time, knownRoles: ["admin", "viewer"] },
  );
  expect(log.records.map(({ event }) => event)).toEqual([
    "token has expired",
    "token has a role that does not exist (did you mean viewer?)",
  ]);
});

test("a kind of tokens that cannot be judged now does not lock out those of another", async () => {
  const kind = (find: Bearers["find"]): Bearers => ({ open: () => true, find });
  const away = kind(() => Promise.reject(new SvcError("unavailable", "away")));
  const bob = kind(async () => ({ name: "bob" }));
  expect(await signIn([away, bob], "Bearer x")).toEqual({ name: "bob" });
  expect(signIn([away, kind(async () => undefined)], "Bearer x")).rejects.toThrow("away");
  const ended = kind(() => Promise.reject(new SvcError("unauthorized", "ended")));
  expect(signIn([ended, bob], "Bearer x")).rejects.toThrow("ended");
});
