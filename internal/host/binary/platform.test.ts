import { expect, test } from "bun:test";
import { openSync, readSync } from "node:fs";
import fc from "fast-check";
import { headBytes, isPlatform, platformOf } from "./platform.ts";

/** The first bytes of an executable with one program header that names a loader. */
function executable({ machine = 62, loader = "/lib64/ld-linux-x86-64.so.2", bits = 2, type = 3 } = {}) {
  const head = Buffer.alloc(headBytes);
  head.set([0x7f, 0x45, 0x4c, 0x46, bits, 1, 1]);
  head.writeUInt16LE(machine, 18);
  head.writeBigUInt64LE(64n, 32);
  head.writeUInt16LE(56, 54);
  head.writeUInt16LE(1, 56);
  head.writeUInt32LE(type, 64);
  head.writeBigUInt64LE(200n, 72);
  head.writeBigUInt64LE(BigInt(loader.length + 1), 96);
  head.write(loader, 200);
  return head;
}

test.each([
  [executable(), "linux-x64"],
  [executable({ loader: "/lib/ld-musl-x86_64.so.1" }), "linux-x64-musl"],
  [executable({ machine: 183, loader: "/lib/ld-linux-aarch64.so.1" }), "linux-arm64"],
  [executable({ machine: 183, loader: "/lib/ld-musl-aarch64.so.1" }), "linux-arm64-musl"],
  [executable({ machine: 243 }), undefined],
  [executable({ bits: 1 }), undefined],
  [executable({ type: 1 }), undefined],
  [executable().subarray(0, 100), undefined],
  [Buffer.from("#!/bin/sh\n".padEnd(100)), undefined],
  [Buffer.alloc(0), undefined],
] as const)("the header of an executable says where it runs: %#", (head, expected) => {
  expect(platformOf(head)).toBe(expected as ReturnType<typeof platformOf>);
});

test("the program that runs this test is built for the platform of this host", () => {
  const head = Buffer.alloc(headBytes);
  readSync(openSync(process.execPath, "r"), head);
  expect(platformOf(head)).toStartWith(`linux-${process.arch}`);
});

test("any bytes have a platform or none", () => {
  const prefix = [...executable().subarray(0, 64)];
  fc.assert(
    fc.property(fc.array(fc.nat(255), { maxLength: 400 }), fc.boolean(), (bytes, isElf) => {
      const found = platformOf(Uint8Array.from(isElf ? [...prefix, ...bytes] : bytes));
      expect(found === undefined || isPlatform(found)).toBe(true);
    }),
  );
});
