const relayPrefix = "svc.relay.";
const sitePrefix = "svc.from.";
/** Where masters take what peels send on a subject that the storage captures, to relay it there. */
export const relaySubject = (subject: string): string => `${relayPrefix}${subject}`;
/**
 * Where masters take what comes over the link of a site. The account of the site puts its name there: nobody at the site
 * chooses it.
 *
 * @param site `*` is every site
 */
export const fromSiteSubject = (site: string, subject: string): string => `${sitePrefix}${site}.${subject}`;
/**
 * Where masters send what is for a peel of a site, in addition to the subject itself. The site receives it on the
 * latter.
 */
export const toSiteSubject = (site: string, subject: string): string => `svc.to.${site}.${subject}`;

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

/** What masters send to one peel: the content is for nobody else. The other streams say that something changed. */
const forOnePeel = ["svc.job.*.dispatch.*", "svc.job.*.stop.*"] as const;

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
    ...forOnePeel,
    "$KV.secrets._cluster_info",
    "svc.peel.*.hint",
    "svc.site.*.dispatch.*",
    "svc.site.*.hint",
  ],
} as const;

/** Where each kind of message has the peel, by the second token: a kind, or a bucket. */
const peelAt = new Map(
  crossings.services.map((pattern) => {
    const [first, kind = ""] = pattern.split(".");
    return [`${first}.${kind}`, pattern.split(".").lastIndexOf("*")] as const;
  }),
);

/**
 * Who sent a message, and over which link: what the accounts of the bus enforce, and the message itself cannot
 * change.
 */
export interface Origin {
  /** Encoded peel id. Empty for a subject that no peel may use. */
  peel: string;
  /** The site over whose link it came; absent for a peel that is connected to the bus of the masters. */
  site?: string;
  /** The subject on which the peel sent it. */
  subject: string;
}

/** Reads who sent a message from the subject on which masters took it. */
export function originOf(subject: string): Origin {
  if (subject.startsWith(sitePrefix)) {
    const end = subject.indexOf(".", sitePrefix.length);
    const sent = subject.slice(end + 1);
    return { peel: peelOf(sent), site: subject.slice(sitePrefix.length, end), subject: sent };
  }
  const sent = subject.startsWith(relayPrefix) ? subject.slice(relayPrefix.length) : subject;
  return { peel: peelOf(sent), subject: sent };
}

function peelOf(subject: string): string {
  const tokens = subject.split(".");
  return tokens[peelAt.get(`${tokens[0]}.${tokens[1]}`) ?? -1] ?? "";
}

interface Crossing {
  name: string;
  subject: string;
  type: "service" | "stream";
}

/**
 * The `exports` claim of the masters' account. A service replies to each request at most once. What the storage
 * captures is exported twice: as it is, and under the subject on which masters relay it. Each service is exported once
 * more for sites, under a subject that begins with the name of the site, and so is what is for one peel.
 */
export function exportsOfMasters(): Crossing[] {
  const crossing = (type: Crossing["type"]) => (subject: string) => ({ name: subject, subject, type });
  return [
    ...crossings.services.map(crossing("service")).map(repliesOnce),
    ...crossings.streams.map(crossing("stream")),
    ...crossings.stored.map(relaySubject).map(crossing("service")).map(repliesOnce),
    ...crossings.services
      .map((subject) => fromSiteSubject("*", subject))
      .map(crossing("service"))
      .map(repliesOnce),
    ...forOnePeel.map((subject) => toSiteSubject("*", subject)).map(crossing("stream")),
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
 * The `imports` claim of the account of a site. A server refuses `$KV.>` on a link to a server with storage, whatever the
 * accounts say (NATS server source, `denyAllClientJs`), so masters relay what the storage captures, and a hint reports
 * what changed.
 *
 * @param masters public key of the masters' account
 * @param site name of the site
 */
export function importsOfSite(
  masters: string,
  site: string,
): (Crossing & { account: string; local_subject?: string })[] {
  const renamed = (type: Crossing["type"], local: string, subject: string) => ({
    ...{ name: local, subject, type, account: masters },
    ...(local === subject ? {} : { local_subject: local }),
  });
  const service = (subject: string) => {
    const isStored = crossings.stored.some((one) => one === subject);
    const local = isStored ? relaySubject(subject) : subject;
    return renamed("service", local, fromSiteSubject(site, subject));
  };
  const isForOne = (subject: string) => forOnePeel.some((one) => one === subject);
  const stream = (subject: string) =>
    renamed("stream", subject, isForOne(subject) ? toSiteSubject(site, subject) : subject);
  return [
    ...crossings.services.map(service),
    ...crossings.streams
      .filter((subject) => !subject.startsWith("$KV.") && !subject.startsWith("svc.site."))
      .map(stream),
    stream(`svc.site.${site}.dispatch.*`),
    stream(`svc.site.${site}.hint`),
  ];
}
