import { expect, test } from "bun:test";
import { checkReads } from "./reads.ts";
import { lines, readRepository } from "./source.ts";

test("svc reads through operations, but for the files that are named", () => {
  expect(lines(checkReads(readRepository()))).toEqual([]);
});

test("another reader is found", () => {
  const found = (text: string, path = "internal/cli/job/show.ts") => checkReads([{ path, text }]).length;
  expect(found('import { type Bus, openBucket } from "../../bus/mod.ts";')).toBe(1);
  expect(found('import { inspectAssets, readStream } from "../../bus/mod.ts";')).toBe(2);
  expect(found('bus.nats.subscribe("svc.job.>");')).toBe(1);
  expect(found('import type { Bus } from "../../bus/mod.ts";')).toBe(0);
  const direct = 'import { openBucket } from "../bus/mod.ts";';
  expect(found(direct, "internal/cli/direct-reads.ts")).toBe(0);
  expect(found(direct, "internal/fleet/jobs/show.ts")).toBe(0);
});
