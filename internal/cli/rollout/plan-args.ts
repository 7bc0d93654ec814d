/** Options of every command that starts a rollout, apart from the timeout of a wave. */
export const planArgs = {
  canary: {
    type: "string",
    valueHint: "n|n%",
    default: "1",
    description: "Size of the first wave, as a number or percentage of peels; 0 for none",
  },
  waves: {
    type: "string",
    valueHint: "n|n%,…",
    default: "25%",
    description:
      "Sizes of the following waves, such as 5%,20%; the last size repeats until all peels are done",
  },
  "wave-wait": {
    type: "string",
    valueHint: "duration",
    default: "0",
    description: "Wait time after each wave, before its check and the next wave",
  },
  "max-failures": {
    type: "string",
    valueHint: "n|n%",
    default: "0",
    description: "Maximum number of failed peels; with more, no further wave starts",
  },
  check: {
    type: "string",
    valueHint: "function",
    description:
      "Check to run on the peels of each wave, such as 'service.status name=nginx'; a peel that fails it counts as failed",
  },
  deadline: {
    type: "string",
    valueHint: "duration",
    default: "24h",
    description: "Deadline: no wave starts after this time",
  },
  async: { type: "boolean", description: "Print the rollout id and do not wait" },
  "dry-run": { type: "boolean", description: "Show the waves and their peels, and start nothing" },
} as const;
