import { readTextFile } from "../../base/files/file.ts";
import { parseOperatorFile } from "../../identity/mod.ts";
import { command, formatTable, type TableStyle, word } from "../../program/command-line/mod.ts";
import { chooseContext, contextFile, currentContext, listContexts, loginFile } from "../contexts.ts";

const listCommand = command({
  name: "list",
  description: "List the fleets that svc login installed operator files for.",
  examples: ["svc context list"],
  args: {},
  async run(_, cli) {
    const current = currentContext();
    const rows = listContexts().map((context) => {
      const path = contextFile(context);
      const { name, fleet, busUrls } = parseOperatorFile(readTextFile(path, "the operator file"), path);
      return { context, current: context === current, name, fleet, bus_urls: [...busUrls] };
    });
    await cli.print(rows, () => formatContexts(rows, cli));
  },
});

/** The fleets that can be asked, with a star before the one in use. */
export function formatContexts(
  contexts: readonly { context: string; current: boolean; name: string; bus_urls: readonly string[] }[],
  style: TableStyle,
): string {
  return formatTable(
    { "": "word", CONTEXT: "text", NAME: "text", BUS: "prose" },
    contexts.map((row) => [row.current ? "*" : "", row.context, row.name, row.bus_urls.join(",")]),
    style,
  );
}

const useCommand = command({
  name: "use",
  description: "Choose the fleet that svc asks without --context.",
  examples: ["svc context use production"],
  args: { name: word("Name of the context", { required: true }) },
  async run({ name: context }, cli) {
    loginFile(context);
    chooseContext(context);
    await cli.print({ context }, () => `svc asks ${context} from now on`);
  },
});

export const contextCommands = [listCommand, useCommand];
