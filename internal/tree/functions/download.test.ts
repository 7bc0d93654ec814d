import { afterAll, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { download } from "./download.ts";
import { readSourceHash, refuseSourceHash } from "./source-hash.ts";

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
  expect(readSourceHash(`sha256=${value}`)).toEqual({ algorithm: "sha256", value: value.toLowerCase() });
  expect(readSourceHash(value)).toEqual({ algorithm: "sha256", value: value.toLowerCase() });
  expect(readSourceHash(sha512.value)).toEqual(sha512);
  expect(readSourceHash(undefined)).toBeUndefined();
  for (const weak of ["", "md5=00", "d41d8cd98f00b204e9800998ecf8427e", "https://x/SHA256SUMS"]) {
    expect(refuseSourceHash(weak)).toContain("source_hash: expected");
  }
});
