/** The tag of this fleet's event for one of Salt's, with what is different about it. */
export interface MappedTag {
  match: string;
  /** What an operator must know about the other event. */
  note?: string;
}

/**
 * Translates a glob on event tags of Salt.
 *
 * @returns a text with the reason when there is no such event
 */
export function mapTag(tag: string): MappedTag | string {
  const parts = tag.split("/");
  if (parts[0] !== "salt") return { match: anyDepth(parts) };
  if (parts[1] === "auth") {
    return {
      match: "svc/enrollment/created",
      note: "the event has other data: id, peel_id, hostname, trust",
    };
  }
  if (parts[1] === "minion" && parts[3] === "start") {
    return {
      match: `svc/peel/${glob(parts[2])}/regained`,
      note: "the event arrives when a peel is back, not when it starts for the first time",
    };
  }
  if (parts[1] === "job" && parts[3] === "ret") {
    return {
      match: `svc/job/${glob(parts[2])}/return/${glob(parts[4])}`,
      note: "the event has other data: jid, peel, function, success, return",
    };
  }
  return `svc has no event like ${tag}`;
}

/** A `*` of Salt also matches `/`. */
function anyDepth(parts: readonly string[]): string {
  return parts.map((part, at) => (part === "*" && at === parts.length - 1 ? "**" : part)).join("/");
}

function glob(part = "*"): string {
  return part.replaceAll(".", "_");
}
