import { defined } from "../../base/defined.ts";
import { peelOperations } from "../../fleet/peels/mod.ts";
import { command, word } from "../../program/command-line/mod.ts";
import { readNamedPeel } from "../ids/full-peel-id.ts";
import { withBus } from "../operator.ts";
import { peelArg } from "../peel-args.ts";
import { printValue } from "../print-value.ts";
import { request } from "../request.ts";

export const getCommand = command({
  name: "get",
  description: "Show the facts that a peel stored last, whether it is online or not.",
  examples: ["svc facts get web-1.example.com", "svc facts get web-1.example.com mounts:/:fstype"],
  lists: true,
  args: {
    peel: peelArg,
    name: word("One fact, or a value inside it, such as os or mounts:/:fstype", {
      required: false,
      ids: "facts",
    }),
  },
  run: ({ peel, name }, cli) =>
    withBus(cli, async (bus) => {
      const { value } = await readNamedPeel(peel, bus, cli, (id) =>
        request(bus, peelOperations.getFacts, { id, ...defined({ name }) }),
      );
      await printValue(cli, value);
    }),
});
