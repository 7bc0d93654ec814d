/** Options of every command that starts a rollout, apart from the timeout of a wave. */
export const planArgs = {
  canary: {
    type: "string",
    valueHint: "n|n%",
    default: "1",
    description: "The first wave: so many peels, or such a part of all; 0 for none",
  },
  waves: {
    type: "string",
    valueHint: "n|n%,…",
    default: "25%",
    description: "The waves after it, such as 5%,20%; the last size is taken again until all are done",
  },
  "wave-wait": {
    type: "string",
    valueHint: "duration",
    default: "0",
    description: "Wait so long after each wave before it is checked and the next begins",
  },
  "max-failures": {
    type: "string",
    valueHint: "n|n%",
    default: "0",
    description: "Begin no wave once more peels than this have failed",
  },
  check: {
    type: "string",
    valueHint: "function",
    description: "Run this on the peels of each wave; who fails it has failed: 'service.status name=nginx'",
  },
  deadline: {
    type: "string",
    valueHint: "duration",
    default: "24h",
    description: "Begin no wave after this time",
  },
  async: { type: "boolean", description: "Do not wait: print the rollout id" },
  "dry-run": { type: "boolean", description: "Show the waves and who is in them, and start nothing" },
} as const;
