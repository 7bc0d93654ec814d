import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { shareWatch } from "./shared-watch.ts";

test("one watch delivers everything to every follower, until each of them stops", async () => {
  const bucket = memoryBucket();
  let watches = 0;
  let stops = 0;
  const counted = {
    watch(onChange: Parameters<typeof bucket.watch>[0]) {
      watches++;
      const watch = bucket.watch(onChange);
      return {
        ...watch,
        stop() {
          stops++;
          watch.stop();
        },
      };
    },
  };
  await bucket.put("old", new Uint8Array([1]));
  const shared = shareWatch(counted);
  const seen: string[] = [];
  const first = shared.watch(({ key }) => seen.push(`first ${key}`));
  const second = shared.watch(({ key }) => seen.push(`second ${key}`));
  await bucket.put("before", new Uint8Array([1]));
  expect(seen).toEqual([]);
  shared.start();
  await Promise.all([first.ready, second.ready, second.caughtUp()]);
  expect(seen).toEqual(["first old", "second old", "first before", "second before"]);

  first.stop();
  seen.length = 0;
  await bucket.put("new", new Uint8Array([1]));
  expect(seen).toEqual(["second new"]);
  expect(stops).toBe(0);
  second.stop();
  expect({ watches, stops }).toEqual({ watches: 1, stops: 1 });
  expect(() => shared.watch(() => {})).toThrow("after its start");
});
