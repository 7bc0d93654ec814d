import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { runProgram } from "../harness/process.ts";

// A bench that nobody runs breaks without anybody noticing. The one of TLS is left out, as it needs openssl.

const benches = readdirSync(import.meta.dir, { recursive: true, encoding: "utf8" })
  .filter((path) => /\/(?:main|dispatch)\.ts$/.test(path) && path !== "tls/main.ts")
  .sort();

test.each(benches)(
  "%s runs",
  async (path) => {
    const { code, stdout, stderr } = await runProgram([
      process.execPath,
      join(import.meta.dir, path),
      "--smallest",
    ]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^.+ {2}.+$/m);
  },
  120_000,
);
