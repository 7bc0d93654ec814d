import { afterAll, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { memoryFiles } from "../../../../test/harness/states.ts";
import { download } from "./download.ts";
import { digestIn, findHash } from "./find-hash.ts";
import { parseSourceHash, refuseSourceHash, warnOfHash } from "./source-hash.ts";

const body = "some bytes\n";
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: (request) =>
    new URL(request.url).pathname === "/file" ? new Response(body) : new Response("no", { status: 404 }),
});
afterAll(() => server.stop(true));
const url = new URL("/file", server.url).href;
const sha512 = { algorithm: "sha512", value: createHash("sha512").update(body).digest("hex") } as const;
const [one, two] = ["a".repeat(64), "b".repeat(64)];
const options = { signal: new AbortController().signal };

test("a download is returned and verified", async () => {
  const pieces: Uint8Array[] = [];
  await download(url, sha512, options, (piece) => pieces.push(piece));
  expect(Buffer.concat(pieces).toString()).toBe(body);
  const other = { algorithm: "sha256", value: "0".repeat(64) } as const;
  await expect(download(url, other, options, () => {})).rejects.toThrow("does not match source_hash");
});

test("a download that is too large, missing or unreachable is a failure with its reason", async () => {
  await expect(download(url, sha512, { ...options, maxBytes: 5 }, () => {})).rejects.toThrow(
    "is larger than",
  );
  await expect(download(new URL("/no", url).href, sha512, options, () => {})).rejects.toThrow(
    "returned status 404",
  );
  await expect(download("http://127.0.0.1:1/", sha512, options, () => {})).rejects.toThrow("cannot fetch");
});

test("strong digests are accepted, by name or by length", () => {
  const value = "AB".repeat(32);
  expect(parseSourceHash(`sha256=${value}`)).toEqual({ algorithm: "sha256", value: value.toLowerCase() });
  expect(parseSourceHash(value)).toEqual({ algorithm: "sha256", value: value.toLowerCase() });
  expect(parseSourceHash(sha512.value)).toEqual(sha512);
  for (const wrong of ["", "md5=00", "sha256=d41d8cd98f00b204e9800998ecf8427e", "http://x/SHA256SUMS"]) {
    expect(refuseSourceHash(wrong)).toContain("source_hash: expected");
  }
});

test("old digests are accepted with a warning, and so is a source that is not verified", () => {
  const md5 = "d41d8cd98f00b204e9800998ecf8427e";
  expect(parseSourceHash(md5)).toEqual({ algorithm: "md5", value: md5 });
  expect(warnOfHash({ source_hash: md5 })).toContain("use sha256");
  expect(warnOfHash({ source_hash: `sha1=${"0".repeat(40)}` })).toContain("use sha256");
  expect(warnOfHash({ source_hash: undefined, skip_verify: true })).toContain("give source_hash");
  expect(warnOfHash({ source_hash: sha512.value, skip_verify: true })).toBeUndefined();
});

test.each<[string, string | undefined]>([
  [`${one}\n`, one],
  [`${two}  other\n${one} *a.tgz\n`, one],
  [`${one}  ./dist/a.tgz\n`, one],
  [`SHA256 (a.tgz) = ${one}\nMD5 (a.tgz) = ${"1".repeat(32)}\n`, one],
  [`# list\na.tgz ${one}\n`, one],
  [`${one}  a.tgz.asc\n`, undefined],
  ["<html>", undefined],
])("a list of digests: %j", (text, expected) => {
  expect(digestIn(text, ["a.tgz"])?.value).toBe(expected);
});

test("the list of digests may be a file of the tree", async () => {
  const files = memoryFiles({ sums: `${one}  a.tgz\n` });
  const context = { files, signal: options.signal };
  const find = (source_hash: string, source_hash_name?: string) =>
    findHash({ source_hash, source_hash_name }, ["https://x/y/a.tgz?z"], context);
  expect(await find("salt://sums")).toEqual({ algorithm: "sha256", value: one });
  expect(await find(one)).toEqual({ algorithm: "sha256", value: one });
  await expect(find("salt://sums", "b.tgz")).rejects.toThrow("salt://sums has no digest of b.tgz");
  await expect(find("salt://none")).rejects.toThrow("salt://none does not exist");
});
