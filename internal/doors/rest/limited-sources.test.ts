import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { createLimitedSources } from "./limited-sources.ts";

function setup() {
  const clock = manualClock();
  const limited = createLimitedSources((ip) => (ip === "192.0.2.7" ? "berlin" : undefined), clock);
  const note = (ip: string, count: number) => {
    for (let n = 0; n < count; n++) limited.note(ip);
  };
  return { clock, limited, note };
}

test("the five sources with the most refused requests are listed, and those with few are not", () => {
  const { limited, note } = setup();
  for (let n = 1; n <= 6; n++) note(`198.51.100.${n}`, 10 * n);
  note("192.0.2.7", 100);
  note("203.0.113.1", 9);
  expect(limited.list()).toEqual([
    { source: "192.0.2.7/32", refused: 100, network: "berlin" },
    ...[6, 5, 4, 3].map((n) => ({ source: `198.51.100.${n}/32`, refused: 10 * n })),
  ]);
});

test("the addresses of an IPv6 /64 are one source, and an IPv4 address in IPv6 notation is itself", () => {
  const { limited, note } = setup();
  for (let n = 0; n < 10; n++) note(`2001:db8:0:1::${n}`, 1);
  note("::ffff:198.51.100.1", 11);
  note("no address", 20);
  expect(limited.list()).toEqual([
    { source: "198.51.100.1/32", refused: 11 },
    { source: "2001:db8:0:1::/64", refused: 10 },
  ]);
});

test("what was refused counts for five to ten minutes", () => {
  const { clock, limited, note } = setup();
  note("198.51.100.1", 6);
  clock.advance(5 * 60_000);
  note("198.51.100.1", 6);
  expect(limited.list()).toEqual([{ source: "198.51.100.1/32", refused: 12 }]);
  clock.advance(5 * 60_000);
  expect(limited.list()).toEqual([]);
  note("198.51.100.1", 10);
  clock.advance(10 * 60_000);
  expect(limited.list()).toEqual([]);
});

test("a source that is refused often stays listed among any number of others", () => {
  const { limited, note } = setup();
  let others = 0;
  for (let n = 0; n < 1_000; n++) {
    note("192.0.2.7", 1);
    for (let each = 0; each < 20; each++, others++)
      note(`10.${others >> 16}.${(others >> 8) & 255}.${others & 255}`, 1);
  }
  const [first, ...rest] = limited.list();
  expect([first?.source, rest]).toEqual(["192.0.2.7/32", []]);
});
