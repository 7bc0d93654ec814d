import { defined } from "../../base/defined.ts";
import { settingOperations } from "../../fleet/settings/mod.ts";
import { command, word } from "../../program/command-line/mod.ts";
import { readNamedPeel } from "../ids/full-peel-id.ts";
import { withBus } from "../operator.ts";
import { peelArg } from "../peel-args.ts";
import { printValue } from "../print-value.ts";
import { request } from "../request.ts";
import { revealArg, sayHidden } from "./hidden.ts";

export const showCommand = command({
  name: "show",
  description: "Show the settings that a master compiles for a peel now, with secrets hidden.",
  examples: ["svc settings show web-1.example.com", "svc settings show web-1.example.com app:port"],
  lists: true,
  args: {
    peel: peelArg,
    name: word("One setting; colons lead into maps and lists, as in users:0:name", { required: false }),
    reveal: revealArg,
  },
  run: ({ peel, name, reveal }, cli) =>
    withBus(cli, async (bus) => {
      const binding = reveal === true ? settingOperations.revealSettings : settingOperations.showSettings;
      const { value } = await readNamedPeel(peel, bus, cli, (id) =>
        request(bus, binding, { id, ...defined({ name }) }),
      );
      await printValue(cli, value);
      if (reveal !== true) sayHidden(cli, value);
    }),
});
