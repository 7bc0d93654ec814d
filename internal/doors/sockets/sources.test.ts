import { expect, test } from "bun:test";
import { parseIpNetwork } from "../../base/names/ip-network.ts";
import { limitsFor } from "./limits.ts";
import { openFilesLimit } from "./open-files.ts";
import { createSources } from "./sources.ts";

const range = (text: string) => {
  const found = parseIpNetwork(text);
  if (found === undefined) throw new Error(text);
  return found;
};

test("a source is an IPv4 address, the /64 of an IPv6 address, or a network with a number of its own", () => {
  const sourceOf = createSources([
    { name: "office", cidr: [range("192.0.2.0/24"), range("2001:db8::/32")], connections: 500 },
    { name: "desk", cidr: [range("192.0.2.7/32")], connections: 20 },
    { name: "budget-alone", cidr: [range("198.51.100.0/24")] },
  ]);
  const usual = { unfinished: 8, finished: 128 };
  expect(sourceOf("203.0.113.9")).toEqual({ key: "203.0.113.9", ...usual });
  expect(sourceOf("198.51.100.1")).toEqual({ key: "198.51.100.1", ...usual });
  expect(sourceOf("2001:db9::1").key).toBe(sourceOf("2001:db9::ffff").key);
  expect(sourceOf("2001:db9::1").key).not.toBe(sourceOf("2001:db9:0:1::1").key);
  const office = { key: "network office", unfinished: 500, finished: 500 };
  expect([sourceOf("192.0.2.1"), sourceOf("2001:db8::1")]).toEqual([office, office]);
  expect(sourceOf("192.0.2.7")).toEqual({ key: "network desk", unfinished: 20, finished: 20 });
});

test("a quarter of the open files is held back", () => {
  expect(limitsFor()).toEqual({ unfinished: 256, unproven: 4_096, all: 16_384 });
  expect(limitsFor(65_536)).toEqual(limitsFor());
  expect(limitsFor(1_024)).toEqual({ unfinished: 192, unproven: 384, all: 768 });
  expect(limitsFor(1)).toEqual({ unfinished: 1, unproven: 1, all: 1 });
  expect(openFilesLimit()).toBeGreaterThan(100);
  expect(openFilesLimit("/proc/nothing")).toBeUndefined();
});
