import { displayPeelId } from "../../../base/names/peel-id.ts";
import { type RequestAbout, requestWords } from "../../../wire/request-words.ts";
import { valueText } from "../../kit/value-text.ts";

/** What happens when a request is approved, as a sentence without its end: `Run cmd.run on 13 hosts`. */
export function requestSentence(request: RequestAbout): string {
  const words = requestWords(request, hosts);
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

const hosts = (count: number): string => (count === 1 ? "1 host" : `${count.toLocaleString("en")} hosts`);

/** A field of a request, as it is shown. */
export interface RequestField {
  name: string;
  value: string;
}

/** Fields that are shown elsewhere on the page, or only prove what the others say. */
const elsewhere = new Set(["function", "args", "target", "targets", "check", "signed", "targets_digest"]);
const titles: Readonly<Record<string, string>> = {
  id: "Enrollment",
  ids: "Enrollments",
  reason: "Reason",
  timeout: "Time limit",
  max_failures: "Failures allowed",
  waves: "Waves",
  canary: "First wave",
  peel_id: "Peel",
};

/**
 * The other fields of a request: every one of them, as those who agree must see all of it.
 *
 * @param isRead whether the record of an operator in it is shown for what it says
 */
export function otherFields(request: unknown, isRead = false): RequestField[] {
  return Object.entries(Object(request) as Record<string, unknown>)
    .filter(
      ([name, value]) =>
        !elsewhere.has(name) && !(isRead && name === "record") && value !== undefined && value !== null,
    )
    .map(([name, value]) => ({
      name: Object.hasOwn(titles, name) ? (titles[name] ?? name) : name,
      value: name === "peel_id" && typeof value === "string" ? displayPeelId(value) : valueText(value),
    }));
}
