import { expect, test } from "bun:test";
import { mapBounded } from "./map-bounded.ts";

/** Lets every promise that can continue do so. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Work that ends when the test ends it. */
function controlled() {
  const begun: number[] = [];
  const ends = new Map<number, PromiseWithResolvers<string>>();
  return {
    begun,
    run(item: number) {
      begun.push(item);
      const end = Promise.withResolvers<string>();
      ends.set(item, end);
      return end.promise;
    },
    async end(item: number) {
      ends.get(item)?.resolve(`result ${item}`);
      await settle();
    },
    async fail(item: number, reason: string) {
      ends.get(item)?.reject(new Error(reason));
      await settle();
    },
  };
}

test("runs at most a number at a time, and gives the results in the order of the items", async () => {
  const work = controlled();
  const results = mapBounded([1, 2, 3], { atOnce: 2 }, work.run);
  expect(work.begun).toEqual([1, 2]);
  await work.end(2);
  expect(work.begun).toEqual([1, 2, 3]);
  await work.end(3);
  await work.end(1);
  expect(await results).toEqual(["result 1", "result 2", "result 3"]);
});

test("nothing at all is fine", async () => {
  expect(await mapBounded([], { atOnce: 2 }, async () => 1)).toEqual([]);
});

test("after a failure nothing new begins, and what runs is stopped and awaited", async () => {
  const work = controlled();
  const signals: AbortSignal[] = [];
  let over = false;
  const results = mapBounded([1, 2, 3], { atOnce: 2 }, (item, signal) => {
    signals.push(signal);
    return work.run(item);
  });
  const ended = results.catch((thrown) => {
    over = true;
    return thrown;
  });
  await work.fail(1, "the first");
  expect([work.begun, over, signals[1]?.aborted]).toEqual([[1, 2], false, true]);
  await work.fail(2, "the second");
  expect(await ended).toEqual(new Error("the first"));
});

test("a signal that aborts ends it with its reason", async () => {
  const work = controlled();
  const stopping = new AbortController();
  const results = mapBounded([1, 2], { atOnce: 1, signal: stopping.signal }, work.run);
  const ended = results.catch((thrown) => thrown);
  stopping.abort(new Error("stopped"));
  await work.end(1);
  expect(await ended).toEqual(new Error("stopped"));
  expect(work.begun).toEqual([1]);
});
