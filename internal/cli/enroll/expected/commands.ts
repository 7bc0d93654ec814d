import { displayPeelId, encodePeelId } from "../../../base/names/peel-id.ts";
import { expectedOperations, type ShownHost } from "../../../fleet/expected/mod.ts";
import {
  command,
  formatTable,
  group,
  type TableStyle,
  visible,
  word,
} from "../../../program/command-line/mod.ts";
import { confirm, yesArg } from "../../confirm/confirm.ts";
import { withBus } from "../../operator.ts";
import { request } from "../../request.ts";
import { formatLabels } from "../policy/format-labels.ts";

const listCommand = command({
  name: "list",
  description: "List the hosts that are expected, by peel id.",
  examples: ["svc enroll expected list"],
  args: {},
  run: (_, cli) =>
    withBus(cli, async (bus) => {
      const found: ShownHost[] = [];
      let cursor: string | undefined;
      do {
        const after = cursor === undefined ? {} : { cursor };
        const page = await request(bus, expectedOperations.listExpected, { limit: 1_000, ...after });
        found.push(...page.hosts);
        cursor = page.next;
      } while (cursor !== undefined);
      await cli.print(found, () => formatExpected(found, cli));
      if (found.length === 0) cli.say("no expected hosts");
    }),
});

/** Expected hosts as a table. */
export function formatExpected(hosts: readonly ShownHost[], style: TableStyle): string {
  return formatTable(
    {
      "PEEL ID": "text",
      FINGERPRINT: "word",
      STATE: "state",
      LABELS: "text",
      BY: "wide",
      EXPIRES: "spare until",
      ENROLLMENT: "spare id",
    },
    hosts.map((one) => [
      ...[displayPeelId(one.peel_id), one.fingerprint, one.state],
      formatLabels(one.labels),
      ...[one.expected_by, one.expires_at, one.enrollment ?? "-"],
    ]),
    style,
  );
}

const removeCommand = command({
  name: "remove",
  description: "Expect hosts no more. Those that have joined stay members.",
  examples: ["svc enroll expected remove web-1.example.com web-2.example.com"],
  args: {
    peel: word("Peel id", { required: true }),
    more: word("Further peel ids", { rest: true }),
    yes: yesArg,
  },
  run: ({ peel, more, yes }, cli) =>
    withBus(cli, async (bus) => {
      const removed: ShownHost[] = [];
      const peels = [peel, ...more.words, ...more.literal];
      await confirm(cli, `Expect ${peels.map(visible).join(", ")} no more`, yes === true);
      for (const one of peels) {
        removed.push((await request(bus, expectedOperations.unexpectHost, { peel: encodePeelId(one) })).host);
      }
      await cli.print(removed, () =>
        removed.map(({ peel_id, state }) => `removed ${displayPeelId(peel_id)} (${state})`).join("\n"),
      );
    }),
});

export const expectedCommands = group({
  name: "expected",
  description: "List and remove the hosts that are expected.",
  commands: () => [listCommand, removeCommand],
});
