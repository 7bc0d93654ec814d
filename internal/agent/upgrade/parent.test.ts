import { expect, test } from "bun:test";
import { markIn, watchdogAbove, watchdogVariable } from "./parent.ts";

const env = watchdogVariable(123, 4, "/var/lib/svc: odd\nname");

test("a peel knows the watchdog that is its parent, and how often it was started again", () => {
  expect(watchdogAbove(env, 123)).toEqual({ restarts: 4 });
});

test("an inherited variable does not indicate a watchdog", () => {
  expect(watchdogAbove(env, 124)).toBeUndefined();
  for (const text of [
    "",
    "123",
    "123:4",
    "123:4:relative",
    "x:4:/data",
    "-1:4:/data",
    "123:4:/data".slice(1),
  ]) {
    expect(watchdogAbove({ SVC_WATCHDOG: text }, 123)).toBeUndefined();
  }
});

test("the environment of a process identifies its watchdog and directory", () => {
  const [entry] = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  expect(markIn(`PATH=/bin\0${entry}\0HOME=/`)).toMatchObject({
    pid: 123,
    dataDir: "/var/lib/svc: odd\nname",
  });
  expect(markIn("PATH=/bin\0X_SVC_WATCHDOG=1:2:/data")).toBeUndefined();
  expect(markIn("")).toBeUndefined();
});
