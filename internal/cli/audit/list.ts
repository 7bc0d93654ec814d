import { SvcError } from "../../base/errors.ts";
import { command, flag, formatTable, type TableStyle, value } from "../../program/command-line/mod.ts";
import { readLimit } from "../limit.ts";
import { withBus } from "../operator.ts";
import { type AuditView, aboutLine, filterArgs, filterOf, outcomeWord, readPages } from "./read-pages.ts";

const usualEntries = 50;
const maxEntries = 10_000;

export const listCommand = command({
  name: "list",
  description: "List what was decided, newest first; or follow it.",
  examples: [
    "svc audit list --since 24h",
    "svc audit list --operator alice --action 'jobs.*'",
    "svc audit list --peel web-1.example.com --outcome refused",
    "svc audit list --follow --action 'enrollments.*'",
  ],
  args: {
    ...filterArgs,
    limit: value("n", `Maximum number of entries, 1 to ${maxEntries} (default: ${usualEntries})`),
    follow: flag("Show what is decided from now on, or from --since on, oldest first, until Ctrl-C"),
  },
  async run(args, cli) {
    const limit = args.limit === undefined ? usualEntries : readLimit(args.limit, maxEntries);
    const filter = filterOf(args, cli.clock.now());
    if (args.follow === true) {
      if (args.limit !== undefined)
        throw new SvcError("usage", "--limit: --follow has no limit: leave one out");
      const { followAudit } = await import("./follow.ts");
      return followAudit(filter, cli);
    }
    await withBus(cli, async (bus) => {
      const found: AuditView[] = [];
      const { more } = await readPages(bus, filter, limit, (entries) => found.push(...entries));
      await cli.print(found, () => formatEntries(found, cli));
      if (found.length === 0) cli.say("no entries");
      if (more) cli.say(`there are more: --limit takes up to ${maxEntries}, and svc audit export all`);
    });
  },
});

/** Entries as a table. */
export function formatEntries(entries: readonly AuditView[], style: TableStyle): string {
  return formatTable(
    {
      SEQ: "word",
      AT: "ago",
      OPERATOR: "text",
      VIA: "wide",
      ACTION: "text",
      OUTCOME: "state",
      ABOUT: "text",
    },
    entries.map((entry) => [
      ...[String(entry.seq), entry.at, entry.operator, entry.via, entry.action],
      ...[outcomeWord(entry), aboutLine(entry)],
    ]),
    style,
  );
}
