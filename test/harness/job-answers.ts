import { expect } from "bun:test";
import type { ExpectDescribed } from "./api-text.ts";
import { bearer, call, postJson } from "./enrollee.ts";
import type { ManualPeel } from "./manual-peel.ts";
import type { TestMaster } from "./master.ts";

/** Asks for every answer about jobs. */
export async function checkJobAnswers(
  master: TestMaster,
  peel: ManualPeel,
  expectDescribed: ExpectDescribed,
): Promise<void> {
  const send = (method: "GET" | "POST", path: string, body?: unknown) =>
    method === "GET"
      ? call(master, { path: `/api/v1/jobs${path}`, headers: bearer })
      : postJson(master, `/api/v1/jobs${path}`, body, { headers: bearer });
  const request = { targets: [peel.peelId], function: "test.ping", metadata: { ticket: 7 }, timeout: "30s" };
  const made = await expectDescribed("createJob", send("POST", "", request), 202);
  const { jid } = made.json as { jid: string };
  await expectDescribed("getJob", send("GET", `/${jid}`), 200);
  await expectDescribed("listJobs", send("GET", ""), 200);
  const following = call(master, { path: `/api/v1/jobs/${jid}/stream`, headers: bearer });
  await peel.next("dispatch");
  await peel.answer(jid, {
    success: false,
    retcode: 3,
    return: { lines: [1] },
    error: "no",
    outcome: "lost",
  });
  await expectDescribed("streamJob", following, 200);
  await expectDescribed("getJob", send("GET", `/${jid}?peel=${peel.peelId}`), 200);
  await expectDescribed("cancelJob", send("POST", `/${jid}/cancel`, {}), 409);
  const ofSettings = { ...request, function: "settings.items" };
  const hiding = await expectDescribed("createJob", send("POST", "", ofSettings), 202);
  const hint = expect.stringContaining("see them with svc settings show PEEL");
  expect([made.json, hiding.json]).toEqual([
    expect.not.objectContaining({ hint: expect.anything() }),
    expect.objectContaining({ hint }),
  ]);
  const { jid: hidden } = hiding.json as { jid: string };
  const shown = await expectDescribed("getJob", send("GET", `/${hidden}`), 200);
  expect(shown.json).toMatchObject({ hint });
  const again = await expectDescribed(
    "createJob",
    send("POST", "", { ...request, targets: undefined, target: "*" }),
    202,
  );
  const second = (again.json as { jid: string }).jid;
  await expectDescribed("cancelJob", send("POST", `/${second}/cancel`, {}), 200);
  await expectDescribed("listJobs", send("GET", "?limit=1"), 200);
  await expectDescribed("listJobs", send("GET", "?status=none"), 400);
  await expectDescribed("createJob", send("POST", "", { function: "test.ping" }), 400);
  await expectDescribed("createJob", send("POST", "", { ...request, targets: ["nobody"] }), 404);
  for (const [operation, method, path] of [
    ["getJob", "GET", "/job-x"],
    ["cancelJob", "POST", "/job-x/cancel"],
    ["streamJob", "GET", "/job-x/stream"],
  ] as const) {
    await expectDescribed(operation, send(method, path, {}), 404);
  }
}
