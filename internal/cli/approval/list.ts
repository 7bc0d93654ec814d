import { approvalOperations } from "../../fleet/approvals/mod.ts";
import { command, formatTable, type TableStyle } from "../../program/command-line/mod.ts";
import { requestWords } from "../../wire/request-words.ts";
import { peelCount } from "../job/counts.ts";
import { withBus } from "../operator.ts";
import { type AnswerTo, request } from "../request.ts";

export const listCommand = command({
  name: "list",
  description: "List the requests that wait for other operators, and those that waited.",
  examples: ["svc approval list"],
  args: {},
  run: (_, cli) =>
    withBus(cli, async (bus) => {
      const { approvals } = await request(bus, approvalOperations.listApprovals, {});
      await cli.print(approvals, () => formatApprovals(approvals, cli));
      if (approvals.length === 0) cli.say("no requests wait");
    }),
});

/** Requests that wait, or waited, as a table. */
export function formatApprovals(
  approvals: AnswerTo<typeof approvalOperations.listApprovals>["approvals"],
  style: TableStyle,
): string {
  return formatTable(
    {
      ID: "id",
      STATE: "state",
      BY: "text",
      AGREED: "spare word",
      EXPIRES: "spare until",
      "WHAT HAPPENS": "prose",
    },
    approvals.map(({ id, state, asked_by, agreed, needs, expires_at, outcome, ...about }) => [
      ...[id, outcome === "failed" ? "failed" : state, asked_by],
      `${agreed.length}/${needs}`,
      expires_at,
      requestWords(about, peelCount),
    ]),
    style,
  );
}
