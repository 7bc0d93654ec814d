import { type App, allPages, routes } from "../api/mod.ts";
import type { Known } from "./complete.ts";

/** Facts whose values are offered: they group hosts, and have few values. */
const offeredFacts = ["os", "osrelease", "os_family", "kernel", "cpuarch", "virtual", "init"] as const;
const maxIds = 1_000;

/** Reads what completion offers. What cannot be read is not offered. */
export async function readKnown(app: App): Promise<Known> {
  const facts = Promise.all(
    offeredFacts.map(async (name) => {
      const values = await app.client
        .call(routes.countFacts, { by: name })
        .then(({ groups }) => groups.flatMap(({ facts }) => Object.values(facts).map(String)))
        .catch(() => []);
      return [name, values] as const;
    }),
  );
  const peels = allPages(app, routes.listPeels, { limit: 1_000 }, { max: maxIds }).then(
    ({ items }) => items,
    () => [],
  );
  const labels = new Map<string, Set<string>>();
  for (const peel of await peels) {
    for (const [name, value] of Object.entries(peel.labels)) {
      labels.set(name, (labels.get(name) ?? new Set()).add(value));
    }
  }
  return {
    ids: (await peels).map(({ id }) => id),
    facts: new Map((await facts).filter(([, values]) => values.length > 0)),
    mayUseSettings: app.session.may("settings", "render"),
    labels: new Map([...labels].map(([name, values]) => [name, [...values].sort()])),
  };
}
