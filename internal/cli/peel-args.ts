/** One peel, by its id or the beginning of it. */
export const peelArg = {
  type: "positional",
  required: true,
  ids: "members",
  description: "Peel id",
} as const;

/** The peels of a list; all of them unless given. */
export const targetArg = {
  type: "positional",
  required: false,
  ids: "members",
  description: "Which peels, such as 'web*' or 'G@os:Debian' (default: all)",
} as const;
