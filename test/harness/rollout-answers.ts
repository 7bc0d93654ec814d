import type { ExpectDescribed } from "./api-text.ts";
import { bearer, call, postJson } from "./enrollee.ts";
import type { ManualPeel } from "./manual-peel.ts";
import type { TestMaster } from "./master.ts";

/** Asks for every answer about rollouts. */
export async function askAboutRollouts(
  master: TestMaster,
  peel: ManualPeel,
  expectDescribed: ExpectDescribed,
): Promise<void> {
  const ask = (method: "GET" | "POST", path: string, body?: unknown) =>
    method === "GET"
      ? call(master, { path: `/api/v1/rollouts${path}`, headers: bearer })
      : postJson(master, `/api/v1/rollouts${path}`, body, { headers: bearer });
  const request = {
    target: peel.peelId,
    function: "test.ping",
    check: { function: "test.echo", args: { text: "well" } },
    metadata: { ticket: 7 },
  };
  await expectDescribed("startRollout", ask("POST", "", { ...request, dry_run: true }), 200);
  const made = await expectDescribed("startRollout", ask("POST", "", request), 202);
  const { id } = made.json as { id: string };
  await expectDescribed("startRollout", ask("POST", "", request), 409);
  await expectDescribed("pauseRollout", ask("POST", `/${id}/pause`, {}), 200);
  await expectDescribed("resumeRollout", ask("POST", `/${id}/resume`, {}), 200);
  const following = call(master, { path: `/api/v1/rollouts/${id}/stream`, headers: bearer });
  await peel.answer((await peel.next("dispatch")).jid);
  await peel.answer((await peel.next("dispatch")).jid);
  await expectDescribed("streamRollout", following, 200);
  await expectDescribed("getRollout", ask("GET", `/${id}`), 200);
  await expectDescribed("abortRollout", ask("POST", `/${id}/abort`, {}), 409);
  const again = await expectDescribed("startRollout", ask("POST", "", request), 202);
  const second = (again.json as { id: string }).id;
  await peel.next("dispatch");
  await expectDescribed("abortRollout", ask("POST", `/${second}/abort`, {}), 200);
  await expectDescribed("getRollout", ask("GET", `/${second}`), 200);
  await expectDescribed("listRollouts", ask("GET", ""), 200);
  await expectDescribed("listRollouts", ask("GET", "?status=none"), 400);
  await expectDescribed("startRollout", ask("POST", "", { function: "test.ping" }), 400);
  await expectDescribed("startRollout", ask("POST", "", { ...request, target: "nobody" }), 404);
  for (const [operation, method, path] of [
    ["getRollout", "GET", "/rol-x"],
    ["pauseRollout", "POST", "/rol-x/pause"],
    ["streamRollout", "GET", "/rol-x/stream"],
  ] as const) {
    await expectDescribed(operation, ask(method, path, {}), 404);
  }
}
