const relayPrefix = "svc.relay.";
/** Where masters take what peels send on a subject that the storage captures, to relay it there. */
export const relaySubject = (subject: string): string => `${relayPrefix}${subject}`;
/** The subject that the storage captures, of one on which masters relay. */
export const relayedSubject = (subject: string): string => subject.slice(relayPrefix.length);

/** What peels send that the storage captures. */
const stored = [
  "$KV.peel-heartbeat.*",
  "$KV.facts.*",
  "$KV.compliance.*",
  "$KV.compliance-diffs.*",
  "svc.job.*.ack.*",
  "svc.job.*.return.*",
  "svc.job.*.schedule.*",
  "svc.event.*.>",
] as const;

/**
 * The exports and imports: the only subjects that cross between the account of the peels and the account of
 * the masters. The masters' account exports each subject, and the peels' account imports it.
 *
 * A service carries requests of peels to the masters, and each reply only to its requester. A stream
 * carries what masters publish to the peels that may subscribe to it.
 */
export const crossings = {
  stored,
  services: [
    ...stored,
    "svc.job.*.progress.*",
    "svc.peel.*.hello",
    "svc.peel.*.fetch",
    "svc.peel.*.renew",
    "svc.peel.*.rekey",
  ],
  streams: [
    "svc.job.*.dispatch.*",
    "svc.job.*.stop.*",
    "$KV.secrets._cluster_info",
    "svc.peel.*.hint",
    "svc.site.*.dispatch.*",
    "svc.site.*.hint",
  ],
} as const;

/**
 * What crosses the link of a site. A server refuses `$KV.>` on a link to a server with storage, whatever the accounts
 * say (NATS server source, `denyAllClientJs`), so masters relay what the storage captures, and a hint reports what
 * changed.
 */
const crossingsOfSite = (site: string) => ({
  services: [
    ...crossings.stored.map(relaySubject),
    ...crossings.services.filter((subject) => !crossings.stored.some((one) => one === subject)),
  ],
  streams: [
    ...crossings.streams.filter((subject) => !subject.startsWith("$KV.") && !subject.startsWith("svc.site.")),
    `svc.site.${site}.dispatch.*`,
    `svc.site.${site}.hint`,
  ],
});

interface Crossing {
  name: string;
  subject: string;
  type: "service" | "stream";
}

/**
 * The `exports` claim of the masters' account. A service replies to each request at most once. What the storage
 * captures is exported twice: as it is, and under the subject on which masters relay it.
 */
export function exportsOfMasters(): Crossing[] {
  const crossing = (type: Crossing["type"]) => (subject: string) => ({ name: subject, subject, type });
  return [
    ...crossings.services.map(crossing("service")).map(repliesOnce),
    ...crossings.streams.map(crossing("stream")),
    ...crossings.stored.map(relaySubject).map(crossing("service")).map(repliesOnce),
  ];
}

const repliesOnce = (crossing: Crossing) => ({ ...crossing, response_type: "Singleton" });

/**
 * The `imports` claim of the peels' account.
 *
 * @param masters public key of the masters' account
 * @param relayed whether masters relay what the storage captures; otherwise the storage captures it by itself
 */
export function importsOfPeels(
  masters: string,
  relayed: boolean,
): (Crossing & { account: string; local_subject?: string })[] {
  const isStored = (subject: string) => crossings.stored.some((one) => one === subject);
  const crossing = (type: Crossing["type"]) => (subject: string) =>
    relayed && isStored(subject)
      ? { name: subject, subject: relaySubject(subject), local_subject: subject, type, account: masters }
      : { name: subject, subject, type, account: masters };
  return [...crossings.services.map(crossing("service")), ...crossings.streams.map(crossing("stream"))];
}

/**
 * The `imports` claim of the account of a site.
 *
 * @param masters public key of the masters' account
 * @param site name of the site
 */
export function importsOfSite(masters: string, site: string): (Crossing & { account: string })[] {
  const { services, streams } = crossingsOfSite(site);
  const crossing = (type: Crossing["type"]) => (subject: string) => ({
    name: subject,
    subject,
    type,
    account: masters,
  });
  return [...services.map(crossing("service")), ...streams.map(crossing("stream"))];
}
