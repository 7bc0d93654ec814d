import { expect, test } from "bun:test";
import type { ShownEvent } from "../../fleet/events/mod.ts";
import type { List } from "./list.ts";
import { type Paged, pagedReading, type Renewal } from "./paged.ts";

interface Item {
  id: string;
  /** Of two with the same time, the id decides. */
  at: number;
  text: string;
}
const pageSize = 100;
const signal = new AbortController().signal;
const nameOf = (at: number) => `n${String(at).padStart(5, "0")}`;
const event = (id: string) => ({ data: { id } }) as unknown as ShownEvent;

/** A list of a master, newest first, with a log of what it is asked. */
function listOf(count: number) {
  const truth = new Map<string, Item>();
  for (let at = 0; at < count; at++) truth.set(nameOf(at), { id: nameOf(at), at: at >> 1, text: "old" });
  const requested: string[] = [];
  const placeOf = ({ id, at }: Item) => `${String(at).padStart(6, "0")} ${id}`;
  const inSight: { current: readonly Item[] } = { current: [] };
  const paged: Paged<Item> = {
    async page(cursor) {
      requested.push(`page behind ${cursor ?? "nothing"}`);
      const all = [...truth.values()].sort((a, b) => (placeOf(a) < placeOf(b) ? 1 : -1));
      const from = cursor === undefined ? 0 : all.findIndex(({ id }) => id === cursor) + 1;
      const items = all.slice(from, from + pageSize).map((item) => ({ ...item }));
      const next = from + pageSize < all.length ? items.at(-1)?.id : undefined;
      return { items, ...(next === undefined ? {} : { next }) };
    },
    async these(ids) {
      requested.push(`these ${ids.join(" ")}`);
      return ids.flatMap((id) => ({ ...truth.get(id) }) as Item).filter(({ id }) => id !== undefined);
    },
    changedBy: ({ data: { id } }) => [String(id)],
    idOf: ({ id }) => id,
    placeOf,
    falls: true,
    max: 100_000,
    inSight,
  };
  const renewal: Renewal<Item> = { behind: undefined };
  return { truth, requested, inSight, paged, reading: pagedReading(paged, renewal) };
}
const change = (truth: Map<string, Item>, id: string) => {
  const item = truth.get(id);
  if (item !== undefined) truth.set(id, { ...item, text: "new" });
};

test("what 3 of 2,000 items changed costs one request for 3, and the others stay the same objects", async () => {
  const { truth, requested, reading } = listOf(2_000);
  const before = await reading.load(signal);
  expect([before.items.length, requested.splice(0).length]).toEqual([2_000, 20]);
  change(truth, nameOf(7));
  truth.delete(nameOf(8));
  truth.set(nameOf(2_000), { id: nameOf(2_000), at: 10_000, text: "added" });
  const events = [nameOf(7), nameOf(8), nameOf(2_000), nameOf(7)].map(event);
  const after = await reading.change?.(before, events, signal);
  expect(requested).toEqual([`these ${nameOf(7)} ${nameOf(8)} ${nameOf(2_000)}`]);
  expect(after?.items[0]).toMatchObject({ text: "added" });
  expect(after?.items).toHaveLength(2_000);
  const known = new Set(before.items);
  expect(after?.items.filter((item) => !known.has(item)).map(({ text }) => text)).toEqual(["added", "new"]);
  // More than these say that much has changed.
  const many = Array.from({ length: 1_001 }, (_, at) => event(nameOf(at)));
  expect(await reading.change?.(before, many, signal)).toBeUndefined();
});

test("by the clock one page is read after the other, and what is in sight; everything is true after a round", async () => {
  const { truth, requested, inSight, reading } = listOf(450);
  let list: List<Item> | undefined = await reading.load(signal);
  requested.splice(0);
  for (const at of [0, 3, 201, 449]) change(truth, nameOf(at));
  truth.delete(nameOf(250));
  truth.set("added", { id: "added", at: 60, text: "new" });
  inSight.current = list.items.slice(-2);
  for (let round = 0; round < 5; round++) list = list && (await reading.renew?.(list, signal));
  expect(requested.filter((one) => one.startsWith("page"))).toEqual([
    "page behind nothing",
    ...["n00350", "n00249", "n00149", "n00050"].map((id) => `page behind ${id}`),
  ]);
  // On the first four pages they are not; on the last one they are read with it.
  expect(requested.filter((one) => one.startsWith("these"))).toHaveLength(4);
  const all = [...truth.values()].sort((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1));
  expect(list?.items).toEqual(all);
  requested.splice(0);
  await reading.renew?.(list as List<Item>, signal);
  expect(requested[0]).toBe("page behind nothing");
});
