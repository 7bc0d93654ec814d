import type { StateFunction } from "../../function.ts";
import { fileAbsent } from "./absent.ts";
import { fileCopy } from "./copy.ts";
import { fileDirectory } from "./directory.ts";
import { fileExists, fileMissing } from "./exists.ts";
import { fileManaged } from "./managed.ts";
import { fileSymlink } from "./symlink.ts";
import { fileTouch } from "./touch.ts";

/** States of files. */
export const fileStates: readonly StateFunction[] = [
  fileManaged,
  fileDirectory,
  fileSymlink,
  fileAbsent,
  fileCopy,
  fileTouch,
  fileExists,
  fileMissing,
];
