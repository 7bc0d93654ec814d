/**
 * The exports and imports: the only subjects that cross between the account of the peels and the account of
 * the masters. The masters' account exports each subject, and the peels' account imports it.
 *
 * A service carries requests of peels to the masters, and each reply only to its requester. A stream
 * carries what masters publish to the peels that may subscribe to it.
 */
export const crossings = {
  services: [
    "$KV.peel-heartbeat.*",
    "$KV.facts.*",
    "svc.job.*.ack.*",
    "svc.job.*.return.*",
    "svc.job.*.schedule.*",
    "svc.job.*.progress.*",
    "svc.event.*.>",
    "svc.peel.*.hello",
    "svc.peel.*.fetch",
    "svc.peel.*.renew",
    "svc.peel.*.rekey",
  ],
  streams: ["svc.job.*.dispatch.*", "svc.job.*.stop.*", "$KV.secrets._cluster_info", "svc.peel.*.hint"],
} as const;

interface Crossing {
  name: string;
  subject: string;
  type: "service" | "stream";
}

/** The `exports` claim of the masters' account. A service replies to each request at most once. */
export function exportsOfMasters(): Crossing[] {
  const crossing = (type: Crossing["type"]) => (subject: string) => ({ name: subject, subject, type });
  return [
    ...crossings.services.map(crossing("service")).map((entry) => ({ ...entry, response_type: "Singleton" })),
    ...crossings.streams.map(crossing("stream")),
  ];
}

/**
 * The `imports` claim of the peels' account.
 *
 * @param masters public key of the masters' account
 */
export function importsOfPeels(masters: string): (Crossing & { account: string })[] {
  return exportsOfMasters().map(({ name, subject, type }) => ({ name, subject, type, account: masters }));
}
