import { expect, test } from "bun:test";
import { releasedOf } from "./released-by.ts";

const release = (operator: string, key: string, version: number) => ({
  ...{ environment: "", snapshot: new Uint8Array(32), released_at: "2026-11-28T22:00:00.000Z", release: "" },
  ...{ operator, key, version },
});

test("the newest version that is released by the operator stays, and nothing of others", () => {
  const environments = [
    {
      environment: "base",
      newest: release("anna", "UA", 7),
      before: release("anna", "UA", 6),
      next_version: 8,
    },
    {
      environment: "web",
      newest: release("bert", "UB", 3),
      before: release("anna", "UA", 2),
      next_version: 4,
    },
    { environment: "db", newest: release("bert", "UB", 3), next_version: 4 },
    { environment: "new", next_version: 1 },
    // Another key of the same name.
    { environment: "old", newest: release("anna", "UOLD", 9), next_version: 10 },
  ];
  expect(releasedOf(environments, { name: "anna", publicKey: "UA" })).toEqual({
    released: { base: 7, web: 2 },
  });
  expect(releasedOf(environments, { name: "carl", publicKey: "UC" })).toEqual({});
});
