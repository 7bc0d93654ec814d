import type { Plain } from "../../base/msgpack.ts";

/** What the reactor reacts to. */
export interface Event {
  /** The same wherever and however often it comes: `<stream>:<sequence>`, or the id of an enrollment. */
  readonly id: string;
  /** Segments joined with `/`, as `disk/full`; no segment is empty. */
  readonly tag: string;
  /**
   * The peel that it comes from or that it is about, as an encoded id, or `masterSource`. The bus or the
   * service vouches for it, but for an enrollment it is what the applicant calls itself.
   */
  readonly source: string;
  /**
   * Whose word it is: a peel's, which may say anything but names itself truly, or the service's own. What
   * a peel says may not use the tags of the service.
   */
  readonly origin: "peel" | "service";
  /** When the bus stored it, milliseconds since the Unix epoch. */
  readonly at: number;
  /** How many reactions lie between this event and one that no reaction caused: 0 for the latter. */
  readonly depth: number;
  /** The content. Whoever sent the event chose it. */
  readonly data: Readonly<Record<string, Plain>>;
}

/** The source of an event that no member of the fleet is behind. No peel id begins with a `_`. */
export const masterSource = "_master";

/** The first segment of tags that only the service itself may use. */
const serviceSegment = "svc";

/** The tag of an enrollment that waits for a decision. */
export const enrollmentTag = "svc/enrollment/created";

/** Longest tag, characters. */
export const maxTagLength = 512;
/** Most segments of a tag. */
export const maxTagSegments = 32;

/** The tag of these names: what would cut or blur a segment becomes `_`. */
export function tagOf(...segments: readonly string[]): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is replaced
  return segments.map((segment) => segment.replace(/[/\s\u0000-\u001f\u007f]/g, "_") || "_").join("/");
}

/** Whether a tag is one of the service's own. */
export function isServiceTag(tag: string): boolean {
  return tag === serviceSegment || tag.startsWith(`${serviceSegment}/`);
}
