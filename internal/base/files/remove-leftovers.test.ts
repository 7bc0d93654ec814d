import { afterAll, expect, test } from "bun:test";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { temporaryName } from "./file.ts";
import { removeLeftovers } from "./remove-leftovers.ts";

const files = temporaryDirectory("leftovers");
afterAll(() => files[Symbol.dispose]());

test("only what writes of the named files left is removed", () => {
  const at = (name: string) => join(files.path, name);
  writeFileSync(temporaryName(at("key")), "left");
  const others = [
    ".key",
    ".key.0123456789ab.crt",
    ".key.0123456789AB",
    ".other.0123456789ab",
    "key",
    "key.0123456789ab",
  ];
  for (const name of others) writeFileSync(at(name), "kept");
  removeLeftovers([at("key"), at("none"), join(files.path, "missing", "key")]);
  expect(readdirSync(files.path).sort()).toEqual(others.sort());
});
