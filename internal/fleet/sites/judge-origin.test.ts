import { expect, test } from "bun:test";
import fc from "fast-check";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { judgeOrigins } from "./judge-origin.ts";

type Place = NonNullable<ReturnType<Parameters<typeof judgeOrigins>[0]["placeOf"]>>;

function setup({ places = {} }: { places?: Record<string, Place> }) {
  const clock = manualClock();
  const log = recordingLog();
  const refused: string[] = [];
  let open = ["berlin", "munich"];
  const listeners = new Set<() => void>();
  const judge = judgeOrigins({
    sites: {
      open: () => open.map((name) => ({ name })) as never,
      onChange(run) {
        listeners.add(run);
        return () => listeners.delete(run);
      },
    },
    placeOf: (peel) => (Object.hasOwn(places, peel) ? places[peel] : undefined),
    metrics: { siteRefused: (site) => refused.push(site) },
    clock,
    log,
  });
  const admits = (peel: string, site?: string) =>
    judge.admits({ peel, subject: "svc.x", ...(site === undefined ? {} : { site }) });
  const lines = () => log.records.filter(({ level }) => level === "warn").length;
  return {
    ...{ judge, admits, refused, clock, lines, listeners },
    openOnly(...names: string[]) {
      open = names;
      for (const run of listeners) run();
    },
  };
}

const berlin = { labels: { site: "berlin" } };

test("over the link of a site, only its own peels are heard; over the bus of the masters, each peel", () => {
  const site = fc.constantFrom("berlin", "munich", undefined);
  fc.assert(
    fc.property(site, site, site, (label, left, link) => {
      const place = {
        ...(label === undefined ? {} : { labels: { site: label, env: "berlin" } }),
        ...(left === undefined ? {} : { leftSites: [{ site: left, until: Number.MAX_SAFE_INTEGER }] }),
      };
      const { admits, judge } = setup({ places: { "web-1": place } });
      expect(admits("web-1", link)).toBe(link === undefined || link === label || link === left);
      expect(admits("web-2", link)).toBe(link === undefined);
      expect(new Set(judge.sitesOf("web-1"))).toEqual(
        new Set([label, left].filter((one) => one !== undefined)),
      );
    }),
  );
});

test("a peel that was moved is heard at the site before while its credentials may name that", () => {
  const clock = manualClock();
  const leftSites = [{ site: "munich", until: clock.now() + 60_000 }];
  const moved = setup({ places: { "web-1": { ...berlin, leftSites } } });
  expect([moved.admits("web-1", "munich"), moved.judge.sitesOf("web-1")]).toEqual([
    true,
    ["berlin", "munich"],
  ]);
  moved.clock.advance(60_000);
  expect([moved.admits("web-1", "munich"), moved.judge.sitesOf("web-1")]).toEqual([false, ["berlin"]]);
});

test("a label that names no site of the fleet leads nowhere", () => {
  const { judge, openOnly } = setup({ places: { "web-1": berlin, "web-2": { labels: { site: "a.>" } } } });
  expect([judge.sitesOf("web-1"), judge.sitesOf("web-2"), judge.sitesOf("web-3")]).toEqual([
    ["berlin"],
    [],
    [],
  ]);
  openOnly("munich");
  expect(judge.sitesOf("web-1")).toEqual([]);
});

test("a flood for others is counted, said in two lines a minute for each site, and kept in bounded memory", () => {
  const places = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`web-${n}`, {}]));
  const { admits, judge, refused, clock, lines, listeners } = setup({ places });
  for (let n = 0; n < 5_000; n++) {
    expect(admits(`web-${n % 50}`, "berlin")).toBe(false);
    expect(admits(`${"x".repeat(5_000)}${n}`, `site-${n}`)).toBe(false);
  }
  expect([refused.length, lines()]).toEqual([10_000, 128]);
  clock.advance(60_000);
  expect(lines()).toBe(129);
  expect(judge.check()).toEqual({
    status: "degraded",
    message: expect.stringMatching(/^site berlin .* is refused: web-0, (?:web-\d, ){7}….*site=berlin/),
    next: expect.stringContaining("give web-0 the label site=berlin"),
  });
  clock.advance(15 * 60_000);
  expect([judge.check().status, judge.problemOf("berlin")]).toEqual(["up", undefined]);
  judge.stop();
  expect([clock.pending, listeners.size]).toEqual([0, 0]);
});
