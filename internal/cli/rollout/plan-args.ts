import { flag, value } from "../../program/command-line/mod.ts";
import { yesArg } from "../confirm/confirm.ts";

/** Options of every command that starts a rollout, apart from the timeout of a wave. */
export const planArgs = {
  canary: value("n|n%", "Size of the first wave, as a number or percentage of peels; 0 for none", {
    default: "1",
  }),
  waves: value(
    "n|n%,…",
    "Sizes of the following waves, such as 5%,20%; the last size repeats until all peels are done",
    { default: "25%" },
  ),
  "wave-wait": value("duration", "Wait time after each wave, before its check and the next wave", {
    default: "0",
  }),
  "max-failures": value("n|n%", "Maximum number of failed peels; with more, no further wave starts", {
    default: "0",
  }),
  check: value(
    "function",
    "Check to run on the peels of each wave, such as 'service.status name=nginx'; a peel that fails it counts as failed",
  ),
  deadline: value("duration", "Deadline: no wave starts after this time", { default: "24h" }),
  async: flag("Print the rollout id and do not wait"),
  yes: yesArg,
  "dry-run": flag("Show the waves and their peels, and start nothing"),
} as const;
