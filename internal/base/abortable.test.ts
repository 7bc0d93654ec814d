import { expect, test } from "bun:test";
import { abortable } from "./abortable.ts";

test("what comes in time is passed on", async () => {
  const { signal } = new AbortController();
  expect(await abortable(Promise.resolve(1), signal)).toBe(1);
  await expect(abortable(Promise.reject(new Error("no")), signal)).rejects.toThrow("no");
});

test("the signal ends the wait, and what comes later is dropped", async () => {
  const stopping = new AbortController();
  const late = Promise.withResolvers<number>();
  const dropped: number[] = [];
  const waiting = abortable(late.promise, stopping.signal, (value) => dropped.push(value));
  stopping.abort(new Error("stopped"));
  await expect(waiting).rejects.toThrow("stopped");
  late.resolve(1);
  await late.promise;
  expect(dropped).toEqual([1]);
});

test("a signal that aborted before lets nothing through, and a late failure is nobody's", async () => {
  const late = Promise.withResolvers<number>();
  const waiting = abortable(late.promise, AbortSignal.abort(new Error("stopped")));
  await expect(waiting).rejects.toThrow("stopped");
  late.reject(new Error("later"));
  await late.promise.catch(() => {});
});
