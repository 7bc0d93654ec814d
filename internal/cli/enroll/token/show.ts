import { displayPeelId } from "../../../base/names/peel-id.ts";
import { joinTokenOperations } from "../../../fleet/join-tokens/mod.ts";
import {
  command,
  formatFields,
  formatTable,
  type TableStyle,
  word,
} from "../../../program/command-line/mod.ts";
import { fullId } from "../../ids/full-id.ts";
import { withBus } from "../../operator.ts";
import { request } from "../../request.ts";
import { formatLabels } from "../label-change.ts";

export const tokenIdArg = word("Id of the token, jtk-…", { required: true });

export const showCommand = command({
  name: "show",
  description:
    "Show a token that hosts join with, and which hosts used it. No command shows the token itself.",
  examples: ["svc enroll token show jtk-3MRx"],
  args: { id: tokenIdArg },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const id = await fullId("jtk", args.id, bus, cli);
      const token = await request(bus, joinTokenOperations.showJoinToken, { id });
      await cli.print(token, () => {
        const fields = formatFields([
          ["Token", token.id],
          ["State", token.state],
          ["Peels", token.peel],
          ["Uses", `${token.uses_left} left of ${token.uses}`],
          ["Labels", formatLabels(token.labels)],
          ["Hold", token.hold ? "yes: its hosts wait for an operator" : "no"],
          ...(token.note === undefined ? [] : ([["Note", token.note]] as const)),
          ["Created", `${token.created_at} by ${token.created_by}`],
          ["Ends", token.expires_at],
          ...(token.revoked_at === undefined
            ? []
            : ([["Revoked", `${token.revoked_at} by ${token.revoked_by ?? "?"}`]] as const)),
        ]);
        if (token.used_by.length === 0) return fields;
        return `${fields}\n\n${formatUses(token.used_by, cli)}`;
      });
    }),
});

/** Who used a token. */
export function formatUses(
  uses: readonly { peel_id: string; enrollment: string; at: string }[],
  style: TableStyle,
): string {
  return formatTable(
    { "USED BY": "text", ENROLLMENT: "id", AT: "ago" },
    uses.map((one) => [displayPeelId(one.peel_id), one.enrollment, one.at]),
    style,
  );
}
