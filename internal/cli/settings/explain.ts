import type { Plain } from "../../base/msgpack.ts";
import { settingOperations } from "../../fleet/settings/mod.ts";
import { command, formatTable, type TableStyle, word } from "../../program/command-line/mod.ts";
import { readNamedPeel } from "../ids/full-peel-id.ts";
import { withBus } from "../operator.ts";
import { peelArg } from "../peel-args.ts";
import { type AnswerTo, request } from "../request.ts";
import { revealArg, sayHidden } from "./hidden.ts";

export const explainCommand = command({
  name: "explain",
  description: "Show from which file and line a setting of a peel comes, and which values it overrides.",
  examples: [
    "svc settings explain web-1.example.com app:port",
    "svc settings explain web-1.example.com app --output json",
  ],
  args: {
    peel: peelArg,
    name: word("A setting; one that is a map is explained by all settings in it", { required: true }),
    reveal: revealArg,
  },
  run: ({ peel, name, reveal }, cli) =>
    withBus(cli, async (bus) => {
      const binding = reveal === true ? settingOperations.revealExplained : settingOperations.explainSettings;
      const answer = await readNamedPeel(peel, bus, cli, (id) => request(bus, binding, { id, name }));
      const { settings, more } = answer;
      await cli.print(answer, () => formatExplained(settings, cli));
      if (more === true) cli.say("there are more settings: name one of them");
      if (reveal !== true) sayHidden(cli, settings);
    }),
});

/** Where settings come from, each above the values that it overrides. */
export function formatExplained(
  settings: AnswerTo<typeof settingOperations.explainSettings>["settings"],
  style: TableStyle,
): string {
  return formatTable(
    { SETTING: "prose", FROM: "prose", VALUE: "prose", "ASKED FOR BY": "spare word" },
    settings.flatMap(({ covered, ...one }) => [
      rowOf(one, one.name),
      // The last that was covered first: read downwards, it is the way back.
      ...covered.toReversed().map((other) => rowOf(other, `  covers ${other.name ?? ""}`.trimEnd())),
    ]),
    style,
  );
}

interface Row {
  file: string;
  line: number;
  because: string;
  value: Plain;
}

function rowOf({ file, line, because, value }: Row, name: string): string[] {
  return [name, `${file}:${line}`, typeof value === "string" ? value : JSON.stringify(value), because];
}
