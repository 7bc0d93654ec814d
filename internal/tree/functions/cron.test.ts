import { expect, test } from "bun:test";
import { planOn } from "../../../test/harness/planned-state.ts";

async function lineOn(id: string, name: string): Promise<string> {
  const { plan } = await planOn(
    { programs: ["crontab"] },
    "cron.present",
    name,
    { minute: "random", hour: 3 },
    { facts: { id } },
  );
  return (plan.changes[name] as { new: string }).new;
}

test("a random field differs between hosts and entries, and is the same in each run", async () => {
  expect(await lineOn("web-1", "/bin/x")).toMatch(/^(?:[0-9]|[1-5][0-9]) 3 \* \* \* \/bin\/x$/);
  expect(await lineOn("web-1", "/bin/x")).toBe(await lineOn("web-1", "/bin/x"));
  const hosts = Array.from({ length: 50 }, (_, at) => lineOn(`web-${at}`, "/bin/x"));
  expect(new Set(await Promise.all(hosts)).size).toBeGreaterThan(20);
});
