import { type Compat, compatLevels } from "../template/mod.ts";

/** How files are read that have states of a bridge: as Salt's, since what is not known here may be known there. */
export const compatOf = (level: string | undefined): Compat =>
  level === "bridge" ? "salt" : (compatLevels.find((each) => each === level) ?? "strict");
