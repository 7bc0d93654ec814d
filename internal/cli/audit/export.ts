import { command, visible } from "../../program/command-line/mod.ts";
import { withBus } from "../operator.ts";
import { filterArgs, filterOf, readPages } from "./ask.ts";

export const exportCommand = command({
  name: "export",
  description: "Write entries of the audit as lines of JSON (--output jsonl), newest first.",
  args: filterArgs,
  async run(args, cli) {
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
