import { peelIdFromConfig } from "../../base/names/peel-id.ts";
import { command, readFlag, word } from "../../program/command-line/mod.ts";
import { directArgs } from "../direct-args.ts";

export const doctorCommand = command({
  name: "doctor",
  description: "Diagnose problems between this machine, the bus, the masters and a peel.",
  examples: ["svc doctor", "svc doctor web-1.example.com"],
  args: {
    peel: word("Also check this peel", { required: false, valueHint: "peel id", ids: "peels" }),
    ...directArgs,
  },
  async run({ peel: named, direct, creds }, cli) {
    const peel = named === undefined ? undefined : readFlag("<peel>", named, peelIdFromConfig);
    await (await import("./diagnose.ts")).findTrouble(cli, { peel, direct, creds });
  },
});
