import { clusterOverBus } from "../../fleet/over-bus/mod.ts";
import { command } from "../../program/command-line/mod.ts";
import { ask } from "../ask.ts";
import { withBus } from "../operator.ts";

/** A master works on it for some seconds, and finishes the step that it is at. */
const timeoutMs = 30_000;

export const removeCommand = command({
  name: "remove",
  description:
    "Remove a host from the cluster, after its master was stopped for good. What an interrupted run left is continued by the next one.",
  examples: ["svc cluster remove n3.example.com --dry-run", "svc cluster remove n3.example.com"],
  args: {
    host: { type: "positional", required: true, description: "Name of its server; see svc cluster status" },
    "dry-run": { type: "boolean", description: "Show the steps, and do none" },
  },
  run: ({ host, "dry-run": dryRun }, cli) =>
    withBus(cli, async (bus) => {
      const plan = await ask(bus, clusterOverBus.remove, { host, dry_run: true }, { timeoutMs });
      if (dryRun === true) {
        await cli.print(plan, () => plan.steps.join("\n") || `${host} does not belong to the cluster`);
        return;
      }
      if (!plan.done) cli.say(`${plan.left} steps: ${summary(plan.steps)}`);
      const steps: string[] = [];
      let done = plan.done;
      while (!done) {
        const next = await ask(bus, clusterOverBus.remove, { host }, { timeoutMs });
        steps.push(...next.steps);
        for (const step of next.steps) cli.say(step);
        done = next.done;
        if (!done) cli.say(`${next.left} steps are left`);
      }
      await cli.print({ host, done, steps }, () =>
        plan.done
          ? `${host} does not belong to the cluster`
          : `${host} left the cluster: destroy its directory, which has keys`,
      );
    }),
});

function summary(steps: readonly string[]): string {
  const lowered = steps.filter((step) => step.includes("stored on")).length;
  const left = steps.filter((step) => step.includes(": left ")).length - 1;
  return `${lowered} streams get fewer replicas, ${left} move to other servers, and the group gives the server up`;
}
