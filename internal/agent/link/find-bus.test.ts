import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import type { Clock } from "../../base/clock.ts";
import { type Bus, nameAdvice } from "../../bus/connection/connect.ts";
import { TrustError } from "../../identity/trust/mismatch.ts";
import { type BusSource, findBus } from "./find-bus.ts";

/** A clock on which every pause is over at once. */
function eagerClock(): Clock & { pauses: number[] } {
  const clock = manualClock();
  const pauses: number[] = [];
  return {
    ...clock,
    pauses,
    after(ms, run) {
      pauses.push(ms);
      queueMicrotask(run);
      return { cancel: () => {} };
    },
  };
}

const bus = {} as Bus;
const source = (name: string, urls: BusSource["urls"]): BusSource => ({ name, urls });

function find(
  sources: BusSource[],
  reachable: (url: string, tried: number) => boolean,
  refusal: Error = new Error("refused"),
) {
  const clock = eagerClock();
  const tried: string[] = [];
  const log = recordingLog();
  const found = findBus({
    sources,
    open: async ([url = ""]) => {
      tried.push(url);
      if (!reachable(url, tried.length)) throw refusal;
      return bus;
    },
    clock,
    jitter: () => 0.999_999,
    log,
    signal: new AbortController().signal,
  });
  return { found, tried, clock, log };
}

test("three attempts at each source in order, then the next; one without URLs is passed over", async () => {
  const sources = [
    source("cache", () => ["a"]),
    source("document", async () => undefined),
    source("builtin", () => ["c"]),
  ];
  const { found, tried } = find(sources, (url) => url === "c");
  expect(await found).toEqual({ bus, urls: ["c"] });
  expect(tried).toEqual(["a", "a", "a", "c"]);
});

test("it retries forever, and reads the sources again in each round", async () => {
  let requested = 0;
  const sources = [
    source("document", () => [`document-${++requested}`]),
    source("builtin", () => ["builtin"]),
  ];
  const { found, tried, clock } = find(sources, (_, count) => count === 999);
  expect((await found).urls).toEqual(["document-167"]);
  expect(tried).toHaveLength(999);
  expect(clock.pauses.slice(0, 6)).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000]);
  expect(Math.max(...clock.pauses)).toBe(30_000);
});

test("a host that has no address is named with what to do, unless its source knows better", async () => {
  const cause = Object.assign(new Error("getaddrinfo ENOTFOUND bus"), { code: "ENOTFOUND" });
  const refusal = new Error(`cannot connect: ${cause.message}`, { cause });
  const sources = [
    source("bus_url", () => ["a"]),
    { ...source("builtin", () => ["b"]), next: "set bus_url" },
  ];
  const unknown = find(sources, (_, count) => count === 5, refusal);
  await unknown.found;
  const nexts = ({ log }: typeof unknown) => log.records.map(({ fields }) => fields.next);
  expect(nexts(unknown)).toEqual([nameAdvice, nameAdvice, nameAdvice, "set bus_url"]);
  const refused = find([source("bus_url", () => ["a"])], (_, count) => count === 2);
  await refused.found;
  expect(nexts(refused)).toEqual([undefined]);
});

test("a master that fails verification ends it", async () => {
  const sources = [source("document", () => Promise.reject(new TrustError("no")))];
  await expect(find(sources, () => true).found).rejects.toBeInstanceOf(TrustError);
});
