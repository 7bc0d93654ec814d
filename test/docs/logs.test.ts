import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

// The names of records that docs/logs.md promises are those that are logged.

const root = join(import.meta.dir, "../..");
const page = readFileSync(join(root, "docs/logs.md"), "utf8");
const promised = (page.split("## Records")[1] ?? "")
  .split("\n")
  .filter((line) => line.startsWith("| `"))
  .flatMap((line) => [...(line.split("|")[1] ?? "").matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name))
  .filter((name) => name !== "msg");

const code = readdirSync(join(root, "internal"), { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts"))
  .map((path) => readFileSync(join(root, "internal", path), "utf8"))
  .join("\n");

test.each(promised)("%s is a record", (name) => {
  expect(code).toContain(`"${name}"`);
});

test("the page has those that the specification names", () => {
  expect(promised).toEqual(
    expect.arrayContaining([
      "enrollment.verify.success",
      "enrollment approved",
      "enrollment revoked",
      "enrollment admin operation",
      "enrollment.credential.downloaded",
      "enrollment.credential.delivery.contention",
      "enrollment.ratelimit.exceeded",
      "enroll: creds auth failed",
      "http.request.complete",
      "http.request.unauthorized",
    ]),
  );
});
