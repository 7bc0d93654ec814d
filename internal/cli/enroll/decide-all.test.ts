import { expect, test } from "bun:test";
import { type ErrorKind, SvcError } from "../../base/errors.ts";
import { WaitingRequest } from "../../base/waiting.ts";
import { NoMaster } from "../request.ts";
import { decideAll } from "./decide-all.ts";

const ids = Array.from({ length: 200 }, (_, at) => `enr-${at}`);
const refuse = (kind: ErrorKind) => Promise.reject(new SvcError(kind, kind));

test("what waits or is refused does not keep it from the rest", async () => {
  const { outcomes, ...rest } = await decideAll(ids, async (id) => {
    if (id === "enr-1") throw new WaitingRequest("apr-1", 1);
    if (id === "enr-2") return refuse("not_found");
    return id;
  });
  expect(rest).toEqual({});
  expect(outcomes.size).toBe(200);
  expect(["enr-0", "enr-1", "enr-2"].map((id) => outcomes.get(id)?.kind)).toEqual([
    "done",
    "waiting",
    "failed",
  ]);
});

test("at most 64 are under way at the same time", async () => {
  let busy = 0;
  let max = 0;
  await decideAll(ids, async () => {
    max = Math.max(max, ++busy);
    await new Promise<void>((resolve) => setImmediate(resolve));
    busy--;
  });
  expect(max).toBe(64);
});

test.each<[string, () => Promise<unknown>]>([
  ["no master", () => Promise.reject(new NoMaster("enrollments.approve"))],
  ["a mistake on the command line", () => refuse("usage")],
  ["a surprise", () => Promise.reject(new Error("a bug"))],
])("%s ends it", async (_, decide) => {
  const { outcomes, stopped } = await decideAll(ids, decide);
  expect(stopped).toBeInstanceOf(Error);
  expect(outcomes.size).toBe(0);
});

test("silence ends it only when it lasts: one of several masters may have ended", async () => {
  let requested = 0;
  const some = await decideAll(ids, () =>
    ++requested % 32 === 0 ? Promise.resolve() : refuse("unavailable"),
  );
  expect([some.outcomes.size, some.stopped]).toEqual([200, undefined]);
  const all = await decideAll(ids, () => refuse("unavailable"));
  expect(all.stopped).toMatchObject({ kind: "unavailable" });
  expect(all.outcomes.size).toBeLessThan(200);
});

test("a signal begins nothing new, and what has begun is waited for", async () => {
  const stopping = new AbortController();
  const { outcomes, stopped } = await decideAll(
    ids,
    async (id) => {
      if (id === "enr-70") stopping.abort(new Error("interrupted"));
      await new Promise<void>((resolve) => setImmediate(resolve));
    },
    { signal: stopping.signal },
  );
  expect(stopped).toMatchObject({ message: "interrupted" });
  expect(outcomes.get("enr-70")?.kind).toBe("done");
  expect(outcomes.size).toBeLessThan(200);
});
