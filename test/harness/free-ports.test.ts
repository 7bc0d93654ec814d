import { expect, test } from "bun:test";
import { join } from "node:path";
import { createReservation, freePorts } from "./free-ports.ts";
import { temporaryDirectory } from "./temporary.ts";

test("a run gives a port once, in whichever of its processes", () => {
  using files = temporaryDirectory("ports");
  const directory = join(files.path, "ports");
  const [one, other] = [createReservation(directory), createReservation(directory)];
  expect([one(10_000), other(10_000), one(10_000), other(10_001), one(10_001)]).toEqual([
    true,
    false,
    false,
    true,
    false,
  ]);
});

test("without a directory of the run a process gives each port once", () => {
  const reserve = createReservation(undefined);
  expect([reserve(10_000), reserve(10_000), reserve(10_001)]).toEqual([true, false, true]);
});

test("no port comes twice, and none that the system gives to connections", async () => {
  const ports = [...(await freePorts(40)), ...(await freePorts(40))];
  expect(new Set(ports).size).toBe(80);
  expect(ports.filter((port) => port < 10_000 || port >= 32_768)).toEqual([]);
});
