import { openBucket } from "../../../internal/bus/storage/bucket.ts";
import { type Cycle, hours, minutes } from "../../../internal/fleet/samples/place.ts";
import { encodeSamples, type Levels, type Sample } from "../../../internal/fleet/samples/sample.ts";
import { connectTo, type TestBus } from "../bus.ts";
import { shownHosts } from "./hosts.ts";

const dayMs = 24 * 3600_000;

/** How the fleet was for a month, as if masters had run: it grew, two hosts fell silent, and nights are busy. */
export async function storeSamples(bus: TestBus, now: number): Promise<void> {
  const stored = await connectTo(bus, "master");
  const bucket = await openBucket(stored, "samples");
  for (const [cycle, days] of [
    [minutes, 1],
    [hours, 30],
  ] as const) {
    const times = timesOf(cycle, now, days);
    for (const [key, found] of Map.groupBy(times, (at) => cycle.keyOf(at))) {
      const samples = found.map((at) => sampleOf(at, now, cycle === hours ? 60 : 1));
      await bucket.put(key, encodeSamples({ samples }));
    }
  }
  await stored.drain();
}

function timesOf({ slotMs }: Cycle, now: number, days: number): number[] {
  const last = Math.floor(now / slotMs) * slotMs - slotMs;
  return Array.from({ length: (days * dayMs) / slotMs - 1 }, (_, at) => last - at * slotMs).toReversed();
}

function sampleOf(at: number, now: number, weight: number): Sample {
  const ago = (now - at) / dayMs;
  const all = shownHosts.length - Math.floor(ago / 6);
  const silent = ago < 0.2 ? 2 : ago < 0.6 ? 1 : 0;
  const isNight = new Date(at).getUTCHours() < 5;
  const turn = Math.floor(at / 60_000) % 40;
  const levels: Levels = {
    ...{ alive: all - silent, silent, pending: ago < 0.1 ? 3 : 0 },
    ...{ drifted: isNight ? 1 : ago < 0.3 ? 4 : 2, states_failed: ago < 0.05 ? 1 : 0 },
    ...{ stored_bytes: Math.round((60 - ago) * 2 ** 20), limit_bytes: 2 * 2 ** 30 },
  };
  const counts = {
    jobs_completed: (isNight ? 2 : turn % 10 === 0 ? 1 : 0) * weight,
    jobs_failed: (turn === 7 && !isNight ? 1 : 0) * weight,
    jobs_cancelled: turn === 31 ? 1 : 0,
  };
  return weight === 1 ? { at, levels, counts } : { at, levels, counts, max: levels };
}
