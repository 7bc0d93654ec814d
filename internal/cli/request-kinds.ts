import { isMap } from "../base/plain-map.ts";
import { peelOperations } from "../fleet/peels/mod.ts";
import { settingOperations } from "../fleet/settings/mod.ts";
import type { Cli } from "../program/command-line/mod.ts";
import type { Checked, Kind, Kinds } from "../tree/check/mod.ts";
import { allPages } from "./all-pages.ts";
import { withBus } from "./operator.ts";
import { request } from "./request.ts";

/** A master compiles the settings of each peel of a large fleet first. */
const timeoutMs = 60_000;

/**
 * Reads the kinds of peels from a master, with the facts of one of each.
 *
 * @throws SvcError `forbidden` without `settings: [render]` and `facts: [read]` for the whole fleet
 */
export async function requestKinds(cli: Cli): Promise<Kinds> {
  return await withBus(cli, async (bus) => {
    let left = 0;
    const found = await allPages(async (after) => {
      const page = await request(bus, settingOperations.listKinds, after, { timeoutMs });
      left = page.left;
      return page;
    }, "kinds");
    const kinds: Kind[] = [];
    for (const { peel_id: peelId, peels, labels, settings } of found) {
      const { value: facts } = await request(bus, peelOperations.getFacts, { id: peelId });
      if (!isMap(facts)) continue;
      kinds.push({ peelId, peels, facts, labels, ...(settings === undefined ? {} : { settings }) });
    }
    return { kinds, left };
  });
}

/** Adds what is wrong for kinds of peels; files that are broken for all are not compiled. */
export async function checkKinds<Shown extends Checked>(
  found: Shown,
  compile: () => Promise<Pick<Checked, "problems" | "hints">>,
): Promise<Shown> {
  if (found.problems.length > 0) return found;
  const { problems, hints } = await compile();
  return { ...found, problems: [...found.problems, ...problems], hints: [...found.hints, ...hints] };
}
