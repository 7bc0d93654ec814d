import { command, flag, value } from "../../program/command-line/mod.ts";

export const eventsCommand = command({
  name: "events",
  description:
    "Show what happened in the fleet, oldest first: events of peels, jobs, rollouts, enrollments, presence and compliance.",
  examples: [
    "svc events --since 1h --tag 'svc/job/**'",
    "svc events --follow --source 'web-*'",
    "svc events --follow --output jsonl",
  ],
  lists: true,
  args: {
    tag: value("glob", "Only events whose tag matches, such as 'svc/job/**' or 'disk/*'"),
    source: value("peel", "Only events of this peel, or of those that a glob such as 'web*' matches", {
      ids: "peels",
    }),
    since: value("time", "Begin there: a duration ago such as 10m, or a time such as 2026-01-31T09:00:00Z", {
      default: "10m",
    }),
    follow: flag("Continue with what happens from now on, until Ctrl-C"),
  },
  async run({ tag, source, since, follow }, cli) {
    const { printEvents } = await import("./run.ts");
    await printEvents({ tag, source, since }, follow === true, cli);
  },
});
