import { expect, test } from "bun:test";
import { createRegistry } from "./registry.ts";

test("an unknown value is NaN, as the text format of Prometheus spells it", async () => {
  const registry = createRegistry();
  registry.gauge("svc_unknown", "Unknown", () => undefined);
  registry.gauge("svc_known", "Known", () => 3);
  const lines = (await registry.render()).split("\n");
  expect(lines).toContain("svc_unknown NaN");
  expect(lines).toContain("svc_known 3");
});
