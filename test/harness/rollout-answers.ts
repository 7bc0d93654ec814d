import type { ExpectDescribed } from "./api-text.ts";
import { bearer, call, postJson } from "./enrollee.ts";
import type { ManualPeel } from "./manual-peel.ts";
import type { TestMaster } from "./master.ts";

/** Asks for every answer about rollouts. */
export async function checkRolloutAnswers(
  master: TestMaster,
  peel: ManualPeel,
  expectDescribed: ExpectDescribed,
): Promise<void> {
  const send = (method: "GET" | "POST", path: string, body?: unknown) =>
    method === "GET"
      ? call(master, { path: `/api/v1/rollouts${path}`, headers: bearer })
      : postJson(master, `/api/v1/rollouts${path}`, body, { headers: bearer });
  const request = {
    target: peel.peelId,
    function: "test.ping",
    check: { function: "test.echo", args: { text: "well" } },
    metadata: { ticket: 7 },
  };
  await expectDescribed("startRollout", send("POST", "", { ...request, dry_run: true }), 200);
  const made = await expectDescribed("startRollout", send("POST", "", request), 202);
  const { id } = made.json as { id: string };
  await expectDescribed("startRollout", send("POST", "", request), 409);
  await expectDescribed("pauseRollout", send("POST", `/${id}/pause`, {}), 200);
  await expectDescribed("resumeRollout", send("POST", `/${id}/resume`, {}), 200);
  const following = call(master, { path: `/api/v1/rollouts/${id}/stream`, headers: bearer });
  await peel.answer((await peel.next("dispatch")).jid);
  await peel.answer((await peel.next("dispatch")).jid);
  await expectDescribed("streamRollout", following, 200);
  await expectDescribed("getRollout", send("GET", `/${id}`), 200);
  await expectDescribed("abortRollout", send("POST", `/${id}/abort`, {}), 409);
  const again = await expectDescribed("startRollout", send("POST", "", request), 202);
  const second = (again.json as { id: string }).id;
  await peel.next("dispatch");
  await expectDescribed("abortRollout", send("POST", `/${second}/abort`, {}), 200);
  await expectDescribed("getRollout", send("GET", `/${second}`), 200);
  await expectDescribed("listRollouts", send("GET", ""), 200);
  await expectDescribed("listRollouts", send("GET", "?status=none"), 400);
  await expectDescribed("startRollout", send("POST", "", { function: "test.ping" }), 400);
  await expectDescribed("startRollout", send("POST", "", { ...request, target: "nobody" }), 404);
  for (const [operation, method, path] of [
    ["getRollout", "GET", "/rol-x"],
    ["pauseRollout", "POST", "/rol-x/pause"],
    ["streamRollout", "GET", "/rol-x/stream"],
  ] as const) {
    await expectDescribed(operation, send(method, path, {}), 404);
  }
}
