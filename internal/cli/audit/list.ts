import { command, formatTable } from "../../program/command-line/mod.ts";
import { limitArg, readLimit } from "../limit.ts";
import { withBus } from "../operator.ts";
import { type AuditView, filterArgs, filterOf, readPages, subjectLine } from "./ask.ts";

const range = { most: 10_000, usual: 50 };

export const listCommand = command({
  name: "list",
  description: "List what was decided, newest first.",
  args: {
    ...filterArgs,
    limit: limitArg("entries", range),
  },
  async run(args, cli) {
    const limit = readLimit(args.limit, range);
    const filter = filterOf(args, cli.clock.now());
    await withBus(cli, async (bus) => {
      const found: AuditView[] = [];
      const { more } = await readPages(bus, filter, limit, (entries) => found.push(...entries));
      await cli.print(found, () =>
        formatTable(
          ["SEQ", "AT", "OPERATOR", "VIA", "ACTION", "OUTCOME", "ABOUT"],
          found.map((entry) => [
            String(entry.seq),
            entry.at,
            entry.operator,
            entry.via,
            entry.action,
            entry.genuine ? entry.outcome : `${entry.outcome} (not genuine)`,
            [subjectLine(entry), entry.reason ?? ""].filter((text) => text !== "").join(": "),
          ]),
          cli,
        ),
      );
      if (found.length === 0) cli.say("no entries");
      if (more) cli.say(`there are more: --limit takes up to ${range.most}, and svc audit export all`);
    });
  },
});
