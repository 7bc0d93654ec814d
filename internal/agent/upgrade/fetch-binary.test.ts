import { expect, test } from "bun:test";
import { join } from "node:path";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { encode } from "../../base/msgpack.ts";
import { fetchBinary } from "./fetch-binary.ts";

test("a peel whose request for a binary is refused as one too many asks again later", async () => {
  using directory = temporaryDirectory("fetch-binary");
  const clock = manualClock();
  const refusals = 3;
  let requests = 0;
  const request = async () => {
    const code = ++requests <= refusals ? "rate_limited" : "not_found";
    return encode({ ok: false, error: { code, message: `${code} by the masters` } });
  };
  const fetched = fetchBinary(
    {
      connection: { connected: true, request },
      peelId: "web-1",
      clock,
      jitter: () => 0.5,
      log: recordingLog(),
      signal: new AbortController().signal,
    },
    "ab".repeat(32),
    join(directory.path, "svc-peel"),
  ).catch((thrown: unknown) => thrown);
  expect(await clock.until(fetched, 20_000)).toMatchObject({
    kind: "not_found",
    message: "not_found by the masters",
  });
  expect(requests).toBe(refusals + 1);
});
