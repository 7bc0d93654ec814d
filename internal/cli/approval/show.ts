import { displayPeelId } from "../../base/names/peel-id.ts";
import { approvalOperations } from "../../fleet/approvals/mod.ts";
import { command, formatFields, word } from "../../program/command-line/mod.ts";
import { contentWords, releasedWords } from "../../wire/content-words.ts";
import { requestWords } from "../../wire/request-words.ts";
import { fullId } from "../ids/full-id.ts";
import { peelCount } from "../job/counts.ts";
import { withBus } from "../operator.ts";
import { type AnswerTo, request } from "../request.ts";
import { formatChanges } from "./changes.ts";
import { describeRequest } from "./request.ts";

const maxShown = 10;

export const idArg = {
  id: word("Id of the request, apr-…", { required: true }),
} as const;

export const showCommand = command({
  name: "show",
  description: "Show a request that waits for other operators, or waited.",
  examples: ["svc approval show apr-3MRx", "svc approval show apr-3MRx --diff"],
  args: {
    ...idArg,
    diff: { type: "boolean", description: "Show the differences of its files line by line" },
  },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const id = await fullId("apr", args.id, bus, cli);
      const requested = { id, ...(args.diff === true ? { diff: true } : {}) };
      const { approval } = await request(bus, approvalOperations.getApproval, requested);
      await cli.print(approval, () => [formatApproval(approval), formatChanges(approval)].join("\n\n"));
    }),
});

type Shown = AnswerTo<typeof approvalOperations.getApproval>["approval"];

function formatApproval(approval: Shown): string {
  const { targets, content, released, agreed, needs, outcome, reason, denied_by } = approval;
  const ended = denied_by ?? outcome;
  const ending = reason === undefined ? ended : `${ended}: ${reason}`;
  const more = (targets?.length ?? 0) > maxShown ? ", …" : "";
  return formatFields([
    ["Id", approval.id],
    ["State", ending === undefined ? approval.state : `${approval.state} (${ending})`],
    ["What happens", requestWords(approval, peelCount)],
    ["Operation", approval.operation],
    ...describeRequest(approval.request),
    ...(content === undefined ? [] : [["Files", contentWords(content)] as const]),
    ...(released === undefined ? [] : [["Released", releasedWords(released)] as const]),
    ["Digest", approval.request_digest],
    ...(targets === undefined
      ? []
      : [
          [
            "Peels",
            `${targets.length}: ${targets.slice(0, maxShown).map(displayPeelId).join(", ")}${more}`,
          ] as const,
        ]),
    ["Asked", `${approval.asked_at} by ${approval.asked_by}`],
    ["Agreed", `${agreed.length} of ${needs}${agreed.length === 0 ? "" : `: ${agreed.join(", ")}`}`],
    ["Rule", approval.rule],
    [approval.state === "waiting" ? "Until" : "Expired", approval.expires_at],
    ...(approval.job === undefined ? [] : [["Job", approval.job] as const]),
    ...(approval.rollout === undefined ? [] : [["Rollout", approval.rollout] as const]),
  ]);
}
