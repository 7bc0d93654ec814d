import { expect, test } from "bun:test";
import { manualClock } from "../../test/harness/clock.ts";
import { decode, encode, type Plain } from "../base/msgpack.ts";
import type { Bus } from "../bus/connection/mod.ts";
import { approvalOperations } from "../fleet/approvals/mod.ts";
import { gatherDecisions } from "./gather.ts";

function busOf(answer: (request: Record<string, unknown>) => Plain) {
  const sent: Record<string, unknown>[] = [];
  const request = async (_: string, payload: Uint8Array) => {
    const { request_id: __, ...fields } = decode(payload) as Record<string, unknown>;
    sent.push(fields);
    return { data: encode(answer(fields)) };
  };
  const bus = { nats: { request }, user: "UA", clock: manualClock() } as unknown as Bus;
  return { sent, deny: gatherDecisions(bus, approvalOperations.denyRequest, "ann") };
}

const refused = (message: string) => ({ ok: false, error: { code: "not_found", message } });

test("decisions of one moment that differ in their ids are one request, and each has its own answer", async () => {
  const { sent, deny } = busOf(({ ids }) => ({
    ok: true,
    results: (ids as string[]).map((id) =>
      id === "apr-2" ? { id, ...refused("the request apr-2 does not exist") } : { id, ok: true },
    ),
  }));
  const answers = await Promise.allSettled(
    ["apr-1", "apr-2", "apr-3"].map((id) => deny({ id, reason: "no" })),
  );
  expect(sent).toEqual([{ ids: ["apr-1", "apr-2", "apr-3"], reason: "no", operator: "ann" }]);
  expect(answers).toEqual([
    { status: "fulfilled", value: {} },
    {
      status: "rejected",
      reason: expect.objectContaining({ message: "the request apr-2 does not exist: see svc approval list" }),
    },
    { status: "fulfilled", value: {} },
  ]);
});

test("other fields, and one alone, are requests as ever; a failure is that of all of a request", async () => {
  const { sent, deny } = busOf(() => refused("no such thing"));
  const denied = ["apr-1", "apr-2", "apr-3"].map((id) =>
    deny({ id, ...(id === "apr-3" ? { reason: "no" } : {}) }),
  );
  const answers = await Promise.allSettled(denied);
  expect(answers.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  expect(sent).toEqual([
    { ids: ["apr-1", "apr-2"], operator: "ann" },
    { id: "apr-3", reason: "no", operator: "ann" },
  ]);
});

test("at most 500 are in one request", async () => {
  const { sent, deny } = busOf(({ ids }) => ({
    ok: true,
    results: (ids as string[]).map((id) => ({ id, ok: true })),
  }));
  await Promise.all(Array.from({ length: 1_200 }, (_, at) => deny({ id: `apr-${at}` })));
  expect(sent.map(({ ids }) => (ids as string[]).length)).toEqual([500, 500, 200]);
});
