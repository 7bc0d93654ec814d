import { expect, test } from "bun:test";
import type { Source } from "./live.ts";
import { sharedSource } from "./shared-source.ts";

/** A stream of a browser, which the test plays. */
class FakeSource implements Source {
  readyState = 0;
  private readonly listeners = new Map<string, (event: MessageEvent) => void>();
  readonly after: string | undefined;
  constructor(after: string | undefined) {
    this.after = after;
  }
  addEventListener(type: string, run: (event: MessageEvent) => void) {
    this.listeners.set(type, run);
  }
  close() {
    this.readyState = 2;
  }
  report(type: string, at = "") {
    if (type === "open") this.readyState = 1;
    this.listeners.get(type)?.(new MessageEvent(type, { data: `{"position":"${at}"}`, lastEventId: at }));
  }
}

/** A browser with locks and channels as the specifications have them. */
function browser() {
  const streams: FakeSource[] = [];
  const channels = new Set<{ onmessage: ((event: MessageEvent) => void) | null }>();
  const queue: (() => void)[] = [];
  let held = false;
  const grant = () => {
    if (held) return;
    const next = queue.shift();
    if (next === undefined) return;
    held = true;
    next();
  };
  const locks = {
    request(_: string, { signal }: { signal: AbortSignal }, run: () => Promise<void> | undefined) {
      return new Promise<void>((resolve, reject) => {
        const begin = async () => {
          await run();
          held = false;
          grant();
          resolve();
        };
        queue.push(begin);
        signal.addEventListener("abort", () => {
          const at = queue.indexOf(begin);
          if (at < 0) return;
          queue.splice(at, 1);
          reject(signal.reason);
        });
        grant();
      });
    },
  } as unknown as Pick<LockManager, "request">;
  const channel = () => {
    const own = {
      onmessage: null as ((event: MessageEvent) => void) | null,
      postMessage(data: unknown) {
        // Later, as a browser delivers it.
        queueMicrotask(() => {
          for (const other of channels)
            if (other !== own) other.onmessage?.(new MessageEvent("message", { data }));
        });
      },
      close: () => void channels.delete(own),
    };
    channels.add(own);
    return own;
  };
  const open = (after: string | undefined) => {
    const stream = new FakeSource(after);
    streams.push(stream);
    return stream;
  };
  /** Another window, with what it gets. */
  const window = (after?: string) => {
    const reported: string[] = [];
    const source = sharedSource({ locks, channel, open }, after);
    for (const type of ["open", "alive", "error", "gap"])
      source.addEventListener(type, () => reported.push(type));
    source.addEventListener("event", ({ data }) => reported.push(JSON.parse(data).position));
    return { source, reported };
  };
  const opened = () => streams.map(({ after, readyState }) => [after, readyState]);
  return { window, streams, opened, newest: () => streams.at(-1) as FakeSource };
}
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

test("all windows get what the one stream delivers, also those that come later", async () => {
  const { window, opened, newest } = browser();
  const [first, second] = [window(), window()];
  newest().report("open");
  newest().report("event", "1");
  await settle();
  const third = window();
  await settle();
  newest().report("event", "2");
  await settle();
  expect([first.reported, second.reported, third.reported]).toEqual([
    ["open", "1", "2"],
    ["open", "1", "2"],
    ["open", "2"],
  ]);
  newest().report("alive");
  await settle();
  expect([first, second, third].map(({ reported }) => reported.at(-1))).toEqual(["alive", "alive", "alive"]);
  newest().readyState = 0;
  newest().report("error");
  await settle();
  expect([first, second, third].map(({ reported, source }) => [reported.at(-1), source.readyState])).toEqual(
    Array.from({ length: 3 }, () => ["error", 0]),
  );
  expect(opened()).toHaveLength(1);
});

test("when the window with the stream closes, the next one opens it behind the last event", async () => {
  const { window, opened, newest } = browser();
  const [first, second, third] = [window(), window(), window()];
  newest().report("open");
  newest().report("event", "7");
  await settle();
  first.source.close();
  await settle();
  newest().report("open");
  newest().report("event", "8");
  await settle();
  expect(opened()).toEqual([
    [undefined, 2],
    ["7", 1],
  ]);
  expect([first.reported.at(-1), second.reported.at(-1), third.reported.at(-1)]).toEqual(["7", "8", "8"]);
  expect(second.reported).not.toContain("gap");
  // One that only waits leaves without a trace.
  third.source.close();
  second.source.close();
  await settle();
  expect(opened()).toHaveLength(2);
});

test("a window that saw no event says that something may be missing before its own stream", async () => {
  const { window, newest } = browser();
  const [first, second] = [window(), window()];
  newest().report("open");
  await settle();
  first.source.close();
  await settle();
  newest().report("open");
  newest().report("open");
  await settle();
  expect([first.reported, second.reported]).toEqual([["open"], ["open", "gap"]]);
});

test("a stream that the browser gave up is given up in all windows", async () => {
  const { window, newest } = browser();
  const both = [window(), window("3")];
  expect(newest().after).toBeUndefined();
  newest().close();
  newest().report("error");
  await settle();
  expect(both.map(({ reported, source }) => [reported, source.readyState])).toEqual([
    [["error"], 2],
    [["error"], 2],
  ]);
});
