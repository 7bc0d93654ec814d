import { sleep } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { clusterOperations } from "../../fleet/cluster/mod.ts";
import { type Cli, command, flag, value, visible, word } from "../../program/command-line/mod.ts";
import { confirm, yesArg } from "../confirm/confirm.ts";
import { withBus } from "../operator.ts";
import { request } from "../request.ts";
import { assertOwnFleet, dropHost, readOwnHost } from "../setup/mod.ts";

/** A master works on it for some seconds, and finishes the step that it is at. */
const timeoutMs = 30_000;
/** How long the removal may take without a step: an election takes seconds. */
const patienceMs = 60_000;
const pauseMs = 1_000;

export const removeCommand = command({
  name: "remove",
  description:
    "Remove a host from the cluster, after its master was stopped for good. With --dir, the configuration in that directory forgets it too: run that on each host that stays. What an interrupted run left is continued by the next one.",
  examples: [
    "svc cluster remove n3.example.com --dry-run",
    "svc cluster remove n3.example.com --dir /srv/fleet",
  ],
  args: {
    host: word("Name of its server; see svc cluster status", { required: true }),
    dir: value("directory", "Directory of the fleet on this host, which stays in the cluster"),
    "dry-run": flag("Show the steps, and do none"),
    yes: yesArg,
  },
  run: ({ host, dir, "dry-run": dryRun, yes }, cli) =>
    withBus(cli, async (bus, fleet) => {
      const own = dir === undefined ? undefined : readOwnHost(dir, 0);
      if (own !== undefined) assertOwnFleet(own, fleet);
      if (own?.own === host) {
        throw new SvcError("usage", `--dir: ${own.dir} is that of ${host}: name that of a host that stays`);
      }
      const edits = own?.hosts.includes(host) === true ? [`${own.dir}: forget ${host}`] : [];
      if (dryRun === true) {
        const plan = await request(bus, clusterOperations.removeHost, { host, dry_run: true }, { timeoutMs });
        const steps = [...plan.steps, ...edits];
        await cli.print(
          { ...plan, steps },
          () => steps.join("\n") || `${host} does not belong to the cluster`,
        );
        return;
      }
      await confirm(cli, `Remove ${visible(host)} from the cluster`, yes === true);
      const steps = await removeFromCluster(bus, host, cli);
      const wasMember = steps.length > 0;
      if (own !== undefined && edits.length > 0) {
        await dropHost({ own, host, clock: cli.clock, random: cli.random });
        steps.push(...edits);
        cli.say(
          `${own.dir}: has forgotten ${host}. Restart the master here when it suits: systemctl restart svc-master`,
        );
      }
      const { members } = await request(bus, clusterOperations.showCluster, {}, { timeoutMs });
      const stay = members.map(({ server }) => server);
      const others = stay.filter((server) => server !== own?.own);
      if (wasMember || edits.length > 0) {
        cli.say(`On ${others.join(" and ")}: svc cluster remove ${host} --dir DIRECTORY of the fleet there`);
      }
      await cli.print({ host, done: true, steps, ...defined({ dir: own?.dir }) }, () =>
        wasMember
          ? `${host} left the cluster: destroy its directory, which has keys`
          : `${host} does not belong to the cluster`,
      );
    }),
});

/**
 * Has masters do the steps of a removal until none is left, and says each.
 *
 * @returns the steps that were done
 * @throws SvcError with the reason why the host may not be removed, or why nothing moved for a minute
 */
async function removeFromCluster(bus: Bus, host: string, cli: Cli): Promise<string[]> {
  const steps: string[] = [];
  const plan = await whenThere(cli, () =>
    request(bus, clusterOperations.removeHost, { host, dry_run: true }, { timeoutMs }),
  );
  if (plan.done) return steps;
  cli.say(`${plan.left} steps: ${summary(plan.steps)}`);
  let movedAt = cli.clock.monotonic();
  for (;;) {
    const next = await whenThere(cli, () =>
      request(bus, clusterOperations.removeHost, { host }, { timeoutMs }),
    );
    steps.push(...next.steps);
    for (const step of next.steps) cli.say(step);
    if (next.done) return steps;
    cli.say(`${next.left} steps are left`);
    if (next.steps.length > 0) movedAt = cli.clock.monotonic();
    if (cli.clock.monotonic() - movedAt > patienceMs) {
      throw new SvcError(
        "unavailable",
        `no step was done for ${patienceMs / 1000} s: see svc cluster status, and run this again`,
      );
    }
    await sleep(cli.clock, pauseMs);
  }
}

/** Asks again what cannot be done at this moment, as during an election, and says why. @throws SvcError */
async function whenThere<T>(cli: Cli, attempt: () => Promise<T>): Promise<T> {
  const began = cli.clock.monotonic();
  let said = "";
  for (;;) {
    try {
      return await attempt();
    } catch (thrown) {
      const isPassing = thrown instanceof SvcError && thrown.kind === "unavailable";
      if (!isPassing || cli.clock.monotonic() - began > patienceMs) throw thrown;
      // The text of the master, without the ID of this request.
      const { message } = thrown.cause instanceof SvcError ? thrown.cause : thrown;
      if (message !== said) cli.say(message);
      said = message;
    }
    await sleep(cli.clock, pauseMs);
  }
}

function summary(steps: readonly string[]): string {
  const lowered = steps.filter((step) => step.includes("stored on")).length;
  const left = steps.filter((step) => step.includes(": left ")).length - 1;
  return `${lowered} streams get fewer replicas, ${left} move to other servers, and the group gives the server up`;
}
