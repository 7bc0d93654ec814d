import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startBus, type TestBus } from "../harness/bus.ts";
import { cli } from "../harness/cli.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { until } from "../harness/until.ts";

// Two masters with the same keys, and a roles file each.

setDefaultTimeout(60_000);

let bus: TestBus;
const masters: TestMaster[] = [];
const roles = (index: number) => join(bus.dir, `roles-${index}`, "roles.yaml");

beforeAll(async () => {
  bus = await startBus();
  for (const index of [0, 1]) {
    const file = roles(index);
    await Bun.write(file, `roles: { viewer-${index}: { peels: [list] } }\n`);
    masters.push(await startMaster(bus, { flags: ["--roles-file", file], filePatienceMs: 0 }));
  }
});
afterAll(async () => {
  for (const one of masters) await one[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

async function filesOf({
  healthUrl,
}: TestMaster): Promise<{ status: string; message: string; next?: string }> {
  const response = await fetch(`${healthUrl}/readyz`);
  return (
    ((await response.json()) as { checks: Record<string, never> }).checks.files ?? { status: "", message: "" }
  );
}
const bothBecome = async (status: string) => {
  const found = [];
  for (const one of masters)
    found.push(
      await until(
        () => filesOf(one),
        (check) => check.status === status,
      ),
    );
  return found;
};

test("a roles file that differs is named on both masters and in svc status, until both have the same", async () => {
  const [one, two] = await bothBecome("degraded");
  const words = /^roles\.yaml differs from that of \S+ \(([0-9a-f]{4})… here, ([0-9a-f]{4})… there\)$/;
  const [, here, there] = words.exec(one?.message ?? "") ?? [];
  expect(words.exec(two?.message ?? "")?.slice(1)).toEqual([there, here] as string[]);
  expect(one?.next).toBe(`copy what is right from one master to the other: ${roles(0)}`);
  const { stdout } = await cli(bus, "status");
  expect(stdout).toContain("files: roles.yaml differs from that of");
  writeFileSync(roles(1), "roles: { viewer-0: { peels: [list] } }\n");
  expect(await bothBecome("up")).toMatchObject([{ message: "ok" }, { message: "ok" }]);
});
