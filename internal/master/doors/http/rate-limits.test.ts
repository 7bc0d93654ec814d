import { expect, test } from "bun:test";
import { manualClock } from "../../../../test/harness/clock.ts";
import { parseIpNetwork } from "../../../base/ip-network.ts";
import { createRateLimits, type LimitedNetwork, type RateLimits } from "./rate-limits.ts";

const network = (name: string, cidr: string[], capacity: number, refill: number): LimitedNetwork => ({
  name,
  cidr: cidr.map((text) => {
    const range = parseIpNetwork(text);
    if (range === undefined) throw new Error(`${text} is not a range`);
    return range;
  }),
  capacity,
  refill,
});
const allowed = (limits: RateLimits, ips: readonly string[], budget: "strict" | "relaxed" = "strict") =>
  ips.filter((ip) => limits.allow(budget, ip)).length;
const many = (count: number, ip: (at: number) => string) => Array.from({ length: count }, (_, at) => ip(at));

test("all addresses of an IPv6 /64 are one source, and those of the next are another", () => {
  const limits = createRateLimits([], manualClock());
  expect(
    allowed(
      limits,
      many(1_000, (at) => `2001:db8:0:1::${at.toString(16)}`),
    ),
  ).toBe(10);
  expect(
    allowed(
      limits,
      many(1_000, (at) => `2001:db8:0:1:${at.toString(16)}::1`),
    ),
  ).toBe(0);
  expect(
    allowed(
      limits,
      many(20, () => "2001:db8:0:2::1"),
    ),
  ).toBe(10);
});

test("each IPv4 address is a source of its own, in either notation", () => {
  const limits = createRateLimits([], manualClock());
  expect(
    allowed(
      limits,
      many(200, (at) => `192.0.2.${at}`),
    ),
  ).toBe(200);
  expect(
    allowed(
      limits,
      many(20, () => "::ffff:192.0.2.1"),
    ),
  ).toBeLessThanOrEqual(10);
});

test("a named network shares its own budget for enrollment, and nobody else's", () => {
  const clock = manualClock();
  const limits = createRateLimits([network("berlin", ["192.0.2.0/24", "2001:db8::/48"], 50, 2_000)], clock);
  expect(
    allowed(
      limits,
      many(100, (at) => `192.0.2.${at}`),
    ),
  ).toBe(50);
  expect(
    allowed(
      limits,
      many(100, (at) => `2001:db8::${at}`),
    ),
  ).toBe(0);
  clock.advance(10_000);
  expect(
    allowed(
      limits,
      many(100, (at) => `192.0.2.${at}`),
    ),
  ).toBe(5);
  expect(
    allowed(
      limits,
      many(20, () => "198.51.100.1"),
    ),
  ).toBe(10);
  // Operators behind the same address have the budget that they always had.
  expect(
    allowed(
      limits,
      many(200, () => "192.0.2.1"),
      "relaxed",
    ),
  ).toBe(120);
});

test("of several networks the smallest range decides", () => {
  const limits = createRateLimits(
    [network("all", ["10.0.0.0/8"], 1, 60_000), network("lab", ["10.1.0.0/16"], 30, 1_000)],
    manualClock(),
  );
  expect(
    allowed(
      limits,
      many(100, (at) => `10.1.0.${at}`),
    ),
  ).toBe(30);
  expect(
    allowed(
      limits,
      many(100, (at) => `10.2.0.${at}`),
    ),
  ).toBe(1);
});
