import { expect, test } from "bun:test";
import { callFunction } from "../../../test/harness/call.ts";
import { fixedSettings } from "../../../test/harness/settings.ts";
import { SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import { functionNamed } from "./registry.ts";

const settings = fixedSettings({ web: { port: 80 }, users: [{ name: "ann" }], none: null });

test.each<[string, Record<string, Plain>, unknown]>([
  ["settings.items", {}, { web: { port: 80 }, users: [{ name: "ann" }], none: null }],
  ["pillar.items", {}, { web: { port: 80 }, users: [{ name: "ann" }], none: null }],
  ["settings.ls", {}, ["none", "users", "web"]],
  ["pillar.ls", {}, ["none", "users", "web"]],
  ["settings.get", { name: "web:port" }, 80],
  ["pillar.get", { name: "users:0:name" }, "ann"],
  ["settings.get", { name: "web:host" }, null],
  ["settings.get", { name: "web:host", default: "d" }, "d"],
  ["settings.get", { name: "none", default: "d" }, null],
  ["settings.refresh", {}, false],
  ["pillar.refresh", {}, false],
])("%s %j", async (name, args, expected) => {
  expect(await callFunction(name, args, { settings, unbounded: true })).toEqual(expected as Plain);
  expect(functionNamed(name).readOnly).toBe(true);
});

test.each<[string, Record<string, Plain>, unknown]>([
  ["settings.items", {}, { web: { port: "***" }, users: [{ name: "***" }], none: "***" }],
  ["pillar.items", {}, { web: { port: "***" }, users: [{ name: "***" }], none: "***" }],
  ["settings.get", { name: "web" }, { port: "***" }],
  ["pillar.get", { name: "users:0:name" }, "***"],
  ["settings.get", { name: "none" }, "***"],
  ["settings.get", { name: "web:host", default: "d" }, "d"],
  ["settings.get", { name: "web:host" }, null],
  ["settings.ls", {}, ["none", "users", "web"]],
])("the return of a job has names and no values: %s %j", async (name, args, expected) => {
  expect(await callFunction(name, args, { settings })).toEqual(expected as Plain);
});

test.each<[string, Record<string, Plain>, unknown[]]>([
  ["settings.items", {}, [{ web: { port: 80 }, users: [{ name: "ann" }], none: null }]],
  ["settings.get", { name: "web:port" }, [80]],
  ["settings.get", { name: "web:host", default: "d" }, []],
  ["settings.ls", {}, []],
])("what the return hides goes to the operator who may see it: %s %j", async (name, args, expected) => {
  const taken: Plain[] = [];
  const hidden = (value: Plain) => void taken.push(value);
  const returned = await callFunction(name, args, { settings, hidden });
  expect(taken).toEqual(expected as Plain[]);
  expect(returned).toEqual(await callFunction(name, args, { settings }));
});

test("a refresh without a connection is an error, and a cancelled one ends", async () => {
  const refused = new SvcError("unavailable", "the bus is away");
  const failing = { ...settings, refresh: () => Promise.reject(refused) };
  await expect(callFunction("settings.refresh", {}, { settings: failing })).rejects.toThrow(
    "the bus is away",
  );
  const never = { ...settings, refresh: () => new Promise<boolean>(() => {}) };
  const signal = AbortSignal.abort(new Error("cancelled"));
  await expect(callFunction("settings.refresh", {}, { settings: never, signal })).rejects.toThrow(
    "cancelled",
  );
});
