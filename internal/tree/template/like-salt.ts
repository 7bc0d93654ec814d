import type { Plain } from "../../base/msgpack.ts";

/** Facts of the Salt whose language templates have; a peel does not report them. */
export const likeSalt: Readonly<Record<string, Plain>> = {
  saltversion: "3007.1",
  saltversioninfo: [3007, 1],
  pythonversion: [3, 10, 14, "final", 0],
};
