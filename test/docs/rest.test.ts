import { expect, test } from "bun:test";
import { startBus } from "../harness/bus.ts";
import { call } from "../harness/enrollee.ts";
import { startMaster } from "../harness/master.ts";
import { checkGenerated } from "./generated.ts";
import { type Description, restReference } from "./rest.ts";

test("docs/rest.md is what a master says of its interface", async () => {
  await using bus = await startBus();
  await using master = await startMaster(bus, { flags: ["--api-docs"] });
  const description = (await call(master, { path: "/api/v1/openapi.json" })).json as Description;
  const text = restReference(description);
  checkGenerated("docs/rest.md", text);
  const operations = Object.values(description.paths).flatMap((methods) => Object.keys(methods));
  const parameters = Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.values(methods).flatMap(({ parameters: all = [] }) => all.map((one) => ({ path, ...one }))),
  );
  // What stands behind a transformation in a schema is lost.
  expect(parameters.filter((one) => one.description.trim() === "")).toEqual([]);
  expect(text.match(/^### (?:GET|POST|PUT|DELETE) /gm)).toHaveLength(operations.length);
}, 60_000);
