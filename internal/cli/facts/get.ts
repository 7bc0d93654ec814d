import { peelsOverBus } from "../../fleet/over-bus/mod.ts";
import { plainOrOutput } from "../../program/answers/mod.ts";
import { command } from "../../program/command-line/mod.ts";
import { ask } from "../ask.ts";
import { withBus } from "../operator.ts";

export const getCommand = command({
  name: "get",
  description: "Show the facts that a peel stored last, whether it is on or off.",
  args: {
    peel: { type: "positional", required: true, ids: "members", description: "Peel id" },
    name: {
      type: "positional",
      required: false,
      description: "One fact, or a value inside it, such as os or mounts:/:fstype",
    },
  },
  run: ({ peel, name }, cli) =>
    withBus(cli, async (bus) => {
      const { value } = await ask(bus, peelsOverBus.facts, {
        id: peel,
        ...(name === undefined ? {} : { name }),
      });
      await cli.print(value, () => plainOrOutput(value).join("\n"));
    }),
});
