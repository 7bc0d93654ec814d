import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { seeded } from "../../../test/harness/seeded.ts";
import { createBackoff } from "../../base/backoff.ts";
import { parseIpNetwork } from "../../base/names/ip-network.ts";
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
const allowed = (
  limits: RateLimits,
  ips: readonly string[],
  budget: "strict" | "relaxed" | "sign-in" = "strict",
) => ips.filter((ip) => limits.allow(budget, ip)).length;
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

test.each([
  ["without a network", []],
  ["in a named network", [network("berlin", ["192.0.2.0/24"], 10, 10_000)]],
])("hosts that enroll leave the people behind the same address their sign-in (%s)", (_, networks) => {
  const limits = createRateLimits(networks, manualClock());
  const ips = many(50, () => "192.0.2.1");
  expect(allowed(limits, ips)).toBe(10);
  expect(allowed(limits, ips, "sign-in")).toBe(10);
  expect(allowed(limits, ips, "relaxed")).toBe(50);
});

test("what is given back goes to the budget that an address spends", () => {
  const limits = createRateLimits([network("berlin", ["192.0.2.0/24"], 20, 10_000)], manualClock());
  for (const ip of ["192.0.2.1", "198.51.100.1"]) {
    allowed(
      limits,
      many(20, () => ip),
    );
    limits.giveBack("strict", ip, 2);
  }
  const ips = (ip: string) => many(5, () => ip);
  expect([allowed(limits, ips("192.0.2.9")), allowed(limits, ips("198.51.100.1"))]).toEqual([2, 2]);
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

test("1,000 hosts behind one address that join with a token are members within 5 minutes", () => {
  const clock = manualClock();
  const limits = createRateLimits([network("dc1", ["192.0.2.7/32"], 1_000, 50)], clock);
  const jitter = seeded(7);
  // What svc-peel asks: the root, its document, a challenge, the enrollment, the credentials; then it starts.
  const steps = ["relaxed", "relaxed", "strict", "strict", "strict", "relaxed", "relaxed"] as const;
  const memberAfter = 5;
  const newPause = () => createBackoff({ firstMs: 1_000, maxMs: 60_000, jitter });
  const hosts = Array.from({ length: 1_000 }, () => ({ at: jitter() * 1_000, done: 0, pause: newPause() }));
  const tickMs = 10;
  let memberAt = 0;
  for (let now = 0; hosts.some(({ done }) => done < steps.length) && now < 3_600_000; now += tickMs) {
    clock.advance(tickMs);
    for (const host of hosts) {
      const step = steps[host.done];
      if (step === undefined || host.at > now) continue;
      if (limits.allow(step, "192.0.2.7")) {
        if (++host.done === memberAfter) memberAt = now;
        host.pause = newPause();
      } else {
        // As the client of svc-peel waits after status 429 with Retry-After: 10.
        host.at = now + Math.max(host.pause.next() * 2, 10_000 * (1 + jitter() / 2));
      }
    }
  }
  expect(hosts.filter(({ done }) => done >= memberAfter)).toHaveLength(1_000);
  expect(memberAt).toBeLessThan(5 * 60_000);
});
