import { word } from "../program/command-line/mod.ts";

/** One peel, by its id or the beginning of it. */
export const peelArg = word("Peel id", { required: true, ids: "members" });

/** The peels of a list; all of them unless given. */
export const targetArg = word("Which peels, such as 'web*' or 'G@os:Debian' (default: all)", {
  required: false,
  ids: "members",
});
