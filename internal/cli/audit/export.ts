import { SvcError } from "../../base/errors.ts";
import { command, visible } from "../../program/command-line/mod.ts";
import { withBus } from "../operator.ts";
import { filterArgs, filterOf, readPages } from "./read-pages.ts";

export const exportCommand = command({
  name: "export",
  description: "Write entries of the audit as lines of JSON (--output jsonl), newest first.",
  examples: ["svc audit export --since 720h --output jsonl"],
  args: filterArgs,
  async run(args, cli) {
    if (cli.output === "json" || cli.output === "yaml") {
      throw new SvcError(
        "usage",
        `--output: an export has lines of JSON: leave --output ${cli.output} out, or use svc audit list`,
      );
    }
    const filter = filterOf(args, cli.clock.now());
    await withBus(cli, async (bus) => {
      let count = 0;
      await readPages(bus, filter, Number.POSITIVE_INFINITY, (entries) => {
        count += entries.length;
        for (const entry of entries) cli.stdout.write(`${visible(JSON.stringify(entry))}\n`);
      });
      cli.say(`${count} entries`);
    });
  },
});
