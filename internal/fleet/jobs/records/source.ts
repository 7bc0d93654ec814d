/** What made a job: a request, a peel by its own schedule, a rollout for a wave, or a rule. It is for people. */
export const jobSources = ["operator", "schedule", "rollout", "reactor"] as const;
export type JobSource = (typeof jobSources)[number];
