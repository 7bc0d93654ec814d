import { expect, test } from "bun:test";
import type { Environment } from "../../tree/publication/mod.ts";
import { decide, runStages } from "./decide.ts";

const candidate = (name: string): Environment => ({
  name,
  origin: { directory: false, commits: [] },
  files: new Map(),
});
const composed = (names: readonly string[], unchanged: readonly string[] = []) => ({
  environments: names.map(candidate),
  unchanged,
});
const refusal = (environment: string) => ({ environment, stage: "states", reason: "no" });
const namesIn = (environments: readonly Environment[]) => environments.map(({ name }) => name);

test("what nobody refuses comes into force, base first", () => {
  const { publish, unchanged, refusals } = decide(composed(["a", "base", "b"]), {
    ...{ published: ["b"], refusals: [], max: 9 },
  });
  expect(namesIn(publish)).toEqual(["base", "b", "a"]);
  expect(unchanged).toEqual([]);
  expect(refusals).toEqual([]);
});

test("a refused candidate leaves in force what was, and nothing where nothing was", () => {
  const refusals = [refusal("base"), refusal("new")];
  const decision = decide(composed(["base", "dev", "new"]), { published: ["base", "dev"], refusals, max: 9 });
  expect(namesIn(decision.publish)).toEqual(["dev"]);
  expect(decision.unchanged).toEqual(["base"]);
  expect(decision.refusals).toEqual(refusals);
});

test("an environment with a source that cannot be read stays, with that reason", () => {
  const decision = decide(composed(["base"], ["dev"]), { published: ["dev"], refusals: [], max: 9 });
  expect(decision.unchanged).toEqual(["dev"]);
  expect(decision.refusals).toMatchObject([{ environment: "dev", stage: "sources" }]);
});

test("of too many environments those in force stay, and the others are named", () => {
  const all = composed(["a", "b", "base", "c", "d"], ["e"]);
  const decision = decide(all, { published: ["base", "d", "e"], refusals: [], max: 3 });
  expect(namesIn(decision.publish)).toEqual(["base", "d", "a"]);
  expect(decision.refusals.slice(1).map(({ environment, stage }) => [environment, stage])).toEqual([
    ["b", "gitfs"],
    ["c", "gitfs"],
  ]);
  expect(namesIn(decide(composed(["a", "base"]), { published: [], refusals: [], max: 0 }).publish)).toEqual([
    "base",
  ]);
});

test("stages judge in order, and the first reason counts", async () => {
  const judged: string[] = [];
  const stage = (name: string, refused: string) => ({
    name,
    judge: ({ name: environment }: Environment) => {
      judged.push(`${name} ${environment}`);
      return environment === refused ? `not ${environment}` : undefined;
    },
  });
  const refusals = await runStages([stage("one", "a"), stage("two", "b")], ["a", "b"].map(candidate));
  expect(refusals).toEqual([
    { environment: "a", stage: "one", reason: "not a" },
    { environment: "b", stage: "two", reason: "not b" },
  ]);
  expect(judged).toEqual(["one a", "one b", "two b"]);
});
