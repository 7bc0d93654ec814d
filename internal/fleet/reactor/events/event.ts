import type { Plain } from "../../../base/msgpack.ts";

/** An event for the reactor. */
export interface Event {
  /** Stable across redeliveries: `<stream>:<sequence>`, or the id of an enrollment. */
  readonly id: string;
  /** Segments joined with `/`, such as `disk/full`. No segment is empty. */
  readonly tag: string;
  /**
   * The peel that sent the event or that it is about, as an encoded id, or `masterSource`. The bus or the
   * service authenticates it, except for enrollments: there it is the id that the applicant claims.
   */
  readonly source: string;
  /**
   * The sender: a peel, whose content is untrusted but whose id is authentic, or the service itself. A peel
   * must not use the tags of the service.
   */
  readonly origin: "peel" | "service";
  /** When the bus stored it, milliseconds since the Unix epoch. */
  readonly at: number;
  /** Number of reactions that led to this event. 0 for an event that no reaction caused. */
  readonly depth: number;
  /** The content, chosen by the sender. */
  readonly data: Readonly<Record<string, Plain>>;
}

/** The source of an event that is not from a member of the fleet. No peel id begins with `_`. */
export const masterSource = "_master";

/**
 * The peel that the data of an event of the service is about. Rules read both, and both are encoded: `peel_id` is the
 * name that this form has everywhere, and `peel` is what rules read before.
 */
export function peelFields(peel: string): { peel: string; peel_id: string } {
  return { peel, peel_id: peel };
}

/** The first segment of tags that only the service itself may use. */
const serviceSegment = "svc";

/** The tag of a pending enrollment. */
export const enrollmentTag = "svc/enrollment/created";

const reportTag = /^svc\/(?:job\/[^/]+\/(?:created|ended)|rollout\/[^/]+\/changed)$/;

/** Whether masters store an event with this tag for every job and every rollout, whatever the rules are. */
export function isReport({ origin, tag }: Pick<Event, "origin" | "tag">): boolean {
  return origin === "service" && reportTag.test(tag);
}

/** Maximum length of a tag in characters. */
export const maxTagLength = 512;
/** Maximum number of segments of a tag. */
export const maxTagSegments = 32;

/** Joins names to a tag. Characters that would split or obscure a segment become `_`. */
export function tagOf(...segments: readonly string[]): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is replaced
  return segments.map((segment) => segment.replace(/[/\s\u0000-\u001f\u007f]/g, "_") || "_").join("/");
}

/** Whether a tag is reserved for the service. */
export function isServiceTag(tag: string): boolean {
  return tag === serviceSegment || tag.startsWith(`${serviceSegment}/`);
}
