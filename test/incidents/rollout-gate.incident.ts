import { expect, setDefaultTimeout, test } from "bun:test";
import { until } from "../harness/until.ts";
import { setStage } from "./stage.ts";

setDefaultTimeout(120_000);

test("a rollout waits for a silent canary, then at its gate: it says for what, and until when", async () => {
  await using stage = await setStage();
  const { fleet } = stage;
  const canary = await stage.join("web-1");
  await stage.join("web-2");
  canary.kill("SIGSTOP");
  const plan = ["--canary", "1", "--timeout", "1m", "--wave-wait", "10m", "--async"];
  const started = await fleet.svc("rollout", "start", "*", "test.ping", ...plan);
  const id = started.stdout.trim();
  const show = async () => (await fleet.svc("rollout", "show", id)).stdout;
  const silent = await until(show, (text) => text.includes("waits for"));
  const [, at = "", next = ""] =
    /^waits for +the job of the wave, until about (\S+): (svc job show \S+)$/m.exec(silent) ?? [];
  expect(Date.parse(at)).toBeGreaterThan(0);
  expect(await stage.follow(next)).toContain("web-1");
  canary.kill("SIGCONT");
  const gate = await until(show, (text) => text.includes("the wait after the wave"));
  expect(gate).toMatch(/^waits for +the wait after the wave, until about \S+$/m);
  expect((await fleet.svc("rollout", "pause", id)).code).toBe(0);
  const [, resume = ""] = /^waits for +(svc rollout resume \S+)$/m.exec(await show()) ?? [];
  await stage.follow(resume);
  expect(await show()).toMatch(/^status +running$/m);
  expect((await fleet.svc("rollout", "abort", id)).code).toBe(0);
  await stage.isWell();
});
