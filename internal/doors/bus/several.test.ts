import { expect, test } from "bun:test";
import { SvcError } from "../../base/errors.ts";
import { decode } from "../../base/msgpack.ts";
import { WaitingRequest } from "../../base/waiting.ts";
import { approvalOperations } from "../../fleet/approvals/mod.ts";
import { enrollmentOperations } from "../../fleet/enrollment/mod.ts";
import { jobOperations } from "../../fleet/jobs/mod.ts";
import type { Caller } from "../../fleet/operation/mod.ts";
import { readReplies } from "./bind.ts";
import { decideSeveral, severalIds } from "./several.ts";

const { approveEnrollment: approve, listEnrollments: list } = enrollmentOperations;
const idsOf = (
  { operation, bus }: { operation: Parameters<typeof severalIds>[0]; bus: object },
  fields: Record<string, unknown>,
) => severalIds(operation, bus, fields);

test("a decision may name several ids, and nothing else may", () => {
  const ids = ["enr-1", "enr-2"];
  expect(idsOf(approve, { ids })).toEqual(ids);
  expect(idsOf(approvalOperations.denyRequest, { ids })).toEqual(ids);
  expect(idsOf(approve, { id: "enr-1" })).toBeUndefined();
  expect(idsOf(list, { ids })).toBeUndefined();
  expect(idsOf(jobOperations.cancelJob, { ids })).toBeUndefined();
});

test.each<[string, Record<string, unknown>, string]>([
  ["with an id", { id: "enr-1", ids: ["enr-2"] }, "give either id or ids"],
  ["none", { ids: [] }, "ids must be a list of 1 to 500 ids"],
  ["too many", { ids: Array(501).fill("enr-1") }, "ids must be a list of 1 to 500 ids"],
  ["numbers", { ids: [1] }, "ids must be a list of 1 to 500 ids"],
  ["a text", { ids: "enr-1" }, "ids must be a list of 1 to 500 ids"],
])("ids are refused: %s", (_, fields, message) => {
  expect(() => idsOf(approve, fields)).toThrow(expect.objectContaining({ kind: "bad_request", message }));
});

const nonce = new Uint8Array(16).fill(7);
const signer: Caller = {
  ...{ kind: "operator", name: "ann", door: "bus" },
  signed: { envelope: new Uint8Array(), subject: "s", nonce },
};

test("each id is decided by itself, and answered in the order of the ids", async () => {
  const nonces: (Uint8Array | undefined)[] = [];
  const ids = ["enr-1", "enr-2", "enr-3", "enr-1"];
  const answer = await decideSeveral(
    ids,
    { ids, force: true },
    signer,
    async (fields, caller) => {
      nonces.push(caller.kind === "operator" ? caller.signed?.nonce : undefined);
      expect(fields).toEqual({ id: expect.any(String), force: true });
      if (fields.id === "enr-2") throw new WaitingRequest("apr-1", 2);
      if (fields.id === "enr-3") throw new SvcError("not_found", "the enrollment enr-3 does not exist");
      return { enrollment: { id: fields.id } };
    },
    10_000,
  );
  expect(decode(answer)).toEqual({
    ok: true,
    results: [
      { id: "enr-1", ok: true, enrollment: { id: "enr-1" } },
      { id: "enr-2", ok: true, approval: "apr-1", needs: 2 },
      {
        id: "enr-3",
        ok: false,
        error: { code: "not_found", message: "the enrollment enr-3 does not exist" },
      },
      { id: "enr-1", ok: true, enrollment: { id: "enr-1" } },
    ],
  });
  // Each is remembered by itself, the same one again as well.
  expect(new Set(nonces.map((one) => Buffer.from(one ?? "").toString("hex"))).size).toBe(4);
  expect(nonces.every((one) => one?.length === 16)).toBe(true);
});

test("an answer without room for all details still answers about each", async () => {
  const ids = ["enr-1", "enr-2", "enr-3"];
  const one = async ({ id }: Record<string, unknown>) => ({ enrollment: { id, text: "x".repeat(100) } });
  const answer = await decideSeveral(ids, { ids }, signer, one, 220);
  const { results } = decode(answer) as { results: unknown[] };
  expect(results.slice(1)).toEqual([
    { id: "enr-2", ok: true },
    { id: "enr-3", ok: true },
  ]);
  const read = readReplies(approve, ids, answer);
  expect(read[2]?.()).toEqual({});
  expect(() => readReplies(approve, ["enr-1"], answer)).toThrow("malformed reply");
});
