import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { encodeOperator, type OperatorRecord, signOperator } from "../../wire/operator-record.ts";
import { createRegistry } from "./registry.ts";

const keyOf = (byte: number) => newKeyPair("user", () => new Uint8Array(32).fill(byte));
const [root, second] = [keyOf(1), keyOf(2)];
const at = Date.UTC(2026, 10, 29);

test("a record that an administrator of the file signs for itself neither disables nor enables it", async () => {
  const bucket = memoryBucket();
  const seen = new Map<string, number>();
  const clock = { now: () => at, monotonic: () => 0 };
  const master = async () => {
    const registry = createRegistry({
      ...{ bucket, clock, log: recordingLog() },
      administrators: () => [
        { name: "root", publicKey: root.publicKey },
        { name: "second", publicKey: second.publicKey },
      ],
      floors: { of: (name) => seen.get(name) ?? 0, note: (name, version) => void seen.set(name, version) },
    });
    await registry.ready;
    return registry;
  };
  const put = (signer: typeof root, more: Partial<OperatorRecord>) => {
    const record = { name: "root", publicKey: root.publicKey, roles: ["admin"], createdAt: at };
    const signed = signOperator({ ...record, createdBy: "root", version: 1, ...more }, signer);
    return bucket.put("root", encodeOperator(signed));
  };
  const counts = async () => {
    // Also one that starts again, with what it remembers.
    const both = [await master(), await master()].map((one) => {
      const judged = one.judge("root", root.publicKey, at);
      one.stop();
      return "operator" in judged && one.rolesNow("root", at)?.includes("admin");
    });
    return both;
  };
  const [yes, no] = [
    [true, true],
    [false, false],
  ];
  await put(root, {});
  expect(await counts()).toEqual(yes);
  await put(root, { version: 5, disabled: true });
  expect(await counts()).toEqual(yes);
  await put(second, { version: 6, disabled: true });
  expect(await counts()).toEqual(no);
  await put(root, { version: 7 });
  expect(await counts()).toEqual(no);
  await put(second, { version: 8 });
  expect(await counts()).toEqual(yes);
});
