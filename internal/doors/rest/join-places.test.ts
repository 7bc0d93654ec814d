import { expect, test } from "bun:test";
import fc from "fast-check";
import { manualClock } from "../../../test/harness/clock.ts";
import { createJoinPlaces, type JoinPlace, joinLimits } from "./join-places.ts";

const open = new Set(["a", "b"]);

function setup() {
  const clock = manualClock();
  const places = createJoinPlaces({ isOpen: (token) => open.has(token), clock });
  const begin = (count: number, source: (at: number) => string, token = "a"): JoinPlace[] =>
    Array.from({ length: count }, (_, at) => places.begin(token, source(at)) ?? []).flat();
  return { clock, places, begin };
}
const one = () => "192.0.2.1";
const many = (at: number) => `192.0.2.${at}`;

test("100 hosts behind one address that prove their token join in five seconds", () => {
  const { clock, places } = setup();
  let joined = 0;
  for (let ms = 0; ms < 5_000; ms += 10) {
    for (let n = 0; n < 100 - joined; n++) {
      const place = places.begin("a", one());
      if (place === undefined) break;
      places.prove(place);
      places.end(place);
      joined++;
    }
    clock.advance(10);
  }
  expect([joined, places.size]).toEqual([100, 0]);
});

test("one source has 10 places that proved nothing, whatever tokens it names, for 10 s", () => {
  const { clock, places, begin } = setup();
  expect([begin(8, one), begin(8, one, "b")].map(({ length }) => length)).toEqual([8, 2]);
  expect(begin(5, () => "192.0.2.2")).toHaveLength(5);
  clock.advance(joinLimits.unprovenMs - 1);
  expect(begin(1, one)).toEqual([]);
  clock.advance(1);
  expect(places.size).toBe(0);
  expect(begin(20, one)).toHaveLength(10);
});

test("a token has 20 joins a second, and 50 hosts at a time, until their challenges end", () => {
  const { clock, places, begin } = setup();
  for (const expected of [20, 20, 10, 0]) {
    const begun = begin(60, many);
    expect(begun).toHaveLength(expected);
    begun.forEach(places.prove);
    clock.advance(1_000);
  }
  expect(begin(5, one, "b")).toHaveLength(5);
  clock.advance(joinLimits.provenMs);
  expect(begin(60, many)).toHaveLength(20);
});

test("a wrong proof costs its source the favor for a minute, and no other source", () => {
  const { clock, places, begin } = setup();
  for (const place of begin(1, one)) places.fail(place);
  expect([begin(1, one), begin(1, one, "b"), begin(1, many)].map(({ length }) => length)).toEqual([0, 0, 1]);
  clock.advance(joinLimits.disfavorMs - 1);
  expect(begin(1, one)).toEqual([]);
  clock.advance(1);
  expect(begin(1, one)).toHaveLength(1);
});

test("a wrong proof ends the other places of its source that proved nothing", () => {
  const { places, begin } = setup();
  const [proven, wrong, waiting] = begin(3, one);
  const [stranger] = begin(1, () => "192.0.2.2");
  if (proven === undefined || wrong === undefined || waiting === undefined || stranger === undefined)
    throw new Error("no place");
  places.prove(proven);
  places.fail(wrong);
  expect([proven, waiting, stranger].map(places.holds)).toEqual([true, false, true]);
  expect([one(), "192.0.2.2"].map(places.unprovenOf)).toEqual([0, 1]);
});

test("a token that admits nobody gets nothing, and takes nothing from others", () => {
  const { places, begin } = setup();
  for (const token of ["closed", "unknown", "", "__proto__"]) expect(begin(100, one, token)).toEqual([]);
  expect(places.size).toBe(0);
  expect(begin(20, one)).toHaveLength(10);
});

test("who has no place any more neither proves nor ends a place of others", () => {
  const { clock, places, begin } = setup();
  const [late] = begin(1, one);
  clock.advance(joinLimits.unprovenMs);
  const others = begin(10, one);
  if (late === undefined) throw new Error("no place");
  places.prove(late);
  places.end(late);
  expect([places.holds(late), others.every(places.holds), begin(1, one)]).toEqual([false, true, []]);
});

test("no order of events exceeds a limit or keeps a place for good", () => {
  const event = fc.record({
    kind: fc.constantFrom("begin", "begin", "begin", "prove", "fail", "end"),
    token: fc.constantFrom("a", "b", "closed"),
    source: fc.nat(9),
    at: fc.nat(200),
    pauseMs: fc.nat(400),
  });
  fc.assert(
    fc.property(fc.array(event, { maxLength: 400 }), (events) => {
      const { clock, places } = setup();
      const begun: JoinPlace[] = [];
      const proven = new Set<JoinPlace>();
      for (const { kind, token, source, at, pauseMs } of events) {
        const place = begun[at % Math.max(1, begun.length)];
        if (kind === "begin") begun.push(...[places.begin(token, many(source)) ?? []].flat());
        else if (place !== undefined) {
          if (kind === "prove" && places.holds(place)) proven.add(place);
          places[kind as "prove" | "fail" | "end"](place);
        }
        const held = begun.filter(places.holds);
        const count = (by: (one: JoinPlace) => boolean) => held.filter(by).length;
        expect(held.length).toBe(places.size);
        expect(count((each) => each.token === "closed")).toBe(0);
        expect(count((each) => each.token === token)).toBeLessThanOrEqual(50);
        expect(count((each) => !proven.has(each) && each.source === many(source))).toBeLessThanOrEqual(10);
        clock.advance(pauseMs);
      }
      clock.advance(joinLimits.provenMs);
      expect(places.size).toBe(0);
    }),
  );
});
