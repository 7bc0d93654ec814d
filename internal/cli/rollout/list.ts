import { rolloutsOverBus } from "../../fleet/over-bus/mod.ts";
import { type RolloutStatus, type RolloutSummary, rolloutStatuses } from "../../fleet/rollout/mod.ts";
import { command, formatTable } from "../../program/command-line/mod.ts";
import { ask } from "../ask.ts";
import { limitArg, readLimit } from "../limit.ts";
import { withBus } from "../operator.ts";

const range = { most: 1_000, usual: 20 };
const widestTarget = 40;

export const listCommand = command({
  name: "list",
  description: "List rollouts, newest first.",
  args: {
    status: { type: "enum", options: [...rolloutStatuses], description: "Only rollouts with this status" },
    limit: limitArg("rollouts", range),
  },
  async run(args, cli) {
    const limit = readLimit(args.limit, range);
    await withBus(cli, async (bus) => {
      const status = args.status as RolloutStatus | undefined;
      const { rollouts, next } = await ask(bus, rolloutsOverBus.list, { limit, status });
      await cli.print(rollouts, () => formatRollouts(rollouts, cli));
      if (rollouts.length === 0) cli.say("no rollouts");
      if (next !== undefined) cli.say(`there are more: --limit takes up to ${range.most}`);
    });
  },
});

function formatRollouts(rollouts: readonly RolloutSummary[], options: { color: boolean }): string {
  return formatTable(
    ["ID", "FUNCTION", "TARGET", "PEELS", "STATUS", "WAVE", "FAILED", "BY", "CREATED"],
    rollouts.map((rollout) => [
      rollout.id,
      rollout.function,
      shortened(rollout.target ?? "(list)"),
      String(rollout.targets),
      rollout.status,
      `${rollout.wave}/${rollout.waves}`,
      String(rollout.failures),
      rollout.created_by,
      rollout.created_at,
    ]),
    options,
  );
}

function shortened(text: string): string {
  return text.length <= widestTarget ? text : `${text.slice(0, widestTarget - 3)}...`;
}
