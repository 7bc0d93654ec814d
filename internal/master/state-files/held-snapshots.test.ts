import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { contentsOf } from "../../../test/harness/contents.ts";
import { type Catalog, emptyCatalog, findSnapshot, keptSnapshots } from "../../tree/files/mod.ts";
import { encodeOnce } from "../../tree/publication/encode-environment.ts";
import { nextCatalog } from "../../tree/publication/next-catalog.ts";
import { createHeldSnapshots, heldMs } from "./held-snapshots.ts";

/** Publications without a bus: what each names, and who needs what. */
function publishing() {
  const clock = manualClock();
  const named = new Set<string>();
  let isKnown = true;
  let catalog: Catalog = emptyCatalog();
  const holder = () =>
    createHeldSnapshots(async () => (isKnown ? new Set(named) : undefined), {
      monotonic: () => clock.monotonic(),
    });
  let held = holder();
  const publish = async (text: string | undefined, name = "dev") => {
    const origin = { directory: true, commits: [] };
    const environments =
      text === undefined
        ? []
        : [{ name, ...encodeOnce(new Map(), { name, origin, files: contentsOf({ text }) }) }];
    catalog = nextCatalog(catalog, {
      ...{ publish: environments, unchanged: [], restore: new Map(), offer: [], waiting: [], now: 0 },
      held: await held.next(catalog),
    }).next;
    return environments[0]?.snapshot ?? "";
  };
  return {
    clock,
    named,
    publish,
    /** Pushes so often that the list of the last ones has only these. */
    async pushMany(prefix = "push") {
      for (let at = 0; at <= keptSnapshots; at++) await publish(`${prefix} ${at}`);
    },
    restart() {
      held = holder();
    },
    forget(known: boolean) {
      isKnown = known;
    },
    find: (snapshot: string) => findSnapshot(catalog, "dev", { snapshot }).snapshot,
    behind: () => [...catalog.held.values()].flat().length,
  };
}

test("what a request names outlives ten pushes, and goes when the request has ended", async () => {
  const one = publishing();
  const agreed = await one.publish("agreed");
  one.named.add(agreed);
  await one.pushMany();
  one.clock.advance(heldMs);
  await one.pushMany("later");
  expect(one.find(agreed)).toBe(agreed);
  one.named.delete(agreed);
  one.clock.advance(heldMs);
  await one.publish("last");
  expect(() => one.find(agreed)).toThrow(`the state files ${agreed.slice(0, 12)} are no longer published`);
  // The one that it replaced goes with the publication after that.
  one.clock.advance(heldMs);
  await one.publish("last");
  expect(one.behind()).toBe(0);
});

test("without a request the eleventh push removes the first, once nobody can be storing one", async () => {
  const one = publishing();
  const first = await one.publish("first");
  await one.pushMany();
  expect(one.find(first)).toBe(first);
  one.clock.advance(heldMs - 1);
  await one.publish("next");
  expect(one.find(first)).toBe(first);
  one.clock.advance(1);
  await one.publish("after");
  expect(() => one.find(first)).toThrow("no longer published");
});

test("a request that another master stores while the branch is deleted finds its files", async () => {
  const one = publishing();
  const agreed = await one.publish("agreed");
  // Accepted there, not seen here yet.
  await one.publish(undefined);
  expect(one.find(agreed)).toBe(agreed);
  one.named.add(agreed);
  one.clock.advance(heldMs);
  await one.publish(undefined);
  expect(one.find(agreed)).toBe(agreed);
  // The branch is back with other files.
  await one.publish("malicious");
  expect(one.find(agreed)).toBe(agreed);
});

test("a holder that has just started removes nothing that it does not know to be needless", async () => {
  const one = publishing();
  const agreed = await one.publish("agreed");
  one.named.add(agreed);
  await one.pushMany();
  one.clock.advance(heldMs);
  await one.publish("before the restart");
  one.restart();
  one.forget(false);
  one.named.clear();
  await one.publish("after the restart");
  one.clock.advance(2 * heldMs);
  await one.publish("still not known");
  expect(one.find(agreed)).toBe(agreed);
  one.forget(true);
  one.named.add(agreed);
  await one.publish("known");
  expect(one.find(agreed)).toBe(agreed);
});

// Two persons agree to files, and a third one pushes at every step between.
const steps = ["before it waits", "while it waits", "before it starts", "in wave 1", "in wave 9"] as const;

test.each(steps)("ten pushes and a deleted branch %s change nothing of what runs", async (at) => {
  const one = publishing();
  const attack = async (now: (typeof steps)[number]) => {
    one.clock.advance(heldMs / 4);
    if (now !== at) return;
    await one.pushMany();
    await one.publish(undefined);
    await one.publish("malicious");
  };
  const agreed = await one.publish("agreed");
  const wave = (name: (typeof steps)[number]) => async () => {
    await attack(name);
    one.clock.advance(heldMs);
    await one.publish("more");
    expect(one.find(agreed)).toBe(agreed);
  };
  await attack("before it waits");
  one.named.add(agreed);
  for (const name of steps.slice(1)) await wave(name)();
});
