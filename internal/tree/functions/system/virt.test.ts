import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { planState, proveHonest, proveIdle, stateContext } from "../../../../test/harness/honesty.ts";
import { temporaryDirectory } from "../../../../test/harness/temporary.ts";
import { virtStates } from "./virt.ts";

const keys = [virtStates, "virt.keys", "libvirt_keys"] as const;

test("keys of libvirt are those of the settings, and no message shows them", async () => {
  using directory = temporaryDirectory("virt");
  const args = { basepath: directory.path, country: "DE" };
  const settings = { "libvirt.serverkey.pem": "hush\n", "libvirt.cacert.pem": "public\n" };
  mkdirSync(join(directory.path, "CA"));
  mkdirSync(join(directory.path, "libvirt/private"), { recursive: true });
  const plan = await proveHonest(directory.path, ...keys, args, stateContext({ settings }));
  expect(JSON.stringify(plan)).not.toContain("hush");
  const key = join(directory.path, "libvirt/private/serverkey.pem");
  expect([readFileSync(key, "utf8"), statSync(key).mode & 0o777]).toEqual(["hush\n", 0o600]);
  const certificate = join(directory.path, "CA/cacert.pem");
  expect([readFileSync(certificate, "utf8"), statSync(certificate).mode & 0o777]).toEqual([
    "public\n",
    0o644,
  ]);
});

test("without such settings nothing is written, and another value is named", async () => {
  using directory = temporaryDirectory("virt");
  const args = { basepath: directory.path };
  expect(await proveIdle(directory.path, ...keys, args)).toContain("settings have no keys of libvirt");
  const context = stateContext({ settings: { "libvirt.clientkey.pem": 5 } });
  await expect(planState(...keys, args, context)).rejects.toThrow(
    "the setting libvirt.clientkey.pem is not a text",
  );
});
