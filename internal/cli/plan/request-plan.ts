import { gunzipSync } from "node:zlib";
import { sleep } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { sha256 } from "../../base/sha256.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { maxPartBytes, type PlanDocument, planOperations } from "../../fleet/plans/mod.ts";
import { request } from "../request.ts";

/** What to plan. */
export interface WantedPlan {
  target?: string;
  environment?: string;
  commit?: string;
  since_last_run?: boolean;
}

/** A master reads and unpacks a tree before it answers. */
const timeoutMs = 30_000;
const pauseMs = 300;

/** Has a plan made by the masters, and waits for it. @throws SvcError */
export async function requestPlan(
  bus: Bus,
  wanted: WantedPlan,
  tree: Uint8Array | undefined,
): Promise<PlanDocument> {
  const { planStates } = planOperations;
  const begun = await request(
    bus,
    planStates,
    { ...wanted, ...(tree === undefined ? {} : { tree: true }) },
    { timeoutMs },
  );
  const id = begun.id ?? begun.upload ?? "";
  if (tree !== undefined) {
    for (let seq = 0; seq * maxPartBytes < tree.length; seq++) {
      const bytes = new Uint8Array(tree.subarray(seq * maxPartBytes, (seq + 1) * maxPartBytes));
      await request(bus, planStates, { upload: id, seq, bytes }, { timeoutMs });
    }
    await request(bus, planStates, { upload: id, end: sha256(tree) }, { timeoutMs });
  }
  for (;;) {
    const found = await request(bus, planOperations.fetchPlan, { id }, { timeoutMs });
    if (found.state === "failed") {
      throw new SvcError("conflict", `no plan can be made: ${found.problem ?? "make it again"}`);
    }
    if (found.state === "done") return readParts(bus, id, found);
    await sleep(bus.clock, pauseMs);
  }
}

async function readParts(
  bus: Bus,
  id: string,
  first: { parts: number; bytes?: string },
): Promise<PlanDocument> {
  const parts = [first.bytes ?? ""];
  for (let part = 1; part < first.parts; part++) {
    const { bytes } = await request(bus, planOperations.fetchPlan, { id, part }, { timeoutMs });
    parts.push(bytes ?? "");
  }
  return JSON.parse(
    gunzipSync(Buffer.concat(parts.map((part) => Buffer.from(part, "base64")))).toString(),
  ) as PlanDocument;
}
