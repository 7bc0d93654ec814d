export const jidArg = {
  type: "positional",
  required: true,
  description: "Job id, job-…",
  ids: "jobs",
} as const;
