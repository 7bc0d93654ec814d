import type { StateFunction } from "../../function/mod.ts";
import { fileAbsent } from "./absent.ts";
import { fileAppend, filePrepend } from "./append.ts";
import { fileBlockinfile, fileBlockreplace } from "./blockreplace.ts";
import { fileComment, fileUncomment } from "./comment.ts";
import { fileCopy } from "./copy.ts";
import { fileDirectory } from "./directory.ts";
import { fileExists, fileMissing } from "./exists.ts";
import { fileKeyvalue } from "./keyvalue.ts";
import { fileLine } from "./line.ts";
import { fileManaged } from "./managed.ts";
import { fileRecurse } from "./recurse.ts";
import { fileRename } from "./rename.ts";
import { fileReplace } from "./replace.ts";
import { fileSerialize } from "./serialize.ts";
import { fileSymlink } from "./symlink.ts";
import { fileTouch } from "./touch.ts";

/** States of files. */
export const fileStates: readonly StateFunction[] = [
  fileManaged,
  fileDirectory,
  fileRecurse,
  fileSymlink,
  fileAbsent,
  fileCopy,
  fileRename,
  fileSerialize,
  fileTouch,
  fileExists,
  fileMissing,
  fileAppend,
  filePrepend,
  fileLine,
  fileReplace,
  fileComment,
  fileUncomment,
  fileKeyvalue,
  fileBlockreplace,
  fileBlockinfile,
];
