import { expect, test } from "bun:test";
import { assemble, createParts } from "./parts.ts";

interface View {
  one(): number;
  two(): number;
}

const never = new AbortController().signal;
const up = () => ({ status: "up" }) as const;

/** A part that notes what happens to it. */
function noted(name: string, notes: string[], more: object = {}) {
  return {
    start() {
      notes.push(`${name} starts`);
      return { ...more, stop: () => void notes.push(`${name} stops`) };
    },
  };
}

test("parts start in order, later ones with what earlier ones offer, and stop in reverse", async () => {
  const notes: string[] = [];
  const first = noted("first", notes, { word: "a" });
  const second = {
    start: ({ word }: { word?: string }) => noted(`second with ${word}`, notes).start(),
  };
  {
    await using parts = createParts<View>([], never);
    const offered = await parts.start(first, {});
    expect<object>(offered).toEqual({ word: "a" });
    await parts.start(second, offered);
  }
  expect(notes).toEqual(["first starts", "second with a starts", "second with a stops", "first stops"]);
});

test("when a part fails those before it stop", async () => {
  const notes: string[] = [];
  const run = async () => {
    await using parts = createParts<View>([], never);
    await parts.start(noted("first", notes), {});
    await parts.start({ start: (): { stop(): void } => Promise.reject(new Error("no")) as never }, {});
  };
  await expect(run()).rejects.toThrow("no");
  expect(notes).toEqual(["first starts", "first stops"]);
});

test("what fails while it stops keeps nothing else from stopping", async () => {
  const notes: string[] = [];
  const parts = createParts<View>([], never);
  await parts.start(noted("first", notes), {});
  await parts.start({ start: () => ({ stop: () => Promise.reject(new Error("stuck")) }) }, {});
  await expect(Promise.resolve(parts[Symbol.asyncDispose]())).rejects.toThrow("stuck");
  expect(notes).toEqual(["first starts", "first stops"]);
});

test("after the signal nothing starts", async () => {
  const notes: string[] = [];
  const stopping = new AbortController();
  const parts = createParts<View>([], stopping.signal);
  stopping.abort(new Error("stopped by SIGTERM"));
  await expect(parts.start(noted("first", notes), {})).rejects.toThrow("stopped by SIGTERM");
  expect(notes).toEqual([]);
});

test("a check is down with its words until its part has started", async () => {
  const bus = { waits: { bus: "not connected yet" }, start: () => ({ checks: { bus: up }, stop() {} }) };
  const doors = { waits: { door: "not started yet" }, start: () => ({ stop() {} }) };
  const extra = { start: () => ({ checks: { extra: up }, stop() {} }) };
  const parts = createParts<View>([bus, doors], never);
  const reported = () => Object.entries(parts.checks()).map(([name, check]) => [name, check()]);
  expect(reported()).toEqual([
    ["bus", { status: "down", message: "not connected yet" }],
    ["door", { status: "down", message: "not started yet" }],
  ]);
  await parts.start(bus, {});
  await parts.start(extra, {});
  expect(reported()).toEqual([
    ["bus", { status: "up" }],
    ["door", { status: "down", message: "not started yet" }],
    ["extra", { status: "up" }],
  ]);
});

test("the view is that of the parts that have started", async () => {
  const parts = createParts<View>([], never);
  expect(parts.view()).toEqual({});
  await parts.start({ start: () => ({ view: { one: () => 1 }, stop() {} }) }, {});
  await parts.start({ start: () => ({ view: { two: () => 2 }, stop() {} }) }, {});
  expect(parts.view().one?.()).toBe(1);
  expect(parts.view().two?.()).toBe(2);
});

test("a part of several things stops them in reverse, also when building it fails", async () => {
  const notes: string[] = [];
  const build = (fails: boolean) =>
    assemble(async (stack) => {
      stack.defer(() => void notes.push("first stops"));
      stack.defer(() => void notes.push("second stops"));
      if (fails) throw new Error("no");
      return { word: "a" };
    });
  await expect(build(true)).rejects.toThrow("no");
  expect(notes.splice(0)).toEqual(["second stops", "first stops"]);
  const part = await build(false);
  expect(part.word).toBe("a");
  expect(notes).toEqual([]);
  await part.stop();
  expect(notes).toEqual(["second stops", "first stops"]);
});
