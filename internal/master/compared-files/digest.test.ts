import { afterEach, beforeEach, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { createDigests, type Place } from "./digest.ts";

const key = Buffer.alloc(32, 7);
const hmac = (text: string) => createHmac("sha256", key).update(text).digest();
const hex = (digest: Uint8Array | undefined) => Buffer.from(digest ?? []).toString("hex");

let made: ReturnType<typeof temporaryDirectory>;
const at = (...names: string[]) => join(made.path, ...names);
beforeEach(() => {
  made = temporaryDirectory("compared-files");
});
afterEach(() => made[Symbol.dispose]());

test("a file is the HMAC of its content, and a missing one has none", async () => {
  const place: Place = { path: at("roles.yaml"), is: "file" };
  const digests = createDigests(key);
  expect(await digests.digest(place)).toBeUndefined();
  writeFileSync(place.path, "roles: {}\n");
  expect(hex(await digests.digest(place))).toBe(hex(hmac("roles: {}\n")));
  writeFileSync(place.path, "roles: {a: 1}\n");
  expect(hex(await digests.digest(place))).toBe(hex(hmac("roles: {a: 1}\n")));
  rmSync(place.path);
  expect(await digests.digest(place)).toBeUndefined();
});

test("a directory is the HMAC of its lines, sorted by bytes, without what an editor leaves", async () => {
  const place: Place = { path: at("settings"), is: "directory", asSettings: true };
  mkdirSync(at("settings", "web"), { recursive: true });
  for (const [name, text] of [
    ["top.sls", "t"],
    ["é.sls", "e"],
    ["web/a.sls", "a"],
    ["z.sls", "z"],
    [".top.sls.swp", "s"],
    ["top.sls~", "b"],
  ] as const) {
    writeFileSync(at("settings", name), text);
  }
  symlinkSync("top.sls", at("settings", "linked.sls"));
  const line = (path: string, text: string) => `${path}\0${hex(hmac(text))}\n`;
  const lines = [
    ...[line("linked.sls", "t"), line("top.sls", "t"), line("web/a.sls", "a"), line("z.sls", "z")],
    line("é.sls", "e"),
  ];
  expect(hex(await createDigests(key).digest(place))).toBe(hex(hmac(lines.join(""))));
  expect(hex(await createDigests(Buffer.alloc(32, 8)).digest(place))).not.toBe(hex(hmac(lines.join(""))));
});

test("the files of states are those that are published: without links", async () => {
  const place: Place = { path: at("states"), is: "directory", asSettings: false };
  mkdirSync(place.path);
  writeFileSync(at("states", ".bashrc"), "x");
  symlinkSync(".bashrc", at("states", "linked"));
  const found = await createDigests(key).digest(place);
  expect(hex(found)).toBe(hex(hmac(`.bashrc\0${hex(hmac("x"))}\n`)));
});

test("a file whose time, size and inode are the same is not read again; one that is gone is forgotten", async () => {
  const place: Place = { path: at("settings"), is: "directory", asSettings: true };
  mkdirSync(place.path);
  writeFileSync(at("settings", "a.sls"), "one");
  const digests = createDigests(key);
  const first = hex(await digests.digest(place));
  expect(hex(await digests.digest(place))).toBe(first);
  writeFileSync(at("settings", "a.sls"), "two");
  utimesSync(at("settings", "a.sls"), 1, 1);
  const second = hex(await digests.digest(place));
  expect(second).not.toBe(first);
  rmSync(at("settings", "a.sls"));
  expect(hex(await digests.digest(place))).toBe(hex(hmac("")));
});
