import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { startBus } from "../harness/bus.ts";
import { call } from "../harness/enrollee.ts";
import { startMaster } from "../harness/master.ts";
import { type Description, restReference } from "./rest.ts";

const page = new URL("../../docs/rest.md", import.meta.url);
const update = "SVC_UPDATE_DOCS=1 bun test test/docs/rest.test.ts";

test("docs/rest.md is what a master says of its interface", async () => {
  await using bus = await startBus();
  await using master = await startMaster(bus, { flags: ["--api-docs"] });
  const description = (await call(master, { path: "/api/v1/openapi.json" })).json as Description;
  const text = restReference(description);
  if (process.env.SVC_UPDATE_DOCS === "1") writeFileSync(page, text);
  if (readFileSync(page, "utf8") !== text) {
    throw new Error(`docs/rest.md is out of date: write it again with ${update}`);
  }
  const operations = Object.values(description.paths).flatMap((methods) => Object.keys(methods));
  expect(text.match(/^### (?:GET|POST) /gm)).toHaveLength(operations.length);
}, 20_000);
