import { type RolloutSummary, rolloutOperations, rolloutStatuses } from "../../fleet/rollout/mod.ts";
import { choice, command, formatTable, type TableStyle, value } from "../../program/command-line/mod.ts";
import { filesCells, withFiles } from "../files-column.ts";
import { readLimit } from "../limit.ts";
import { withBus } from "../operator.ts";
import { request } from "../request.ts";

const maxRollouts = 1_000;

export const listCommand = command({
  name: "list",
  description: "List rollouts, newest first.",
  examples: ["svc rollout list --status running"],
  args: {
    status: choice(rolloutStatuses, "Only rollouts with this status"),
    limit: value("n", `Maximum number of rollouts, 1 to ${maxRollouts}`, { default: "20" }),
  },
  async run(args, cli) {
    const limit = readLimit(args.limit, maxRollouts);
    await withBus(cli, async (bus) => {
      const { rollouts, next } = await request(bus, rolloutOperations.listRollouts, {
        limit,
        status: args.status,
      });
      await cli.print(rollouts, () => formatRollouts(rollouts, cli));
      if (rollouts.length === 0) cli.say("no rollouts");
      if (next !== undefined) cli.say(`there are more: --limit takes up to ${maxRollouts}`);
    });
  },
});

const columns = {
  ID: "id",
  FUNCTION: "name",
  TARGET: "text",
  PEELS: "spare word",
  STATUS: "state",
  WAVE: "spare word",
  FAILED: "spare word",
  FILES: "spare text",
  BY: "text",
  CREATED: "ago",
} as const;

/** Rollouts as a table. */
export function formatRollouts(rollouts: readonly RolloutSummary[], style: TableStyle): string {
  return formatTable(
    withFiles(columns, rollouts),
    rollouts.map((rollout) => [
      rollout.id,
      rollout.function,
      rollout.target ?? "(list)",
      String(rollout.targets),
      rollout.status,
      `${rollout.wave}/${rollout.waves}`,
      String(rollout.failures),
      ...filesCells(rollout, rollouts),
      rollout.created_by,
      rollout.created_at,
    ]),
    style,
  );
}
