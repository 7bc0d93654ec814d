import { expect, test } from "bun:test";
import type { Published } from "../../tree/files/mod.ts";
import type { NamedSnapshots } from "./held-snapshots.ts";
import { assertRoom, maxHeld } from "./room.ts";

const digest = (name: string, at: number) => `${name}-${at}-`.padEnd(64, "0");
const listOf = (name: string, count: number): Published[] =>
  Array.from({ length: count }, (_, at) => ({
    ...{ manifest: digest(name, at), snapshot: digest(name, at) },
    origin: { directory: true, commits: [] },
  }));
const catalogOf = (counts: Record<string, number>) => ({
  held: new Map(Object.entries(counts).map(([name, count]) => [name, listOf(name, count)])),
});
type Held = ReturnType<typeof catalogOf>;

const all = async ({ held }: Held) =>
  new Set([...held.values()].flatMap((list) => list.map(({ snapshot }) => snapshot)));
const enter = (catalog: Held, environment: string, named: NamedSnapshots = () => all(catalog)) =>
  assertRoom(catalog, { environment, snapshot: digest("new", 0) }, named);
const others = (count: number) =>
  Object.fromEntries(Array.from({ length: count / 50 }, (_, at) => [`branch-${at}`, 50]));

test("the request beyond the bound is refused, and says what to cancel", async () => {
  await enter(catalogOf({ dev: maxHeld.ofOne - 1 }), "dev");
  await expect(enter(catalogOf({ dev: maxHeld.ofOne }), "dev")).rejects.toMatchObject({
    kind: "conflict",
    message:
      "nothing was started: jobs, rollouts and requests that have not ended name 100 earlier versions of the state files of dev; cancel those that nobody needs (svc job list --status running, svc rollout list, svc approval list)",
  });
});

test("one environment does not stop another, and none stops base", async () => {
  await enter(catalogOf({ dev: maxHeld.ofOne, test: 3 }), "test");
  const many = catalogOf({ ...others(maxHeld.ofOthers), base: 5 });
  await expect(enter(many, "test")).rejects.toThrow("of the environments other than base");
  await enter(many, "base");
  await expect(enter(catalogOf({ base: maxHeld.ofOne }), "base")).rejects.toThrow("of base;");
  await enter(catalogOf({ base: maxHeld.ofOne }), "dev");
});

test("what was replaced a moment ago and nobody needs is not counted", async () => {
  const catalog = catalogOf({ dev: 2 * maxHeld.ofOne });
  await enter(catalog, "dev", async () => new Set([digest("dev", 0)]));
});

test("while nobody knows what is needed, all of it counts", async () => {
  const unknown = async () => undefined;
  await expect(enter(catalogOf({ dev: maxHeld.ofOne }), "dev", unknown)).rejects.toThrow("100");
});

test("files that something needs already cost nothing more", async () => {
  const catalog = catalogOf({ dev: maxHeld.ofOne });
  const needed = await all(catalog);
  await enter(catalog, "dev", async () => needed.add(digest("new", 0)));
});
