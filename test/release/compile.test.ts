import { afterAll, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compileBinary } from "../../release/compile.ts";
import { temporaryDirectory } from "../harness/temporary.ts";

const files = temporaryDirectory("compile");
afterAll(() => files[Symbol.dispose]());

test("the same source gives the same program, wherever it is written and whatever it carries", async () => {
  const made: string[] = [];
  for (const name of ["one", "two"]) {
    const dir = join(files.path, name);
    mkdirSync(dir);
    writeFileSync(join(dir, "some-server"), "what it carries");
    const outfile = join(dir, "out", "svc");
    const natsServer = join(dir, "some-server");
    await compileBinary("svc", outfile, { runtime: process.execPath, natsServer });
    expect(readdirSync(join(dir, "out"))).toEqual(["svc"]);
    made.push(createHash("sha256").update(readFileSync(outfile)).digest("hex"));
  }
  expect(made[0]).toBe(made[1] ?? "none");
}, 60_000);
