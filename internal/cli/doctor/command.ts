import { peelIdFromConfig } from "../../identity/peel-id.ts";
import { command } from "../../program/command-line/command.ts";
import { readFlag } from "../../program/command-line/flag.ts";

export const doctorCommand = command({
  name: "doctor",
  description: "Diagnose problems between this machine, the bus, the masters and a peel.",
  args: {
    peel: {
      type: "positional",
      required: false,
      valueHint: "peel id",
      ids: "peels",
      description: "Also check this peel",
    },
  },
  async run({ peel }, cli) {
    const id = peel === undefined ? undefined : readFlag("<peel>", peel, peelIdFromConfig);
    await (await import("./look.ts")).lookForTrouble(cli, id);
  },
});
