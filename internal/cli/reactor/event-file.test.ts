import { afterAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { readEventFile } from "./event-file.ts";

const files = temporaryDirectory("event-file");
afterAll(() => files[Symbol.dispose]());
const path = join(files.path, "event.json");

test.each([
  [
    '{"tag": "disk/full", "source": "web.1", "data": {"percent": 91}, "depth": 1, "at": "2026-01-31T12:00:00Z"}',
  ],
  ["tag: disk/full\nsource: web.1\ndata: { percent: 91 }\ndepth: 1\nat: 2026-01-31T12:00:00Z\n"],
])("JSON and YAML are read alike: %j", (text) => {
  writeFileSync(path, text);
  expect(readEventFile(path)).toEqual({
    tag: "disk/full",
    source: "web.1",
    data: { percent: 91 },
    depth: 1,
    at: "2026-01-31T12:00:00Z",
  });
});

test.each([
  ["", "1:1: expected a map, found nothing"],
  ["[1]", "1:1: expected a map, found a list"],
  ['{"data": {}}', "1:1: tag is missing"],
  ['{"tag": 5}', "1:9: tag: expected a string, found a number"],
  ['{"tag": ""}', "1:9: tag: expected 1 to 512 characters"],
  ['{"tag": "a", "sorce": "b"}', '1:14: unknown key "sorce" (did you mean source?)'],
  ['{"tag": "a", "data": [1]}', "1:22: data: expected a map, found a list"],
  ['{"tag": "a", "depth": -1}', "1:23: depth: expected a whole number from 0 on"],
  ['{"tag": "a", "depth": 1.5}', "depth: expected a whole number"],
  ['{"tag": "a", "at": "yesterday"}', "1:20: at: expected a time"],
  ['{"tag": "a"\n', "1:1: the bracket { is not closed"],
])("%j is refused with its place", (text, reason) => {
  writeFileSync(path, text);
  expect(() => readEventFile(path)).toThrow(reason);
});

test("a missing file is reported by its name", () => {
  expect(() => readEventFile(join(files.path, "none.json"))).toThrow("none.json: no such file");
});
