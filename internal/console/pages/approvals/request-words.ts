import { displayPeelId } from "../../../base/names/peel-id.ts";
import { valueText } from "../../kit/value-text.ts";
import type { ListedApproval } from "./approval.ts";

/** What decisions do to a host. */
const verbs: Readonly<Record<string, string>> = {
  "enrollments.approve": "Approve",
  "enrollments.reject": "Reject",
  "enrollments.revoke": "Revoke",
  "enrollments.suspend": "Suspend",
  "enrollments.resume": "Resume",
  "enrollments.label": "Change the labels of",
  "enrollments.discard": "Discard the enrollment of",
  "enrollments.restore": "Restore the enrollment of",
  "enrollments.expect": "Expect",
  "enrollments.unexpect": "No longer expect",
};
const sentences: Readonly<Record<string, string>> = {
  "operators.add": "Add an operator",
  "operators.roles": "Change the roles of an operator",
  "operators.disable": "Disable an operator",
  "operators.enable": "Enable an operator",
  "operators.remove": "Remove an operator",
};

/** What happens when a request is approved, as a sentence without its end: `Run cmd.run on 13 hosts`. */
export function requestWords(
  request: Pick<ListedApproval, "operation" | "function" | "target" | "peels">,
): string {
  const { operation, function: called, target, peels } = request;
  const [kind] = operation.split(".");
  const where = peels === undefined ? (target ?? "") : hosts(peels);
  const on = where === "" ? "" : ` on ${where}`;
  if (called !== undefined && kind === "rollouts") return `Roll out ${called}${on}, wave by wave`;
  if (called !== undefined) return `Run ${called}${on}`;
  if (kind === "upgrades") return `Upgrade the peel${on}`;
  if (Object.hasOwn(verbs, operation)) {
    return `${verbs[operation]} ${peels === undefined ? "a host" : hosts(peels)}`;
  }
  return (Object.hasOwn(sentences, operation) ? sentences[operation] : undefined) ?? operation;
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

/** The other fields of a request: every one of them, as those who agree must see all of it. */
export function otherFields(request: unknown): RequestField[] {
  return Object.entries(Object(request) as Record<string, unknown>)
    .filter(([name, value]) => !elsewhere.has(name) && value !== undefined && value !== null)
    .map(([name, value]) => ({
      name: Object.hasOwn(titles, name) ? (titles[name] ?? name) : name,
      value: name === "peel_id" && typeof value === "string" ? displayPeelId(value) : valueText(value),
    }));
}
