import { expect, test } from "bun:test";
import { checkRegistryHosts, checkSecrets } from "./secrets.ts";
import { lines, readRepository } from "./source.ts";

const repository = readRepository();

test("no secret is committed", () => {
  expect(lines(checkSecrets(repository))).toEqual([]);
});

test("files named like secrets and texts that contain one are found", () => {
  const seed = `SU${"A".repeat(56)}`;
  const token = ["eyJhbGciOiJFZERTQSJ9", "eyJzdWIiOiJwZWVsLTEifQ", "c2lnbmF0dXJlLWJ5dGVz"].join(".");
  const key = `-----BEGIN PRIVATE KEY-----\n${"MC4CAQAwBQYDK2VwBCIEIA".repeat(2)}\n`;
  expect(
    lines(
      checkSecrets([
        { path: ".env", text: "" },
        { path: "test/e2e/.env.local", text: "" },
        { path: "test/e2e/master.creds", text: "" },
        { path: "docs/a.md", text: `the seed ${seed}.` },
        { path: "docs/b.md", text: `Bearer ${token}` },
        { path: "docs/c.md", text: key },
        { path: "docs/d.md", text: "-----BEGIN PRIVATE KEY-----" },
      ]),
    ),
  ).toEqual([
    ".env: is named like a secret; secrets are never committed",
    "test/e2e/.env.local: is named like a secret; secrets are never committed",
    "test/e2e/master.creds: is named like a secret; secrets are never committed",
    "docs/a.md: contains a key seed; remove it",
    "docs/b.md: contains a JWT; remove it",
    "docs/c.md: contains a private key; remove it",
  ]);
});

test("no committed text names a registry host", () => {
  expect(lines(checkRegistryHosts(repository))).toEqual([]);
});

test("a registry host is found", () => {
  const host = ["registry", "npmjs", "org"].join(".");
  expect(lines(checkRegistryHosts([{ path: "package-lock.json", text: `"https://${host}/nats"` }]))).toEqual([
    `package-lock.json: names the registry host ${host}`,
  ]);
});
