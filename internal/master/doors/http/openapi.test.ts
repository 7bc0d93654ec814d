import { expect, test } from "bun:test";
import type { ApiText } from "../../../../test/harness/api-text.ts";
import { manualClock } from "../../../../test/harness/clock.ts";
import { recordingLog } from "../../../../test/harness/log.ts";
import { anyDoc } from "../../../../test/harness/route-doc.ts";
import { createHandler } from "./listener.ts";
import { describeApi } from "./openapi.ts";
import { type Call, json, type Route } from "./route.ts";

test("routes of one path are one path, and what their rules bring is said of each", () => {
  const handle = (call: Call) => json(200, { method: call.query });
  const schema = { title: "Thing", type: "object", properties: { title: { type: "string" } } };
  const planted: Route[] = [
    { method: "GET", path: "/t/:id", auth: "none", budget: "relaxed", doc: anyDoc, handle },
    {
      method: "POST",
      path: "/t/:id",
      auth: "bearer",
      budget: "relaxed",
      body: "json",
      doc: { ...anyDoc, id: "make", request: schema },
      operation: "things.make",
      handle,
    },
  ];
  const { paths, components } = describeApi(planted) as unknown as ApiText;
  expect(Object.keys(paths)).toEqual(["/t/{id}"]);
  expect(Object.keys(paths["/t/{id}"]?.get?.responses ?? {})).toEqual(["200", "429", "500"]);
  const made = ["200", "400", "401", "403", "413", "415", "429", "500", "503"];
  expect(Object.keys(paths["/t/{id}"]?.post?.responses ?? {})).toEqual(made);
  expect(Object.keys(components.schemas)).toEqual(["Error", "Thing"]);
  const served = createHandler({
    routes: planted,
    tokens: [],
    metrics: { rateLimited: () => {}, httpRequest: () => {} },
    clock: manualClock(),
    log: recordingLog(),
  });
  expect(served.routes).toHaveLength(2);
});
