import { expect, test } from "bun:test";
import { planOn } from "../../../../test/harness/planned-state.ts";

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

test("an entry that is commented stays in the crontab, and cron does not run it", async () => {
  const crontab = "#DISABLED#0 3 * * * /bin/x\n";
  const answer = (argv: readonly string[]) => (argv.includes("-l") ? { stdout: crontab } : {});
  const host = { programs: ["crontab"], answer };
  const args = { minute: 0, hour: 3 };
  const kept = await planOn(host, "cron.present", "/bin/x", { ...args, commented: true });
  expect(kept.plan.apply).toBeUndefined();
  const { plan } = await planOn(host, "cron.present", "/bin/x", args);
  expect(plan.changes).toEqual({ "/bin/x": { old: "disabled: 0 3 * * * /bin/x", new: "0 3 * * * /bin/x" } });
  expect((await planOn(host, "cron.absent", "/bin/x")).plan.changes).toEqual({
    "/bin/x": { old: "0 3 * * * /bin/x", new: "" },
  });
});
