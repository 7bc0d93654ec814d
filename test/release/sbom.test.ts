import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describeParts, type Lock } from "../../release/sbom.ts";

const digest = `sha512-${Buffer.alloc(64, 1).toString("base64")}`;
const part = (version: string, rest: object = {}) => ({
  version,
  integrity: digest,
  license: "MIT",
  ...rest,
});

const lock: Lock = {
  name: "svc",
  version: "1.2.3",
  packages: {
    "": { dependencies: { "@scope/a": "1", b: "1" }, devDependencies: { bun: "1", compiler: "1" } },
    "node_modules/@scope/a": part("1.0.0", { dependencies: { b: "2" }, peerDependencies: { compiler: "*" } }),
    "node_modules/@scope/a/node_modules/b": part("2.0.0", { optionalDependencies: { c: "1", absent: "1" } }),
    "node_modules/b": part("1.5.0"),
    "node_modules/bun": part("1.4.5", { optionalDependencies: { "bun-linux": "1" } }),
    "node_modules/bun-linux": part("1.4.5"),
    "node_modules/c": part("3.0.0"),
    "node_modules/compiler": part("9.0.0"),
  },
};

test("what the executables contain is listed with its place among the others, and nothing of the build", () => {
  const sbom = describeParts(lock, 86_400);
  expect(sbom.metadata.timestamp).toBe("1970-01-02T00:00:00.000Z");
  expect(sbom.components.map(({ type, purl }) => [type, purl])).toEqual([
    ["library", "pkg:npm/%40scope/a@1.0.0"],
    ["library", "pkg:npm/b@2.0.0"],
    ["library", "pkg:npm/b@1.5.0"],
    ["platform", "pkg:npm/bun@1.4.5"],
    ["library", "pkg:npm/c@3.0.0"],
  ]);
  expect(sbom.components[0]?.hashes).toEqual([{ alg: "SHA-512", content: "01".repeat(64) }]);
  expect(sbom.dependencies).toEqual([
    {
      ref: "pkg:generic/svc@1.2.3",
      dependsOn: ["pkg:npm/%40scope/a@1.0.0", "pkg:npm/b@1.5.0", "pkg:npm/bun@1.4.5"],
    },
    { ref: "pkg:npm/%40scope/a@1.0.0", dependsOn: ["pkg:npm/b@2.0.0"] },
    { ref: "pkg:npm/b@2.0.0", dependsOn: ["pkg:npm/c@3.0.0"] },
    { ref: "pkg:npm/b@1.5.0", dependsOn: [] },
    { ref: "pkg:npm/bun@1.4.5", dependsOn: [] },
    { ref: "pkg:npm/c@3.0.0", dependsOn: [] },
  ]);
});

test("a package without a digest is refused", () => {
  const packages = { ...lock.packages, "node_modules/c": { version: "3.0.0" } };
  expect(() => describeParts({ ...lock, packages }, 0)).toThrow("node_modules/c has no version or no digest");
});

test("that of this repository is whole by the rules of the format", () => {
  const own: Lock = JSON.parse(readFileSync(join(import.meta.dir, "../../package-lock.json"), "utf8"));
  const sbom = describeParts(own, 0);
  const refs = sbom.components.map((component) => component["bom-ref"]);
  expect(new Set(refs).size).toBe(refs.length);
  for (const name of Object.keys(own.packages[""]?.dependencies ?? {})) {
    expect(sbom.components.map((component) => component.name)).toContain(name);
  }
  const known = new Set([...refs, sbom.metadata.component["bom-ref"]]);
  expect(sbom.dependencies.map(({ ref }) => ref).sort()).toEqual([...known].sort());
  for (const { dependsOn } of sbom.dependencies) {
    expect(dependsOn.filter((ref) => !known.has(ref))).toEqual([]);
    expect(new Set(dependsOn).size).toBe(dependsOn.length);
  }
  for (const component of sbom.components) {
    expect(component.purl).toMatch(/^pkg:npm\/(?:%40[\w.-]+\/)?[\w.-]+@[0-9][\w.+-]*$/);
    expect(component.hashes.map(({ content }) => content).join()).toMatch(/^[0-9a-f]{128}$/);
  }
});

test("a server inside the masters is listed by its digest", () => {
  const sbom = describeParts(lock, 86_400, [{ version: "2.15.1", sha256: "ab".repeat(32) }]);
  const found = sbom.components.at(-1);
  expect(found).toMatchObject({
    ...{ name: "nats-server", version: "2.15.1", type: "platform" },
    hashes: [{ alg: "SHA-256", content: "ab".repeat(32) }],
  });
  expect(sbom.dependencies[0]?.dependsOn).toContain(found?.purl);
});
