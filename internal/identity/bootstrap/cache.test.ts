import { afterAll, beforeEach, expect, test } from "bun:test";
import { rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { encode } from "../../base/msgpack.ts";
import { createBootstrapCache } from "./cache.ts";
import { checkDiscovered, sameServers } from "./discover.ts";

const files = temporaryDirectory("cache");
const path = join(files.path, "nats-bootstrap.msgpack");
const urls = ["tls://bus-1.example:4222", "tls://bus-2.example:4222"];
const fleet = { masterUrls: ["https://a:8443", "https://b:8443"], pins: ["sha256:11", "sha256:22"] };
const cache = (keyed: Partial<typeof fleet> = {}, log = recordingLog()) =>
  createBootstrapCache({ path, ...fleet, ...keyed, log });

beforeEach(() => rmSync(path, { force: true }));
afterAll(() => files[Symbol.dispose]());

test("loads the saved list, from a file that only its owner can access", () => {
  const log = recordingLog();
  expect(cache({}, log).load()).toBeUndefined();
  expect(log.records).toEqual([]);
  cache().save(urls);
  expect(cache().load()).toEqual(urls);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test("it belongs to these masters in this order, and to these pins", () => {
  cache().save(urls);
  expect(cache({ masterUrls: ["https://b:8443", "https://a:8443"] }).load()).toBeUndefined();
  expect(cache({ masterUrls: ["https://a:8443"] }).load()).toBeUndefined();
  expect(cache({ pins: [] }).load()).toBeUndefined();
  expect(cache({ pins: ["sha256:22", "sha256:11"] }).load()).toEqual(urls);
});

test.each([
  ["junk", Buffer.from("not a cache")],
  ["nothing", Buffer.alloc(0)],
  ["another version", encode({ v: 2, identity: "", nats_urls: urls })],
  ["other fields", encode({ v: 1, urls })],
])("a file with %s is not used, and said so", (_, bytes) => {
  writeFileSync(path, bytes);
  const log = recordingLog();
  expect(cache({}, log).load()).toBeUndefined();
  expect(log.records).toMatchObject([{ level: "warn", fields: { path } }]);
});

test("a cached list passes the same check as any other", () => {
  cache().save(["tls://bus.example:4222", "tls://127.1:4222"]);
  expect(cache().load()).toBeUndefined();
});

test("a cache that cannot be written is said, and no failure", () => {
  const log = recordingLog();
  createBootstrapCache({ path: "/proc/none/cache", ...fleet, log }).save(urls);
  expect(log.records).toMatchObject([{ level: "warn", event: "bus URLs not cached" }]);
});

test("one bad entry refuses a whole list", () => {
  expect(checkDiscovered("x", [...urls, ...urls])).toEqual(urls);
  expect(checkDiscovered("x", [])).toBeUndefined();
  const bad = [
    "nats://bus:4222",
    "tls://localhost",
    "tls://[::1]:4222",
    "tls://0.0.0.0",
    "tls://169.254.1.1",
    "",
  ];
  for (const url of [...bad, `tls://${"a".repeat(600)}:1`]) {
    expect(() => checkDiscovered("nats_urls", [...urls, url])).toThrow(/^nats_urls: /);
  }
  expect(() => checkDiscovered("nats_urls", Array(65).fill(urls[0]))).toThrow("at most 64");
});

test("the order of servers means nothing", () => {
  expect(sameServers(urls, urls.toReversed())).toBe(true);
  expect(sameServers(urls, urls.slice(1))).toBe(false);
  expect(sameServers([], urls)).toBe(false);
});
